"""Writable copies of arrays that kernels must not read without validation.

The user gets a copy of an array. As long as it is referenced, every use of the matrix compares it with its last state
and applies the changes: native code calls the exporter of the matrix (``src/cpp/bind/exports.hpp``).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np


class Exporter(Protocol):
    """Represents a matrix in native code while exported arrays of it may be written to."""

    @property
    def values(self) -> np.ndarray:
        """The stored values, in the user's order."""

    def array(self, name: str) -> np.ndarray | None:
        """Return a writable array of the matrix, the same while it is referenced; None if the exporter has ended."""

    def native(self, format: str) -> Any:
        """Return the matrix that the arrays describe; None, and end, if none of them is referenced or changed."""


def exported_array(native: Any, exporter: Callable[[Any], Exporter], name: str) -> np.ndarray:
    """Return a writable array of a native matrix; `exporter` creates the object that tracks its changes."""
    while True:
        known: Exporter = native.exporter or native.export_by(exporter(native.as_made))
        if (array := known.array(name)) is not None:
            return array
        native.drop_exporter(known)  # it has ended, but Ctrl-C may have interrupted native code before it was dropped


class WritableCopy:
    """A copy of an array that a user may write to."""

    def __init__(self, memory: np.ndarray) -> None:
        self.memory = memory
        self._given: weakref.ref[np.ndarray] | None = None

    def array(self) -> np.ndarray:
        """Return the array on this memory, the same one while it is referenced."""
        array = None if self._given is None else self._given()
        if array is None:
            # Its base is not a NumPy array, so that views of it reference the array and not only the memory.
            array = np.asarray(self.memory.data)
            self._given = weakref.ref(array)
        return array

    def held(self) -> bool:
        """Whether the array is still referenced, so that it may be written to."""
        return self._given is not None and self._given() is not None
