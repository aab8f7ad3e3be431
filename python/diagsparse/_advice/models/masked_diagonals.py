"""Masked diagonals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..._matrix.registry import FORMATS
from ..._matrix.summary import Summary
from ..._show import columns
from .. import words
from ..candidate import Candidate
from ..costs import Cost, Traversal
from ..squares import Price, Prices, Squares
from ..statistics import Statistics
from .model import DiagonalModel, Finder

_SIGNS = 2  # different values of a diagonal whose codes need no lookup
_SERIAL = 1 << 62  # more rows per thread than any matrix has: a single thread is used
_SQUARE = Prices(Price(0.72, 0.0, row=2.0, pair=5.2), Price(0.003, 0.006, pair=0.05))


class MaskedDiagonals(DiagonalModel):
    """Diagonals with masks. The masks are the extra items; on a CPU, positions are values that codes look up."""

    def at_best(self, statistics: Statistics) -> Traversal:
        """Return the counts if a palette contains all values."""
        nnz, masks = statistics.csr.nnz, statistics.csr.nnz * statistics.sample.masks
        return Traversal(round(4 * masks), 0.0 if statistics.on_cpu else float(nnz), masks)

    def traversal(self, statistics: Statistics, s: Summary, options: dict[str, Any]) -> Traversal:
        """Return the counts of a product."""
        format, nnz = FORMATS[self.format], statistics.csr.nnz
        given = format.checked_options(options)
        nbytes, steps = self.forecast(s, given), statistics.steps(len(s.offsets))
        positions = nnz
        if statistics.on_cpu:  # a diagonal of one or two values needs no lookup
            positions = int(s.fill[s.colors > _SIGNS].sum()) if nbytes < format.nbytes(s, **given) else 0
        return Traversal(nbytes, float(positions), nnz * statistics.sample.masks, steps, converted=steps)

    def layouts(self, candidates: Finder, best: float) -> Iterator[Candidate]:
        """Yield all entries, and one triangle."""
        plain = candidates.candidate(self.format)
        yield plain
        if triangle := self.triangle(candidates, min(plain.seconds, best)):
            yield triangle

    def triangle(self, candidates: Finder, best: float) -> Candidate | None:
        """Return one triangle if that is clearly faster and explicit zeros have mirror images, too."""
        triangle = super().triangle(candidates, best)
        return triangle if triangle and candidates.statistics.mirrored else None

    def square(self, squares: Squares) -> tuple[float, int]:
        """Return the seconds and the bytes of C: the masks of any two diagonals are combined."""
        d, m = len(squares.statistics.offsets), squares.statistics.csr.shape[0]
        return squares.by_rows(_SQUARE, d * d * m / 32)

    def reason(self, best: Candidate, statistics: Statistics) -> str:
        """Return how full the diagonals are."""
        d, full = len(statistics.offsets), statistics.full
        only, zeros = ("", "") if full > words.FULL else ("only ", "their zeros and without ")
        symmetry = best.layout.get("symmetry")
        triangle = f" Only one triangle is stored, because A is {symmetry}." if symmetry else ""
        without = f"{self.format} stores them without {zeros}column indices"
        return f"{words.diagonals(d)} {only}{columns.percent(full)} full: {without}.{triangle}"


MASKED_DIAGONALS = (
    MaskedDiagonals(
        "mdia",
        {
            "": Cost(0.99, 1.1, extra=6.6, step=5.1, single=0.53, complex=4, convert=2.2),
            "symmetry": Cost(1.36, 1.1, 7.0, step=5.0, single=0.5, complex=7.0, rows_each=_SERIAL, convert=3.5),
        },
        {
            "": Cost(0, 0.0011, extra=0.012, step=40, bytes=1.1, single=0.9, convert=0.2),
            "symmetry": Cost(0, 1.2e-3, 0.03, step=60, bytes=1.45, single=0.9, convert=0.3),
        },
    ),
)
