"""Hollow diagonals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..._matrix.registry import FORMATS
from ..._matrix.summary import Summary
from .. import words
from ..candidate import Candidate
from ..costs import Cost, Walk
from ..squares import Price, Prices, Squares
from ..survey import FAR_TOO_MANY, Survey
from .model import Finder, Mirroring

_ALONE = 1 << 62  # rows that no matrix has: one thread does all
_SQUARE = Prices(Price(0.72, 0.0, row=2.0, piece=5.2), Price(0.003, 0.006, piece=0.05))


class Hollow(Mirroring):
    """Diagonals with masks, which are the pieces."""

    def why_not(self, survey: Survey) -> str:
        """Return "" unless there are far too many diagonals."""
        return "" if survey.of_diagonals else FAR_TOO_MANY

    def walk(self, survey: Survey, s: Summary, options: dict[str, Any]) -> Walk:
        """Return what a product goes through."""
        nnz, nbytes = survey.csr.nnz, self.forecast(s, FORMATS[self.format].checked_options(options))
        met = survey.met(len(s.offsets))
        return Walk(nbytes, float(nnz), nnz * survey.sample.masks, met, laid_out=met)

    def layouts(self, found: Finder, best: float) -> Iterator[Candidate]:
        """Yield the whole and a half."""
        plain = found.of(self.format)
        yield plain
        if half := self.half(found, min(plain.seconds, best)):
            yield half

    def half(self, found: Finder, beside: float) -> Candidate | None:
        """Return one half where that is clearly faster; it needs the mirror images of stored zeros, too."""
        half = super().half(found, beside)
        return half if half and found.survey.mirrored else None

    def square(self, squares: Squares) -> tuple[float, int]:
        """Return the seconds and the bytes of C: masks of every two diagonals meet."""
        d, m = len(squares.survey.offsets), squares.survey.csr.shape[0]
        return squares.by_rows(_SQUARE, d * d * m / 32)

    def reason(self, best: Candidate, survey: Survey) -> str:
        """Return how full the diagonals are."""
        d, full = len(survey.offsets), survey.full
        only, zeros = ("", "") if full > words.FULL else ("only ", "their zeros and without ")
        half = f" Only one half is stored, because A is {best.layout['symmetry']}." if "symmetry" in best.layout else ""
        count = words.diagonals(d)
        without = f"{self.format} stores them without {zeros}column indices"
        return f"{count} {only}{words.percent(full)} full: {without}.{half}"


HOLLOW = (
    Hollow(
        "mdia",
        {
            "": Cost(0.34, 0.0, 6.8, step=5.0, single=0.53, complex=4.0, convert=2.2),
            "symmetry": Cost(1.36, 0.0, 7.0, step=5.0, single=0.5, complex=7.0, rows_each=_ALONE, convert=3.5),
        },
        {
            "": Cost(0, 1.0e-3, 0.05, step=40, bytes=0.8, single=0.9, convert=0.2),
            "symmetry": Cost(0, 1.2e-3, 0.03, step=60, bytes=1.45, single=0.9, convert=0.3),
        },
    ),
)
