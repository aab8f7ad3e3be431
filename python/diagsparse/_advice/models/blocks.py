"""Blocks of 8 x 8 with bitmaps."""

from __future__ import annotations

from typing import Any

from ..._matrix.summary import Summary
from .. import words
from ..candidate import Candidate
from ..costs import Cost, Walk
from ..squares import Price, Prices, Squares
from ..survey import Survey
from .model import Model

_SQUARE = Prices(Price(0.0, 3.4, piece=76.0), Price(0.0, 0.022, piece=0.2, full=1.0))
_BY_CSR = 1.1  # times as long as csr itself


class Blocks(Model):
    """Blocks, which are the pieces; places are the values outside of full ones."""

    def walk(self, survey: Survey, s: Summary, options: dict[str, Any]) -> Walk:
        """Return what a product goes through."""
        nnz, sample = survey.csr.nnz, survey.sample
        nbytes = self.forecast(s, options)
        return Walk(nbytes, nnz * (1 - sample.in_full_blocks), sample.blocks, survey.longest_row, sample.lines * nnz)

    def square(self, squares: Squares) -> tuple[float, int]:
        """Return the seconds and the bytes of C: pairs of blocks meet, or it goes by csr where these are too many."""
        survey = squares.survey
        pairs = survey.sample.blocks**2 / max(1, survey.csr.shape[0] / 8)
        taken, nbytes = squares.by_rows(_SQUARE, pairs, pairs * survey.sample.in_full_blocks)
        return min(taken, _BY_CSR * squares.as_csr()[0]), nbytes

    def reason(self, best: Candidate, survey: Survey) -> str:
        """Return how full the blocks are."""
        fill = survey.csr.nnz / max(1, 64 * survey.sample.blocks)
        blocks = f"The occupied 8 x 8 blocks are {words.percent(fill)} full"
        return f"{blocks}: {self.format} stores one column index per block."


BLOCKS = (
    Blocks(
        "bmsparse",
        {"": Cost(4.8, 0.3, 9.0, single=0.8, complex=4.0, convert=6.0)},
        {"": Cost(0, 2.8e-3, 0.038, gather=2.6e-3, step=24, bytes=0.85, convert=0.6)},
    ),
)
