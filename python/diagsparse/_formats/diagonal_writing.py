"""Setting whole diagonals of a packed matrix of diagonals: it stays packed where the new values allow that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._matrix.base import CONJUGATED
from .._matrix.indexing import Indexing
from .._matrix.summary import diagonal_length
from .._places import memory
from .._places.backend import CPU
from .._places.types import widened

if TYPE_CHECKING:
    from .diagonal import DiagonalArray


class DiagonalWriting:
    """Writing diagonals; mixed into the class of matrices of diagonals."""

    @memory.no_limit()
    def setdiag(self: DiagonalArray, values: Any, k: int = 0) -> None:
        """Set diagonal `k` to a number, or to as many values as are given, in place, as SciPy does.

        Where the whole diagonal is stored its values are written; else the matrix is laid out anew, and views of it
        stay as they are. A packed matrix stays packed if its symmetry and its period hold the new diagonal: the main
        one with a symmetry, one number or values that repeat with a period. Else every diagonal is stored in full.

        Raises
        ------
        MemoryError
            With the bytes, where storing every diagonal in full would not fit.
        """
        if not any(self._packing):
            return Indexing.setdiag(self, values, k)
        self._require_host("setdiag")
        given, count = self._checked_diagonal(values, k)
        once = self._values_to_store(given, count, k)
        if once is None:
            try:
                return Indexing.setdiag(self, values, k)
            except MemoryError as error:
                held = self._packing
                raise MemoryError(f"setdiag: {held} does not hold this diagonal {k}, and in full: {error}") from None
        if (span := self._span_of(k)) is None:
            runs = [*self._runs(None, None, self.period), (k, max(0, -k), once)]
            made = self._of_runs(self._shape, widened(self._dtype), runs, **self._packing._asdict())
            self._matrix, self._op = made.astype(self._dtype, copy=False)._matrix, 0
            return None
        _, _, _, start, phase, conjugated = span
        where = self._positions(start, phase, np.arange(len(once))) if self.period else slice(start, start + len(once))
        flip = bool(conjugated) != bool(self._op & CONJUGATED)
        self._matrix.values.reshape(-1)[where] = once.conj() if flip else once  # a view: values are contiguous
        return None

    def _values_to_store(self: DiagonalArray, given: np.ndarray, count: int, k: int) -> np.ndarray | None:
        """Return what this packing stores of a new diagonal, from its first row on; None where it cannot hold it."""
        period, length = self.period, diagonal_length(self._shape, k)
        if self.symmetry and (k or (self.symmetry == "hermitian" and np.imag(given).any())):
            return None
        if given.ndim == 0:
            stored = min(length, period or length)
            memory.require_free(stored * self._dtype.itemsize, f"setdiag: the values of diagonal {k}")
            return np.full(stored, given, self._dtype)
        values = given[:count].astype(self._dtype)
        if not period:
            return values
        repeats = count == length and CPU.core.same_bytes(values[period:], values[:-period])
        return values[:period] if repeats else None
