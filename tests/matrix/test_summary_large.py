"""What a summary says of matrices that several threads look at, whatever their number, against NumPy."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import at_night

import diagsparse as ds

N = 60_000


@pytest.fixture(params=at_night([1, 2, 5], before=[2]))
def threads(request):
    before = ds.get_num_threads()
    ds.set_num_threads(request.param)
    yield request.param
    ds.set_num_threads(before)


def symmetry_of(a):
    """Return the first of the symmetries that holds of the values that are not zero."""
    if a.shape[0] != a.shape[1]:
        return None
    a = a.copy()
    a.eliminate_zeros()
    b = a.T.tocsr()
    b.sort_indices()
    if not (np.array_equal(a.indptr, b.indptr) and np.array_equal(a.indices, b.indices)):
        return None
    mirrors = {"symmetric": b.data, "hermitian": b.data.conj(), "skew-symmetric": -b.data}
    return next((name for name, mirror in mirrors.items() if np.array_equal(a.data, mirror)), None)


def check(a):
    a = sp.csr_array(a)
    a.sort_indices()
    assert a.nnz > 2**17  # below it one thread does it all
    s = ds.csr_array(a)._summary()
    lengths = np.diff(a.indptr)
    rows, columns = np.repeat(np.arange(a.shape[0]), lengths), a.indices.astype(np.int64)
    found, counts = np.unique(columns - rows, return_counts=True)
    assert s.offsets.tolist() == found.tolist() and s.fill.tolist() == counts.tolist()
    assert s.row_lengths.tolist() == np.transpose(np.unique(lengths, return_counts=True)).tolist()
    leading = np.bincount(rows[columns < N // 3], minlength=len(lengths))
    assert s.leading(column=N // 3) == (leading.max(), leading.sum())
    for size in (1, 3, 8, 64):
        assert s.blocks(size) == len(np.unique(rows // size * (a.shape[1] // size + 1) + columns // size)), size
    return same_symmetry(a)


def same_symmetry(a):
    found = ds.csr_array(a)._summary().symmetry
    assert found == symmetry_of(sp.csr_array(a))
    return found


def banded(offsets, rows=N, cols=N):
    values = np.random.default_rng(0).uniform(1, 2, (len(offsets), max(rows, cols)))
    return sp.csr_array(sp.dia_array((values, offsets), shape=(rows, cols)))


def scattered(shape, count):
    rng = np.random.default_rng(1)
    return sp.coo_array((rng.uniform(1, 2, count), [rng.integers(0, n, count) for n in shape]), shape=shape).tocsr()


def with_gaps(a):
    """Return rows of many patterns: some are empty, alone or side by side, and some lack an entry or two."""
    i = np.arange(a.shape[0])
    lengths = np.diff(a.indptr)
    first = np.repeat(a.indptr[:-1], lengths)
    chosen = np.repeat((i % 97 != 5) & (i // 1000 % 13 != 4), lengths)
    chosen &= ~((np.repeat(i % 61, lengths) == 7) & (np.arange(a.nnz) - first == 1))
    coo = a.tocoo()
    return sp.csr_array((coo.data[chosen], (coo.row[chosen], coo.col[chosen])), shape=a.shape)


SYMMETRIC = {
    "stencil": lambda: ds.gallery.stencil(5, (200, 250)),
    "spins": lambda: ds.gallery.heisenberg(15),
    "band": lambda: banded(range(4)) + banded(range(4)).T,
    "scattered": lambda: scattered((N, N), 4 * N) + scattered((N, N), 4 * N).T,
    "gaps": lambda: with_gaps(banded(range(5))) + with_gaps(banded(range(5))).T,
}
UNSYMMETRIC = {
    "band": lambda: banded([-300, -2, 0, 1, 2]),
    "gaps": lambda: with_gaps(banded([-300, -2, 0, 1, 2, 77])),
    "wide": lambda: with_gaps(banded([0, 3, 50_000, 90_000], N, 3 * N)),
    "tall": lambda: with_gaps(banded([0, -3, -50_000, -90_000], 3 * N, N)),
    "scattered": lambda: scattered((N, N // 2), 5 * N),
    "upper": lambda: banded([0, 1, 2, 40]),
    "lower": lambda: banded([0, -1, -2, -40]),
    "few entries": lambda: scattered((20 * N, 20 * N), 3 * N),  # without a table of all diagonals
    "long rows": lambda: ds.gallery.arrow(N),
    "as many above as below": lambda: banded([-1, 2, 0]),
}


@pytest.mark.parametrize("name", SYMMETRIC)
def test_symmetric(name, threads):
    assert check(SYMMETRIC[name]()) == "symmetric"


@pytest.mark.parametrize("name", UNSYMMETRIC)
def test_unsymmetric(name, threads):
    assert check(UNSYMMETRIC[name]()) is None


@pytest.mark.parametrize("name", SYMMETRIC)
def test_symmetries_of_complex_values(name, threads):
    a = sp.csr_array(SYMMETRIC[name]()).astype(complex)
    a.sort_indices()
    upper = sp.triu(a, 1).tocsr() * (1 + 2j)
    main = sp.diags_array(a.diagonal())
    assert same_symmetry(upper + upper.T + main) == "symmetric"
    assert same_symmetry(upper + upper.conj().T + main) == "hermitian"
    assert same_symmetry(upper - upper.T) == "skew-symmetric"
    assert same_symmetry(upper + upper.conj().T + sp.diags_array(np.where(np.arange(a.shape[0]) == 7, 1j, 1))) is None


@pytest.mark.parametrize("name", SYMMETRIC)
def test_one_entry_breaks_a_symmetry(name, threads):
    a = sp.csr_array(SYMMETRIC[name]())
    a.sort_indices()
    row = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
    off = np.flatnonzero(row != a.indices)
    for at in (off[0], off[len(off) // 2], off[-1]):
        for value in (0, np.nan, 3.25):
            b = a.copy()
            b.data[at] = value
            assert same_symmetry(b) is None, (at, value)


@pytest.mark.parametrize("name", SYMMETRIC)
def test_stored_zeros_count_for_no_symmetry(name, threads):
    """Zeros of either sign, in both triangles, and in one of them only."""
    a = sp.csr_array(SYMMETRIC[name]())
    a.sort_indices()
    row = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
    zero = np.abs(a.indices - row) % 7 == 1
    a.data[zero] = np.where(a.indices < row, -0.0, 0.0)[zero]
    assert same_symmetry(a) == "symmetric"
    for gone in (zero & (a.indices > row), zero & (a.indices < row)):
        b = sp.csr_array((a.data[~gone], (row[~gone], a.indices[~gone])), shape=a.shape)
        assert same_symmetry(b) == "symmetric"
