"""Whether every diagonal of a csr matrix repeats after some rows, against the diagonals themselves."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import raises
from hypothesis import given
from hypothesis import strategies as st
from packings import repeating

import diagsparse as ds
from diagsparse._formats.packing import common_period


def repeats(A, period):
    return A._core.repeats_after(A._matrix, period)


def expected(dense, period):
    """Return whether each diagonal, in its true length, is the same `period` elements later."""
    lines = [np.diagonal(dense, k) for k in range(1 - dense.shape[0], dense.shape[1])]
    return all(np.array_equal(v[period:], v[:-period], equal_nan=True) for v in lines)


VALUES = st.sampled_from([0.0, -0.0, 1.0, 1.0, 2.0, float("nan")])


@st.composite
def matrices(draw):
    """Draw rectangular matrices that often repeat, or nearly: a few values on diagonals, and one change."""
    m, n, period = draw(st.integers(1, 9)), draw(st.integers(1, 9)), draw(st.integers(1, 4))
    i, j = np.indices((m, n))
    lines = np.array(draw(st.lists(VALUES, min_size=period * (m + n), max_size=period * (m + n))))
    dense = lines.reshape(m + n, period)[j - i + m, np.minimum(i, j) % period]
    if draw(st.booleans()):
        dense[draw(st.integers(0, m - 1)), draw(st.integers(0, n - 1))] = draw(VALUES)
    return dense


@given(matrices(), st.data())
def test_small_matrices(dense, data):
    stored = (dense != 0) | data.draw(st.sampled_from([False, True]))  # with zeros as entries, or without
    A = ds.csr_array(sp.csr_array((dense[stored], np.nonzero(stored)), shape=dense.shape))
    for period in range(1, 12):
        assert repeats(A, period) == expected(dense, period), period


@given(matrices())
def test_values_accepted_as_a_period(dense):
    period = common_period(ds.hm_array(dense + 0.0))  # which has no negative zeros: packing compares bits
    assert period is None or repeats(ds.csr_array(dense), period)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("shape", [(60_000, 60_000), (60_000, 70_000), (70_000, 60_000)])
def test_many_threads_agree(shape, dtype):
    a = repeating(*shape, [-700, -1, 0, 2, 3, 900], 12, dtype)
    a.sort_indices()
    before = ds.get_num_threads()
    try:
        for threads in (1, 2, 5):
            ds.set_num_threads(threads)
            for zeros in (True, False):
                b = a.copy()
                if not zeros:
                    b.eliminate_zeros()
                assert b.nnz > 2**17
                results = [repeats(ds.csr_array(b), period) for period in (1, 6, 11, 12, 13, 24, 12_000, 60_000, 2**40)]
                assert results == [False, False, False, True, False, True, True, True, True]
                for at in (0, b.nnz // 2, b.nnz - 1):
                    c = b.copy()
                    c.data[at] += 1
                    assert not repeats(ds.csr_array(c), 12), at
    finally:
        ds.set_num_threads(before)


def test_every_device_agrees(device):
    for shape in ((300, 300), (300, 340), (340, 300)):
        for dtype in ("float32", "float64", "complex64", "complex128"):
            a = repeating(*shape, [-70, -1, 0, 2, 3, 90], 12, dtype)
            results = [repeats(ds.csr_array(a, device=device), period) for period in (1, 6, 12, 13, 24, 300, 2**40)]
            assert results == [False, False, True, False, True, True, True]
            for at in (0, a.nnz // 2, a.nnz - 1):
                b = a.copy()
                b.data[at] += 1
                assert not repeats(ds.csr_array(b, device=device), 12), at


def test_periods_that_mean_nothing(device):
    for period in (0, -3):
        with raises(ValueError, f"period={period}", "one row or more"):
            repeats(ds.csr_array(np.eye(3), device=device), period)
