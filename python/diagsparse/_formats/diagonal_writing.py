"""Setting whole diagonals of a packed matrix of diagonals: it stays packed where the new values allow that."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._backends import memory
from .._backends.backend import CPU
from .._backends.types import widened
from .._matrix import indexing
from .._matrix.base import CONJUGATED
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import diagonal_length
from .._matrix.through_scipy import require_host
from .diagonal_reading import positions, runs, span_of


def values_to_store(a: SparseArray, given: np.ndarray, count: int, k: int) -> np.ndarray | None:
    """Return what this packing stores of a new diagonal, from its first row on; None where it cannot hold it."""
    period, length = a.period, diagonal_length(a._shape, k)
    if a.symmetry and (k or (a.symmetry == "hermitian" and np.imag(given).any())):
        return None
    if given.ndim == 0:
        stored = min(length, period or length)
        memory.require_free(stored * a._dtype.itemsize, f"setdiag: the values of diagonal {k}")
        return np.full(stored, given, a._dtype)
    values = given[:count].astype(a._dtype)
    if not period:
        return values
    repeats = count == length and CPU.core.same_bytes(values[period:], values[:-period])
    return values[:period] if repeats else None


@memory.no_limit()
def setdiag(a: SparseArray, values: Any, k: int = 0) -> None:
    """Set diagonal `k` to a number, or to as many values as are given, in place, as SciPy does.

    Where the whole diagonal is stored its values are written; else the matrix is laid out anew, and views of it
    stay as they are. A packed matrix stays packed if its symmetry and its period hold the new diagonal: the main
    one with a symmetry, one number or values that repeat with a period. Else every diagonal is stored in full.

    Raises
    ------
    MemoryError
        With the bytes, where storing every diagonal in full would not fit.
    """
    if not any(a._format.packing(a)):
        return indexing.setdiag(a, values, k)
    require_host(a, "setdiag")
    given, count = indexing.checked_diagonal(a, values, k)
    once = values_to_store(a, given, count, k)
    if once is None:
        try:
            return indexing.setdiag(a, values, k)
        except MemoryError as error:
            held = a._format.packing(a)
            raise MemoryError(f"setdiag: {held} does not hold this diagonal {k}, and in full: {error}") from None
    if (span := span_of(a, k)) is None:
        changed = [*runs(a, None, None, a.period), (k, max(0, -k), once)]
        result = a._format.from_runs(a._shape, widened(a._dtype), changed, **a._format.packing(a)._asdict())
        a._matrix, a._op = result.astype(a._dtype, copy=False)._matrix, 0
        return None
    _, _, _, start, phase, conjugated = span
    where = positions(a, start, phase, np.arange(len(once))) if a.period else slice(start, start + len(once))
    flip = bool(conjugated) != bool(a._op & CONJUGATED)
    a._matrix.values.reshape(-1)[where] = once.conj() if flip else once  # a view: values are contiguous
    return None
