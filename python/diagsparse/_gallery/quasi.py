"""Quasi-band matrices: bands of nearly full diagonals, and a remainder outside of the bands."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .arguments import Dtype, Format, Seed, checked_dtype, gallery_function, require_fraction, whole_number
from .construction import as_format, random_values, require_memory_for_entries

Layout = Callable[[int, NDArray[np.bool_]], NDArray[np.int64]]
"""A function that returns the positions of the remainder, as ``row n + column``, for an order n and an array that
states for each offset from -n on whether this diagonal belongs to a band."""

_MOST_BANDS = 8  # largest random number of bands


@gallery_function
def quasi_band(
    n: int,
    nnz_percentage: float = 0.5,
    band_percentage: float = 95.0,
    band_occupancy: float = 80.0,
    band_count: int | None = None,
    layout: str = "random",
    *,
    reach: float = 0.25,
    dtype: Dtype = float,
    seed: Seed = None,
    format: Format = None,
) -> Any:
    """Return a random quasi-band matrix: bands of diagonals, and a rest that does not lie on them.

    The parameters are the properties in Vooturi and Kothapalli, "Parallel Algorithm for Quasi-Band Matrix-Matrix
    Multiplication", 2016, with the defaults of its synthetic matrices, for which n is 16000. The numbers of nonzeros
    are exact. The occupancy is as close as possible with a whole number of diagonals.

    Parameters
    ----------
    nnz_percentage : float
        Nonzeros in percent of all n^2 elements.
    band_percentage : float
        Nonzeros on the diagonals of the bands, in percent of all nonzeros.
    band_occupancy : float
        Nonzeros on the diagonals of the bands, in percent of the elements of these diagonals.
    band_count : int, optional
        Number of bands, with approximately equal numbers of diagonals; by default a random number from 1 to 8. There is
        at least one other diagonal between two bands.
    layout : {"random", "row_block", "column_block"}
        Positions of the rest: at random, or in neighbouring rows or columns, which are full except for the bands.
    reach : float
        Fraction of n that limits the offsets of the bands, which are random.

    Returns
    -------
    csr_array, shape (n, n)

    Raises
    ------
    ValueError
        If a matrix with these properties does not exist.

    Examples
    --------
    >>> from diagsparse import gallery
    >>> A = gallery.quasi_band(1000, 2.0, band_count=3, seed=0)
    >>> A.nnz
    20000
    """
    n, dtype = whole_number("n", n, "an order"), checked_dtype(dtype)
    given = {"nnz_percentage": nnz_percentage, "band_percentage": band_percentage, "band_occupancy": band_occupancy}
    for name, percentage in given.items():
        if not 0 <= percentage <= 100:
            raise ValueError(f"{name} is {percentage}, expected 0 to 100")
    if layout not in _LAYOUTS:
        expected = ", ".join(f'"{name}"' for name in _LAYOUTS)
        raise ValueError(f"layout is {layout!r}, expected one of {expected}")
    require_fraction("reach", reach, "n")
    rng = np.random.default_rng(seed)
    nnz = round(n * n * nnz_percentage / 100)
    inside = round(nnz * band_percentage / 100)
    if inside and not band_occupancy:
        raise ValueError(f"band_occupancy is 0, but the bands contain {inside} nonzeros")
    count = None if band_count is None else whole_number("band_count", band_count, "a count")
    if inside and count == 0:
        raise ValueError(f"band_count is 0, but the bands contain {inside} nonzeros")
    require_memory_for_entries(nnz, dtype)
    positions = inside / band_occupancy * 100 if inside else 0.0
    offsets = drawn_bands(n, positions, inside, count, min(n - 1, int(reach * n)), rng) if inside else np.zeros(0, int)
    rest = partial(_LAYOUTS[layout], count=nnz - inside, rng=rng)
    return as_format(on_bands(n, offsets, inside, rest, dtype, rng), format)


def drawn_bands(
    n: int, positions: float, least: int, count: int | None, reach: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the offsets of random bands, ascending, with about `positions` elements, but at least `least`."""
    drawn = int(rng.integers(1, _MOST_BANDS + 1)) if count is None else count
    where = rng.random(drawn)  # position of each band in the free space
    best = None
    for diagonals in _near(positions, range(1, 2 * reach + 2), lambda d: _total(n, _spread(d, where[:d], reach))):
        bands = min(diagonals, drawn)
        if bands < (count or 0) or diagonals + bands - 1 > 2 * reach + 1:
            continue
        offsets = _spread(diagonals, where[:bands], reach)
        total = _total(n, offsets)
        if total >= least and (best is None or abs(total - positions) < abs(_total(n, best) - positions)):
            best = offsets
    if best is None or abs(_total(n, best) - positions) > n:  # more than a diagonal
        requested = f"{count or 'some'} bands with {least} nonzeros among {round(positions)} elements"
        raise ValueError(f"{requested} do not fit on the {2 * reach + 1} diagonals from {-reach} to {reach}")
    return best


