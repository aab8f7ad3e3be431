"""What advice finds out in one pass or from some rows: symmetries by sums of hashes, and periods."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import DTYPES

import diagsparse as ds
from diagsparse import gallery
from diagsparse._places.backend import CPU

SYMMETRIC, HERMITIAN = 1, 2  # bits


def seeming(a):
    A = ds.csr_array(sp.csr_array(a))
    return CPU.core.seeming_symmetries(A._matrix)


def exact(a):
    a = sp.csr_array(a)
    differ = abs(a - a.T).count_nonzero(), abs(a - a.conj().T).count_nonzero()
    return SYMMETRIC * (differ[0] == 0) | HERMITIAN * (differ[1] == 0)


def upper(n, dtype, complex_part):
    rng = np.random.default_rng(0)
    kept = sp.random_array(
        (n, n), density=min(1.0, 4 / n), rng=rng, data_sampler=lambda size: rng.choice([-2, -1, 1, 3], size)
    )
    made = sp.triu(kept, 1).tocsr().astype(dtype)
    return made * dtype(1 + complex_part * 2j) if np.dtype(dtype).kind == "c" else made


# ---- symmetries ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 7, 300, 9000])
def test_symmetries_by_hashes(n, dtype):
    dtype = np.dtype(dtype).type
    for part in (0, 1):
        u, main = upper(n, dtype, part), sp.diags_array((np.arange(n) % 3).astype(dtype))
        for a in (u + u.T + main, u + u.conj().T + main, u - u.T, u - u.conj().T, u + main, main, 0 * main):
            assert seeming(a) == exact(a)
        if np.dtype(dtype).kind == "c":
            assert seeming(main * dtype(1j)) == exact(main * dtype(1j))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_one_entry_of_many_breaks_them(threads):
    ds.set_num_threads(threads)
    u = upper(40_000, float, 0)
    a = (u + u.T).tocsr()
    a.sort_indices()
    assert seeming(a) == SYMMETRIC | HERMITIAN
    rng = np.random.default_rng(1)
    for e in rng.integers(0, a.nnz, 20).tolist():
        b = a.copy()
        b.data[e] = np.nextafter(b.data[e], 9)
        assert seeming(b) == 0
        b.data[e] = np.nan
        assert seeming(b) == 0


def test_what_sums_of_values_would_not_tell():
    """Values and places that are the same in sum: rows or values that are exchanged, and opposite signs."""
    n = 200
    shift = sp.diags_array([np.ones(n - 1), np.ones(1)], offsets=[1, 1 - n], shape=(n, n)).tocsr()
    assert seeming(shift) == 0 and seeming(shift + shift.T) == 3 and seeming(shift - shift.T) == 0
    u = sp.diags_array(np.arange(1.0, n), offsets=1, shape=(n, n)).tocsr()
    exchanged = u + sp.diags_array(np.arange(1.0, n)[::-1], offsets=-1, shape=(n, n))
    assert seeming(exchanged) == 0 and seeming(u + u.T) == 3


def test_zeros_have_no_part_and_neither_have_their_signs():
    values, row, col = np.array([1.0, 0, -0.0, 2, 2]), [0, 0, 1, 1, 2], [0, 1, 1, 2, 1]
    assert seeming(sp.csr_array((values, (row, col)), shape=(3, 3))) == 3
    z = np.array([complex(0.0, 2), complex(-0.0, 2)])
    assert seeming(sp.csr_array((z, ([0, 1], [1, 0])), shape=(2, 2))) == SYMMETRIC


def test_no_square_and_nothing():
    assert seeming(sp.csr_array((3, 4))) == 0 and seeming(sp.csr_array((4, 4))) == seeming(sp.csr_array((0, 0))) == 3


# ---- periods ---------------------------------------------------------------------------------------------------------
def period(a, first, rows):
    part = sp.csr_array(a)[first : first + rows]
    lengths = np.diff(part.indptr).astype(np.int32)
    return CPU.core.period_of_rows(first, a.shape[1], lengths, part.indices.astype(np.int32), part.data)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("repeated", [1, 2, 7, 50])
def test_periods_of_some_rows(repeated, dtype):
    values = np.resize(np.arange(1, repeated + 1), 1000).astype(dtype)
    a = sp.diags_array([values, values[:900], np.ones(999)], offsets=[0, 100, -1], shape=(1000, 1000)).astype(dtype)
    assert period(a.tocsr(), 300, 256) == repeated
    assert period(a.tocsr(), 800, 200) == repeated  # in which a diagonal ends
    changed = a.tocsr()
    changed[400, 400] += 1
    assert period(changed, 300, 256) == 0 and period(changed, 420, 256) == repeated


def test_periods_of_two_lengths_are_joined():
    a = sp.diags_array([np.resize([1.0, 2, 3], 2000), np.resize([1.0, 2, 3, 4, 5], 1999)], offsets=[0, 1])
    assert period(a.tocsr()[:, :2000], 500, 256) == 15
    zeros = a.tocsr()
    zeros.data[:] = np.where(zeros.data == 3, -0.0, zeros.data)
    assert period(zeros, 500, 256) == 15


def test_values_that_all_differ_have_none():
    assert period(gallery.banded(1000, 2, 2, seed=0).tocsr(), 300, 256) == -1
    assert period(sp.csr_array((1000, 1000)), 300, 256) == 1
    with pytest.raises(RuntimeError, match="do not fit"):
        CPU.core.period_of_rows(0, 9, np.array([2], np.int32), np.array([1], np.int32), np.ones(1))


# ---- sorted rows -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("longest", [3, 5000])
def test_rows_are_sorted_by_length(longest):
    """Rows of each length are counted, up to some thousand entries; beyond they are compared."""
    lengths = np.random.default_rng(0).integers(0, 4, 10_000)
    lengths[7] = longest
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    columns = np.arange(indptr[-1]) - np.repeat(indptr[:-1], lengths)
    a = sp.csr_array((np.ones(len(columns)), columns, indptr), shape=(10_000, 6000))
    A = ds.sell_array(a, sigma=4096)
    order = np.concatenate(
        [first + np.argsort(-lengths[first : first + 4096], kind="stable") for first in range(0, 10_000, 4096)]
    )
    assert np.array_equal(A.row_order, order) and (A.toarray() == a.toarray()).all()
