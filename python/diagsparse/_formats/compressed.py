"""Attributes of `csr` and `csc` with SciPy's names: `indices`, `indptr` and the order of the entries."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._backends.backend import CPU
from .._matrix.sparse_array import SparseArray
from .indexed_array import index_part, is_canonical, refuse_canonical, set_index_part, sort


def _has_sorted_indices(a: SparseArray) -> bool:
    """Whether indices ascend in each row (csr) or column (csc). They do, unless they were written to.

    The order is always checked. Assigning False, which tells SciPy that indices were written to, has no effect here;
    assigning True raises `ValueError` if the indices do not ascend.
    """
    return a._backend is not CPU or (exporter := a._matrix.exporter) is None or exporter.ascends()


def _set_has_sorted_indices(a: SparseArray, value: bool) -> None:
    if value and not a.has_sorted_indices:
        raise ValueError(
            f"{a.format}_array: has_sorted_indices = {value!r}, but indices do not ascend; sort_indices() sorts them"
        )


has_sorted_indices = property(_has_sorted_indices, _set_has_sorted_indices)


def _has_canonical_format(a: SparseArray) -> bool:
    """Whether indices ascend in each row (csr) or column (csc), without duplicates; see `has_sorted_indices`."""
    return is_canonical(a)


def _set_has_canonical_format(a: SparseArray, value: bool) -> None:
    refuse_canonical(a, value)


has_canonical_format = property(_has_canonical_format, _set_has_canonical_format)


def _indices(a: SparseArray) -> np.ndarray:
    """Column of every entry (row for csc), int32: a copy of the array that kernels read.

    Changes are validated and applied before the next use of the matrix. As long as the array is referenced, every use
    compares it with its last state. ``parts()`` has the arrays that kernels read.
    """
    return index_part(a, "indices")


def _set_indices(a: SparseArray, new: Any) -> None:
    set_index_part(a, "indices", new)


indices = property(_indices, _set_indices)


def _indptr(a: SparseArray) -> np.ndarray:
    """Start of each row (column for csc), int32: a copy, like `indices`."""
    return index_part(a, "indptr")


def _set_indptr(a: SparseArray, new: Any) -> None:
    set_index_part(a, "indptr", new)


indptr = property(_indptr, _set_indptr)


def sort_indices(a: SparseArray) -> None:
    """Sort indices that were written out of order, and their values, without summing duplicates, as in SciPy.

    If anything changes, the matrix and its views get new arrays, as from `sum_duplicates`.
    """
    sort(a, sum_duplicates=False)


def sorted_indices(a: SparseArray) -> SparseArray:
    """Return a sorted copy."""
    result = a.copy()
    result.sort_indices()
    return result
