"""Substitution with triangles of matrices, on either device."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np

from .._backends.backend import CPU
from .._matrix.sparse_array import SparseArray
from .substitution import Singular, stored


class Triangle:
    """One triangle of a matrix, whose values must not change; elements of the other one are ignored.

    The transpose and the adjoint are analyzed when they are first used.
    """

    def __init__(self, a: SparseArray, lower: bool, unit: bool) -> None:
        self._a, self._lower, self._unit, self._lock = stored(a), lower, unit, Lock()
        self._systems = {"N": self._analyzed("N")}

    @property
    def order(self) -> str:
        """In which order rows are computed.

        "rows", "levels", "blocks" or "lines" on the CPU; "grid", "chains", "blocks", "march", "tridiagonal" or "levels"
        on a GPU.
        """
        return str(self._systems["N"].order)

    @property
    def nbytes(self) -> int:
        """Bytes that are stored in addition to the matrix."""
        return sum(system.nbytes for system in self._systems.values())

    def solve(self, x: Any, trans: str) -> None:
        """Overwrite `x` with the solutions: shape (n, k), on the CPU in C order, on a GPU in F order."""
        conjugated = trans == "H" and self._a.dtype.kind == "c"
        on_host = self._a._backend is CPU
        key = "T" if trans == "H" and (on_host or not conjugated) else trans
        with self._lock:
            if key not in self._systems:
                self._systems[key] = self._analyzed(key)
        if on_host and conjugated:
            np.conjugate(x, out=x)
        self._systems[key].solve(x)
        if on_host and conjugated:
            np.conjugate(x, out=x)

    def _analyzed(self, trans: str) -> Any:
        lower = self._lower == (trans == "N")
        if self._a._backend is not CPU:
            from . import device_triangles

            return device_triangles.analyzed(self._a, trans, lower, self._unit)
        a = self._a if trans == "N" else stored(self._a.T)
        system = a._core.triangle(a._matrix, a._op, lower, self._unit)
        if not system.finite:
            raise ValueError("A holds values that are not finite")
        if system.singular >= 0:
            raise Singular(system.singular)
        return system
