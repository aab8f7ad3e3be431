"""What a solution does with vectors in float64, on the CPU and on a GPU."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from .._arrays import new
from .._backends.backend import CPU
from .hierarchy import Hierarchy


class Vectors(Protocol):
    """Operations on the vectors of a matrix; they return new ones, unless they say otherwise."""

    def multiply(self, x: Any) -> Any:
        """Return ``A x``."""

    def combined(self, alpha: float, x: Any, beta: float = 0.0, y: Any = None, dtype: Any = None) -> Any:
        """Return ``alpha x + beta y``, by default in float64."""

    def shifted(self, x: Any, by: float) -> Any:
        """Return x with a number added to all elements."""

    def size(self, x: Any) -> tuple[float, float]:
        """Return the largest absolute value and the Euclidean norm."""

    def mean(self, x: Any) -> float:
        """Return the mean."""

    def inner(self, x: Any, y: Any) -> float:
        """Return the inner product."""

    def add(self, alpha: float, y: Any, to: Any) -> None:
        """Add a multiple of a vector to another one, in place."""

    def preconditioned(self, hierarchy: Hierarchy, r: Any) -> Any:
        """Return a cycle for a vector of moderate size; without its mean, if constants are the null space."""

    def synchronize(self) -> None:
        """Wait for all work on the device."""

    def conjugate_gradients(self, hierarchy: Hierarchy, x: Any, residual: Any, limit: float, most: int) -> int:
        """Iterate from x, in place, until the norm of the recurrence's residual reaches a limit.

        Return the number of iterations, of which there are at most `most`. The preconditioner is a cycle of the
        hierarchy. The iteration also ends where it is not positive. If constants are the null space, residuals and
        directions add up to zero.
        """


class HostVectors:
    """`Vectors` as NumPy arrays."""

    def __init__(self, A: Any) -> None:
        self._a = A

    def multiply(self, x: Any) -> Any:
        return self._a @ x

    def combined(self, alpha: float, x: Any, beta: float = 0.0, y: Any = None, dtype: Any = None) -> Any:
        result = alpha * x if y is None else alpha * x + beta * y
        return result.astype(dtype or np.float64, copy=False)

    def shifted(self, x: Any, by: float) -> Any:
        return x + by

    def size(self, x: Any) -> tuple[float, float]:
        with np.errstate(over="ignore"):  # the caller scales vectors with large elements
            return float(np.abs(x).max(initial=0.0)), float(np.linalg.norm(x))

    def mean(self, x: Any) -> float:
        return float(x.mean())

    def inner(self, x: Any, y: Any) -> float:
        return float(x @ y)

    def add(self, alpha: float, y: Any, to: Any) -> None:
        to += alpha * y

    def preconditioned(self, hierarchy: Hierarchy, r: Any) -> Any:
        finest = hierarchy.levels[0]
        finest.b[...] = r
        hierarchy.cycle()
        return finest.e - finest.e.mean(dtype=float) if hierarchy.singular else finest.e.astype(float)

    def synchronize(self) -> None:
        pass

    def conjugate_gradients(self, hierarchy: Hierarchy, x: Any, residual: Any, limit: float, most: int) -> int:
        finest, singular = hierarchy.levels[0], hierarchy.singular
        r, p, rho, z = residual.copy(), None, 0.0, finest.e
        for iteration in range(most):
            if singular:
                r -= r.mean()
            finest.b[...] = r
            hierarchy.cycle()
            if singular:
                z -= z.mean(dtype=float)
            before, rho = rho, float(r @ z)
            if not rho > 0:
                return iteration
            if p is None:
                p = z.astype(float)
            else:
                p *= rho / before
                p += z
            q = self._a @ p
            curvature = float(p @ q)
            if not curvature > 0:
                return iteration
            step = rho / curvature
            x += step * p
            r -= step * q
            if float(np.linalg.norm(r)) <= limit:
                return iteration + 1
        return most


class DeviceVectors:
    """`Vectors` as `DeviceArray`s on a GPU, on whose stream everything runs."""

    def __init__(self, A: Any) -> None:
        self._a, self._backend, self._core = A, A._backend, A._core
        self._kernel = A.kernels("matvec")[0]

    def _like(self, x: Any, dtype: Any = None) -> Any:
        return new.empty(self._backend, x.shape, dtype or "float64")

    def multiply(self, x: Any) -> Any:
        return self._multiply(x, self._like(x))

    def _multiply(self, x: Any, out: Any) -> Any:
        self._core.matvec(self._a._matrix, self._a._op, x, out, 1, 0, self._kernel)
        return out

    def combined(self, alpha: float, x: Any, beta: float = 0.0, y: Any = None, dtype: Any = None) -> Any:
        result = self._like(x, dtype)
        self._core.scaled_sum(alpha, x, beta, x if y is None else y, result)
        return result

    def shifted(self, x: Any, by: float) -> Any:
        result = self._like(x)
        self._core.shift(x, by, result)
        return result

    def size(self, x: Any) -> tuple[float, float]:
        largest, _, squares = self._core.sums(x)
        return largest, float(np.sqrt(squares))

    def mean(self, x: Any) -> float:
        return self._core.sums(x)[1] / x.size

    def inner(self, x: Any, y: Any) -> float:
        return self._core.inner_product(x, y).real

    def add(self, alpha: float, y: Any, to: Any) -> None:
        self._core.scaled_sum(alpha, y, 1.0, to, to)

    def preconditioned(self, hierarchy: Hierarchy, r: Any) -> Any:
        finest = hierarchy.levels[0]
        finest.load(r if finest.b.dtype == r.dtype else self.combined(1.0, r, dtype=finest.b.dtype))
        hierarchy.cycle()
        flat = self._like(r, finest.e.dtype)
        finest.unload(flat)
        z = self.combined(1.0, flat)
        return self.shifted(z, -self.mean(z)) if hierarchy.singular else z

    def synchronize(self) -> None:
        self._backend.core.synchronize(self._backend.index)

    def conjugate_gradients(self, hierarchy: Hierarchy, x: Any, residual: Any, limit: float, most: int) -> int:
        finest, singular = hierarchy.levels[0], hierarchy.singular
        r, p, q = residual.copy(), self._like(x), self._like(x)
        iteration, lines, products = self._core.ConjugateGradients(x.device), finest.lines, finest.products()
        finest.load(r if finest.b.dtype == r.dtype else r.astype(finest.b.dtype))
        for done in range(most):
            hierarchy.cycle()
            z = finest.e
            if singular:  # a vector without gaps: constants are no part of the directions
                flat = self._like(x, finest.e.dtype)
                finest.unload(flat)
                z = self.combined(1.0, flat)
                self._core.shift(z, -self.mean(z), z)
                lines, products = self._core.Lines(), None
            iteration.direction(r, z, lines, p, x, products)
            if not iteration.multiply(self._a._matrix, self._a._op, p, q):
                self._multiply(p, q)
            rho, size = iteration.step(p, q, r, finest.b, finest.lines)
            if not rho > 0:
                most = done
                break
            if np.sqrt(size) <= limit:
                most = done + 1
                break
        iteration.finish(p, x)
        return most


def vectors(A: Any) -> Vectors:
    """Return the operations on vectors on the device of a matrix."""
    return HostVectors(A) if A._backend is CPU else DeviceVectors(A)
