"""What `csr` and `csc` have and `coo` has not: index arrays by SciPy's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._matrix.base import SparseArray
from .._places.backend import CPU
from .indexed import IndexedArray


class CompressedArray(IndexedArray):
    """Entries in lines, rows of csr or columns of csc: ``indices`` within them, and ``indptr`` to where each starts."""

    _structure = ("indices", "indptr")

    @property
    def has_sorted_indices(self) -> bool:
        """Whether indices ascend in each line: always, unless others were written there.

        The order is looked up and not remembered. So assigning False, by which SciPy learns that indices were written,
        has no effect, and assigning True raises `ValueError` if they do not ascend.
        """
        return self._place is not CPU or (exporter := self._matrix.exporter) is None or exporter.ascends()

    @has_sorted_indices.setter
    def has_sorted_indices(self, value: bool) -> None:
        if value and not self.has_sorted_indices:
            raise ValueError(
                f"{self.format}_array: has_sorted_indices = {value!r}, but indices do not ascend; "
                "sort_indices() sorts them"
            )

    @property
    def has_canonical_format(self) -> bool:
        """Whether indices ascend in each line, and none repeats; assigning is as of `has_sorted_indices`."""
        return self._is_canonical()

    @has_canonical_format.setter
    def has_canonical_format(self, value: bool) -> None:
        self._refuse_canonical(value)

    @property
    def indices(self) -> np.ndarray:
        """Column of every entry (of csc: row), int32: a copy of what kernels read.

        What is written there is validated and taken over before the next use of the matrix. Each use costs a comparison
        as long as somebody holds the array. ``parts()`` has the arrays that kernels read.
        """
        return self._index_part("indices")

    @indices.setter
    def indices(self, new: Any) -> None:
        self._set_index_part("indices", new)

    @property
    def indptr(self) -> np.ndarray:
        """Where each row (of csc: column) starts, int32: a copy, as `indices`."""
        return self._index_part("indptr")

    @indptr.setter
    def indptr(self, new: Any) -> None:
        self._set_index_part("indptr", new)

    def sort_indices(self) -> None:
        """Sort indices that were written out of order, and their values; entries that repeat stay apart, as in SciPy.

        The matrix and its views get new arrays then, as from `sum_duplicates`.
        """
        self._sort(sum_duplicates=False)

    def sorted_indices(self) -> SparseArray:
        """Return a sorted copy."""
        made = self.copy()
        made.sort_indices()
        return made
