"""Component arrays of formats, built from a dense array by the definitions in ``docs/formats``, not by the library."""

import numpy as np

from fuzz.case import Case


def reach(shape: tuple[int, int]) -> np.ndarray:
    """Return the offset of every element."""
    return np.subtract.outer(np.arange(shape[1]), np.arange(shape[0])).T


def offsets_of(mask: np.ndarray) -> list[int]:
    """Return the offsets of the diagonals on which something is set."""
    return np.unique(reach(mask.shape)[mask]).tolist()


def dia(case: Case, dense: np.ndarray, offsets: list[int]) -> tuple[np.ndarray, list[int]]:
    """Return values, offsets in any order; what is padding may be anything."""
    case.chance_of.shuffle(offsets)
    values = np.full((len(offsets), dense.shape[0]), case.pick([np.nan, 7, 0]), dense.dtype)
    for row, k in zip(values, offsets, strict=True):
        diagonal = dense.diagonal(k)
        row[max(0, -k) : max(0, -k) + len(diagonal)] = diagonal
    return values, offsets


def hm(case: Case, dense: np.ndarray, offsets: list[int]) -> tuple[np.ndarray, list[int]]:
    """Return values, offsets: the main diagonal, those above it ascending, those below it descending."""
    order = sorted(k for k in offsets if k >= 0) + sorted((k for k in offsets if k < 0), reverse=True)
    return np.concatenate([np.zeros(0, dense.dtype), *(dense.diagonal(k) for k in order)]), order


def cdm(case: Case, dense: np.ndarray, offsets: list[int]) -> tuple[np.ndarray, list[int]]:
    """Return values, rows in any order; a row holds both of its diagonals."""
    n = dense.shape[0]
    rows = sorted({k % n for k in offsets}) if n else []
    case.chance_of.shuffle(rows)
    i = np.arange(n)
    return np.array([dense[i, (i + k) % n] for k in rows], dense.dtype).reshape(len(rows), n), rows


def entries(case: Case, dense: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Return values, (rows, columns) in any order, some entries in two halves."""
    i, j = np.nonzero(mask)
    values = dense[i, j]
    if case.chance(0.3):
        split = np.isfinite(values) & (case.rng.random(len(values)) < 0.3)
        values[split] /= 2
        i, j, values = (np.concatenate([a, a[split]]) for a in (i, j, values))
    if case.chance(0.5):
        order = case.rng.permutation(len(values))
        i, j, values = i[order], j[order], values[order]
    kind = case.pick([np.int32, np.int64, np.uint16])
    return values, (i.astype(kind), j.astype(kind))


def compressed(dense: np.ndarray, mask: np.ndarray, by_columns: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return values, indices, indptr by rows or by columns."""
    if by_columns:
        dense, mask = dense.T, mask.T
    i, j = np.nonzero(mask)
    return dense[i, j], j.astype(np.int32), np.concatenate([[0], np.cumsum(mask.sum(axis=1))]).astype(np.int64)


def by_column(case: Case, dense: np.ndarray, offsets: list[int]) -> tuple[np.ndarray, list[int]]:
    """Return values, offsets as SciPy aligns diagonals: ``values[d, j] = A[j - offsets[d], j]``, of any width."""
    values, offsets = dia(case, dense.T, [-k for k in offsets])
    width = case.pick([values.shape[1], max((n + k for k, n in spans(dense.shape, offsets)), default=0)])
    return values[:, :width] if width else values, [-k for k in offsets]


def spans(shape: tuple[int, int], offsets: list[int]) -> list[tuple[int, int]]:
    """Return the first row and the length of these diagonals of the transpose."""
    n, m = shape[1], shape[0]
    return [(max(0, -k), max(0, min(n - max(0, -k), m - max(0, k)))) for k in offsets]
