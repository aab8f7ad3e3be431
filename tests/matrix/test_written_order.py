"""Entries that a user left out of order stay so until a method sorts them."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import raises
from written_arrays import INDEXED, N, X, both, mirror, permute, repeat

import diagsparse as ds


def indices(A):
    return A.col if A.format == "coo" else A.indices


@INDEXED
def test_the_order_of_the_user_stays(format):
    """New values for a pattern that was written once, as finite elements do."""
    A, s = both(format)
    permute(A)
    permute(s)
    for seed in range(3):
        values = np.random.default_rng(seed).random(s.nnz)
        A.data[:] = values
        s.data[:] = values
        assert np.allclose(A @ X, s @ X) and np.array_equal(A.data, values)
        A *= 2
        s *= 2
        assert np.allclose(A.toarray(), s.toarray())
    copied = A.copy()
    assert np.array_equal(copied.data, A.data) and np.array_equal(copied.T.toarray(), A.toarray().T)
    for name in ("row", "col") if format == "coo" else ("indices", "indptr"):
        assert np.array_equal(getattr(copied, name), getattr(s, name))
    A.data = 3
    assert (A.data == 3).all() and set(np.unique(A.toarray())) == {0, 3}
    assert np.allclose(copied.toarray(), s.toarray())
    permute(copied)
    assert copied.has_canonical_format and np.allclose(copied.toarray(), s.toarray())


@INDEXED
def test_a_copy_while_another_thread_sorts(format):
    """The other thread sorts as soon as the copy releases the lock."""
    A = both(format)[0]
    held = A.coords if format == "coo" else (A.indices, A.indptr)
    mirror(A)
    expected = A.toarray()
    exporter = A._matrix.exporter
    lock = exporter._lock

    class Lock:
        def __enter__(self):
            lock.acquire()

        def __exit__(self, *exc):
            lock.release()
            exporter._lock = lock
            A.sum_duplicates()

    exporter._lock = Lock()
    copied = A.copy()
    assert exporter._lock is lock and A.has_canonical_format and held
    assert np.array_equal(copied.toarray(), expected)
    copied.data[:] = 1
    assert set(np.unique(copied.toarray())) == {0, 1}, "what is written to the copy arrives there"
    assert np.array_equal(A.toarray(), expected), "and not in the other matrix"


@INDEXED
def test_sorting_in_place(format):
    A, s = both(format)
    view, index, values = A.T, indices(A), A.data
    permute(A)
    held = index.copy(), values.copy()
    assert not A.has_canonical_format
    A.sum_duplicates()
    s = sp.csr_array(s) if format == "coo" else s
    assert A.has_canonical_format and np.array_equal(A.data, s.data) and np.array_equal(indices(A), s.indices)
    assert np.array_equal(index, held[0]) and np.array_equal(values, held[1]), "the old arrays do not change"
    index[0] = 99  # which is the matrix's no more
    values[0] = 99
    assert np.array_equal(A.toarray(), s.toarray()) and np.array_equal(view.toarray(), s.toarray().T)
    A.data[0] = 5
    assert view.toarray().T.flat[np.flatnonzero(s.toarray() == s.data[0])[0]] == 5


@INDEXED
@pytest.mark.parametrize("method", ["sum_duplicates", "element"])
def test_summing_repeated_entries(format, method):
    A = both(format)[0]
    view = A.T
    repeat(A)
    expected, count = A.toarray(), A.nnz
    if method == "element":
        A[0, 0] = expected[0, 0] = 50
    else:
        A.sum_duplicates()
    assert A.has_canonical_format and len(A.data) == count and np.allclose(A.toarray(), expected)
    assert np.allclose(view.toarray(), expected.T), "views follow"
    for index in (*view.coords,) if format == "coo" else (view.indices, view.indptr):
        assert len(index) in (count, N + 1)


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_sorting_leaves_repeated_entries_apart(format):
    A, s = both(format)
    repeat(A), repeat(s)
    A.indices[:], s.indices[:] = A.indices[::-1].copy(), s.indices[::-1].copy()
    view, dense = A.T, s.toarray()
    for a in (A, s):
        a.has_sorted_indices = False
        assert not a.has_sorted_indices and not a.has_canonical_format
        a.sort_indices()
    assert A.has_sorted_indices and not A.has_canonical_format and len(A.data) == len(s.data) == len(A.indices)
    assert np.array_equal(A.indices, s.indices) and np.array_equal(A.indptr, s.indptr)
    assert np.allclose(A.toarray(), dense) and np.allclose(view.toarray(), dense.T) and np.allclose(A @ X, dense @ X)
    assert np.allclose(A.sorted_indices().toarray(), dense) and len(A.copy().data) == len(s.data)
    A.data[:] = s.data[:] = 1
    assert np.array_equal(A.toarray(), s.toarray())
    A.sum_duplicates(), s.sum_duplicates()
    assert np.array_equal(A.data, s.data) and np.array_equal(A.indices, s.indices) and A.has_canonical_format


@INDEXED
def test_flags_of_the_order_have_to_be_true(format):
    A = both(format)[0]
    names = ["has_canonical_format"] + ["has_sorted_indices"] * (format != "coo")
    for name in names:
        for value in (True, False):
            setattr(A, name, value)
        assert getattr(A, name) is True
    permute(A)
    for name in names:
        setattr(A, name, False)
        with raises(ValueError, f"{format}_array", name, "sort_indices()" if "sorted" in name else "sum_duplicates()"):
            setattr(A, name, True)
        assert getattr(A, name) is False


@INDEXED
@pytest.mark.parametrize("method", ["sum_duplicates", "sort_indices", "element"])
@pytest.mark.parametrize("other", ["given", "to_scipy", "another format"])
def test_sorting_moves_no_values_of_others(format, method, other):
    """Matrices that share values with this one do not change."""
    if format == "coo" and method == "sort_indices":
        pytest.skip("SciPy's coo has no such method")
    s = both(format)[1]
    A = getattr(ds, f"{format}_array")(s)
    assert np.shares_memory(A.data, s.data)
    another = A.asformat("csr" if format == "coo" else "coo")
    third = {"given": s, "to_scipy": A.to_scipy(), "another format": another}[other]
    before = third.toarray()
    mirror(A)
    expected = A.toarray()
    if method == "element":
        row, col = np.argwhere(expected)[0].tolist()
        A[row, col] = expected[row, col]
    else:
        getattr(A, method)()
    assert A.has_canonical_format and np.array_equal(A.toarray(), expected)
    assert np.array_equal(third.toarray(), before) and np.array_equal(s.toarray(), before)


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_names_of_scipys(format):
    A, s = both(format)
    A.indices = A.indices[::1] * 0 + s.indices  # the same, of another array
    assert A.has_sorted_indices and np.array_equal(A.toarray(), s.toarray())
    permute(A)
    assert not A.has_sorted_indices and not A.copy().has_sorted_indices and A.sorted_indices().has_sorted_indices
    A.check_format()
    A.sort_indices()
    assert A.has_sorted_indices and np.array_equal(A.indices, s.indices)
    assert np.array_equal(A.sorted_indices().toarray(), s.toarray())
    A[0, int(s[[0]].nonzero()[1][0])] = 7.0
    permute(A)
    A[0, int(s[[0]].nonzero()[1][0])] = 8.0  # sorts first, as SciPy's does
    assert A[0, int(s[[0]].nonzero()[1][0])] == 8 and A.has_sorted_indices
