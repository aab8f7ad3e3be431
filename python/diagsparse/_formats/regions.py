"""The two regions of a matrix of configuration interaction: entries, longest rows and sparsity of each.

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
    """Adjacent columns of a matrix, and their entries; explicit zeros count as entries."""

    first: int  # column
    end: int  # the column after the last one
    nonzeros: int
    sparsity: float  # fraction of the elements that are not stored; 1 for a region without elements
    row_lengths: NDArray[np.int64]  # (m,) number of entries of each row

    @property
    def longest(self) -> int:
        """Number of entries of the longest row."""
        return int(self.row_lengths.max(initial=0))

    @property
    def longest_row(self) -> int | None:
        """Index of the longest row, the first one of several; None without rows."""
        return int(self.row_lengths.argmax()) if len(self.row_lengths) else None

    def to_dict(self) -> dict[str, Any]:
        """Return everything except `row_lengths` as plain values, for JSON."""
        names = ("first", "end", "nonzeros", "longest", "longest_row", "sparsity")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, eq=False)
class RegionReport:
    """The report of `ellcsr_array.report`. `str()` gives a table, `to_dict()` plain values."""

    reference: Region
    expansion: Region
    whole: Region
    nbytes: int  # of the matrix

    @property
    def _regions(self) -> dict[str, Region]:
        return {"reference": self.reference, "expansion": self.expansion, "whole": self.whole}

    def to_dict(self) -> dict[str, Any]:
        """Return the regions and the bytes as plain values, for JSON."""
        return {**{name: region.to_dict() for name, region in self._regions.items()}, "nbytes": self.nbytes}

    def __str__(self) -> str:
        cells = [["region", "columns", "nonzeros", "longest row", "its number", "sparsity"]]
        for name, region in self._regions.items():
            number = "-" if region.longest_row is None else str(region.longest_row)
            lengths = [str(region.nonzeros), str(region.longest), number, f"{region.sparsity:.6f}"]
            inside = f"{region.first} to {region.end - 1}" if region.end > region.first else "none"
            cells.append([name, inside, *lengths])
        return "\n".join([*columns.columns(cells, "<<>>>>"), f"The matrix needs {human(self.nbytes)}."])


def report(csr: Any, column: int, nbytes: int) -> RegionReport:
    """Return the report of a SciPy csr with sorted columns, whose reference region ends before `column`."""
    n = csr.shape[1]
    before = np.concatenate(([0], np.cumsum(csr.indices < column, dtype=np.int64)))
    leading, lengths = np.diff(before[csr.indptr]), np.diff(csr.indptr).astype(np.int64)
    return RegionReport(
        _region(0, column, leading), _region(column, n, lengths - leading), _region(0, n, lengths), nbytes
    )


def _region(first: int, end: int, lengths: NDArray[np.int64]) -> Region:
    nonzeros, elements = int(lengths.sum()), len(lengths) * (end - first)
    return Region(first, end, nonzeros, 1 - nonzeros / elements if elements else 1.0, lengths)
