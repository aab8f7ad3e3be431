"""Setting diagonals of a diagonal matrix; a packed one stays packed if the new values allow it."""

from __future__ import annotations

from collections.abc import Sequence
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
    require_host(a, "setdiag")
    given, count = indexing.checked_diagonal(a, values, k)
    span = span_of(a, k)
    if not (a._packed and any(a._format.packing(a))):
        if span is None:
            return indexing.setdiag(a, values, k)
        return write(a, span, slice(span[3], span[3] + count), given if given.ndim == 0 else given[:count])
    once = values_to_store(a, given, count, k)
    if once is None:
        try:
            return indexing.setdiag(a, values, k)
        except MemoryError as error:
            held = a._format.packing(a)
            raise MemoryError(f"setdiag: {held} cannot represent this diagonal {k}, and in full: {error}") from None
    if span is None:
        changed = [*runs(a, None, None, a.period), (k, max(0, -k), once)]
        result = a._format.from_runs(a._shape, widened(a._dtype), changed, **a._format.packing(a)._asdict())
        a._matrix, a._op = result.astype(a._dtype, copy=False)._matrix, 0
        return None
    start, phase = span[3:5]
    where = positions(a, start, phase, np.arange(len(once))) if a.period else slice(start, start + len(once))
    return write(a, span, where, once)


def write(a: SparseArray, span: Sequence[int], where: Any, new: np.ndarray) -> None:
    """Write elements of the diagonal of this row of the native ``spans`` to their positions in the stored values."""
    flip = bool(span[5]) != bool(a._op & CONJUGATED)
    a._matrix.values.reshape(-1)[where] = new.conj() if flip else new  # a view: values are contiguous
