"""`ds.factorized` of batches, its types, views and copies, on both devices: each solution against the dense matrix."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from cases import EACH_DIAGONAL, EACH_DTYPE, raises
from solutions import assert_solves, banded, like, operations, right_sides

import diagsparse as ds


@pytest.mark.parametrize("count", [1, 2, 37])
@EACH_DIAGONAL
@pytest.mark.parametrize("n, below, above", [(40, 0, 0), (33, 1, 1), (20, 2, 1), (2, 1, 0), (4, 2, 2), (1, 0, 0)])
@EACH_DTYPE
def test_batches(count, format, n, below, above, dtype, device):
    batch, members = like(banded(n, below, above, dtype), format, count)
    F = ds.factorized(batch.to(device), 0.125)
    assert (F.count, len(F), F.shape, F.dtype) == (count, count, (n, n), np.dtype(dtype))
    assert repr(F).startswith(f"<factors of {count} A_i - 0.125 I")
    B = right_sides(n, dtype, count).T
    for trans in "NTH":
        X = F.solve(B, trans)
        same = F.solve(B[-1], trans)
        assert X.shape == same.shape == B.shape and X.dtype == same.dtype == np.dtype(dtype)
        for i, member in enumerate(members):
            op = dict(operations(member - 0.125 * np.eye(n, dtype=dtype)))[trans]
            assert_solves(X[i], op, B[i])
            assert_solves(same[i], op, B[-1])
    assert np.array_equal(F @ B, F(B)) and np.array_equal(F(B), F.solve(B))


@pytest.mark.parametrize("method", ["tridiagonal", "banded", "dense", "superlu"])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_one_bad_member_affects_no_other(method, n):
    """NaN in a right side, and a solution that is too large, are that member's alone: 0 times them is no number."""
    dense = np.diag(np.full(n, 4.0)) + np.diag(np.ones(n - 1), 1) + np.diag(np.ones(n - 1), -1)
    A = ds.hm_array(sp.csr_array(dense))
    batch = ds.batch_array(np.multiply.outer([1, 1e-300, 2, 3], A.values), A)
    B = np.ones((4, n))
    B[1] *= 1e10
    B[2, -1] = np.nan
    for trans in "NTH":
        X = ds.factorized(batch, method=method).solve(B, trans)
        assert not np.isfinite(X[1]).all() and np.isnan(X[2]).any()
        assert np.allclose(X[[0, 3]] @ dense * [[1], [3]], B[[0, 3]])


def test_the_type_of_a_product(device):
    """Single with double precision is solved in double; complex with real as two real right-hand sides."""
    dense = banded(30, 1, 1, "float64")
    for dtype, b, expected in (
        ("float32", "float64", "float64"), ("float32", "complex64", "complex64"), ("float32", "int64", "float64"),
        ("float64", "complex64", "complex128"), ("complex64", "float64", "complex128"),
        ("float16", "float32", "float32"), ("float32", "complex128", "complex128"),
    ):  # fmt: skip
        A = ds.hm_array(sp.csr_array(dense)).astype(dtype).to(device)
        B = (100 * right_sides(30, "complex128" if b[0] == "c" else "float64")).astype(b)
        F = ds.factorized(A)
        before = F.nbytes
        for trans, op in operations(A.to("cpu").toarray().astype(complex if dtype[0] == "c" else float)):
            x = F.solve(B, trans)
            assert x.dtype == expected == (A @ B).dtype
            assert_solves(x, op, B)
        assert F.nbytes >= before
    with pytest.raises(TypeError, match=r"b is of type|no kernel computes in"):
        F.solve(np.ones(30, np.longdouble)) if np.longdouble != np.float64 else F.solve(np.array(["a"] * 30))


def test_factors_do_not_follow_the_matrix(device):
    for dtype in ("float32", "complex64", "complex128"):
        A = ds.hm_array(ds.gallery.tridiagonal(20)).astype(dtype).to(device)
        F, b = ds.factorized(A), np.ones(20)
        first = F.solve(b.astype(dtype))
        A *= 2
        for x in (F.solve(b, "T"), F.solve(b + 0j, "H"), F.solve(b)):
            assert np.allclose(x, first, rtol=1e-4)


def test_views_of_factors(device):
    dense = banded(20, 1, 1, "complex128")
    F, B = ds.factorized(ds.hm_array(sp.csr_array(dense)).to(device)), right_sides(20, "complex128")
    for view, op in ((F.T, dense.T), (F.H, dense.conj().T), (F.H.T, dense.conj()), (F.T.T, dense)):
        assert view.nbytes == F.nbytes
        for trans, of in operations(op):
            assert_solves(view.solve(B, trans), of, B)
        assert_solves(view @ B, op, B)
        assert_solves(view.dot(B[:, 0]), op, B[:, 0])
        assert_solves(view.rmatmat(B), op.conj().T, B)
    assert repr(F.H).startswith("<factors of A.H, 20 x 20")
    assert "(A - 0.5 I).T" in repr(ds.factorized(ds.eye(3), 0.5).T)


def test_copies_and_pickles():
    F = ds.factorized(ds.eye(3))
    assert copy.copy(F) is F and copy.deepcopy([F])[0] is F
    with raises(TypeError, "pickle A, and factor it again"):
        pickle.dumps(F)


def test_systems_that_a_batch_does_not_solve(device):
    batch, members = like(banded(6, 1, 1, "float64"), "dia", 4)
    F = ds.factorized(batch.to(device))
    with raises(ValueError, "4 matrices 6 x 6 and needs (4, 6), or (6,)"):
        F.solve(np.ones((6, 4)))
    with pytest.raises(TypeError):
        F.solve(np.array(["a"] * 6))
    with raises(TypeError, "a batch of matrices"):
        F.solve(batch)
    values = batch.values.copy()
    values[2] = 0
    singular = ds.batch_array(values, ds.dia_array(sp.csr_array(members[0]))).to(device)
    with pytest.raises(np.linalg.LinAlgError, match="pivot of row 0 of member 2" if device == "cpu" else "singular"):
        ds.factorized(singular)
    none = ds.batch_array(values[:0], ds.dia_array(sp.csr_array(members[0]))).to(device)
    assert ds.factorized(none).solve(np.ones(6)).shape == (0, 6)
