"""qband: ``values[d m + i] = A[i, i + dia_offsets[d]]``; after these, ``A[coosr_row[e], coosr_col[e]]``, row by row."""

import numpy as np
from fuzz import layouts

from formats import diagonals

MATRIX = [[1.0, 5, 0, 0, 0], [0, 2, 6, 0, 0], [0, 0, 3, 7, 0], [9, 0, 0, 4, 8], [0, 0, 10, 0, 0]]
EXAMPLE = {  # what the header of src/cpp/formats draws
    "dia_offsets": [0, 1],
    "coosr_row": [3, 4],
    "coosr_col": [0, 2],
    "coosr_indptr": [0, 0, 0, 0, 1, 2],
    "values": [1.0, 2, 3, 4, 0, 5, 6, 7, 8, 0, 9, 10],
}
ORDER = "values", "dia_offsets", "coosr_row", "coosr_col", "coosr_indptr"


def decode(parts, shape):
    A, m = np.zeros(shape, parts["values"].dtype), shape[0]
    for d, k in enumerate(parts["dia_offsets"]):
        for i in range(max(0, -k), min(m, shape[1] - k)):
            A[i, i + k] = parts["values"][d * m + i]
    rest = parts["values"][len(parts["dia_offsets"]) * m :]
    for i, j, value in zip(parts["coosr_row"], parts["coosr_col"], rest, strict=True):
        assert A[i, j] == 0
        A[i, j] += value
    assert np.array_equal(np.bincount(parts["coosr_row"], minlength=m), np.diff(parts["coosr_indptr"]))
    return A


def sizes(a, item):
    """Return the number of values in the matrix, and its bytes: of every diagonal those of the cheaper part."""
    m, entries = a.shape[0], a.tocoo()
    offsets, fill = np.unique(entries.col - entries.row, return_counts=True)
    banded = m * item + 8 < fill * (item + 8)
    nbytes = np.where(banded, m * item + 8, fill * (item + 8)).sum() + 8 * (m + 1)
    return diagonals.stored(a.shape, offsets[banded]) + fill[~banded].sum(), nbytes


def draw(case, dense, mask):
    """Return parts for the constructor, with any diagonals in the bands."""
    offsets = [k for k in range(1 - len(dense), dense.shape[1]) if case.chance(0.3)] if dense.size else []
    banded = np.isin(np.subtract.outer(-np.arange(len(dense)), -np.arange(dense.shape[1])), offsets)
    rows = np.full((len(offsets), len(dense)), case.pick([np.nan, 7, 0]), dense.dtype)
    for d, k in enumerate(offsets):
        inside = np.arange(max(0, -k), min(len(dense), dense.shape[1] - k))
        rows[d, inside] = np.where(mask, dense, 0)[inside, inside + k]
    rest, columns, pointers = layouts.compressed(dense, mask & ~banded, False)
    lines = np.repeat(np.arange(len(dense)), np.diff(pointers))
    return (np.concatenate([rows.ravel(), rest]), np.array(offsets, np.int64), lines, columns, pointers), {}
