"""Bands of diagonals, and a remainder stored by rows."""

from __future__ import annotations

from typing import Any

from ..._matrix.summary import Summary
from ..._show import columns
from .. import words
from ..candidate import Candidate
from ..costs import Cost, Traversal
from ..squares import Squares
from ..statistics import Statistics
from .model import Model

_MOST = 0.5  # largest fraction of the nonzeros in the remainder
_REST = 0.5, 4.0  # time of products with the remainder, relative to csr: a constant, and per fraction of the entries


class QuasiBands(Model):
    """Bands. The extra items are the entries of the remainder, plus one and a half for each of its nonempty rows."""

    def why_not(self, statistics: Statistics) -> str:
        """Return "" unless there are no bands or no remainder."""
        chosen, rest = statistics.bands
        if not len(chosen):
            return "no diagonal is nearly full, so all entries would be stored as in coosr"
        if rest > _MOST * statistics.csr.nnz:
            return "the nearly full diagonals contain less than half of the nonzeros"
        return "" if rest else "all nonzeros lie on its bands, so they would be stored as in dia"

    def at_best(self, statistics: Statistics) -> Traversal:
        """Return the counts of the bands and the remainder, which may be estimated."""
        if statistics.full > words.FULL:  # then bands contain nearly all diagonals, and it takes time to find them
            return statistics.at_best
        (chosen, rest), m, item = statistics.bands, statistics.csr.shape[0], statistics.csr.dtype.itemsize
        return Traversal(
            len(chosen) * m * item + rest * (item + 4), float(len(chosen) * m), rest, 0.0,
            statistics.sample.lines * rest,
        )  # fmt: skip

    def traversal(self, statistics: Statistics, s: Summary, options: dict[str, Any]) -> Traversal:
        """Return the counts of a product."""
        (chosen, rest), m = statistics.bands, statistics.csr.shape[0]
        extras = rest + 1.5 * min(m, rest)
        nbytes = self.forecast(s, options)
        steps = statistics.steps(len(chosen))
        return Traversal(nbytes, float(len(chosen) * m), extras, steps, statistics.sample.lines * rest, converted=steps)

    def square(self, squares: Squares) -> tuple[float, int]:
        """Return the seconds and the bytes of C: bands by diagonals, products with the remainder by rows."""
        statistics = squares.statistics
        chosen, rest = statistics.bands
        seconds, nbytes = squares.of_diagonals(chosen, len(chosen) * statistics.csr.shape[0], len)
        if not rest:
            return seconds, nbytes
        fraction = min(1.0, _REST[0] + _REST[1] * rest / max(1, statistics.csr.nnz))
        in_csr, csr_nbytes = squares.as_csr()
        return seconds + fraction * in_csr, round(nbytes + fraction * csr_nbytes)

    def reason(self, best: Candidate, statistics: Statistics) -> str:
        """Return which fraction of the nonzeros lies in the bands."""
        chosen, rest = statistics.bands
        on = columns.percent(1 - rest / statistics.csr.nnz)
        many, them = (
            (f"{len(chosen)} nearly full diagonals contain", "these as diagonals")
            if len(chosen) != 1
            else ("One nearly full diagonal contains", "it as a diagonal")
        )
        return f"{many} {on} of the nonzeros: {self.format} stores {them}, and the other nonzeros by rows."


QUASI_BANDS = (
    QuasiBands(
        "qband",
        {
            "": Cost(
                0,
                0.11,
                extra=0.88,
                branch=1.4,
                gather=0.81,
                step=9.6,
                single=0.6,
                complex=2.4,
                rows_each=1024,
                convert=5,
            )
        },
        {"": Cost(0, 0.00036, extra=0.0021, gather=0.0022, step=140, convert=0.4, call=1800)},
    ),
)
