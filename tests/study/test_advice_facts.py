"""What advice finds out in one pass or from some rows: symmetries by sums of hashes, and periods."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import DTYPES

import diagsparse as ds
from diagsparse import gallery
from diagsparse._advice.statistics import Statistics
from diagsparse._backends.backend import CPU

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
    for part in (0, 1) if np.dtype(dtype).kind == "c" else (0,):
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


def symmetric_grid(dtype):
    """Return a symmetric matrix of 100,000 rows, of which the first look sees a few entries only."""
    rng, n = np.random.default_rng(0), 100_000
    values = [rng.uniform(1, 2, n - k).astype(dtype) for k in (1, 300)]
    if np.dtype(dtype).kind == "c":
        values = [v * np.dtype(dtype).type(1 + 1j) for v in values]
    return sp.diags_array([np.ones(n, dtype), *values, *values], offsets=[0, 1, 300, -1, -300], shape=(n, n)).tocsr()


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_value_and_its_position_count(dtype):
    """Changes that leave the values alike in sum: some exchanged, one moved, a sign that goes to another one."""
    a = symmetric_grid(dtype)
    complex_values = np.dtype(dtype).kind == "c"
    assert seeming(a) == (SYMMETRIC if complex_values else SYMMETRIC | HERMITIAN)
    for first, second in ((1000, 2000), (70_000, 20_000), (31_000, 31_001)):
        for offset in (1, 300):
            b = a.copy()
            b[first, first + offset], b[second, second + offset] = b[second, second + offset], b[first, first + offset]
            assert seeming(b) == 0
    moved = a.tolil()
    moved[5000, 5007], moved[5000, 5300] = moved[5000, 5300], 0
    assert seeming(moved.tocsr()) == 0
    both = a.copy()
    both[4000, 4001] *= -1
    both[9000, 9001] *= -1
    assert seeming(both) == 0
    if complex_values:
        hermitian = sp.triu(a) + sp.triu(a, 1).conj().T
        assert seeming(hermitian) == HERMITIAN
        hermitian = hermitian.tocsr()
        hermitian[4000, 4001] = hermitian[4000, 4001].conj()
        assert seeming(hermitian) == 0


def test_rows_that_are_shifted_are_not_symmetric():
    n = 200
    shift = sp.diags_array([np.ones(n - 1), np.ones(1)], offsets=[1, 1 - n], shape=(n, n)).tocsr()
    assert seeming(shift) == 0 and seeming(shift + shift.T) == 3 and seeming(shift - shift.T) == 0


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


def test_rows_without_a_period():
    assert period(gallery.banded(1000, 2, 2, seed=0).tocsr(), 300, 256) == 0
    assert period(sp.csr_array((1000, 1000)), 300, 256) == 1
    with pytest.raises(RuntimeError, match="do not fit"):
        CPU.core.period_of_rows(0, 9, np.array([2], np.int32), np.array([1], np.int32), np.ones(1))


def layers(nx, ny):
    """Return a grid whose coefficients vary along x, and are those of the first row in every other one."""
    rng = np.random.default_rng(0)
    c, e = rng.standard_normal(nx), rng.standard_normal(nx - 1)
    along = sp.kron(sp.eye_array(ny), sp.diags_array([e, c, e], offsets=[-1, 0, 1]))
    return (along + sp.kron(sp.diags_array([np.ones(ny - 1)] * 2, offsets=[-1, 1]), sp.diags_array(c))).tocsr()


@pytest.mark.parametrize("nx", [100, 200, 700, 2000, 5000])
def test_long_periods_are_found(nx, device):
    """Of rows that all differ in the part that is looked at, too."""
    assert Statistics(ds.csr_array(layers(nx, 6), device=device)).period == nx


def test_long_rows_are_not_read_whole():
    wide = ds.csr_array(sp.csr_array(np.ones((300, 20_000), np.float32)))
    found, rows = Statistics(wide)._period_of(20, 256)
    assert rows == 1 and found == 0


# ---- diagonals of A A ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("count", [0, 1, 9, 150])
def test_diagonals_of_a_square(count):
    a = gallery.random_diagonals(400, count, seed=0).tocsr() if count else sp.csr_array((400, 400))
    facts = Statistics(ds.csr_array(a))
    square = sp.coo_array(abs(a) @ abs(a))
    assert np.array_equal(facts.sums_of(facts.offsets), np.unique(square.coords[1] - square.coords[0]))
    assert facts.sums_of(facts.offsets) is facts.sums_of(facts.offsets)  # computed once
