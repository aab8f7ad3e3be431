"""Solving with multigrid: the operator, and conjugate gradients that it preconditions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from threading import RLock
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from .._arrays.host_dense import as_numpy
from .._backends.arguments import integer
from .._products.products import plan_matvec
from .._show.display import human
from .grids import Step
from .hierarchy import Hierarchy, Level

CYCLES = {"V": 1, "W": 2}
_INCONSISTENT = 1e-6


@dataclass(frozen=True)
class LevelReport:
    """One level of a `Multigrid`.

    Attributes
    ----------
    shape : tuple of int
        Grid points along each axis.
    diagonals : int
        Number of diagonals of the matrix.
    coarsened : tuple of bool
        Which axes have half as many points on the next level.
    nbytes : int
        Bytes of the matrix, the interpolation and the vectors.
    """

    shape: tuple[int, ...]
    diagonals: int
    coarsened: tuple[bool, ...]
    nbytes: int


class Multigrid(LinearOperator):
    """A multigrid cycle for a matrix of a grid, created by `multigrid`: an approximation of the inverse.

    ``M @ b`` is one cycle, so M can be the preconditioner `M` of SciPy's `cg`, `gmres` and `lobpcg`. `solve` is the
    conjugate gradient method with this preconditioner.

    Attributes
    ----------
    grid : tuple of int
        Shape of the grid.
    levels : list of LevelReport
        The levels, from the finest to the coarsest one.
    cycle : {"V", "W"}
        How often each level is visited: once, or twice as often as the one above it.
    smoother : {"chebyshev", "jacobi"}
        What damps errors that change from one point to the next.
    cycle_dtype : dtype
        Type in which cycles are computed.
    singular : bool
        Whether the rows add up to zero, so that constants are the null space.
    nbytes : int
        Bytes of all levels.
    seconds : float
        Time of the set-up.
    """

    def __init__(
        self, A: Any, grid: tuple[int, ...], coefficients: dict[Step, Any], smoother: str, cycle: str, dtype: Any,
        began: float,
    ) -> None:  # fmt: skip
        self.cycle, self.smoother, self.cycle_dtype = cycle, smoother, np.dtype(dtype)
        super().__init__(A.dtype, A.shape)
        self.grid, self._axes, self._lock = grid, len(grid), RLock()
        self._hierarchy = Hierarchy(self.grid, coefficients, self.cycle_dtype, smoother)
        self.singular = self._hierarchy.singular
        self.levels = [self._report(level) for level in self._hierarchy.levels]
        self.nbytes = sum(level.nbytes for level in self.levels)
        self._multiply = plan_matvec(A)
        self.seconds = time.perf_counter() - began

    def _report(self, level: Level) -> LevelReport:
        def own(triple: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(triple[axis] for axis in {1: (2,), 2: (0, 2), 3: (0, 1, 2)}[self._axes])

        return LevelReport(own(level.grid.size), len(level.coefficients), own(level.grid.coarsened), level.nbytes)

    # ---- one cycle --------------------------------------------------------------------------------
    def _matvec(self, b: Any) -> Any:
        return self._cycle(np.asarray(b).reshape(-1)).astype(np.result_type(self.dtype, np.asarray(b).dtype))

    def _adjoint(self) -> Multigrid:
        return self

    def _transpose(self) -> Multigrid:
        return self

    def _cycle(self, b: Any) -> Any:
        if b.dtype.kind == "c":
            return self._cycle(b.real) + 1j * self._cycle(b.imag)
        # The scale of b must not overflow or vanish in the type of the cycle.
        scale = float(np.abs(b).max(initial=0.0))
        out = np.zeros(b.shape, self.cycle_dtype)
        if not scale or not np.isfinite(scale):
            return out * (1.0 if np.isfinite(scale) else np.nan)
        with self._lock:
            self._hierarchy.cycle((b / scale).astype(self.cycle_dtype), out, CYCLES[self.cycle])
        result = out.astype(np.result_type(out.dtype, b.dtype)) * scale
        return result - result.mean() if self.singular else result

    # ---- solving ----------------------------------------------------------------------------------
    def solve(self, b: Any, *, tol: float = 1e-10, x0: Any = None, maxiter: int = 100) -> Any:
        """Return the solution of ``A x = b`` by conjugate gradients with one cycle as the preconditioner.

        Parameters
        ----------
        b : array_like, shape (n,) or (n, k)
            Right-hand side, or several as columns.
        tol : float
            Bound for the relative residual ``norm(b - A x) / norm(b)``, which is computed from x at the end.
        x0 : array_like, optional
            The start; by default zeros.
        maxiter : int
            Most iterations.

        Returns
        -------
        ndarray
            The solution, of the shape of `b`. If the matrix is singular, it is the one whose elements add up to zero.

        Raises
        ------
        numpy.linalg.LinAlgError
            If the residual is larger than `tol` after the iterations, and not as small as rounding allows; or if the
            matrix is singular and the elements of b do not add up to zero, so that there is no solution.
        ValueError, TypeError
            If the shape of `b` or `x0` does not fit, they have values that are not numbers or not finite, or `tol` or
            `maxiter` is negative.

        Notes
        -----
        If the solution is much larger than the right-hand side, no x of this precision has a residual below
        ``eps norm(A) norm(x)``. The iteration also ends there: the backward error
        ``norm(b - A x) / (norm(A) norm(x) + norm(b))``, in the maximum norm, is then at the level of rounding errors.

        Examples
        --------
        >>> import numpy as np, diagsparse as ds
        >>> A = ds.hm_array(ds.gallery.diffusion((100, 120)))
        >>> x = ds.multigrid(A).solve(np.ones(12000))
        >>> bool(np.linalg.norm(1 - A @ x) <= 1e-10 * np.sqrt(12000))
        True
        """
        given = as_numpy(b, "multigrid.solve")
        if given.ndim not in (1, 2) or len(given) != self.shape[0]:
            raise ValueError(f"multigrid.solve: b has shape {given.shape}, expected {self.shape[0]} rows")
        start = None if x0 is None else as_numpy(x0, "multigrid.solve")
        if start is not None and start.shape != given.shape:
            raise ValueError(f"multigrid.solve: x0 has shape {start.shape}, expected that of b, {given.shape}")
        maxiter = integer(maxiter, "multigrid.solve: maxiter")
        if not tol >= 0 or maxiter < 0:
            raise ValueError(f"multigrid.solve: tol={tol}, maxiter={maxiter}, expected numbers >= 0")
        for name, one in (("b", given), ("x0", start)):
            if one is not None and (one.dtype.kind not in "biufc" or not np.isfinite(one).all()):
                raise ValueError(f"multigrid.solve: {name} has elements that are not finite numbers")
        kind = np.result_type(self.dtype, given.dtype, *([] if start is None else [start.dtype]))
        shape = (len(given), prod(given.shape[1:]))
        columns, starts = given.reshape(shape), None if start is None else start.reshape(shape)
        x = np.empty(columns.shape, kind)
        for part in ("real", "imag") if kind.kind == "c" else ("real",):
            for j in range(columns.shape[1]):
                first = None if starts is None else getattr(starts, part)[:, j]
                right = getattr(columns, part)[:, j].astype(float)
                getattr(x, part)[:, j] = self._solved(right, first, tol, maxiter, np.finfo(kind).eps)
        return x.reshape(given.shape)

    def _solved(self, b: Any, x0: Any, tol: float, maxiter: int, eps: float) -> Any:
        scale = float(np.abs(b).max(initial=0.0))  # inner products must not overflow or vanish
        if not scale:
            return np.zeros(len(b))
        b, x0 = b / scale, None if x0 is None else x0 / scale
        size = float(np.linalg.norm(b))
        if self.singular:
            b = self._consistent(b, size, scale)
        x = np.zeros(len(b)) if x0 is None else np.array(x0, float)
        iterations, residual = 0, b if x0 is None else b - self._multiply(x)
        error = float(np.linalg.norm(residual))
        while error > tol * size and iterations < maxiter:
            count = self._conjugate_gradients(x, residual, tol * size, maxiter - iterations)
            iterations += count
            before, residual = error, b - self._multiply(x)
            error = float(np.linalg.norm(residual))
            if self._at_rounding(x, b, residual, eps):
                break
            if not error < before:
                raise np.linalg.LinAlgError(self._failed(error / size, tol, iterations, "does not become smaller"))
        if error > tol * size and not self._at_rounding(x, b, residual, eps):
            raise np.linalg.LinAlgError(self._failed(error / size, tol, iterations, "is still larger"))
        return scale * (x - x.mean() if self.singular else x)

    def _failed(self, found: float, tol: float, iterations: int, what: str) -> str:
        return (
            f"multigrid.solve: after {iterations} iterations the relative residual is {found:.2g} and {what}, expected "
            f'{tol:.2g}; cycle="W" converges faster where coefficients jump'
        )

    def _at_rounding(self, x: Any, b: Any, residual: Any, eps: float) -> bool:
        """Whether the backward error is at the level of rounding errors."""
        bound = self._hierarchy.norm * np.abs(x).max(initial=0.0) + np.abs(b).max(initial=0.0)
        return bool(np.abs(residual).max(initial=0.0) <= 16 * eps * bound)

    def _consistent(self, b: Any, size: float, scale: float) -> Any:
        """Return b without its mean, which is due to rounding; raise LinAlgError if it is larger."""
        mean = b.mean()
        if abs(mean) * np.sqrt(len(b)) > _INCONSISTENT * size:
            raise np.linalg.LinAlgError(
                f"multigrid.solve: the matrix is singular, and the elements of b have the mean {scale * mean:.3g}, "
                "expected 0: there is no solution; that for b - b.mean() exists"
            )
        return b - mean

    def _conjugate_gradients(self, x: Any, residual: Any, limit: float, most: int) -> int:
        """Iterate from x, in place, until the residual of the recurrence reaches a limit; return the iterations."""
        r, p, rho = residual.copy(), None, 0.0
        for iteration in range(most):
            z = self._cycle(r)
            before, rho = rho, float(r @ z)
            if not rho > 0:
                return iteration
            if p is None:
                p = z
            else:
                p *= rho / before
                p += z
            q = self._multiply(p)
            step = rho / float(p @ q)
            x += step * p
            r -= step * q
            if float(np.linalg.norm(r)) <= limit:
                return iteration + 1
        return most

    # ---- reports ----------------------------------------------------------------------------------
    def convergence_factor(self, cycles: int = 10) -> float:
        """Return by which factor a cycle alone reduces the error, measured for a random one.

        Parameters
        ----------
        cycles : int
            How many cycles are computed.

        Returns
        -------
        float
            Geometric mean of the second half of the cycles: 0.1 is fast, 0.5 slow, and from 1 on cycles alone diverge.
        """
        x = np.random.default_rng(0).standard_normal(self.shape[0])
        factors = []
        for _ in range(cycles):
            x -= x.mean() if self.singular else 0.0
            size = float(np.linalg.norm(x))
            if not size:
                return 0.0
            x = x / size - self._cycle(self._multiply(x / size))
            factors.append(float(np.linalg.norm(x)))
        return float(np.exp(np.mean(np.log(np.maximum(factors[cycles // 2 :], 1e-300)))))

    def report(self) -> str:
        """Return a table of the levels, and the measured convergence factor of a cycle."""
        rows = ["level  points                  diagonals     bytes  coarsened axes"]
        for i, level in enumerate(self.levels):
            axes = ", ".join(str(axis) for axis, half in enumerate(level.coarsened) if half)
            axes = "none: inverted" if i == len(self.levels) - 1 else axes
            points = " x ".join(map(str, level.shape))
            rows.append(f"{i:5}  {points:22}  {level.diagonals:9}  {human(level.nbytes):>8}  {axes}")
        factor = self.convergence_factor()
        rows.append(
            f"a {self.cycle} cycle in {self.cycle_dtype} reduces errors to {factor:.2g}; set-up {self.seconds:.3g} s"
        )
        return "\n".join(rows)

    def __repr__(self) -> str:
        grid = " x ".join(map(str, self.grid))
        return (
            f"<multigrid for a grid of {grid} points: {len(self.levels)} levels, {self.cycle} cycles in "
            f"{self.cycle_dtype}, {human(self.nbytes)}>"
        )
