"""Bands of diagonals, and a rest by rows."""

from __future__ import annotations

from typing import Any

from ..._matrix.summary import Summary
from .. import words
from ..candidate import Candidate
from ..costs import Cost, Walk
from ..squares import Squares
from ..survey import Survey
from .model import Model

_REST = 0.5, 4.0  # of the time of csr, for the products with the rest: at least, and times its share of the entries


class QuasiBands(Model):
    """Bands; pieces are the entries of the rest, and one and a half for each row that has some."""

    def why_not(self, survey: Survey) -> str:
        """Return "" unless there are no bands, or no rest."""
        chosen, rest = survey.bands
        if not len(chosen):
            return "no diagonal is nearly full, so all entries would be stored as in coosr"
        return "" if rest else "all nonzeros lie on its bands, so they would be stored as in dia"

    def walk(self, survey: Survey, s: Summary, options: dict[str, Any]) -> Walk:
        """Return what a product goes through."""
        (chosen, rest), m = survey.bands, survey.csr.shape[0]
        pieces = rest + 1.5 * min(m, rest)
        nbytes = self.forecast(s, options)
        met = survey.met(len(chosen))
        return Walk(nbytes, float(len(chosen) * m), pieces, met, survey.sample.lines * rest, laid_out=met)

    def square(self, squares: Squares) -> tuple[float, int]:
        """Return the seconds and the bytes of C: bands as diagonals, what the rest meets as rows."""
        survey = squares.survey
        chosen, rest = survey.bands
        taken, made = squares.of_diagonals(chosen, len(chosen) * survey.csr.shape[0], len)
        if not rest:
            return taken, made
        share = min(1.0, _REST[0] + _REST[1] * rest / max(1, survey.csr.nnz))
        rows, nbytes = squares.as_csr()
        return taken + share * rows, round(made + share * nbytes)

    def reason(self, best: Candidate, survey: Survey) -> str:
        """Return which fraction of the nonzeros lies in the bands."""
        chosen, rest = survey.bands
        on = words.percent(1 - rest / survey.csr.nnz)
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
                0, 0.14, 0.52, turn=24.0, step=10.0, gather=0.75, single=0.6, complex=2.4, convert=5.0, rows_each=1024
            )
        },
        {"": Cost(0, 5e-4, 5.5e-3, gather=6.5e-3, step=140, bytes=0.7, convert=0.4, call=1800)},
    ),
)
