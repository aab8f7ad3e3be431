"""Setting diagonals of a packed diagonal matrix, which stays packed if the new values allow it."""

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
    """Return the values that this packing stores for a new diagonal, None if it cannot represent it."""
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


@memory.no_limit
def setdiag(a: SparseArray, values: Any, k: int = 0) -> None:
    """Set diagonal `k` to a number, or its first elements to the given values, in place, as SciPy does.

    If the complete diagonal is stored, its values are overwritten. Otherwise the matrix gets new component arrays, and
    existing views of it do not change. A packed matrix stays packed if it can represent the new diagonal: with a
    symmetry only the main diagonal can be set, with a period only to one number or to values that repeat. Otherwise all
    diagonals are then stored in full.

    Raises
    ------
    MemoryError
        If the matrix does not fit with all diagonals stored in full.
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
            raise MemoryError(f"setdiag: {held} cannot represent this diagonal {k}, and in full: {error}") from None
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
