"""Blocks of 8 x 8 with bitmaps."""

from __future__ import annotations

from typing import Any

from ..._matrix.summary import Summary
from ..._show import columns
from ..candidate import Candidate
from ..costs import Cost, Traversal
from ..squares import Price, Prices, Squares
from ..statistics import Statistics
from .model import Model

_SQUARE = Prices(Price(0.0, 3.4, pair=76.0), Price(0.0, 0.022, pair=0.2, full=1.0))
_BY_CSR = 1.1  # time relative to csr if the product is computed in csr


class Blocks(Model):
    """Blocks of 8 x 8. The blocks are the extra items; positions are the values outside of full blocks."""

    def at_best(self, statistics: Statistics) -> Traversal:
        """Return the counts, estimated from the sample."""
        counts, blocks = statistics.at_best, statistics.sample.blocks
        return counts._replace(
            nbytes=counts.nbytes + 16 * blocks, positions=counts.positions * (1 - statistics.sample.in_full_blocks),
            extras=float(blocks), lines=statistics.sample.lines * statistics.csr.nnz,
        )  # fmt: skip

    def traversal(self, statistics: Statistics, s: Summary, options: dict[str, Any]) -> Traversal:
        """Return the counts of a product."""
        nnz, sample = statistics.csr.nnz, statistics.sample
        nbytes = self.forecast(s, options)
        return Traversal(
            nbytes, nnz * (1 - sample.in_full_blocks), sample.blocks, statistics.longest_row, sample.lines * nnz
        )

    def square(self, squares: Squares) -> tuple[float, int]:
        """Return the seconds and the bytes of C: by pairs of blocks, or in csr if there are too many pairs."""
        statistics = squares.statistics
        pairs = statistics.sample.blocks**2 / max(1, statistics.csr.shape[0] / 8)
        seconds, nbytes = squares.by_rows(_SQUARE, pairs, pairs * statistics.sample.in_full_blocks)
        return min(seconds, _BY_CSR * squares.as_csr()[0]), nbytes

    def reason(self, best: Candidate, statistics: Statistics) -> str:
        """Return how full the blocks are."""
        fill = statistics.csr.nnz / max(1, 64 * statistics.sample.blocks)
        blocks = f"The occupied 8 x 8 blocks are {columns.percent(fill)} full"
        return f"{blocks}: {self.format} stores one column index per block."


BLOCKS = (
    Blocks(
        "bmsparse",
        {"": Cost(5.2, 0.65, extra=5.3, single=0.8, complex=4, convert=6)},
        {"": Cost(0, 0.0031, extra=0.029, gather=0.0097, step=3.3, bytes=1.3, convert=0.6)},
    ),
)
