"""What advice asks of a matrix: forecasts' facts, of which the costly ones are estimated, and what products go through.

Nothing is found before somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from math import lcm
from typing import Any, NamedTuple, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._formats import bands
from .._matrix.base import SparseArray
from .._matrix.registry import FORMATS
from .._matrix.summary import BLOCK, Summary
from .._places.backend import CPU
from .costs import Counts
from .sample import Sample

_HOLLOW = 40  # times as many places as entries: beyond that no diagonals pay, and nobody looks for all of them
_ASKED = 64  # entries that are asked for their mirror images before all are
_BLOCK = 8192  # rows of a block
_MULTIPLIED = 32  # rows whose products are looked at
_NEIGHBOURS = 64  # distances of neighbours in a grid, at most
_FEW = 256, 2048  # rows that are looked at for a period; where more than half of a diagonal differs, there is none
DIAGONALS = ("dia", "hm", "cdm")


class Walk(NamedTuple):
    """What depends on the layout of what a product goes through; as in `Counts`."""

    places: float
    pieces: float
    steps: float
    lines: float


class Survey:
    """A matrix in csr, which is no view."""

    def __init__(self, csr: SparseArray) -> None:
        self.csr, self.exact = csr, csr._summary()
        self._sums: dict[bytes, int] = {}

    @cached_property
    def sample(self) -> Sample:
        """What some thousand entries tell."""
        return Sample.of(self.csr)

    @cached_property
    def of_diagonals(self) -> bool:
        """Whether a format of diagonals may pay: not where some rows, or then all, tell of far too many."""
        few = _HOLLOW * self.csr.nnz / max(1, self.csr.shape[0])
        return len(self.sample.offsets) <= few and len(self.exact.offsets) <= few

    @cached_property
    def summary(self) -> Summary:
        """The facts of the whole matrix: all offsets where diagonals may pay, else those of the sample."""
        exact, sample = self.exact, self.sample
        offsets, fill = sample.offsets, sample.fill
        if self.of_diagonals:
            offsets = exact.offsets
            fill = np.ones(len(offsets), np.int64)
            fill[np.searchsorted(offsets, sample.offsets)] = sample.fill
            fill = np.minimum(fill, bands.lengths(exact.shape, offsets))
        return Summary(
            exact.shape, exact.itemsize, exact.stored, entries=lambda: exact.entries, offsets=lambda: offsets,
            fill=lambda: fill, row_lengths=lambda: exact.row_lengths, leading=exact.leading,
            blocks=lambda size: sample.blocks if size == BLOCK else exact.blocks(size),
            slices=exact.places_in_slices, symmetry=lambda: self.symmetry,
        )  # fmt: skip

    @cached_property
    def diagonal_places(self) -> int:
        """Elements on the occupied diagonals."""
        return int(bands.lengths(self.csr.shape, self.summary.offsets).sum())

    @cached_property
    def symmetry(self) -> str | None:
        """``"symmetric"`` or ``"hermitian"``, or None; a few entries are asked before all are."""
        m, n = self.csr.shape
        if m != n or (self.csr._place is CPU and not self._few_are_mirrored()):
            return None
        return found if (found := self.exact.symmetry) in ("symmetric", "hermitian") else None

    def _few_are_mirrored(self) -> bool:
        """Return whether entries here and there have a mirror image that may be theirs."""
        parts = self.csr._matrix.parts()
        indptr, indices, values = parts["indptr"], parts["indices"], parts["values"]
        places = np.linspace(0, max(0, len(values) - 1), min(_ASKED, len(values))).astype(np.int64)
        for e, i in zip(places, np.searchsorted(indptr, places, side="right") - 1, strict=True):
            first, last = indptr[indices[e]], indptr[indices[e] + 1]
            at = first + np.searchsorted(indices[first:last], i)
            if at == last or indices[at] != i or abs(values[at]) != abs(values[e]):
                return bool(values[e] == 0)
        return True

    @cached_property
    def period(self) -> int | None:
        """The rows after which every diagonal repeats, of those that come into question; None: none found."""
        if not self.of_diagonals or not self.csr.nnz:
            return None
        return next((p for p in self._periods() if self.csr._core.repeats_after(self.csr._matrix, p)), None)

    def _periods(self) -> Iterator[int]:
        """Yield what may be a period: that of some rows in the middle, and the distances of neighbours in a grid."""
        m, longest = self.csr.shape[0], 0
        for rows in sorted({min(m, few) for few in _FEW}):
            window = self._window((m - rows) // 2, rows)
            if rows == _FEW[0] and any(len(np.unique(one)) > len(one) // 2 for one in window):
                return
            period = 1
            for one in window:
                period = lcm(period, CPU.core.shortest_period(one))
            if longest < period <= rows // 2:
                yield (longest := period)
        offsets = np.unique(abs(self.summary.offsets))
        if len(offsets) <= _NEIGHBOURS:
            yield from offsets[(offsets > longest) & (offsets <= m // 2)].tolist()

    def _window(self, first: int, rows: int) -> list[NDArray[Any]]:
        """Return the diagonals within some rows, zeros among them, but for those that end there."""
        parts, offsets = self.csr._matrix.parts(), self.exact.offsets
        place = self.csr._place
        indptr = place.host(parts["indptr"][first : first + rows + 1])
        columns = place.host(parts["indices"][indptr[0] : indptr[-1]]).astype(np.int64)
        values = place.host(parts["values"][indptr[0] : indptr[-1]])
        row = np.repeat(np.arange(rows), np.diff(indptr))
        window = np.zeros((len(offsets), rows), values.dtype)
        window[np.searchsorted(offsets, columns - row - first), row] = values
        n = self.csr.shape[1]
        return [
            one for one, k in zip(window, offsets.tolist(), strict=True) if first + k >= 0 and first + rows + k <= n
        ]

    # ---- what products go through -----------------------------------------------------------------
    def at_best(self) -> Counts:
        """Return what a product goes through in a format that adds nothing to the values."""
        (m, n), item = self.csr.shape, self.csr.dtype.itemsize
        nnz = self.csr.nnz
        return Counts(m, nnz, nnz, 0.0, 0.0, 0.0, 0.0, nnz * item, (m + n) * item, item, self.csr.dtype.kind == "c")

    def counts(self, format: str, nbytes: int, **options: Any) -> Counts:
        """Return what a product goes through in a format, in which the matrix takes so many bytes."""
        csr, (m, n) = self.csr, self.csr.shape
        item, turns = csr.dtype.itemsize, self.sample.turns * m
        walk = _WALKS.get(format, Survey._rows)(self, format, options)
        return Counts(m, csr.nnz, *walk, turns, nbytes, (m + n) * item, item, csr.dtype.kind == "c")

    def _rows(self, format: str, options: dict[str, Any]) -> Walk:
        padded = format in ("ell", "sell", "hyb", "ellcsr")
        places = self._padded(format, **options) if padded else float(self.csr.nnz)
        uneven = 1 + self._spread if format == "sell" else 1.0  # long rows of a slice wait for one another's x
        return Walk(places, 0.0, self._longest_row, uneven * self.sample.lines * self.csr.nnz)

    def _diagonals(self, format: str, options: dict[str, Any]) -> Walk:
        """Pieces are the places where diagonals begin or end nearby."""
        places = float(self.diagonal_places)
        return Walk(places, places * self._near_the_ends, self._met(self.summary.offsets), 0.0)

    def _hollow(self, format: str, options: dict[str, Any]) -> Walk:
        """Pieces are masks."""
        return Walk(float(self.csr.nnz), self.csr.nnz * self.sample.masks, self._met(self.summary.offsets), 0.0)

    def _bands_and_rest(self, format: str, options: dict[str, Any]) -> Walk:
        """Pieces are the entries of the rest, and half as much again for each row that has some."""
        (chosen, rest), m = self.bands, self.csr.shape[0]
        return Walk(float(len(chosen) * m), rest + 1.5 * min(m, rest), self._met(chosen), self.sample.lines * rest)

    def _blocks(self, format: str, options: dict[str, Any]) -> Walk:
        """Places are values outside of full blocks, pieces are blocks."""
        nnz, sample = self.csr.nnz, self.sample
        return Walk(nnz * (1 - sample.full), sample.blocks, self._longest_row, sample.lines * nnz)

    @cached_property
    def bands(self) -> tuple[NDArray[np.int64], int]:
        """The diagonals that qband stores as such, and how many entries are the rest."""
        s, made = self.summary, cast(Any, FORMATS["qband"])
        chosen: NDArray[np.int64] = made._shares(s)[0]
        beside = ~np.isin(s.offsets, chosen)
        return chosen, round(self.csr.nnz * float(s.fill[beside].sum()) / max(1, int(s.fill.sum())))

    # ---- what C = A A goes through ----------------------------------------------------------------
    @cached_property
    def useful(self) -> tuple[float, float]:
        """Multiply-adds, and entries of C, as some rows tell; on a GPU, from which rows are slow to fetch, the mean."""
        csr = self.csr
        m = max(1, csr.shape[0])
        if not csr.nnz:
            return 0.0, 0.0
        if csr._place is not CPU:
            return csr.nnz**2 / m, csr.nnz**2 / m / 2
        rows = np.unique(np.linspace(0, m - 1, _MULTIPLIED).astype(int))
        whole = csr.to_scipy()
        pattern = sp.csr_array((np.ones(csr.nnz, np.int8), whole.indices, whole.indptr), shape=csr.shape)
        some = pattern[rows]
        met, made = np.diff(whole.indptr)[some.indices].sum(), some @ pattern
        return float(met) * m / len(rows), float(made.nnz) * m / len(rows)

    def sums_of(self, offsets: NDArray[np.int64]) -> int:
        """Return how many diagonals the product of some diagonals with themselves has."""
        key = offsets.tobytes()
        if key not in self._sums:
            self._sums[key] = len(np.unique(offsets[:, np.newaxis] + offsets))
        return self._sums[key]

    def _padded(self, format: str, **options: Any) -> float:
        """Return the places that a format of rows has, its padding among them."""
        made: Any = FORMATS[format]
        return float(made._places(self.summary, **options))

    def _met(self, offsets: NDArray[np.int64]) -> int:
        """Return how many diagonals a thread of a GPU goes through; on a CPU all blocks of rows, each meeting all."""
        return len(offsets) * (max(1, self.csr.shape[0] // _BLOCK) if self.csr._place is CPU else 1)

    @cached_property
    def _longest_row(self) -> float:
        """The steps of the thread with the longest row; on a CPU threads share rows out, and nobody asks."""
        return 0.0 if self.csr._place is CPU else float(self.exact.longest_row)

    @cached_property
    def _spread(self) -> float:
        """How much the lengths of the rows differ: their standard deviation over their mean."""
        lengths, rows = self.exact.row_lengths.T
        mean = self.csr.nnz / max(1, self.csr.shape[0])
        return float(np.sqrt(((lengths - mean) ** 2) @ rows / max(1, self.csr.shape[0]))) / max(1e-9, mean)

    @cached_property
    def _near_the_ends(self) -> float:
        """The share of the rows in which diagonals begin or end, and tiles of rows are narrow."""
        offsets, m = self.summary.offsets, max(1, self.csr.shape[0])
        reach = int(abs(offsets).max(initial=0))
        return min(m, 2 * reach, 32 * len(offsets)) / m


_WALKS: dict[str, Callable[[Survey, str, dict[str, Any]], Walk]] = {
    **dict.fromkeys(DIAGONALS, Survey._diagonals),
    "mdia": Survey._hollow,
    "qband": Survey._bands_and_rest,
    "bmsparse": Survey._blocks,
}  # the others go through rows
