"""Formats of whole diagonals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..._formats.bands import Offsets
from ..._formats.cdm import rows_for
from ..._matrix.summary import Summary
from .. import words
from ..candidate import Candidate
from ..costs import Cost, Walk
from ..squares import Squares
from ..survey import FAR_TOO_MANY, Survey
from .model import CLEAR, Finder, Mirroring

_PAIRED = 0.6  # rows of values for each diagonal, below which nearly all share one
_SHARED = 0.56  # times as long a square takes then


class Diagonals(Mirroring):
    """Values diagonal by diagonal; pieces are the places where diagonals begin or end nearby.

    `square` is how many times as long as in `hm` a square takes.
    """

    both_ways = True

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

    def why_not(self, survey: Survey) -> str:
        """Return "" unless there are far too many diagonals."""
        return "" if survey.of_diagonals else FAR_TOO_MANY

    def walk(self, survey: Survey, s: Summary, options: dict[str, Any]) -> Walk:
        """Return what a product goes through."""
        positions = float(survey.diagonal_places)
        nbytes = self.forecast(s, options)
        met = survey.met(len(s.offsets))
        return Walk(nbytes, positions, positions * survey.near_the_ends, met, laid_out=met)

    def layouts(self, found: Finder, best: float) -> Iterator[Candidate]:
        """Yield the whole, a period, a half."""
        plain = found.of(self.format)
        yield plain
        best = min(best, plain.seconds)
        if CLEAR * found.of(self.format, period=1).seconds < best and (period := found.survey.period):
            yield (packed := found.of(self.format, period=period))
            best = min(best, packed.seconds)
        if half := self.half(found, best):
            yield half

    def square(self, squares: Squares) -> tuple[float, int]:
        """Return the seconds and the bytes of C."""
        taken, made = squares.of_diagonals(
            squares.survey.offsets, squares.survey.diagonal_places, self._padded_to(squares.survey)
        )
        return taken * self._square, made

    def _padded_to(self, survey: Survey) -> Callable[[Offsets], int] | None:
        """Return what tells how many rows of values some diagonals are padded to; None: to none."""
        return None

    def reason(self, best: Candidate, survey: Survey) -> str:
        """Return how full the diagonals are, what is stored, and in how many bytes."""
        full = survey.full
        what = (
            "little more than their values"
            if full > words.FULL
            else "them with zeros in the gaps but without column indices"
        )
        count = words.diagonals(len(survey.offsets))
        sentences = [f"{count} {words.percent(full)} full: {self.format} stores {what}."]
        if "symmetry" in best.layout:
            sentences.append(f"Only one half is stored, because A is {best.layout['symmetry']}.")
        if (rows := best.layout.get("period")) == 1:
            sentences.append("Each diagonal is constant, so only one value of it is stored.")
        elif rows:
            sentences.append(f"Each diagonal repeats after {rows} rows, so only these are stored.")
        return " ".join([*sentences, words.bytes_each(best.nbytes, survey)])


class RowEach(Diagonals):
    """A row of values for each diagonal."""

    def _padded_to(self, survey: Survey) -> Callable[[Offsets], int]:
        return len


class SharedRows(Diagonals):
    """A row of values for each two diagonals that are n apart."""

    def square(self, squares: Squares) -> tuple[float, int]:
        """Return the seconds and the bytes of C: faster where nearly all diagonals share a row."""
        taken, made = super().square(squares)
        offsets, n = squares.survey.offsets, squares.survey.csr.shape[1]
        return taken * (_SHARED if rows_for(offsets, n) < _PAIRED * len(offsets) else 1.0), made

    def _padded_to(self, survey: Survey) -> Callable[[Offsets], int]:
        return lambda offsets: rows_for(offsets, survey.csr.shape[1])


DIAGONALS = (
    RowEach(
        "dia",
        Cost(0, 0.135, 0.15, single=0.4, complex=2.6, convert=1.3, step=27.0, rows_each=2048),
        Cost(0, 1.8e-3, step=33, bytes=0.75, single=0.9, convert=0.11),
        square=1.0,
    ),
    Diagonals(
        "hm",
        Cost(0, 0.147, 0.17, single=0.45, complex=2.7, convert=1.3, step=27.0, rows_each=2048),
        Cost(0, 1.9e-3, step=32, bytes=0.76, single=0.9, convert=0.1),
        square=1.0,
    ),
    SharedRows(
        "cdm",
        Cost(0, 0.147, 0.3, single=0.4, complex=2.5, convert=1.3, step=27.0, rows_each=2048),
        Cost(0, 2.6e-3, step=52, bytes=0.8, single=0.9, convert=0.1),
        square=1.08,
    ),
)
