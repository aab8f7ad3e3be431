"""Diagonals as SciPy aligns them, by column, that users may write to: the matrix has them by row."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._matrix.sparse_array import SparseArray
from .exported import WritableCopy


class ExportedDiagonals:
    """The array that `dia_array.data` gave out, and the values: what is written to one of them is carried to the other.

    What was written to both counts as in the array.
    """

    def __init__(self, native: Any) -> None:
        self._native, self._matrix = native, SparseArray._wrap(native)
        self._lock = threading.RLock()
        self._data: WritableCopy | None = None
        self._snapshot = np.empty(0)  # what the array held when both were the same
        self._ended = False

    def array(self, name: str) -> np.ndarray | None:
        """Return the array, the same one as long as somebody holds it; None after the end."""
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
        """The stored values, by row."""
        with self._lock:
            self._exchange()
            return self._native.values

    def native(self, format: str) -> Any:
        """Return the matrix, None if nobody holds the array any more."""
        with self._lock:
            held = self._data is not None and self._data.held()
            self._exchange()
            self._ended = not held
            return self._native if held else None

    def _exchange(self) -> None:
        """Carry what was written to the array to the values, and then the values to the array."""
        if self._data is None:
            return
        for array, snapshot, values in self._diagonals(self._data.memory, self._snapshot):
            written = array != snapshot
            values[written] = array[written]
            array[...] = snapshot[...] = values

    def _diagonals(self, *data: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
        """Yield each diagonal of arrays by column, and its values, as integers: a NaN equals itself then."""
        bits = np.dtype(f"u{self._native.values.real.itemsize}")
        rows = {k: row for row, k in enumerate(self._matrix.offsets.tolist())}
        for k, first, values in self._matrix._format.diagonals(self._matrix):
            along = slice(first + k, first + k + len(values))
            yield *(array[rows[k], along].view(bits) for array in data), values.view(bits)


def column_aligned(a: SparseArray) -> np.ndarray:
    """Return a copy of the diagonals as SciPy aligns them, in the order of `offsets`."""
    data = a.to_scipy("dia")
    order = {k: row for row, k in enumerate(data.offsets.tolist())}
    result: np.ndarray = data.data[[order[k] for k in a.offsets.tolist()]]
    return result
