"""Jacobi sweeps instead of substitution: approximate solutions with a triangle, by products alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._backends.backend import CPU
from .._matrix.base import CONJUGATED, TRANSPOSED
from .._matrix.builders import diags
from .._matrix.sparse_array import SparseArray
from .substitution import DIAGONALS

_OPERATIONS = {"N": 0, "T": TRANSPOSED, "H": TRANSPOSED | CONJUGATED}


class Sweeps:
    """A number of Jacobi sweeps on a triangular matrix ``T = D (I + N)``, where D is its main diagonal.

    They start from ``x = D^-1 b``, and each computes ``x = D^-1 b - N x``. As many sweeps as there are levels of rows
    would give the exact solution. `pivots` is the main diagonal on the host, or None if it is 1.
    """

    def __init__(self, strict: SparseArray, pivots: np.ndarray | None, count: int) -> None:
        self._count, self._scale = count, None
        if pivots is not None:
            format = strict.format if strict.format in DIAGONALS else "dia"
            self._scale = diags({0: 1 / pivots}, format=format, dtype=strict.dtype).to(strict.device)
            strict = _scaled(strict, 1 / pivots)
        self._strict = strict

    @property
    def nbytes(self) -> int:
        """Bytes of N and of the reciprocals of D."""
        return self._strict.nbytes + (0 if self._scale is None else self._scale.nbytes)

    def solve(self, x: Any, trans: str) -> None:
        """Overwrite the right-hand sides `x` with the approximate solutions."""
        op = _OPERATIONS[trans]
        if trans == "N":
            self._divide(x, op)
        start = _copy(self._strict, x)
        for _ in range(self._count):
            before = _copy(self._strict, x)
            _assign(x, start)
            self._strict._core.matvec(self._strict._matrix, op ^ self._strict._op, before, x, -1, 1, "")
        if trans != "N":
            self._divide(x, op)

    def _divide(self, x: Any, op: int) -> None:
        if self._scale is not None:
            self._scale._core.matvec(self._scale._matrix, op, _copy(self._scale, x), x, 1, 0, "")


def _scaled(a: SparseArray, factors: np.ndarray) -> SparseArray:
    """Return the matrix whose rows are those of `a` times these factors, in the format of `a`."""
    result = diags({0: factors}, format=a.format if a.format in DIAGONALS else "csr", dtype=a.dtype)
    product: SparseArray = result.to(a.device) @ a
    return product


def _copy(a: SparseArray, x: Any) -> Any:
    if a._backend is CPU:
        return x.copy()
    result = a._core.empty(x.shape, x.dtype.name, x.device, "F")
    result.assign(x)
    return result


def _assign(x: Any, values: Any) -> None:
    if isinstance(x, np.ndarray):
        x[...] = values
    else:
        x.assign(values)
