"""What `csr` and `csc` have and `coo` has not: index arrays by SciPy's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._matrix.base import SparseArray
from .indexed import IndexedArray


class CompressedArray(IndexedArray):
    """Entries in lines, rows of csr or columns of csc: ``indices`` within them, and ``indptr`` to where each starts."""

    _structure = ("indices", "indptr")

    @property
    def has_sorted_indices(self) -> bool:
        """Whether indices ascend in each line, and none repeats: always, unless others were written there.

        What is assigned is ignored.
        """
        return self._is_canonical()

    @has_sorted_indices.setter
    def has_sorted_indices(self, told: bool) -> None:
        pass

    @property
    def has_canonical_format(self) -> bool:
        """The same as `has_sorted_indices`."""
        return self._is_canonical()

    @has_canonical_format.setter
    def has_canonical_format(self, told: bool) -> None:
        pass

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
        """Sort indices that were written out of order, and their values; sum those that repeat. In place."""
        self.sum_duplicates()

    def sorted_indices(self) -> SparseArray:
        """Return a sorted copy."""
        made = self.copy()
        made.sort_indices()
        return made
