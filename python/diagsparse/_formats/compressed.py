"""What `csr` and `csc` have and `coo` has not: index arrays by SciPy's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._backends.backend import CPU
from .._matrix.sparse_array import SparseArray
from .indexed_array import index_part, is_canonical, refuse_canonical, set_index_part, sort


def _has_sorted_indices(a: SparseArray) -> bool:
    """Whether indices ascend in each line: always, unless others were written there.

    The order is looked up and not remembered. So assigning False, by which SciPy learns that indices were written,
    has no effect, and assigning True raises `ValueError` if they do not ascend.
    """
    return a._backend is not CPU or (exporter := a._matrix.exporter) is None or exporter.ascends()


def _set_has_sorted_indices(a: SparseArray, value: bool) -> None:
    if value and not a.has_sorted_indices:
        raise ValueError(
            f"{a.format}_array: has_sorted_indices = {value!r}, but indices do not ascend; sort_indices() sorts them"
        )


has_sorted_indices = property(_has_sorted_indices, _set_has_sorted_indices)


def _has_canonical_format(a: SparseArray) -> bool:
    """Whether indices ascend in each line, and none repeats; assigning is as of `has_sorted_indices`."""
    return is_canonical(a)


def _set_has_canonical_format(a: SparseArray, value: bool) -> None:
    refuse_canonical(a, value)


has_canonical_format = property(_has_canonical_format, _set_has_canonical_format)


def _indices(a: SparseArray) -> np.ndarray:
    """Column of every entry (of csc: row), int32: a copy of what kernels read.

    What is written there is validated and taken over before the next use of the matrix. Each use costs a comparison
    as long as somebody holds the array. ``parts()`` has the arrays that kernels read.
    """
    return index_part(a, "indices")


def _set_indices(a: SparseArray, new: Any) -> None:
    set_index_part(a, "indices", new)


indices = property(_indices, _set_indices)


def _indptr(a: SparseArray) -> np.ndarray:
    """Where each row (of csc: column) starts, int32: a copy, as `indices`."""
    return index_part(a, "indptr")


def _set_indptr(a: SparseArray, new: Any) -> None:
    set_index_part(a, "indptr", new)


indptr = property(_indptr, _set_indptr)


def sort_indices(a: SparseArray) -> None:
    """Sort indices that were written out of order, and their values; entries that repeat stay apart, as in SciPy.

    The matrix and its views get new arrays then, as from `sum_duplicates`.
    """
    sort(a, sum_duplicates=False)


def sorted_indices(a: SparseArray) -> SparseArray:
    """Return a sorted copy."""
    result = a.copy()
    result.sort_indices()
    return result
