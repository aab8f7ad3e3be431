"""Conjugate gradients or GMRES with a cycle as the preconditioner: until the computed residual is small enough."""

from __future__ import annotations

from threading import RLock
from typing import Any

import numpy as np

from .gmres import gmres
from .hierarchy import Hierarchy
from .vectors import Vectors

_INCONSISTENT = 1e-6
_LARGEST_RESIDUAL = 0.1  # of a solution, relative to b, however large rounding errors are
TINY = 1e-307  #: elements of a right-hand side that are too small to be divided by
_ENLARGED = 2.0**600  # factor of such a right-hand side
_SMALLEST = 1e-9  # of the largest element of a right-hand side that is not scaled


class Iteration:
    """Solving with a hierarchy, whose vectors only one thread at a time may use: the one that has the lock."""

    def __init__(self, hierarchy: Hierarchy, vectors: Vectors, cycle: str, smoother: str, lock: RLock) -> None:
        self._hierarchy, self._vectors, self._lock = hierarchy, vectors, lock
        self._cycle, self._smoother = cycle, smoother

    def solve(self, b: Any, x0: Any, tol: float, maxiter: int, eps: float) -> Any:
        """Return the solution for one real right-hand side in float64."""
        v = self._vectors
        largest, size = v.size(b)
        for name, found in (("b", largest), ("x0", 0.0 if x0 is None else v.size(x0)[0])):
            if not np.isfinite(found):
                raise ValueError(f"multigrid.solve: {name} has elements that are not finite numbers")
        if largest == 0:
            return v.combined(0.0, b)
        if largest < TINY:  # its reciprocal overflows
            return v.combined(1 / _ENLARGED, self.solve(v.combined(_ENLARGED, b), None, tol, maxiter, eps))
        scale = 1.0
        if not _SMALLEST <= largest <= 1 / _SMALLEST:  # inner products must not overflow or vanish
            scale = largest
            b, x0 = v.combined(1 / scale, b), None if x0 is None else v.combined(1 / scale, x0)
            largest, size = v.size(b)
        if self._hierarchy.singular:
            b = self._consistent(b, size, scale)
        x = v.combined(0.0, b) if x0 is None else self._centered(v.combined(1.0, x0))
        iterations, mean, residual = 0, 0.0, b
        if x0 is not None:
            mean, residual = self._residual(b, x)
        off, error = v.size(residual)
        while not error <= tol * size and iterations < maxiter:
            most = maxiter - iterations
            with self._lock:
                if self._hierarchy.symmetric:
                    iterations += v.conjugate_gradients(self._hierarchy, x, residual, tol * size, most)
                else:
                    iterations += gmres(v, self._hierarchy, x, residual, tol * size, most)
                v.synchronize()  # another thread may use another stream
            before, x = error, self._centered(x)
            mean, residual = self._residual(b, x)
            off, error = v.size(residual)
            if error <= tol * size or self._at_rounding(x, (largest, size), (off, error), eps):
                break
            if not error < before:
                what = ", which does not become smaller"
                raise np.linalg.LinAlgError(self._failed(error / size, tol, iterations, what))
        if not error <= tol * size and not self._at_rounding(x, (largest, size), (off, error), eps):
            raise np.linalg.LinAlgError(self._failed(error / size, tol, iterations, "", True))
        off, error = off + abs(mean), float(np.hypot(error, mean * np.sqrt(len(b))))
        if not error <= tol * size and not self._at_rounding(x, (largest, size), (off, error), eps):
            raise np.linalg.LinAlgError(
                f"multigrid.solve: the relative residual is {error / size:.2g}, expected {tol:.2g}; the rows or "
                "columns of the matrix add up to zero only up to rounding errors, and so does the residual; use a "
                "matrix with more digits, or a larger tol"
            )
        return x if scale == 1 else v.combined(scale, x)

    def _residual(self, b: Any, x: Any) -> tuple[float, Any]:
        """Return ``b - A x``; if the matrix is singular, its mean, which is due to rounding, and the rest."""
        residual = self._vectors.combined(1.0, b, -1.0, self._vectors.multiply(x))
        if not self._hierarchy.singular:
            return 0.0, residual
        mean = self._vectors.mean(residual)
        return mean, self._vectors.shifted(residual, -mean)

    def _centered(self, x: Any) -> Any:
        """Return x; if constants are the null space, without its mean."""
        return self._vectors.shifted(x, -self._vectors.mean(x)) if self._hierarchy.singular else x

    def _failed(self, found: float, tol: float, iterations: int, what: str, at_most: bool = False) -> str:
        """Return the message for a residual; `at_most`: the iteration has ended because of `maxiter`."""
        others = ["a larger maxiter"] if at_most else []
        others += ['dtype="float64"'] if self._hierarchy.dtype == np.float32 else []
        others += ['cycle="W"'] if self._cycle == "V" else []
        others += ['smoother="line"'] if self._smoother != "line" else []
        hint = f"; try {' or '.join(others if iterations else others[:1])}" if others else ""
        if self._hierarchy.symmetric:
            need = "the matrix has to be positive definite, or singular with constants as its null space"
        else:
            need = "the diagonal of the matrix has to dominate, as with upwind differences"
        return (
            f"multigrid.solve: after {iterations} iterations the relative residual is {found:.2g}{what}, expected "
            f"{tol:.2g}; {need}{hint}"
        )

    def _at_rounding(self, x: Any, b: tuple[float, float], residual: tuple[float, float], eps: float) -> bool:
        """Whether the backward error is at the level of rounding errors, and the residual well below b.

        The largest elements and the norms of the right-hand side and of the residual are given.
        """
        if not residual[1] <= _LARGEST_RESIDUAL * b[1]:
            return False
        return residual[0] <= 16 * eps * (self._hierarchy.norm * self._vectors.size(x)[0] + b[0])

    def _consistent(self, b: Any, size: float, scale: float) -> Any:
        """Return b without its mean, which is due to rounding; raise LinAlgError if it is larger."""
        mean = self._vectors.mean(b)
        if abs(mean) * np.sqrt(len(b)) > _INCONSISTENT * size:
            raise np.linalg.LinAlgError(
                f"multigrid.solve: the matrix is singular, and the elements of b have the mean {scale * mean:.3g}, "
                "expected 0: there is no solution; that for b - b.mean() exists"
            )
        return self._vectors.shifted(b, -mean)
