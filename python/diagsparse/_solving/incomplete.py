"""GMRES with incomplete factors as the preconditioner."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import frexp, prod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, gmres, spilu

from .._backends import memory
from .._backends.types import solved_in, widened
from .._matrix.convert import convert
from .._matrix.norms import norm

FILL = 10  #: values of the incomplete factors for each element of the matrix, at most
STEPS = 40  #: iterations that a forecast counts with
_RESTART, _RESTARTS = 50, 10


def prepare(A: Any) -> Callable[[Any, float], Any]:
    """Return a solver: ``solver(b, reduction)`` reduces the residual to this fraction, or raises LinAlgError."""
    A = A.astype(widened(A.dtype), copy=False)
    if not A.shape[0]:
        return lambda b, reduction: np.zeros(b.shape, np.result_type(A.dtype, b.dtype))
    if not np.isfinite(size := norm(A, np.inf)):
        raise ValueError("solve: A holds values that are not finite")
    entries = min(FILL * A.nnz, A.shape[0] ** 2) + 2 * A.nnz  # of the factors, and of two copies of A
    memory.require_free(entries * (A.dtype.itemsize + 4), "solve: incomplete factors")
    scale = 2.0 ** frexp(size)[1]  # A / scale, so that no norm of GMRES overflows or vanishes
    unit = A * A.dtype.type(1 / scale)
    rows = sp.csc_array(convert(unit, "csc").to_scipy())
    try:
        factors = spilu(rows, fill_factor=FILL)
    except RuntimeError as error:
        raise np.linalg.LinAlgError(f"the incomplete factors do not exist: {error}") from None
    M = LinearOperator(rows.shape, lambda r: factors.solve(r.astype(rows.dtype, copy=False)), dtype=rows.dtype)

    @cache
    def in_dtype(dtype: Any) -> Any:
        """Return A / scale, in double precision for such right-hand sides; its factors remain in the dtype of A."""
        return unit.astype(dtype, copy=False)

    def solve(b: Any, reduction: float) -> Any:
        kind, matrix = np.result_type(A.dtype, b.dtype), in_dtype(solved_in(A.dtype, b.dtype))
        columns = b.reshape(len(b), prod(b.shape[1:]))
        x = np.empty(columns.shape, kind)
        for part in ("real", "imag") if kind.kind == "c" and rows.dtype.kind != "c" else ("",):
            target, right = (getattr(one, part) if part else one for one in (x, columns))
            for j in range(columns.shape[1]):
                target[:, j] = _column(matrix, M, right[:, j], reduction) / scale
        return x.reshape(b.shape)

    return solve


def _column(A: Any, M: LinearOperator, b: NDArray[Any], reduction: float) -> NDArray[Any]:
    """Return the solution for one right-hand side, which is scaled, too."""
    scale = float(np.abs(b).max(initial=0.0))
    if not scale:
        return np.zeros(len(b), A.dtype)
    x, info = gmres(A, (b / scale).astype(A.dtype), rtol=reduction, atol=0.0, restart=_RESTART, maxiter=_RESTARTS, M=M)
    if info:
        most = _RESTART * _RESTARTS
        raise np.linalg.LinAlgError(f"GMRES does not reduce the residual to {reduction:.2g} in {most} iterations")
    return x.astype(np.result_type(A.dtype, b.dtype), copy=False) * scale
