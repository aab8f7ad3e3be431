"""The matrices in tables 2 and 3 of the paper that introduced qband: the printed properties, and stand-ins.

A stand-in has the printed numbers of rows, nonzeros, bands and diagonals, and the printed distances of bands. Bands are
fuller in the middle, as the paper's rule for bands requires for a pivot. The positions of the remainder follow the
paper where it states them: Chebyshev3 has them in the first four rows, and trdheim within 531 diagonals. For matrices
from meshes, they are in strips along the main diagonal at varying distances; for Sieber, they are random.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diagsparse._formats import bands
from diagsparse._gallery import quasi

_RUNS = 16  #: number of distances of a strip, each for the same number of rows
_FULLER = 0.3  #: largest difference between the occupancy of a band in its middle and on average


@dataclass(frozen=True)
class Printed:
    """The printed properties of a matrix in tables 2 and 3, and the positions of the nonzeros outside of the bands."""

    name: str
    rows: int
    nnz: int
    outside: int  #: nonzeros outside of the bands
    bands: int
    diagonals: int
    occupancy: float
    spread: float | None = None
    percentage: float | None = None
    first_rows: int = 0  #: number of first rows that contain the remainder, from the text of the paper
    within: int = 0  #: number of diagonals on each side of the main one that contain the remainder
    mesh: bool = True  #: whether the remainder is in strips, otherwise at random

    @property
    def where(self) -> str:
        """Description of the positions of the remainder of the stand-in; "" without a remainder."""
        if not self.outside:
            return ""
        if self.first_rows:
            return f"in the first {self.first_rows} rows (paper)"
        if self.within:
            return f"strips within {self.within} diagonals (paper)"
        return "strips (assumed)" if self.mesh else "anywhere (assumed)"


TABLES = {
    "table 2": (
        Printed("fv1", 9604, 85_264, 0, 3, 9, 99.32, 4.08),
        Printed("nasa2146", 2146, 72_250, 0, 3, 45, 76.63, 13.79),
        Printed("epb1", 14_734, 95_053, 0, 3, 11, 58.96, 3.77),
        Printed("af23560", 23_560, 484_000, 0, 5, 33, 62.5, 12.9),
        Printed("crystm03", 24_696, 583_000, 0, 27, 39, 88.8, 689.21),
        Printed("denormal", 89_400, 1_156_000, 0, 5, 13, 99.75, 6.67),
        Printed("pcrystk03", 24_696, 1_751_000, 0, 9, 99, 72.66, 76.53),
        Printed("windscreen", 22_692, 1_482_000, 0, 9, 99, 79.36, 909.68),
        Printed("nemeth21", 9506, 1_173_000, 0, 1, 169, 73.39, 0.0),
    ),
    "table 3": (
        Printed("Sieber", 2290, 15_000, 8_000, 1, 5, 60.02, None, 46.18, mesh=False),
        Printed("Chebyshev3", 4101, 37_000, 16_000, 1, 9, 44.43, None, 55.59, first_rows=4),
        Printed("matrix_9", 103_430, 2_000_000, 9_500, 5, 31, 66.73, None, 99.55),
        Printed("PR02R", 161_070, 8_200_000, 61_000, 5, 108, 47.0, None, 99.25),
        Printed("pwtk", 217_918, 11_000_000, 2_100_000, 3, 71, 61.31, None, 81.46),
        Printed("raefsky3", 21_200, 1_500_000, 34_000, 3, 93, 75.48, None, 97.71),
        Printed("af_shell9", 504_855, 18_000_000, 10_000_000, 1, 25, 59.83, None, 42.93),
        Printed("heart1", 3557, 1_400_000, 950_000, 1, 239, 52.32, None, 31.51),
        Printed("trdheim", 22_098, 1_900_000, 1_400_000, 1, 35, 64.88, None, 25.92, within=531),
        Printed("cegb2802", 2802, 277_000, 156_000, 1, 67, 65.0, None, 43.73),
    ),
}


def stand_in(printed: Printed, scale: float = 1.0) -> tuple[Any, NDArray[np.int64]]:
    """Return a matrix with the printed properties and `scale` times the rows, and the offsets of its bands."""
    n = max(4 * printed.diagonals, round(printed.rows * scale))
    offsets, weights = _bands(printed, n)
    positions = int(bands.lengths((n, n), offsets).sum())
    inside = min(positions, round((printed.nnz - printed.outside) * n / printed.rows))
    full = inside / positions
    weights = full + min(_FULLER, 0.9 * (1 - full)) * weights
    rng = np.random.default_rng(0)
    rest = partial(_rest(printed, n), count=round(printed.outside * n / printed.rows), rng=rng)
    return quasi.on_bands(n, offsets, inside, rest, np.dtype(np.float64), rng, weights), offsets


def _bands(printed: Printed, n: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the offsets of equidistant bands, and weights from 1 in the middle of a band to -1 at its sides."""
    count, diagonals = printed.bands, printed.diagonals
    pairs = count * (count * count - 1) / 6  # the sum of distances, if neighbours have distance 1
    apart = printed.spread / 100 * n / pairs if printed.spread and pairs else n / (4 * count)
    widths = np.diff(np.arange(count + 1) * diagonals // count)
    apart = max(apart, int(widths.max()) + 1)
    starts = np.rint((np.arange(count) - (count - 1) / 2) * apart).astype(int) - widths // 2
    offsets = [start + np.arange(width) for start, width in zip(starts, widths, strict=True)]
    middle = [1 - 2 * abs(2 * np.arange(width) + 1 - width) / width for width in widths]
    return np.concatenate(offsets), np.concatenate(middle)


# ---- the remainder-------------------------------------------------------------------------------------------------
def _rest(printed: Printed, n: int) -> Any:
    """Return a `quasi.Layout` with the additional arguments `count` and `rng`, which returns random positions."""
    if printed.first_rows:
        return partial(_in_first_rows, rows=printed.first_rows)
    if printed.mesh:
        return partial(_in_strips, reach=min(n - 1, printed.within or n // 4))
    return quasi.anywhere


def _in_first_rows(
    n: int, banded: NDArray[np.bool_], count: int, rng: np.random.Generator, rows: int
) -> NDArray[np.int64]:
    """Return `count` positions outside of the bands in the first rows."""
    row, column = np.nonzero(~banded[np.arange(n) - np.arange(rows)[:, None] + n])
    return rng.choice(row * n + column, min(count, len(row)), replace=False, shuffle=False)


def _in_strips(
    n: int, banded: NDArray[np.bool_], count: int, rng: np.random.Generator, reach: int
) -> NDArray[np.int64]:
    """Return `count` positions outside of the bands, in two mirrored strips of columns within `reach` diagonals.

    Matrices from meshes look like this: the distance to the next line of the mesh varies from line to line. Diagonals
    next to a band remain empty, because they would extend the band.
    """
    free = ~(banded | np.roll(banded, 1) | np.roll(banded, -1))
    first = int(np.argmax(free[n:]))  # next to the band of the main diagonal
    rows = np.arange(n)
    length = -(-n // _RUNS)
    where = rng.random(-(-n // length))  # position of each run of rows in the free space of its strip
    width = count // (2 * n) + 1
    while True:
        distances = (first + where * max(1, reach - width - first + 1)).astype(np.int64)
        column = (rows + np.repeat(distances, length)[:n])[:, None] + np.arange(width)
        step = column - rows[:, None]
        inside = (column < n) & (step <= reach)
        row = np.broadcast_to(rows[:, None], column.shape)
        upper = inside & free[np.minimum(step, n - 1) + n]
        lower = inside & free[n - np.minimum(step, n - 1)]
        keys = np.concatenate((row[upper] * n + column[upper], column[lower] * n + row[lower]))
        if len(keys) >= count or width > reach:
            return rng.choice(keys, min(count, len(keys)), replace=False, shuffle=False)
        width += max(1, width // 4)