def _near(positions: float, diagonals: range, total: Callable[[int], int]) -> range:
    """Return the numbers of diagonals for which `total` is close to `positions`."""
    nearest = bisect_left(diagonals, positions, key=total)  # total increases, except for rounding
    return diagonals[max(0, nearest - 3) : nearest + 4]


def _spread(diagonals: int, where: NDArray[np.float64], reach: int) -> NDArray[np.int64]:
    """Return the offsets of `diagonals` diagonals in bands; `where` is the position of each band in the free space."""
    bands = len(where)
    widths = np.diff(np.arange(bands + 1) * diagonals // bands)
    free = max(0, 2 * reach + 1 - diagonals - (bands - 1))
    starts = (np.sort(where) * (free + 1)).astype(np.int64) + np.cumsum(widths) - widths + np.arange(bands) - reach
    return np.concatenate([np.arange(start, start + width) for start, width in zip(starts, widths, strict=True)])


def _total(n: int, offsets: NDArray[np.int64]) -> int:
    return int((n - abs(offsets)).clip(0).sum())


# ---- nonzeros -----------------------------------------------------------------------------------------------------
def on_bands(
    n: int, offsets: NDArray[np.int64], inside: int, rest: Layout, dtype: np.dtype[Any], rng: np.random.Generator,
    weights: NDArray[np.float64] | None = None,
) -> sparse.csr_array:  # fmt: skip
    """Return a matrix with `inside` nonzeros on these diagonals, and the `rest` outside of them.

    All diagonals are equally full, or in proportion to their weights, which must leave room for all nonzeros.
    """
    banded = np.zeros(2 * n, bool)  # for each offset from -n on
    banded[offsets + n] = True
    keys = np.concatenate([*_on_diagonals(n, offsets, inside, rng, weights), rest(n, banded)])
    keys.sort()
    index = np.int32 if len(keys) < 2**31 else np.int64
    indptr = np.searchsorted(keys, np.arange(n + 1) * n).astype(index)
    parts = random_values(len(keys), dtype, rng), (keys % max(1, n)).astype(index), indptr
    return sparse.csr_array(parts, shape=(n, n))


def _on_diagonals(
    n: int, offsets: NDArray[np.int64], count: int, rng: np.random.Generator, weights: NDArray[np.float64] | None
) -> list[NDArray[np.int64]]:
    """Return `count` positions on these diagonals, as ``row n + column``, in proportion to length times weight."""
    lengths = n - abs(offsets)
    weighted = lengths if weights is None else lengths * weights
    shares = np.cumsum(np.concatenate(([0], weighted))) / max(1, weighted.sum())
    counts = np.diff(np.rint(shares * count).astype(np.int64))
    return [
        max(0, -k) * n + max(0, k) + (n + 1) * rng.choice(length, some, replace=False, shuffle=False)
        for k, length, some in zip(offsets.tolist(), lengths.tolist(), counts.tolist(), strict=True)
    ]


def anywhere(n: int, banded: NDArray[np.bool_], count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return `count` random positions outside of the bands."""
    free = n * n - _total(n, np.flatnonzero(banded) - n)
    _room(count, free)
    if 2 * count > free:  # most of them: one pass over all positions is faster than many attempts
        every = np.arange(n * n)
        return rng.choice(every[~banded[every % n - every // n + n]], count, replace=False, shuffle=False)
    positions = np.zeros(0, np.int64)
    while len(positions) < count:
        tried = rng.integers(0, n * n, int(1.1 * (count - len(positions)) * n * n / free) + 16)
        tried = tried[~banded[tried % n - tried // n + n]]
        positions = np.unique(np.concatenate((positions, tried)))
    return rng.choice(positions, count, replace=False, shuffle=False)


def _row_block(n: int, banded: NDArray[np.bool_], count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return `count` positions outside of the bands that fill neighbouring rows."""
    rows, columns = _block(n, banded, count, rng)
    return rows * n + columns


def _column_block(n: int, banded: NDArray[np.bool_], count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return `count` positions outside of the bands that fill neighbouring columns, the rows of the transpose."""
    mirrored = np.concatenate((banded[:1], banded[:0:-1]))
    columns, rows = _block(n, mirrored, count, rng)
    return rows * n + columns


def _block(n: int, banded: NDArray[np.bool_], count: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return the rows and columns of `count` positions outside of the bands; all rows but the last one are full."""
    each = n - int(np.count_nonzero(banded))
    needed = -(-count // each) if each > 0 else n  # number of rows, if all of these diagonals cross them
    first = int(rng.integers(0, max(1, n - needed + 1)))
    rows, columns = np.nonzero(~banded[np.arange(n) - np.arange(first, min(n, first + needed))[:, None] + n])
    _room(count, len(rows))
    return first + rows[:count], columns[:count]


def _room(count: int, free: int) -> None:
    if count > free:
        raise ValueError(f"{count} nonzeros outside of the bands, which have only {free} elements")


_LAYOUTS = {"random": anywhere, "row_block": _row_block, "column_block": _column_block}
