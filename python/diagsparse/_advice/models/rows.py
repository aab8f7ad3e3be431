"""Formats that traverse single rows, or several rows at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..._matrix.registry import FORMATS
from ..._matrix.summary import Summary
from .. import words
from ..candidate import Candidate
from ..costs import Cost, Traversal
from ..squares import Squares
from ..statistics import Statistics
from .model import Finder, Model

_SHORT = 1 << 16  # number of columns that 16-bit indices can address without bases
_FEW_BITS = {"column_bits": 16}
_FEW = 2000  # number of nonzeros below which a product takes less time than the call overhead


class Rows(Model):
    """Entries with their columns, without extra items."""

    bytes_known, structured = False, False

    def traversal(self, statistics: Statistics, s: Summary, options: dict[str, Any]) -> Traversal:
        """Return the counts of a product."""
        nnz = statistics.csr.nnz
        lines = statistics.sample.lines * nnz
        return Traversal(self.forecast(s, options), float(nnz), steps=statistics.longest_row, lines=lines)

    def reason(self, best: Candidate, statistics: Statistics) -> str:
        """Return that the matrix has no structure, and why the format is fast nevertheless."""
        if statistics.csr.shape[0] > 2 * statistics.csr.nnz:
            return f"Most of the rows are empty, and {self.format} skips them."
        return f"The nonzeros lie on too many diagonals and in too many blocks: {self.format} {self._advantage(best)}."

    def _advantage(self, best: Candidate) -> str:
        return "is the fastest format" + ", with 16-bit column indices" * (best.layout.get("column_bits") == 16)


class Csr(Rows):
    """The reference format, csr."""

    bytes_known = True

    def square(self, squares: Squares) -> tuple[float, int]:
        """Return the seconds and the bytes of C."""
        return squares.as_csr()

    def reason(self, best: Candidate, statistics: Statistics) -> str:
        """Return that the matrix has no structure, or that the format does not matter."""
        if statistics.csr.nnz < _FEW:
            return "With so few nonzeros, a product takes about as long as the call itself, in any format."
        positions = words.positions_of_nonzeros(statistics)
        return f"No other format would be faster{positions and ': '}{positions}."


class Padded(Rows):
    """Rows that are padded to the length of other rows; the padding depends on the options."""

    def traversal(self, statistics: Statistics, s: Summary, options: dict[str, Any]) -> Traversal:
        """Return the counts of a product."""
        format: Any = FORMATS[self.format]
        given = format.completed(s, format.checked_options(options))
        lines = self._imbalance(statistics) * statistics.sample.lines * statistics.csr.nnz
        return Traversal(
            format.nbytes(s, **given), float(format.positions(s, **given)), 0.0, statistics.longest_row, lines
        )

    def _imbalance(self, statistics: Statistics) -> float:
        return 1.0


class Interleaved(Padded):
    """Several rows at once; on a GPU also with 16-bit columns, if these need no bases."""

    def layouts(self, candidates: Finder, best: float) -> Iterator[Candidate]:
        """Yield the format, and the format with 16-bit columns."""
        yield candidates.candidate(self.format)
        if not candidates.statistics.on_cpu and candidates.statistics.csr.shape[1] <= _SHORT:
            yield candidates.candidate(self.format, **_FEW_BITS)

    def _advantage(self, best: Candidate) -> str:
        advantage = "processes several rows at once" + ", sorted by length" * (best.layout.get("sigma", 1) > 1)
        return advantage + ", with 16-bit column indices" * (best.layout.get("column_bits") == 16)


class Slices(Interleaved):
    """Slices: rows of different lengths in a slice add cache misses on x."""

    def layouts(self, candidates: Finder, best: float) -> Iterator[Candidate]:
        """Yield rows in their order, rows sorted by length, and 16-bit columns."""
        plain, *short = super().layouts(candidates, best)
        yield plain
        yield candidates.candidate(self.format, sigma=4096)
        yield from short

    def _imbalance(self, statistics: Statistics) -> float:
        return 1 + statistics.spread


class Leading(Padded):
    """Leading entries of rows in ell, the remainder in csr; also with 16-bit columns, and then one triangle."""

    def layouts(self, candidates: Finder, best: float) -> Iterator[Candidate]:
        """Yield the format, and 16-bit columns if they are certainly possible, on a GPU also for one triangle."""
        yield candidates.candidate(self.format)
        if self._short(candidates.statistics, _FEW_BITS):
            yield candidates.candidate(self.format, **_FEW_BITS)
            if not candidates.statistics.on_cpu and candidates.statistics.symmetry:
                halved = {"symmetry": candidates.statistics.symmetry, **_FEW_BITS}
                if self._short(candidates.statistics, halved) and candidates.statistics.mirrored:
                    yield candidates.candidate(self.format, **halved)

    def _short(self, statistics: Statistics, options: dict[str, Any]) -> bool:
        """Return whether 16-bit columns are certainly possible: there are few columns, or no remainder in csr."""
        format: Any = FORMATS[self.format]
        few = statistics.csr.shape[1] <= _SHORT
        return few or format.split(statistics.summary, **format.checked_options(options))[1] == 0


ROWS = (
    Csr(
        "csr",
        {"": Cost(0.6, 0.43, branch=26.0, gather=1.35, single=0.9, complex=1.3, convert=0.0)},
        {"": Cost(2.8e-3, 4.2e-3, gather=5.4e-3, step=0.045, bytes=0.75, convert=0.0, call=350)},
    ),
    Interleaved(
        "ell",
        {
            "": Cost(0.17, 0.68, gather=2.3, single=0.93, complex=1.9, convert=1.7),
            "column_bits": Cost(0.3, 0.92, gather=3.0, single=0.87, complex=1.8, convert=2.2),
        },
        {
            "": Cost(5.7e-3, 5.5e-4, gather=4.6e-3, step=31, bytes=0.8, convert=0.2),
            "column_bits": Cost(0.01, 1.75e-3, gather=3e-3, step=20, bytes=0.6, convert=0.3),
        },
    ),
    Slices(
        "sell",
        {
            "": Cost(0.18, 0.56, branch=8.0, gather=0.75, single=1.06, complex=2.2, convert=1.0),
            "sigma": Cost(0.97, 0.44, branch=8.0, gather=0.68, single=1.34, complex=2.4, convert=2.0),
            "column_bits": Cost(0.1, 0.62, branch=8.0, gather=0.75, single=0.8, complex=2.4, convert=1.6),
            "sigma column_bits": Cost(0.75, 0.5, branch=8.0, gather=0.75, single=0.9, complex=2.7, convert=2.5),
        },
        {
            "": Cost(1e-3, 1.2e-3, gather=4.2e-3, step=58, bytes=1.0, convert=0.2),
            "sigma": Cost(5.5e-3, 3.2e-3, gather=3.5e-3, step=50, bytes=1.1, convert=0.5),
            "column_bits": Cost(8e-3, 2e-3, gather=3e-3, step=27, bytes=1.25, convert=0.3),
            "sigma column_bits": Cost(9.5e-3, 1.9e-3, gather=3e-3, step=28, bytes=1.25, convert=0.5),
        },
    ),
    Leading(
        "ellcsr",
        {
            "": Cost(2.4, 0.41, branch=26.0, gather=1.4, single=1.0, complex=2.3, convert=1.4),
            "column_bits": Cost(2.3, 0.41, branch=26.0, gather=2.5, single=0.9, complex=2.0, convert=1.9),
            "symmetry column_bits": Cost(2.5, 0.47, branch=26.0, gather=2.5, single=0.9, complex=1.8, convert=4.8),
        },
        {
            "": Cost(0.23, 3.3e-4, gather=7.5e-3, step=9.8, bytes=1.1, convert=0.2),
            "column_bits": Cost(0.24, 3e-3, gather=2e-3, step=7, bytes=0.72, convert=0.3),
            "symmetry column_bits": Cost(0.22, 2.0e-3, gather=1e-3, step=7, bytes=1.4, convert=1.0),
        },
    ),
    Padded(
        "hyb",
        {"": Cost(1.6, 0.77, branch=26.0, gather=2.1, single=0.87, complex=2.0, convert=2.7)},
        {"": Cost(8e-3, 4.5e-3, gather=5e-3, bytes=0.6, convert=0.4, call=4000)},
    ),
    Rows(
        "jds",
        {"": Cost(0.5, 0.62, branch=8.0, gather=2.5, single=1.0, complex=3.0, convert=2.6)},
        {"": Cost(1.5e-3, 4.6e-3, gather=4.6e-3, step=4, bytes=1.12, convert=0.4)},
    ),
    Rows(
        "coosr",
        {"": Cost(0.75, 0.41, branch=26.0, gather=1.35, single=0.9, complex=1.3, convert=0.4)},
        {"": Cost(2.5e-3, 4e-3, gather=5.4e-3, step=0.045, bytes=0.6, convert=0.2)},
    ),
    Rows(
        "coo",
        {"": Cost(1.05, 0.82, branch=20.0, gather=1.5, single=1.0, complex=1.7, convert=0.35)},
        {"": Cost(3.5e-3, 4e-3, gather=5.3e-3, step=0.045, bytes=0.6, convert=0.2)},
    ),
    Rows(
        "csb",
        {"": Cost(0.0, 1.32, gather=1.2, single=1.15, complex=1.5, convert=3.5)},
        {"": Cost(3.5e-3, 0.03, gather=5.6e-3, step=50, bytes=1.4, convert=0.5)},
    ),
)
