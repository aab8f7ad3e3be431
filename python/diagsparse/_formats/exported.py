"""Arrays that a matrix gives out to be written to, where kernels cannot read what is in a user's hands.

A user gets a copy. As long as somebody may write to it, every use of the matrix compares it with what it held before,
and takes over what was written: native code asks the exporter of the matrix (``src/cpp/bind/exports.hpp``).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np


class Exporter(Protocol):
    """What stands for a matrix in native code as long as arrays of it may be written to."""

    @property
    def values(self) -> np.ndarray:
        """The stored values, in the order in which the user sees them."""

    def array(self, name: str) -> np.ndarray | None:
        """Return an array of the matrix to write to, the same as long as somebody holds it; None after the end."""

    def native(self, format: str) -> Any:
        """Return the matrix as the arrays describe it now; None at the end: nobody holds one, and nothing changed."""


def exported_array(native: Any, exporter: Callable[[Any], Exporter], name: str) -> np.ndarray:
    """Return an array of a native matrix to write to; `exporter` makes what follows what is written there."""
    while True:
        known: Exporter = native.exporter or native.export_by(exporter(native.as_made))
        if (array := known.array(name)) is not None:
            return array
        native.drop_exporter(known)  # which ended; Ctrl-C may have come before native code gave it up


class WritableCopy:
    """An array in a user's hands."""

    def __init__(self, memory: np.ndarray) -> None:
        self.memory = memory
        self._given: weakref.ref[np.ndarray] | None = None

    def array(self) -> np.ndarray:
        """Return the array over this memory, the same one as long as somebody holds it."""
        array = None if self._given is None else self._given()
        if array is None:
            # Its base is no array of NumPy's. So views of it keep it alive, and not only the memory.
            array = np.asarray(self.memory.data)
            self._given = weakref.ref(array)
        return array

    def held(self) -> bool:
        """Whether somebody may write to it."""
        return self._given is not None and self._given() is not None
