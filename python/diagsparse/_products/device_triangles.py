"""Triangles on a GPU: kernels for diagonals, cuSPARSE for csr."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._matrix.base import CONJUGATED, TRANSPOSED
from .._matrix.convert import convert
from .._matrix.sparse_array import SparseArray
from .device_bands import by_rows, filled
from .substitution import DIAGONALS, Singular

_MOST_DIAGONALS, _MOST_IN_TRIANGLE = 27, 13  # of a csr matrix that is converted to diagonals
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
    inverse = None if unit else _reciprocals(a, _OPERATIONS[trans] ^ a._op)
    if a.format in DIAGONALS or has_few_diagonals(a, lower == (trans == "N")):
        system = _of_diagonals(a if a.format in DIAGONALS else convert(a, "hm"), trans, lower, unit, inverse)
        if system is not None:
            return system
    csr = convert(a, "csr")
    csr = csr.copy() if csr._op else csr
    return csr._core.triangle_of_rows(csr._matrix, _OPERATIONS[trans], lower, unit)


def has_few_diagonals(a: SparseArray, lower: bool) -> bool:
    """Whether a triangle of a csr matrix consists of a few nearly full diagonals, which are solved faster as such."""
    summary = a._summary()
    own = summary.offsets < 0 if lower else summary.offsets > 0
    lengths = a.shape[0] - abs(summary.offsets[own])
    few = len(summary.offsets) <= _MOST_DIAGONALS and len(lengths) <= _MOST_IN_TRIANGLE
    return bool(few and (3 * summary.fill[own] >= 2 * lengths).all())


def _of_diagonals(a: SparseArray, trans: str, lower: bool, unit: bool, inverse: Any) -> Any:
    """Return a triangle of op(a), or None if its diagonals are near and form no lines of a grid."""
    summary = a._summary()
    offsets = summary.offsets[summary.fill > 0] * (1 if trans == "N" else -1)
    op = _OPERATIONS[trans] ^ a._op
    system = a._core.triangle_of_diagonals(a._matrix, op, lower, inverse, [int(k) for k in offsets])
    own = offsets[offsets < 0] if lower else offsets[offsets > 0]
    if system is None and abs(own).max(initial=0) == 1 and a.shape[0] >= 3:
        return _Bidiagonal({"N": a, "T": a.T, "H": a.H}[trans], lower, unit)
    return system


def _reciprocals(a: SparseArray, op: int) -> Any:
    """Return the reciprocals of the main diagonal, without conjugation; raise Singular if one is not finite."""
    main = a._core.diagonal(a._matrix, op & ~CONJUGATED, 0)
    inverse = main**-1
    if (inverse * 0).any():
        with np.errstate(all="ignore"):
            raise Singular(int(np.flatnonzero(~np.isfinite(1 / main.get()))[0]))
    return inverse
