"""Index arrays of csr, csc and coo are written to: the matrix follows, as SciPy's does."""

import pickle

import numpy as np
import pytest
from cases import raises
from written_arrays import INDEXED, USES, WRITES, N, X, both, mirror, theirs

import diagsparse as ds


@INDEXED
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("use", USES)
def test_written_indices_take_effect(format, write, use):
    A, s = both(format)
    WRITES[write](A)
    WRITES[write](s)
    assert np.allclose(USES[use](A), USES[use](s.copy()))
    assert np.array_equal(A.data, s.data[: len(A.data)]), "values stay in the order of the user"


@INDEXED
def test_one_permutation_of_a_copy(format):
    A, name = both(format)[0], "col" if format == "coo" else "indices"
    dense, expected = A.toarray(), np.zeros((N, N))
    order = np.random.default_rng(0).permutation(N)
    expected[(order, slice(None)) if format == "csc" else (slice(None), order)] = dense
    converted = [getattr(ds.array(dense, other), f"to{format}")() for other in ("csr", "csc", "coo", "hm")]
    for B in (A.copy(), A.asformat(format, copy=True), *converted, pickle.loads(pickle.dumps(A)), A[:, :], 1 * A):
        getattr(B, name)[:] = order[getattr(B, name)]
        assert np.array_equal(B.toarray(), expected) and np.allclose(B @ X, expected @ X)
        assert np.array_equal(A.toarray(), dense)


@INDEXED
@pytest.mark.parametrize("write", ["mirror", "permute"])
def test_views_follow(format, write):
    A, s = both(format, "complex128")
    before = A.T, A.conj(), A.H, A.T.conj().T
    WRITES[write](A)
    WRITES[write](s)
    dense = s.toarray()
    for views in (before, (A.T, A.conj(), A.H, A.T.conj().T)):
        for view, expected in zip(views, (dense.T, dense.conj(), dense.conj().T, dense.conj()), strict=True):
            assert np.allclose(view.toarray(), expected) and np.allclose(view @ X, expected @ X)
    through = A.T  # and what is written through a view reaches the matrix
    (through.col if format == "coo" else through.indices)[:] = s.row if format == "coo" else s.indices
    assert np.allclose(A.toarray(), dense)
    mirror(through.T)
    mirror(s)
    assert np.allclose(A.toarray(), s.toarray())


@INDEXED
def test_matrices_of_the_same_structure_do_not_change(format):
    A = both(format)[0]
    others = [2 * A, abs(A), A.copy(), A.astype("complex64")]
    before = [B.toarray() for B in others]
    mirror(A)
    assert A.has_canonical_format is False
    A @ X
    for B, dense in zip(others, before, strict=True):
        assert np.array_equal(B.toarray(), dense)


def test_shorter_index_arrays():
    A = ds.csr_array(np.eye(4))
    A.indptr = np.array([0, 1, 2, 2, 2])
    A.indices = np.array([3, 0])
    assert np.array_equal(np.argwhere(A.toarray()), [[0, 3], [1, 0]]) and A.nnz == 2
    A.eliminate_zeros()
    assert len(A.data) == 2
    with raises(TypeError, "indices", "float64", "expected integers"):
        A.indices = np.array([0.5, 1])
    with raises(ValueError, "indices", "one dimension"):
        A.indices = np.array([[0, 1]])
    with raises(ValueError, "indices", "4294967296", "int32"):
        A.indices = np.array([0, 2**32])
    held, before = A.indices, A.indices.copy()
    A.indices = before[::-1]
    assert np.array_equal(held, before) and np.array_equal(A.indices, before[::-1])  # `held` is the old array
    held[0] = 99  # which is the matrix's no more
    assert np.array_equal(np.argwhere(A.toarray()), [[0, 0], [1, 3]])


@INDEXED
def test_invalid_indices_are_refused_until_they_are_corrected(format):
    A, s = both(format)
    index = A.col if format == "coo" else A.indices
    original = index[0]
    for wrong in (-1, N, 2**31 - 1):
        index[0] = wrong
        for use in (lambda: A @ X, A.toarray, lambda: A.T.copy(), lambda: ds.plan_matmul(A, A), A.check_format):
            with raises(ValueError, f"{format}_array", "written to"):
                use()
    index[0] = original
    assert np.array_equal(A.toarray(), s.toarray())
    if format != "coo":
        A.indptr[3] = 1000
        with raises(ValueError, "written to"):
            A @ X
        A.indptr[3] = s.indptr[3]
        assert np.array_equal(A.toarray(), s.toarray())


@INDEXED
def test_half_written_indices_have_no_effect(format):
    A, s = both(format)
    names = ("row", "col") if format == "coo" else ("indptr", "indices")
    before = [getattr(s, name).copy() for name in names]
    for index in range(2):
        getattr(A, names[index])[:] = N + 5  # no matrix
        assert A.shape == (N, N) and A.dtype == np.float64 and A.T.shape == (N, N) and A.conj().format == format
        A.data = s.data[::-1]
        A.data[:] = A.values[::-1].copy()
        A *= 2
        A /= 2
        assert all(getattr(A, name).shape == getattr(s, name).shape for name in names)
    for name, index in zip(names, before, strict=True):
        setattr(A, name, index)
    assert np.array_equal(A.toarray(), s.toarray())


@INDEXED
def test_plans_refuse_another_structure(format):
    A = ds.csr_array(theirs("csr"), copy=True)
    plan = ds.plan_matmul(A, A)
    expected = (A @ A).toarray()
    assert A.indices.size and np.allclose(plan().toarray(), expected)
    mirror(A)
    with raises(ValueError, "plan"):
        plan(A, A)


def test_parts_of_other_matrices_are_read_only():
    A = ds.hyb_array(ds.gallery.arrow(40), width=1)
    for array in (A.coo.row, A.coo.col, A.coo.T.row, *A.coo.coords):
        assert not array.flags.writeable
    with raises(ValueError, "row", "part of another matrix", ".copy()"):
        A.coo.row = A.coo.row
    copied = A.coo.copy()
    copied.row[:] = copied.row
    assert np.array_equal(copied.toarray(), A.coo.toarray())


def test_a_conjugate_has_no_values_to_write_to():
    A = both("csr", "complex128")[0]
    with raises(ValueError, "read-only"):
        A.conj().data[0] = 1  # a copy, which would be lost


@INDEXED
def test_values_of_another_shape_are_refused(format):
    A, s = both(format)
    for name in ("data", "values"):
        for wrong in (np.ones(len(s.data) + 1), [1.0, 2.0], np.ones((len(s.data), 2))):
            with raises(
                ValueError, f"{name}: got shape {np.shape(wrong)}, expected a number or shape ({len(s.data)},)"
            ):
                setattr(A, name, wrong)
        with raises(TypeError, name, "complex128", "float64"):
            setattr(A, name, s.data * 1j)
    C = A.astype("complex128")
    views = [C.conj()] if format != "coo" else [C.conj(), C.T, C.H]
    for view in views:
        with raises(ValueError, "data", "view", ".copy()"):
            view.data = s.data
    assert np.array_equal(A.toarray(), s.toarray()) and np.array_equal(C.toarray(), s.toarray())
    for right in (2, [3.0], s.data[::-1], s.data[None]):
        A.data = right
        assert np.array_equal(A.data, np.broadcast_to(right, (1, len(s.data)))[0])
