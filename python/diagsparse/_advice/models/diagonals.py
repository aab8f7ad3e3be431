"""Formats that store entire diagonals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..._formats.bands import Offsets
from ..._formats.cdm import rows_for
from ..._matrix.summary import Summary
from ..._show import columns
from .. import words
from ..candidate import Candidate
from ..costs import Cost, Traversal
from ..squares import Squares
from ..statistics import Statistics
from .model import CLEAR, DiagonalModel, Finder

_PAIRED = 0.6  # rows of values per diagonal below which nearly all diagonals share a row
_SHARED = 0.56  # relative time of a square in that case


class Diagonals(DiagonalModel):
    """Values diagonal by diagonal. The extra items are the positions near the ends of diagonals.

    `square` is the time of a square relative to `hm`.
    """

    transposed_as_fast, required = True, 1.1  # entire diagonals are preferred to other formats that are equally fast

    def __init__(self, format: str, cpu: Cost, gpu: Cost, square: float) -> None:
        super().__init__(
            format,
            {
                "": cpu,
                "symmetry": cpu._replace(complex=3.2, convert=2.8),
                "period": cpu._replace(row=0.35, convert=5.8),
            },
            {
                "": gpu,
                "symmetry": gpu._replace(position=1.17e-3, step=30, bytes=0.85),
                "period": gpu._replace(position=2.0e-3, step=30, bytes=0.9, complex=3.0),
            },
        )
        self._square = square

    def at_best(self, statistics: Statistics) -> Traversal:
        """Return the counts if the diagonals repeat."""
        return Traversal(0, float(statistics.diagonal_elements if statistics.of_diagonals else statistics.csr.nnz))

    def traversal(self, statistics: Statistics, s: Summary, options: dict[str, Any]) -> Traversal:
        """Return the counts of a product."""
        positions = float(statistics.diagonal_elements)
        nbytes = self.forecast(s, options)
        steps = statistics.steps(len(s.offsets))
        return Traversal(nbytes, positions, positions * statistics.near_the_ends, steps, converted=steps)

    def layouts(self, candidates: Finder, best: float) -> Iterator[Candidate]:
        """Yield all values, one period, one triangle."""
        plain = candidates.candidate(self.format)
        yield plain
        best = min(best, plain.seconds)
        fastest = candidates.seconds(self.format, period=1)
        if CLEAR * fastest < best and (period := candidates.statistics.period):
            yield (packed := candidates.candidate(self.format, period=period))
            best = min(best, packed.seconds)
        if triangle := self.triangle(candidates, best):
            yield triangle

    def square(self, squares: Squares) -> tuple[float, int]:
        """Return the seconds and the bytes of C."""
        seconds, nbytes = squares.of_diagonals(
            squares.statistics.offsets, squares.statistics.diagonal_elements, self._padded_to(squares.statistics)
        )
        return seconds * self._square, nbytes

    def _padded_to(self, statistics: Statistics) -> Callable[[Offsets], int] | None:
        """Return a function that returns the number of padded rows for given diagonals; None without padding."""
        return None

    def reason(self, best: Candidate, statistics: Statistics) -> str:
        """Return how full the diagonals are, what is stored, and the number of bytes."""
        full = statistics.full
        gaps = "them with zeros in the gaps but without column indices"
        stored = "little more than their values" if full > words.FULL else gaps
        count = words.diagonals(len(statistics.offsets))
        sentences = [f"{count} {columns.percent(full)} full: {self.format} stores {stored}."]
        if "symmetry" in best.layout:
            sentences.append(f"Only one triangle is stored, because A is {best.layout['symmetry']}.")
        if (rows := best.layout.get("period")) == 1:
            sentences.append("Each diagonal is constant, so only one value of it is stored.")
        elif rows:
            sentences.append(f"Each diagonal repeats after {rows} rows, so only these are stored.")
        return " ".join([*sentences, words.bytes_each(best.nbytes, statistics)])


class RowEach(Diagonals):
    """A row of values for each diagonal."""

    def _padded_to(self, statistics: Statistics) -> Callable[[Offsets], int]:
        return len


class SharedRows(Diagonals):
    """A row of values for each two diagonals at a distance of n."""

    def square(self, squares: Squares) -> tuple[float, int]:
        """Return the seconds and the bytes of C, which is faster if nearly all diagonals share a row."""
        seconds, nbytes = super().square(squares)
        offsets, n = squares.statistics.offsets, squares.statistics.csr.shape[1]
        return seconds * (_SHARED if rows_for(offsets, n) < _PAIRED * len(offsets) else 1.0), nbytes

    def _padded_to(self, statistics: Statistics) -> Callable[[Offsets], int]:
        return lambda offsets: rows_for(offsets, statistics.csr.shape[1])


DIAGONALS = (
    RowEach(
        "dia",
        Cost(0, 0.2, 0.13, single=0.4, complex=2.6, convert=1.3, step=26.0, rows_each=2048),
        Cost(0, 1.8e-3, step=33, bytes=0.75, single=0.9, convert=0.11),
        square=1.0,
    ),
    Diagonals(
        "hm",
        Cost(0, 0.21, 0.14, single=0.45, complex=2.7, convert=1.3, step=26.0, rows_each=2048),
        Cost(0, 1.9e-3, step=32, bytes=0.76, single=0.9, convert=0.1),
        square=1.0,
    ),
    SharedRows(
        "cdm",
        Cost(0, 0.22, 0.29, single=0.4, complex=2.5, convert=1.3, step=28.0, rows_each=2048),
        Cost(0, 2.6e-3, step=52, bytes=0.8, single=0.9, convert=0.1),
        square=1.08,
    ),
)
