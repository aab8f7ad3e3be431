"""Writable diagonals aligned by column, as in SciPy; the matrix stores them aligned by row."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._matrix.sparse_array import SparseArray
from .exported import WritableCopy


class ExportedDiagonals:
    """Keeps the exported array of `dia_array.data` and the values of the matrix equal after writes to either.

    If both were written to, the array takes precedence.
    """

    def __init__(self, native: Any) -> None:
        self._native, self._matrix = native, SparseArray._wrap(native)
        self._lock = threading.RLock()
        self._data: WritableCopy | None = None
        self._snapshot = np.empty(0)  # the array when both were equal last
        self._ended = False

    def array(self, name: str) -> np.ndarray | None:
        """Return the array, the same one while it is referenced; None if the exporter has ended."""
        with self._lock:
            if self._ended:
                return None
            if self._data is None:
                self._data = WritableCopy(column_aligned(self._matrix))
                self._snapshot = self._data.memory.copy()
            self._exchange()
            return self._data.array()

    @property
    def values(self) -> np.ndarray:
        """The stored values, aligned by row."""
        with self._lock:
            self._exchange()
            return self._native.values

    def native(self, format: str) -> Any:
        """Return the matrix, None if the array is no longer referenced."""
        with self._lock:
            held = self._data is not None and self._data.held()
            self._exchange()
            self._ended = not held
            return self._native if held else None

    def _exchange(self) -> None:
        """Copy changes of the array to the values, and then the values to the array."""
        if self._data is None:
            return
        for array, snapshot, values in self._diagonals(self._data.memory, self._snapshot):
            written = array != snapshot
            values[written] = array[written]
            array[...] = snapshot[...] = values

    def _diagonals(self, *data: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
        """Yield each diagonal of arrays aligned by column, and its values, as integers, so that NaNs compare equal."""
        bits = np.dtype(f"u{self._native.values.real.itemsize}")
        rows = {k: row for row, k in enumerate(self._matrix.offsets.tolist())}
        for k, first, values in self._matrix._format.diagonals(self._matrix):
            along = slice(first + k, first + k + len(values))
            yield *(array[rows[k], along].view(bits) for array in data), values.view(bits)


def column_aligned(a: SparseArray) -> np.ndarray:
    """Return a copy of the diagonals aligned by column, in the order of `offsets`."""
    data = a.to_scipy("dia")
    order = {k: row for row, k in enumerate(data.offsets.tolist())}
    result: np.ndarray = data.data[[order[k] for k in a.offsets.tolist()]]
    return result
