"""csr, csc and coo on a GPU: sums, products, copies and conversions are merges of sorted entries.

What `indexed` leaves to SciPy on the CPU is done here by the CUDA module; each result is a new matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._matrix.base import SparseArray
from .._places.backend import Place


def merged(format: str, shape: tuple[int, int], terms: Any, mode: str, dtype: np.dtype, place: Place) -> SparseArray:
    """Return the "sum" or the "product" of ``(matrix, factor)`` terms, or the "nonzero" entries of one."""
    raw = [(a._matrix, a._op, factor) for a, factor in terms]
    return SparseArray._wrap(place.core.merged(format, *shape, raw, mode, dtype.name, place.index))


def copied(a: SparseArray) -> SparseArray:
    """Return an independent matrix; a view is laid out anew."""
    return converted(a, a.format)


def converted(a: SparseArray, format: str) -> SparseArray:
    """Return the entries of `a` in another of the three formats."""
    return merged(format, a.shape, [(a, 1)], "sum", a.dtype, a._place)


def without_zeros(a: SparseArray) -> SparseArray:
    """Return the entries of `a` that are not zero."""
    return merged(a.format, a.shape, [(a, 1)], "nonzero", a.dtype, a._place)


def added(a: SparseArray, b: SparseArray, alpha: complex, beta: complex) -> SparseArray:
    """Return ``alpha a + beta b``; both in one of the three formats, the result in that of `a`."""
    dtype = np.result_type(a.dtype, b.dtype)
    return merged(a.format, a.shape, [(a, alpha), (b, beta)], "sum", dtype, a._place)


def multiplied(a: SparseArray, b: SparseArray) -> SparseArray:
    """Return the element-wise product: the entries that both store."""
    dtype = np.result_type(a.dtype, b.dtype)
    return merged(a.format, a.shape, [(a, 1), (b, 1)], "product", dtype, a._place)
