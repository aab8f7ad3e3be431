"""The summary of a matrix in every format and on every device, against NumPy; and what is computed from it."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from cases import DIAGONAL, DTYPES, EACH_DTYPE, NOT_DIAGONAL, SMALL, VIEWS, case, holding, make, matrix, ours, raises
from formats.sell import positions

import diagsparse as ds

FORMATS = pytest.mark.parametrize("format", ds.formats())
SHOWN = {"N": lambda a: a, "T": lambda a: a.T, "C": lambda a: a.conj(), "H": lambda a: a.conj().T}


def stored(A, a, view):
    """Return where the view stores entries: diagonals store no zeros."""
    pattern = np.zeros(a.shape, bool)
    pattern[a.nonzero() if hasattr(A, "offsets") and A.format != "mdia" else sp.coo_array(a).coords] = True
    return pattern.T if view in "TH" else pattern


def blocks_of(pattern, size):
    i, j = np.nonzero(pattern)
    return len(set(zip((i // size).tolist(), (j // size).tolist(), strict=True)))


def symmetry_of(dense):
    """Return the first of the symmetries that holds, as NumPy compares."""
    if dense.shape[0] != dense.shape[1]:
        return None
    mirrors = {"symmetric": dense.T, "hermitian": dense.conj().T, "skew-symmetric": -dense.T}
    return next((name for name, mirror in mirrors.items() if np.array_equal(dense, mirror)), None)


def check(A, pattern, dense):
    s = A._summary()
    rows, columns = np.nonzero(pattern)
    found, counts = np.unique(columns - rows, return_counts=True)
    filled = s.fill > 0  # diagonals of zeros may be stored
    assert s.offsets[filled].tolist() == found.tolist() and s.fill[filled].tolist() == counts.tolist()
    assert (np.diff(s.offsets) > 0).all() and s.entries == len(rows)
    assert s.row_lengths.tolist() == np.transpose(np.unique(pattern.sum(axis=1), return_counts=True)).tolist()
    for column in (0, 1, pattern.shape[1] // 2, pattern.shape[1], 2**40):
        before = pattern[:, :column].sum(axis=1)
        assert s.leading(column=column) == (before.max(initial=0), before.sum()), column
    for size in (1, 3, 8, 64):
        assert s.blocks(size) == blocks_of(pattern, size), size
    assert s.blocks() == s.blocks(8)
    lengths = pattern.sum(axis=1)
    for height, sigma in ((1, 1), (3, 1), (8, 1), (8, 4), (32, 64)):
        ordered = [-np.sort(-lengths[first : first + sigma]) for first in range(0, len(lengths), sigma)]
        taken = positions(np.concatenate([lengths[:0], *ordered]), height)
        assert s.positions_in_slices(height, sigma) == taken, (height, sigma)
    assert s.symmetry == symmetry_of(dense)


@FORMATS
def test_gallery(format, device):
    for name, view in product(holding(format, SMALL), VIEWS):
        A, a = VIEWS[view](ours(name, format, "float64", device)), matrix(name)
        with case((name, view)):
            check(A, stored(A, a, view), SHOWN[view](a.toarray()))


@FORMATS
def test_dtypes(format, device):
    for name, dtype, view in product(holding(format, ("explicit zeros", "dense 9")), DTYPES, VIEWS):
        A, a = VIEWS[view](ours(name, format, dtype, device)), matrix(name, dtype)
        with case((name, dtype, view)):
            check(A, stored(A, a, view), SHOWN[view](a.toarray()))


def symmetric_cases(dtype):
    """Yield dense matrices of every symmetry, and what is nearly one."""
    rng, n = np.random.default_rng(0), 21
    chosen = np.triu(rng.random((n, n)) < 0.2, 1)
    upper = np.where(chosen, rng.integers(1, 5, (n, n)), 0).astype(dtype)
    if upper.dtype.kind == "c":
        upper = upper * (1 + 2j)
    main = np.diag(rng.integers(0, 3, n)).astype(dtype)
    yield from (upper + upper.T + main, upper + upper.conj().T + main, upper - upper.T, upper - upper.conj().T)
    yield from (upper - upper.T + main, upper + main, main, 0 * main, upper + upper.T + main * np.dtype(dtype).type(1))
    i, j = np.argwhere(chosen)[-1]
    for changed in (2, 0, np.nan):
        near = upper + upper.T + main
        near[j, i] = changed
        yield near
    if upper.dtype.kind == "c":
        yield upper + upper.conj().T + 1j * main
        yield 1j * main


@FORMATS
@EACH_DTYPE
def test_symmetries(format, dtype, device):
    for number, dense in enumerate(symmetric_cases(dtype)):
        A = ds.array(dense, format).to(device)
        for view, shown in SHOWN.items():
            assert VIEWS[view](A)._summary().symmetry == symmetry_of(shown(dense)), (number, view)


def test_stored_zeros_do_not_affect_symmetry(device):
    values, row, col = np.array([1.0, 0, 2, 0]), [0, 0, 1, 1], [0, 1, 1, 2]
    a = sp.csr_array((values, (row, col)), shape=(3, 3))
    for format in NOT_DIAGONAL:
        s = ds.array(a, format).to(device)._summary()
        assert s.symmetry == "symmetric" and s.entries == 4 and s.fill.tolist() == [2, 2]


@pytest.mark.parametrize("format", DIAGONAL)
def test_packed_matrices(format, device):
    n = 30
    a = sp.diags_array([np.full(n, 2.0), np.full(n - 3, -1.0), np.full(n - 3, -1.0)], offsets=[0, 3, -3])
    for layout in ({"symmetry": "symmetric"}, {"period": 1}, {"symmetry": "symmetric", "period": 1}):
        A = make(format, a, **layout).to(device)
        check(A, a.toarray() != 0, a.toarray())
        check(A.T.astype(np.float16), a.toarray() != 0, a.toarray())


def test_long_rows_and_few_entries(device):
    """Rows too long for one warp of a GPU, and shapes too large for a table of all diagonals."""
    for a in (ds.gallery.arrow(500), sp.random_array((700, 300), density=0.4, rng=1)):
        a = sp.csr_array(a)
        check(ds.csr_array(a).to(device), stored(None, a, "N"), a.toarray())
    wide = sp.coo_array((np.ones(3), ([0, 2, 4], [1, 150_000, 150_002])), shape=(5, 2_000_000))
    s = ds.csr_array(wide).to(device)._summary()
    assert s.offsets.tolist() == [1, 149_998] and s.fill.tolist() == [1, 2]
    assert s.blocks() == 2 and s.symmetry is None


@FORMATS
def test_structure_is_analyzed_once(format):
    """Properties of the structure are cached with it, those of values are not."""
    A = ours("dense 40", format).copy()
    B = A._wrap(A._matrix.with_values(A._matrix.values.copy()))
    assert A._summary().symmetry is None
    B.values = 1
    assert B._summary().symmetry == "symmetric" and B._summary().fill.tolist() == A._summary().fill.tolist()
    if not hasattr(A, "offsets"):
        for find in (A._core.occupied_diagonals, A._core.entries_on_diagonals):
            assert np.array_equal(find(A._matrix, 0), find(B._matrix, 0))


def test_sizes_of_blocks():
    for size in (0, -1, 65):
        with raises(ValueError, f"blocks of {size} x {size}", "1 to 64"):
            ours("dense 9", "csr")._summary().blocks(size)
