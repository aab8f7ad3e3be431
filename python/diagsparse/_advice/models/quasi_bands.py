"""Bands of diagonals, and a remainder stored by rows."""

from __future__ import annotations

from typing import Any

from ..._matrix.summary import Summary
from ..._show import columns
from ..candidate import Candidate
from ..costs import Cost, Traversal
from ..squares import Squares
from ..statistics import Statistics
from .model import Model

_REST = 0.5, 4.0  # time of products with the remainder, relative to csr: a constant, and per fraction of the entries


class QuasiBands(Model):
    """Bands. The extra items are the entries of the remainder, plus one and a half for each of its nonempty rows."""

    def why_not(self, statistics: Statistics) -> str:
        """Return "" unless there are no bands or no remainder."""
        chosen, rest = statistics.bands
        if not len(chosen):
            return "no diagonal is nearly full, so all entries would be stored as in coosr"
        return "" if rest else "all nonzeros lie on its bands, so they would be stored as in dia"

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
                0, 0.14, 0.52, branch=24.0, step=10.0, gather=0.75, single=0.6, complex=2.4, convert=5.0, rows_each=1024
            )
        },
        {"": Cost(0, 5e-4, 5.5e-3, gather=6.5e-3, step=140, bytes=0.7, convert=0.4, call=1800)},
    ),
)
