"""The choice of the diagonals that a quasi-band matrix stores as bands, and properties of such matrices.

Everything follows from the number of entries of each diagonal. The rule by occupancy and the properties are those of
Vooturi and Kothapalli, "Parallel Algorithm for Quasi-Band Matrix-Matrix Multiplication" (2016), sections 2 and 3.1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

DIA_OCC, BAND_OCC = 0.5, 0.4  # the thresholds of the paper
Offsets = NDArray[np.int64]


@dataclass(frozen=True)
class BandProperties:
    """The paper's properties of a matrix for a given set of band diagonals; a band is a run of adjacent diagonals.

    Attributes
    ----------
    nnz_percentage : float
        The entries divided by the elements of the matrix, in percent.
    band_percentage : float
        The entries in the bands divided by all entries, in percent.
    band_occupancy : float
        The entries in the bands divided by the elements of the bands, in percent.
    band_count, diagonal_count : int
        The number of bands, and of diagonals in them.
    band_spread : float
        The sum of the distances between the centres of all pairs of bands, in percent of the number of columns.
    """

    nnz_percentage: float
    band_percentage: float
    band_occupancy: float
    band_count: int
    diagonal_count: int
    band_spread: float


def lengths(shape: tuple[int, int], offsets: Offsets) -> NDArray[np.int64]:
    """Return the lengths of diagonals, 0 outside of a matrix of this shape."""
    m, n = shape
    length: NDArray[np.int64] = np.minimum(m, n - offsets) - np.maximum(0, -offsets)
    return np.maximum(0, length)


def by_bytes(rows: int, itemsize: int, offsets: Offsets, fill: NDArray[np.int64]) -> Offsets:
    """Return the diagonals that need fewer bytes as rows of `dia` than as entries of `coosr`.

    The diagonals are independent, so no other choice needs fewer bytes.

    >>> import numpy as np
    >>> by_bytes(6, 8, np.array([-1, 0, 3]), np.array([4, 6, 3]))  # 56 bytes each, or 16 per entry
    array([-1,  0])
    """
    return offsets[rows * itemsize + 8 < fill * (itemsize + 8)]


def by_occupancy(
    rows: int, offsets: Offsets, fill: NDArray[np.int64], dia_occ: float = DIA_OCC, band_occ: float = BAND_OCC
) -> Offsets:
    """Return the diagonals of the bands that the paper's rule chooses, ascending.

    A pivot is a diagonal with more than ``dia_occ rows`` entries. The fullest pivot starts a band (of equal ones, the
    one closest to the main diagonal, and below rather than above it). The band is extended alternately to the left and
    to the right, as long as it then has more than ``band_occ rows`` entries per diagonal. It ends at diagonals without
    entries, and at other bands. The fullest remaining pivot starts the next band.

    >>> import numpy as np
    >>> by_occupancy(10, np.array([-2, -1, 0, 5, 6]), np.array([1, 5, 10, 3, 2]))
    array([-2, -1,  0])
    """
    pivots = np.flatnonzero(fill > dia_occ * rows)
    order = np.lexsort((offsets[pivots], abs(offsets[pivots]), -fill[pivots]))
    in_band = np.zeros(len(offsets), bool)
    for pivot in pivots[order].tolist():
        if not in_band[pivot]:
            first, last = _band(pivot, offsets, fill, in_band, band_occ * rows)
            in_band[first : last + 1] = True
    return offsets[in_band]


def _band(
    pivot: int, offsets: Offsets, fill: NDArray[np.int64], in_band: NDArray[np.bool_], least: float
) -> tuple[int, int]:
    """Return the indices of the first and the last diagonal of the band of a pivot; `least` entries per diagonal."""
    first = last = pivot
    entries, grows = int(fill[pivot]), True
    while grows:  # few steps, because there are few bands with many entries
        grows = False
        for end, step in ((first, -1), (last, 1)):
            new = end + step
            adjacent = 0 <= new < len(offsets) and offsets[new] - offsets[end] == step
            if adjacent and not in_band[new] and entries + fill[new] > least * (last - first + 2):
                first, last, grows = min(first, new), max(last, new), True
                entries += int(fill[new])
    return first, last


def bands_of(chosen: Offsets) -> list[tuple[int, int]]:
    """Return the first and the last offset of every run of adjacent diagonals; `chosen` is ascending.

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
    """Return the number of entries on the chosen diagonals; `offsets` are those that have entries, ascending."""
    if not len(chosen):
        return 0
    position = np.searchsorted(offsets, chosen)
    inside = position < len(offsets)
    position = position[inside]
    return int(fill[position[offsets[position] == chosen[inside]]].sum())


def properties(shape: tuple[int, int], offsets: Offsets, fill: NDArray[np.int64], chosen: Offsets) -> BandProperties:
    """Return the paper's properties of a matrix with these entries per diagonal, for the chosen band diagonals.

    >>> import numpy as np
    >>> properties((4, 4), np.array([-2, 0, 1]), np.array([1, 4, 3]), np.array([0, 1]))  # doctest: +ELLIPSIS
    BandProperties(nnz_percentage=50.0, band_percentage=87.5, band_occupancy=100.0, band_count=1, diagonal_count=2, ...)
    """
    entries, inside = int(fill.sum()), entries_on(chosen, offsets, fill)
    bands = bands_of(chosen)
    centres = [(first + last) / 2 for first, last in bands]
    spread = sum((2 * k - len(bands) + 1) * centre for k, centre in enumerate(centres))  # of |centre - centre|
    return BandProperties(
        nnz_percentage=100 * entries / max(1, shape[0] * shape[1]),
        band_percentage=100 * inside / max(1, entries),
        band_occupancy=100 * inside / max(1, int(lengths(shape, chosen).sum())),
        band_count=len(bands),
        diagonal_count=len(chosen),
        band_spread=100 * spread / max(1, shape[1]),
    )
