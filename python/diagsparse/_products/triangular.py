"""Solving with a triangle of a matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from .._matrix.convert import unpacked
from .._matrix.operands import require_sparse
from .._matrix.sparse_array import SparseArray
from .factors import Factorization
from .triangles import Triangle


class Substitutions:
    """Factors that are solved with one after the other, in the dtype of the matrix or in a wider one.

    `build` returns them for a dtype; ``step.solve(x, trans)`` overwrites x.
    """

    def __init__(self, method: str, matrix: SparseArray, build: Callable[[Any], Sequence[Any]]) -> None:
        self.method, self.matrix, self._build, self._lock = method, matrix, build, Lock()
        self._steps = {matrix.dtype: build(matrix.dtype)}

    @property
    def nbytes(self) -> int:
        """Bytes of the matrix, and of everything that is stored with it."""
        return self.matrix.nbytes + sum(step.nbytes for steps in self._steps.values() for step in steps)

    def solve(self, x: Any, trans: str, dtype: Any = None) -> Any:
        """Overwrite `x`, whose columns are right-hand sides, with the solutions, and return it."""
        with self._lock:
            if x.dtype not in self._steps:
                self._steps[x.dtype] = self._build(x.dtype)
            steps = self._steps[x.dtype]
        if x.size:
            for step in steps if trans == "N" else reversed(steps):
                step.solve(x, trans)
        return x

    def right_side(self, trans: str, fitted: Callable[..., tuple[int, ...]]) -> Any:
        """Return the task of solving for a right-hand side on a GPU."""
        from .device_factors import RightSide

        return RightSide(_Columns(self), trans, fitted)


class _Triangular(Factorization):
    """One triangle of a matrix as its own factors."""

    def __init__(self, a: SparseArray, lower: bool, unit: bool) -> None:
        LinearOperator.__init__(self, a.dtype, a.shape)
        self.sigma, self._backend = 0, a._backend
        with self._naming_errors("solve_triangular:"):
            self._factors = Substitutions(
                "triangular", a, lambda dtype: [Triangle(a.astype(dtype, copy=False), lower, unit)]
            )


class _Columns:
    """Solving for columns that may be elsewhere than the solutions."""

    def __init__(self, solver: Any) -> None:
        self.matrix, self._solver = solver.matrix, solver

    def solve(self, b: Any, x: Any, trans: str) -> None:
        if x is not b:
            x.assign(b)
        self._solver.solve(x, trans)


def solve_triangular(A: Any, b: Any, *, lower: bool = True, unit: bool = False, trans: str = "N") -> Any:
    """Return x with ``L x = b``, where L is the lower triangle of A, or the upper one.

    Parameters
    ----------
    A : sparse matrix (ours or SciPy's), shape (n, n)
        On the CPU or on a GPU. Its elements in the other triangle are ignored, as in `scipy.linalg.solve_triangular`.
    b : array_like, shape (n,) or (n, k)
        The right-hand sides. If A is on a GPU, also an array of CuPy, PyTorch or JAX, or a `DeviceArray`, there.
    lower : bool
        Solve with the lower triangle; if False, with the upper one.
    unit : bool
        Take the main diagonal as 1, whatever A stores there.
    trans : {"N", "T", "H"}
        Solve with the triangle, its transpose or its adjoint.

    Returns
    -------
    array
        The solution: an array of the same shape as `b`, and on a GPU of the same library, on the CPU of NumPy, with the
        dtype of ``A @ b``.

    Raises
    ------
    TypeError
        If A is not a sparse matrix, or `b` is sparse.
    ValueError
        If A is not square, the shape of `b` does not fit, `lower` or `unit` is not a bool, or the triangle has values
        that are not finite.
    numpy.linalg.LinAlgError
        If a pivot is zero, or so small that its reciprocal overflows; the message names it.

    Notes
    -----
    A solve reads the triangle once. To solve many times with the same triangle,
    ``ds.factorized(L, method="triangular")`` analyzes it only once.

    Formats of diagonals (dia, hm, cdm) and csr are read as they are; others are converted to csr first.

    Examples
    --------
    >>> import numpy as np, diagsparse as ds
    >>> A = ds.diags({-1: 1.0, 0: 2.0, 1: 5.0}, shape=(3, 3))
    >>> ds.solve_triangular(A, np.array([2.0, 3.0, 3.0]))
    array([1., 1., 1.])
    >>> ds.solve_triangular(A, np.array([2.0, 4.0, 3.0]), unit=True)
    array([2., 2., 1.])
    """
    for name, value in (("lower", lower), ("unit", unit)):
        if not isinstance(value, (bool, np.bool_)):
            raise ValueError(f"solve_triangular: {name}={value!r}, expected True or False")
    a = require_sparse(A, "solve_triangular", "A")
    if a.shape[0] != a.shape[1]:
        raise ValueError(f"solve_triangular: A is {a!r}; expected a square matrix")
    full = unpacked(a)
    return _Triangular(full.astype(full.dtype, copy=False), bool(lower), bool(unit)).solve(b, trans)
