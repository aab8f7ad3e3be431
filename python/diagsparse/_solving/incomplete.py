"""GMRES with incomplete factors as the preconditioner."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, gmres, spilu

from .._matrix.convert import convert

FILL = 10  #: values of the incomplete factors for each element of the matrix, at most
STEPS = 40  #: iterations that a forecast counts with
_RESTART, _RESTARTS = 50, 10


def prepare(A: Any) -> Callable[[Any, float], Any]:
    """Return a solver: ``solver(b, reduction)`` reduces the residual to this fraction, or raises LinAlgError."""
    rows = sp.csc_array(convert(A, "csc").to_scipy())
    if not np.isfinite(rows.data).all():
        raise ValueError("solve: A holds values that are not finite")
    if not A.shape[0]:
        return lambda b, reduction: np.zeros(b.shape, np.result_type(A.dtype, b.dtype))
    try:
        factors = spilu(rows, fill_factor=FILL)
    except RuntimeError as error:
        raise np.linalg.LinAlgError(f"the incomplete factors do not exist: {error}") from None
    M = LinearOperator(rows.shape, factors.solve, dtype=rows.dtype)

    def solve(b: Any, reduction: float) -> Any:
        kind = np.result_type(A.dtype, b.dtype)
        columns = b.reshape(len(b), prod(b.shape[1:]))
        x = np.empty(columns.shape, kind)
        parts = ("real", "imag") if kind.kind == "c" and rows.dtype.kind != "c" else ("",)
        for part in parts:
            for j in range(columns.shape[1]):
                right = getattr(columns, part)[:, j] if part else columns[:, j]
                target = getattr(x, part) if part else x
                target[:, j] = _column(A, M, right, reduction)
        return x.reshape(b.shape)

    return solve


def _column(A: Any, M: LinearOperator, b: NDArray[Any], reduction: float) -> NDArray[Any]:
    """Return the solution for one right-hand side, scaled so that no norm overflows or vanishes."""
    scale = float(np.abs(b).max(initial=0.0))
    if not scale:
        return np.zeros(len(b), A.dtype)
    right = (b / scale).astype(A.dtype)
    x, info = gmres(A, right, rtol=reduction, atol=0.0, restart=_RESTART, maxiter=_RESTARTS, M=M)
    if info:
        most = _RESTART * _RESTARTS
        raise np.linalg.LinAlgError(f"GMRES does not reduce the residual to {reduction:.2g} in {most} iterations")
    return x * scale
