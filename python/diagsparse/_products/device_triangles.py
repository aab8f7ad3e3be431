"""Triangles on a GPU: kernels for diagonals, cuSPARSE for csr."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._matrix.base import CONJUGATED, TRANSPOSED
from .._matrix.convert import convert
from .._matrix.sparse_array import SparseArray
from .device_bands import by_rows, filled
from .substitution import DIAGONALS, Singular

_OPERATIONS = {"N": 0, "T": TRANSPOSED, "H": TRANSPOSED | CONJUGATED}


class _Bidiagonal:
    """A triangle with a main and a neighbouring diagonal, which cuSPARSE solves as a tridiagonal system."""

    order = "tridiagonal"

    def __init__(self, a: SparseArray, lower: bool, unit: bool) -> None:
        n = a.shape[0]
        zeros = filled(a._core, a._matrix.values, (n,), 0)
        main = filled(a._core, zeros, (n,), 1) if unit else by_rows(a, 0, n)
        side = by_rows(a, -1 if lower else 1, n)
        self._bands = (side, main, zeros) if lower else (zeros, main, side)
        self._core, self.nbytes = a._core, 3 * zeros.nbytes

    def solve(self, x: Any) -> None:
        """Overwrite the columns of `x` with the solutions."""
        self._core.solve_tridiagonal(*self._bands, x)


def analyzed(a: SparseArray, trans: str, lower: bool, unit: bool) -> Any:
    """Return a triangle of op(a), for diagonals or csr; `lower` and `unit` describe op(a)."""
    op = _OPERATIONS[trans] ^ a._op
    inverse = None if unit else _reciprocals(a, op)
    if a.format not in DIAGONALS:
        return a._core.triangle_of_rows(a._matrix, op, lower, unit)
    summary = a._summary()
    offsets = summary.offsets[summary.fill > 0] * (1 if trans == "N" else -1)
    system = a._core.triangle_of_diagonals(a._matrix, op, lower, inverse, [int(k) for k in offsets])
    if system is not None:
        return system
    own = offsets[offsets < 0] if lower else offsets[offsets > 0]
    if abs(own).max(initial=0) == 1 and a.shape[0] >= 3:
        return _Bidiagonal({"N": a, "T": a.T, "H": a.H}[trans], lower, unit)
    csr = convert(a, "csr")
    csr = csr.copy() if csr._op else csr
    return csr._core.triangle_of_rows(csr._matrix, _OPERATIONS[trans], lower, unit)


def _reciprocals(a: SparseArray, op: int) -> Any:
    """Return the reciprocals of the main diagonal, without conjugation; raise Singular if one is not finite."""
    main = a._core.diagonal(a._matrix, op & ~CONJUGATED, 0)
    inverse = main**-1
    if (inverse * 0).any():
        with np.errstate(all="ignore"):
            raise Singular(int(np.flatnonzero(~np.isfinite(1 / main.get()))[0]))
    return inverse
