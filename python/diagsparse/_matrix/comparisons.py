"""Elementwise ``==`` and ``!=``, on the CPU. The result is a SciPy array, because bool is not one of our value types.

Two matrices are compared by a merge that returns the positions where they differ. A result that is mostly True, as of
``A == B``, is computed as the complement of the opposite comparison.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._backends import memory
from .convert import convert, unpacked
from .registry import COMMON, FORMATS

_IN_LINES = {"csr": sp.csr_array, "csc": sp.csc_array}  # the classes of results
_OPPOSITE = {operator.eq: operator.ne, operator.ne: operator.eq}
_NARROW = 2**31  # results with fewer entries have 32-bit indices


def with_sparse(a: Any, b: Any, compare: Callable[[Any, Any], Any]) -> Any:
    """Return ``compare(a, b)``; a single bool if the shapes differ, as in SciPy."""
    if a._shape != b._shape:
        return compare is operator.ne
    _require_room(a, compare(0, 0), compare, "; use (A != B).nnz == 0" if compare is operator.eq else "")
    left, right = _entries(a), _entries(b)
    format = left._format.name if left._format.name in _IN_LINES else COMMON
    dtype = np.result_type(left._dtype, right._dtype).name
    positions = a._core.unequal_places(left._matrix, left._op, right._matrix, right._op, format, dtype)
    differ = _bools(format, a._shape, positions)
    return _complement(differ) if compare is operator.eq else differ


def with_scalar(a: Any, number: Any, compare: Callable[[Any, Any], Any]) -> Any:
    """Return ``compare(a, number)``."""
    full = bool(compare(0, number))
    _require_room(a, full, compare)
    entries = _entries(a)
    format = entries._format.name if entries._format.name in _IN_LINES else COMMON
    if entries._op or entries._format.name != format:
        entries = convert(entries, format).copy()
    here = (_OPPOSITE[compare] if full else compare)(entries._matrix.values, number)
    result = _bools(format, a._shape, entries._core.named_places(entries._matrix, here))
    return _complement(result) if full else result


def with_dense(a: Any, dense: Any, compare: Callable[[Any, Any], Any]) -> Any:
    """Return ``compare(a, dense)`` as a dense array."""
    _require_room(a, True, compare)
    return compare(unpacked(a).toarray(), dense)


def _require_room(a: Any, full: bool, compare: Callable[[Any, Any], Any], hint: str = "") -> None:
    """Raise MemoryError if a result with all elements does not fit."""
    m, n = a._shape
    if full and (nbytes := 18 * m * n) > memory.SMALL:
        memory.require_free(nbytes, f"{compare.__name__}: the result of {m} x {n} elements", hint=hint)


def _entries(a: Any) -> Any:
    """Return a matrix in csr, csc or coo."""
    a = unpacked(a)
    return a if a._format.family == FORMATS[COMMON].family else convert(a, COMMON)


def _bools(format: str, shape: tuple[int, int], positions: dict[str, np.ndarray]) -> Any:
    """Return a SciPy array that is True at these positions, whose arrays it takes over."""
    indices, indptr = positions["indices"], positions["indptr"]
    index = np.int32 if len(indices) < _NARROW else np.int64  # SciPy requires one type for both
    values = np.empty(len(indices), bool)
    values.fill(True)
    parts = values, indices.astype(index, copy=False), indptr.astype(index)
    return _IN_LINES[format](parts, shape=shape)


def _complement(a: Any) -> Any:
    """Return the complement of an array of bools that stores only True."""
    lines, length = a.shape if a.format == COMMON else a.shape[::-1]
    counts = np.diff(a.indptr)
    free = np.ones((lines, length), bool)
    free[np.repeat(np.arange(lines), counts), a.indices] = False
    indices = np.broadcast_to(np.arange(length, dtype=np.int32), free.shape)[free]
    indptr = np.zeros(lines + 1, np.int64)
    np.cumsum(length - counts, out=indptr[1:])
    return _bools(a.format, a.shape, {"indices": indices, "indptr": indptr})
