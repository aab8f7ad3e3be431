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
_PADDED = 1.02  # positions per entry from which rows are sorted by length
_FEW = 2000  # number of nonzeros below which a product takes less time than the call overhead


class Rows(Model):
    """Entries with their columns, without extra items."""

    structured = False

    def at_best(self, statistics: Statistics) -> Traversal:
        """Return the counts without padding, and without column indices."""
        return statistics.at_best_by_rows

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
    """Rows that are padded to the length of other rows, depending on the options. The padding is the extra items."""

    def traversal(self, statistics: Statistics, s: Summary, options: dict[str, Any]) -> Traversal:
        """Return the counts of a product."""
        format: Any = FORMATS[self.format]
        given = format.completed(s, format.checked_options(options))
        positions, nnz = format.positions(s, **given), statistics.csr.nnz
        lines = statistics.sample.lines * nnz
        return Traversal(
            format.nbytes(s, **given), float(positions), float(positions - nnz), statistics.longest_row, lines
        )


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
    """Slices of rows, in their order or sorted by length."""

    def layouts(self, candidates: Finder, best: float) -> Iterator[Candidate]:
        """Yield rows in their order, rows sorted by length, and 16-bit columns."""
        plain, *short = super().layouts(candidates, best)
        yield plain
        if plain.positions > _PADDED * candidates.statistics.csr.nnz:
            yield candidates.candidate(self.format, sigma=4096)
        yield from short


class Composed(Padded):
    """Leading entries of rows in ell, the remainder in another format."""

    def why_not(self, statistics: Statistics) -> str:
        """Return "" unless one of the two parts would be empty."""
        format: Any = FORMATS[self.format]
        width, rest = format.split(statistics.summary)
        if not width:
            return "no row would have an entry in ell"
        return "" if rest else "no row is longer than the others, so all entries would be stored as in ell"


class Leading(Composed):
    """Leading entries of rows in ell, the remainder in csr; also with 16-bit columns, and then one triangle."""

    def layouts(self, candidates: Finder, best: float) -> Iterator[Candidate]:
        """Yield the format, and 16-bit columns if these need no bases, on a GPU also for one triangle."""
        yield candidates.candidate(self.format)
        statistics = candidates.statistics
        if statistics.csr.shape[1] <= _SHORT:
            yield candidates.candidate(self.format, **_FEW_BITS)
            if not statistics.on_cpu and statistics.symmetry and statistics.mirrored:
                yield candidates.candidate(self.format, symmetry=statistics.symmetry, **_FEW_BITS)


ROWS = (
    Csr(
        "csr",
        {"": Cost(1.1, 0.42, branch=4.3, gather=0.83, single=0.9, complex=1.3, convert=0)},
        {"": Cost(0.0017, 0.0032, gather=0.0051, step=0.033, bytes=0.75, convert=0, call=350)},
    ),
    Interleaved(
        "ell",
        {
            "": Cost(0.14, 0.78, gather=0.84, single=0.93, complex=1.9, convert=1.7),
            "column_bits": Cost(0.25, 1.05, gather=1.1, single=0.87, complex=1.8, convert=2.2),
        },
        {
            "": Cost(0.014, 0.00032, gather=0.0039, step=47, bytes=0.75, convert=0.2),
            "column_bits": Cost(0.01, 0.00053, extra=0.00059, gather=0.0046, step=19, bytes=1.4, convert=0.3),
        },
    ),
    Slices(
        "sell",
        {
            "": Cost(0.2, 0.73, branch=7.5, gather=0.7, single=1.1, complex=2.2, convert=1),
            "sigma": Cost(1.2, 0.69, branch=1.4, gather=1.4, single=1.3, complex=2.4, convert=2),
            "column_bits": Cost(0.1, 0.8, branch=7.5, gather=0.7, single=0.8, complex=2.4, convert=1.6),
            "sigma column_bits": Cost(0.9, 0.8, branch=1.4, gather=1.4, single=0.9, complex=2.7, convert=2.5),
        },
        {
            "": Cost(0.00077, 0.0017, extra=0.0014, gather=0.0016, step=1, bytes=1.5, convert=0.2),
            "sigma": Cost(0.0022, 0.0039, extra=0.0015, gather=0.004, step=0.96, bytes=1.3, convert=0.5),
            "column_bits": Cost(0.008, 0.00058, extra=0.00073, gather=0.0042, step=23, bytes=1.5, convert=0.3),
            "sigma column_bits": Cost(0.0095, 0.0009, extra=0.004, gather=0.003, step=2, bytes=1.3, convert=0.5),
        },
    ),
    Leading(
        "ellcsr",
        {
            "": Cost(3.4, 0.39, branch=4.9, gather=0.97, single=1, complex=2.3, convert=1.4),
            "column_bits": Cost(3.0, 0.42, branch=5.0, gather=1.2, single=0.9, convert=1.9),
            "symmetry column_bits": Cost(3.2, 0.47, branch=5.0, gather=1.2, single=0.9, complex=1.8, convert=4.8),
        },
        {
            "": Cost(0.26, 0.00022, extra=0.001, gather=0.0015, step=16, bytes=1.6, convert=0.2),
            "column_bits": Cost(0.24, 0.00081, extra=0.001, gather=0.0022, step=22, bytes=1.2, convert=0.3),
            "symmetry column_bits": Cost(0.22, 2.0e-3, gather=1e-3, step=7, bytes=1.4, convert=1.0),
        },
    ),
    Composed(
        "hyb",
        {"": Cost(2.5, 1, branch=7.9, gather=2, single=0.87, convert=2.7)},
        {"": Cost(0.033, 0.00037, gather=0.0049, bytes=0.99, convert=0.4, call=4000)},
    ),
    Rows(
        "jds",
        {"": Cost(1.1, 0.53, branch=3.6, gather=0.81, single=1, complex=3, convert=2.6)},
        {"": Cost(0.0027, 0.0046, gather=0.0039, step=2.6, bytes=0.76, convert=0.4)},
    ),
    Rows(
        "coosr",
        {"": Cost(1.6, 0.31, branch=4.2, gather=0.8, single=0.9, complex=1.3, convert=0.4)},
        {"": Cost(0.0026, 0.0024, gather=0.0051, step=0.033, bytes=0.75, convert=0.2)},
    ),
    Rows(
        "coo",
        {"": Cost(1.3, 1, branch=6.7, gather=1.7, single=1, complex=1.7, convert=0.35)},
        {"": Cost(0.0026, 0.0024, gather=0.0051, step=0.033, bytes=0.75, convert=0.2)},
    ),
    Rows(
        "csb",
        {"": Cost(0, 0.92, gather=0.6, single=1.1, complex=1.5, rows_each=130_000, convert=3.5)},
        {"": Cost(0.023, 0.012, gather=0.0022, step=3.6, bytes=0.75, convert=0.5)},
    ),
)
