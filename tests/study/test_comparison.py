"""``==`` and ``!=``, NumPy's functions on matrices, and SciPy's matrices on the left."""

import operator
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from cases import VIEWS, make, matrix, ours, raises

import diagsparse as ds

FORMATS = pytest.mark.parametrize("format", ds.formats())


@FORMATS
@pytest.mark.parametrize("view", VIEWS)
def test_comparisons_are_element_by_element(format, view):
    A = VIEWS[view](ours("explicit zeros", format, "complex128"))
    B = A.copy()
    assert (A == B).toarray().all() and (A != B).nnz == 0
    B.values.ravel()[20] += 1
    dense = A.toarray(), B.toarray()
    for other, theirs in ((B, dense[1]), (B.to_scipy(), dense[1]), (dense[1], dense[1]), (B.tocsr(), dense[1]),
                          (0, 0), (0.5, 0.5), (np.float64(0), 0)):  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sp.SparseEfficiencyWarning)  # SciPy's, of its == where it is on the left
            equal, different = other == A, other != A
        for made, expected in ((equal, dense[0] == theirs), (different, dense[0] != theirs)):
            made = made.toarray() if sp.issparse(made) else made
            assert made.dtype == bool and np.array_equal(made, expected)


@FORMATS
def test_comparisons_with_what_is_no_matrix(format):
    A = make(format, np.eye(3))
    assert (A == None) is False and (A != None) is True  # noqa: E711
    assert (A == "text") is False
    with pytest.raises(TypeError, match="unhashable"):
        hash(A)
    big = ds.csr_array((10**6, 10**7))
    with raises(MemoryError, "1000000 x 10000000", "TB"):
        big == 0  # noqa: B015
    with raises(MemoryError, "TB", "(A != B).nnz"):
        big == big.copy()  # noqa: B015
    assert (big != big.copy()).nnz == 0 and (big != 0).nnz == 0


@FORMATS
def test_comparisons_on_a_gpu_say_what_to_type(format, device):
    if device == "cpu":
        pytest.skip("compared there")
    A = ours("banded 65", format, device=device)
    for run in (lambda: A != 0, lambda: A < 1, lambda: A.toarray() == A):
        with raises(TypeError, 'to("cpu")', "with numbers and dense arrays"):
            run()


@FORMATS
def test_numpy_on_the_left(format):
    A = make(format, matrix("banded 65").copy())
    dense, y = A.toarray(), np.arange(65.0 * 65).reshape(65, 65)
    assert np.array_equal(y + A, y + dense) and np.array_equal(y - A, y - dense)
    assert np.array_equal((y * A).toarray(), y * dense) and np.array_equal((y == A), y == dense)
    assert np.array_equal((np.float64(3) * A).toarray(), 3 * dense) and np.allclose(y @ A, y @ dense)
    for function in (np.abs, np.negative, np.conj):
        assert np.array_equal(function(A).toarray(), function(dense))
    assert np.array_equal(np.add(A, A).toarray(), 2 * dense) and np.array_equal(np.multiply(2, A).toarray(), 2 * dense)
    kept = y
    y += A
    assert y is kept and np.array_equal(y, np.arange(65.0 * 65).reshape(65, 65) + dense)
    y -= A
    assert y is kept and np.allclose(y, np.arange(65.0 * 65).reshape(65, 65))
    square, same = np.eye(65), None
    same = square
    square @= A
    assert square is same and np.allclose(square, dense)
    with raises(ValueError, "out is part of A's values"):
        np.matmul(np.ones(65), A, out=A.values.ravel()[:65])
    with raises(TypeError, "out"):
        np.add(y, 1, out=A)
    for function in (np.cos, np.exp, np.add.reduce, np.isnan):
        with raises(TypeError, "sparse", "toarray"):
            function(A)
    with raises(TypeError, "sparse"):
        y *= A
    with raises(TypeError, "Cannot cast"):
        np.zeros((65, 65), int).__iadd__(A)
    assert y is kept


@FORMATS
def test_products_with_scipy_matrices_on_the_left(format):
    """`*` of SciPy's matrices (not arrays) is the product."""
    A = make(format, matrix("banded 65"))
    S = sp.csr_matrix(matrix("tridiagonal 65"))
    expected = (S @ matrix("banded 65")).toarray()
    for made in (S * A, S @ A):
        assert np.allclose(made.toarray(), expected, rtol=1e-14)
    assert np.allclose((sp.csr_array(S) * A).toarray(), S.toarray() * A.toarray())
    assert np.allclose((A * sp.csr_array(S)).toarray(), S.toarray() * A.toarray())


@pytest.mark.parametrize("format", ds.formats())
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_results_are_scipys(format, dtype):
    """Of matrices, numbers and dense arrays, the same places as SciPy's, with what is no number and stored zeros."""
    rng = np.random.default_rng(3)
    dense = rng.integers(-1, 3, size=(12, 12)) * (rng.uniform(size=(12, 12)) < 0.4)
    a, b = sp.csr_array(dense.astype(dtype)), sp.csr_array(np.roll(dense, 1, axis=1).astype(dtype))
    a.data[3], b.data[5] = np.nan, np.inf
    for left, right in ((a, b), (a, a.copy()), (a, 2 * a), (a, sp.csr_array(a.shape, dtype=dtype))):
        for A, seen in ((ds.array(left, format), left), (ds.array(left, format).T, left.T.tocsr())):
            for other, theirs in ((ds.array(right, "csc"), right), (ds.array(right, format), right), (right, right),
                                  (0, 0), (2, 2), (np.nan, np.nan), (np.float32(1), 1), (dense, dense)):  # fmt: skip
                for compare in (operator.eq, operator.ne):
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", sp.SparseEfficiencyWarning)
                        made, expected = compare(A, other), compare(seen, theirs)
                    assert made.dtype == bool and type(made).__name__ in ("csr_array", "csc_array", "ndarray")
                    if sp.issparse(made):
                        assert made.nnz == expected.nnz and made.has_canonical_format
                        made, expected = made.toarray(), expected.toarray()
                    assert np.array_equal(made, expected)


@pytest.mark.parametrize("format", ds.formats())
def test_matrices_of_other_shapes_differ(format):
    A, B = ds.array(np.eye(3), format), ds.array(np.eye(4), format)
    assert (A == B) is False and (A != B) is True
