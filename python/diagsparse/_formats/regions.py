"""The two regions of a matrix of configuration interaction: counts, longest rows and sparsity of each.

They are those of Mahmoud, Hoffmann and Reza (2018), tables 3 and 4: the reference region is the dense part on the left,
the expansion region is the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._backends.memory import human
from .._show import columns


@dataclass(frozen=True, eq=False)
class Region:
    """Some neighbouring columns of a matrix, and the entries in them; explicit zeros count as entries."""

    first: int  # column
    end: int  # the column after the last one
    nonzeros: int
    sparsity: float  # the places without an entry, of all places; 1 of a region without places
    row_lengths: NDArray[np.int64]  # (m,) entries of each row

    @property
    def longest(self) -> int:
        """Entries of the longest row."""
        return int(self.row_lengths.max(initial=0))

    @property
    def longest_row(self) -> int | None:
        """The number of that row, counted from 0, the first one of several; None without rows."""
        return int(self.row_lengths.argmax()) if len(self.row_lengths) else None

    def to_dict(self) -> dict[str, Any]:
        """All but the length of each row, ready for JSON."""
        return {
            "first": self.first,
            "end": self.end,
            "nonzeros": self.nonzeros,
            "longest": self.longest,
            "longest_row": self.longest_row,
            "sparsity": self.sparsity,
        }


@dataclass(frozen=True, eq=False)
class RegionReport:
    """Report of `ellcsr_array.report`: lines by `str()`, plain numbers by `to_dict()`."""

    reference: Region
    expansion: Region
    whole: Region
    nbytes: int  # of the matrix

    def to_dict(self) -> dict[str, Any]:
        """Return the regions and the bytes, ready for JSON."""
        regions = {name: getattr(self, name).to_dict() for name in ("reference", "expansion", "whole")}
        return {**regions, "nbytes": self.nbytes}

    def __str__(self) -> str:
        cells = [["region", "columns", "nonzeros", "longest row", "its number", "sparsity"]]
        for name, region in (("reference", self.reference), ("expansion", self.expansion), ("whole", self.whole)):
            number = "-" if region.longest_row is None else str(region.longest_row)
            lengths = [str(region.nonzeros), str(region.longest), number, f"{region.sparsity:.6f}"]
            inside = f"{region.first} to {region.end - 1}" if region.end > region.first else "none"
            cells.append([name, inside, *lengths])
        return "\n".join([*columns.columns(cells, "<<>>>>"), f"The matrix takes {human(self.nbytes)}."])


def report(csr: Any, column: int, nbytes: int) -> RegionReport:
    """Return the report of SciPy's csr with sorted columns, whose reference region ends before a column."""
    n = csr.shape[1]
    before = np.concatenate(([0], np.cumsum(csr.indices < column, dtype=np.int64)))
    leading, lengths = np.diff(before[csr.indptr]), np.diff(csr.indptr).astype(np.int64)
    return RegionReport(
        _region(0, column, leading), _region(column, n, lengths - leading), _region(0, n, lengths), nbytes
    )


def _region(first: int, end: int, lengths: NDArray[np.int64]) -> Region:
    nonzeros, positions = int(lengths.sum()), len(lengths) * (end - first)
    return Region(first, end, nonzeros, 1 - nonzeros / positions if positions else 1.0, lengths)
