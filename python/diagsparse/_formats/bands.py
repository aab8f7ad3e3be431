"""Which diagonals are stored as bands, and what a quasi-band matrix looks like.

Everything here follows from how many entries lie on each diagonal. The rule by occupancy and the properties are those
of Vooturi and Kothapalli, "Parallel Algorithm for Quasi-Band Matrix-Matrix Multiplication" (2016), sections 2 and 3.1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

DIA_OCC, BAND_OCC = 0.5, 0.4  # the thresholds of the paper
Offsets = NDArray[np.int64]


@dataclass(frozen=True)
class BandProperties:
    """The paper's properties of a matrix whose bands are a given set of diagonals; bands are neighbouring diagonals."""

    nnz_percentage: float  # entries, of all places of the matrix
    band_percentage: float  # entries in the bands, of all entries
    band_occupancy: float  # entries in the bands, of the places in the bands
    band_count: int
    diagonal_count: int
    band_spread: float  # distances between the middles of every two bands, summed, in percent of the columns


def lengths(shape: tuple[int, int], offsets: Offsets) -> NDArray[np.int64]:
    """Return the lengths of diagonals, 0 outside of a matrix of this shape."""
    m, n = shape
    found: NDArray[np.int64] = np.minimum(m, n - offsets) - np.maximum(0, -offsets)
    return found.clip(0)


def by_bytes(rows: int, itemsize: int, offsets: Offsets, fill: NDArray[np.int64]) -> Offsets:
    """Return the diagonals that take fewer bytes as rows of `dia` than entry by entry in `coosr`.

    Each diagonal stands for itself, so no other choice takes fewer bytes.

    >>> import numpy as np
    >>> by_bytes(6, 8, np.array([-1, 0, 3]), np.array([4, 6, 3]))  # 56 bytes each, or 16 an entry
    array([-1,  0])
    """
    return offsets[rows * itemsize + 8 < fill * (itemsize + 8)]


def by_occupancy(
    rows: int, offsets: Offsets, fill: NDArray[np.int64], dia_occ: float = DIA_OCC, band_occ: float = BAND_OCC
) -> Offsets:
    """Return the diagonals of the bands that the paper's rule finds, ascending.

    A pivot is a diagonal with more than ``dia_occ rows`` entries. The fullest pivot starts a band (of equal ones that
    which lies nearest to the main diagonal, and below it). It takes its neighbours on the left and on the right in
    turns, while it holds more than ``band_occ`` times the rows of its diagonals with the neighbour. It ends at
    diagonals without entries, and at other bands. The fullest pivot that is left starts the next one.

    >>> import numpy as np
    >>> by_occupancy(10, np.array([-2, -1, 0, 5, 6]), np.array([1, 5, 10, 3, 2]))
    array([-2, -1,  0])
    """
    pivots = np.flatnonzero(fill > dia_occ * rows)
    order = np.lexsort((offsets[pivots], abs(offsets[pivots]), -fill[pivots]))
    in_band, growing = np.zeros(len(offsets), bool), _Growing(rows, offsets, fill, band_occ)
    for pivot in pivots[order].tolist():
        if not in_band[pivot]:
            first, last = growing.band(pivot, in_band)
            in_band[first : last + 1] = True
    return offsets[in_band]


class _Growing:
    """Grows bands diagonal by diagonal; bands are few and hold many entries, so this takes few steps."""

    def __init__(self, rows: int, offsets: Offsets, fill: NDArray[np.int64], band_occ: float) -> None:
        self._least, self._fill = band_occ * rows, fill
        joined = np.diff(offsets) == 1
        self._joined = np.concatenate(([False], joined, [False]))  # whether d and the one before it are neighbours

    def band(self, pivot: int, in_band: NDArray[np.bool_]) -> tuple[int, int]:
        """Return the first and the last diagonal of the band of a pivot, by their places in the list."""
        first = last = pivot
        entries = int(self._fill[pivot])
        grows = True
        while grows:
            grows = False
            if self._joined[first] and not in_band[first - 1] and self._above(entries, first - 1, last - first + 2):
                first, grows = first - 1, True
                entries += int(self._fill[first])
            if self._joined[last + 1] and not in_band[last + 1] and self._above(entries, last + 1, last - first + 2):
                last, grows = last + 1, True
                entries += int(self._fill[last])
        return first, last

    def _above(self, entries: int, neighbour: int, diagonals: int) -> bool:
        return bool(entries + self._fill[neighbour] > self._least * diagonals)


def bands_of(chosen: Offsets) -> list[tuple[int, int]]:
    """Return the first and the last offset of every band that these diagonals make, which are ascending.

    >>> import numpy as np
    >>> bands_of(np.array([-5, -1, 0, 1]))
    [(-5, -5), (-1, 1)]
    """
    if not len(chosen):
        return []
    ends = np.flatnonzero(np.diff(chosen) > 1)
    first, last = chosen[np.concatenate(([0], ends + 1))], chosen[np.concatenate((ends, [-1]))]
    return list(zip(first.tolist(), last.tolist(), strict=True))


def entries_on(chosen: Offsets, offsets: Offsets, fill: NDArray[np.int64]) -> int:
    """Return how many entries lie on the chosen diagonals; `offsets` are those that hold any."""
    return int(fill[np.isin(offsets, chosen, assume_unique=True)].sum())


def properties(shape: tuple[int, int], offsets: Offsets, fill: NDArray[np.int64], chosen: Offsets) -> BandProperties:
    """Return the paper's properties of a matrix with so many entries on its diagonals, and these as its bands.

    >>> import numpy as np
    >>> properties((4, 4), np.array([-2, 0, 1]), np.array([1, 4, 3]), np.array([0, 1]))  # doctest: +ELLIPSIS
    BandProperties(nnz_percentage=50.0, band_percentage=87.5, band_occupancy=100.0, band_count=1, diagonal_count=2, ...)
    """
    entries, inside = int(fill.sum()), entries_on(chosen, offsets, fill)
    found = bands_of(chosen)
    middles = [(first + last) / 2 for first, last in found]  # of the k-th, k bands lie before it
    spread = sum((2 * k - len(found) + 1) * middle for k, middle in enumerate(middles))
    return BandProperties(
        nnz_percentage=100 * entries / max(1, shape[0] * shape[1]),
        band_percentage=100 * inside / max(1, entries),
        band_occupancy=100 * inside / max(1, int(lengths(shape, chosen).sum())),
        band_count=len(found),
        diagonal_count=len(chosen),
        band_spread=100 * spread / max(1, shape[1]),
    )
