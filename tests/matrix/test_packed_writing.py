"""`setdiag` of packed diagonals: they stay packed where the packing holds the new diagonal."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import at_night, raises
from packings import FORMATS, holds, mirrored, packed_cases, repeating

import diagsparse as ds

HUGE = 2**40


def set_in_both(A, dense, values, k):
    """Set a diagonal of a matrix and of a dense array; return whether the packing is still the same."""
    before = A.symmetry, A.period
    A.setdiag(values, k)
    length = len(dense.diagonal(k))
    rows = np.arange(length if np.ndim(values) == 0 else min(length, len(values)))
    dense[rows + max(0, -k), rows + max(0, k)] = values if np.ndim(values) == 0 else values[:length]
    assert np.array_equal(A.toarray(), dense)
    x = np.linspace(1, 2, dense.shape[1])
    assert np.allclose(A @ x, dense @ x)
    return (A.symmetry, A.period) == before


@FORMATS
@pytest.mark.parametrize("dtype", at_night(["float64", "complex64"], before=["complex64"]))
def test_one_number(format, dtype):
    count = 0
    for name, a, layout in packed_cases(dtype):
        m, n = a.shape
        if not holds(format, a) or not 0 < max(m, n) <= 250:
            continue
        for k in {0, 1, -1, n - 1, 1 - m, *ds.hm_array(a).offsets.tolist()}:
            if not -m < k < n:
                continue
            A, dense = ds.array(a, format).asformat(format, **layout), a.toarray()
            packed = set_in_both(A, dense, 2.5, k)
            assert packed == (k == 0 or A.symmetry == layout.get("symmetry")), (name, k)
            assert packed or layout.get("symmetry"), (name, k)
            count += 1
    assert count > 50


@FORMATS
def test_values_that_repeat_and_values_that_do_not(format):
    a = repeating(30, 30, [-3, 0, 9], 4, "float64")
    once = np.array([1.0, -2, 3, 0])
    for k in (0, 9, -3, 5, -7):  # stored, and not
        length, A = 30 - abs(k), ds.array(a, format).asformat(format, period=4)
        rows = np.arange(length)
        assert set_in_both(A, a.toarray(), once[rows % 4], k) and A.period == 4, k
        for other in (np.arange(float(length)), once[rows % 4][:-1]):
            assert not set_in_both(A, A.toarray(), other, k) and A.period is None, k
            A = ds.array(a, format).asformat(format, period=4)


@FORMATS
def test_the_main_diagonal_of_symmetric_storage(format):
    for symmetry, conjugated in (("symmetric", False), ("hermitian", True)):
        a = mirrored(20, [0, 1, 4], "complex128", conjugated)
        for offsets in ([0, 1, 4], [1, 4]):
            part = mirrored(20, offsets, "complex128", conjugated)
            A = ds.array(part, format).asformat(format, symmetry=symmetry)
            for values in (3.0, np.arange(20.0), np.arange(7.0)):
                assert set_in_both(A, A.toarray(), values, 0), (symmetry, offsets)
            view = A.conj()
            assert set_in_both(view, view.toarray(), np.arange(20.0), 0)
        A = ds.array(a, format).asformat(format, symmetry=symmetry)
        assert set_in_both(A, A.toarray(), 1j, 0) == (symmetry == "symmetric")


@FORMATS
def test_stored_elements_are_written_in_place(format):
    A = ds.array(ds.gallery.tridiagonal(12), format).asformat(format, symmetry="symmetric")
    view, matrix, values = A.conj(), A._matrix, A.values
    A.setdiag(7.0)
    assert A._matrix is matrix and np.shares_memory(A.values, values)
    assert np.array_equal(view.toarray(), A.toarray()) and (A.diagonal() == 7).all()
    C = ds.array(ds.gallery.tridiagonal(12), format, dtype="complex128").asformat(format, symmetry="symmetric")
    through = C.conj()
    through.setdiag(2j)
    assert np.array_equal(through.diagonal(), np.full(12, 2j)) and np.array_equal(C.diagonal(), np.full(12, -2j))


@pytest.mark.parametrize("format", ["dia", "hm"])
def test_matrices_that_fit_nowhere_in_full(format):
    A = ds.diags({-1: 1.0, 0: -2.0, 1: 1.0}, shape=(HUGE, HUGE), period=1, format=format)
    A.setdiag(3.0)
    A.setdiag(4.0, 1)
    A.setdiag(5.0, 7)
    assert A.period == 1 and A[HUGE // 2, HUGE // 2] == 3 and A[5, 6] == 4 and A[0, 7] == 5 and A[6, 5] == 1
    assert A.nbytes < 200
    before = A._matrix
    with raises(MemoryError, "setdiag: period 1 cannot represent this diagonal 0", "TB", "are free") as refused:
        A.setdiag(np.arange(5.0))
    assert "max_bytes" not in str(refused.value)  # which is no option of setdiag
    assert A._matrix is before
    with raises(MemoryError, "setdiag", f"{HUGE - 5} elements of diagonal 5", "are free"):
        ds.hm_array((HUGE, HUGE)).setdiag(1.0, 5)


def test_narrow_values():
    A = ds.hm_array(sp.csr_array(ds.gallery.tridiagonal(9)), period=1).astype("float16")
    A.setdiag(3, 2)
    assert A.dtype == np.float16 and A.period == 1 and A[0, 2] == 3 and (A.diagonal(1) == -1).all()
