"""What `csr` and `csc` have and `coo` has not: index arrays by SciPy's names, which are always sorted."""

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
        """True: indices ascend in each line. What SciPy's functions set is not kept."""
        return True

    @has_sorted_indices.setter
    def has_sorted_indices(self, told: bool) -> None:
        pass

    @property
    def has_canonical_format(self) -> bool:
        """True: indices ascend in each line, and none repeats. What SciPy's functions set is not kept."""
        return True

    @has_canonical_format.setter
    def has_canonical_format(self, told: bool) -> None:
        pass

    @property
    def indices(self) -> np.ndarray:
        """Column of every entry (of csc: row), int32, zero-copy, read-only."""
        return self._index_part("indices")

    @indices.setter
    def indices(self, new: Any) -> None:
        self._keep_index_part("indices", new)

    @property
    def indptr(self) -> np.ndarray:
        """Where each row (of csc: column) starts, typed as `indices`; ``parts()`` has the int64 that kernels read."""
        return self._index_part("indptr")

    @indptr.setter
    def indptr(self, new: Any) -> None:
        self._keep_index_part("indptr", new)

    def sort_indices(self) -> None:
        """Do nothing: indices are sorted."""

    def sorted_indices(self) -> SparseArray:
        """Return a copy: indices are sorted."""
        return self.copy()
