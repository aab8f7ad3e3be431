"""Solving with multigrid: the operator, and conjugate gradients that it preconditions."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from threading import RLock
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from .._arrays.host_dense import as_numpy
from .._backends import memory
from .._backends.arguments import integer
from .._backends.backend import CPU
from .._matrix.convert import unpacked
from .._matrix.operands import require_sparse
from .._products.products import plan_matvec
from .._show.display import human
from . import grids
from .hierarchy import Hierarchy, Level

_CYCLES = {"V": 1, "W": 2}
_SMOOTHERS = ("chebyshev", "jacobi")
_MOST_DIAGONALS = 125  # more than a grid of three axes has, also a periodic one
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

    def __init__(self, A: Any, shape: Any, smoother: str, cycle: str, dtype: Any) -> None:
        began = time.perf_counter()
        self.cycle, self.smoother, self.cycle_dtype = cycle, smoother, np.dtype(dtype)
        super().__init__(A.dtype, A.shape)
        self.grid, coefficients = _grid_of(A, shape)
        _check(coefficients)
        self._axes, self._lock = len(self.grid), RLock()
        self._hierarchy = Hierarchy(self.grid, coefficients, self.cycle_dtype, smoother)
        self.singular = self._hierarchy.singular
        self.levels = [self._report(level) for level in self._hierarchy.levels]
        self.nbytes = sum(level.nbytes for level in self.levels)
        self._multiply = plan_matvec(A)
        self._norm = self._hierarchy.norm
        self.seconds = time.perf_counter() - began

    def _report(self, level: Level) -> LevelReport:
        def own(triple: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(triple[axis] for axis in {1: (2,), 2: (0, 2), 3: (0, 1, 2)}[self._axes])

        return LevelReport(own(level.shape), len(level.coefficients), own(level.coarsened), level.nbytes)

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
            self._hierarchy.cycle((b / scale).astype(self.cycle_dtype), out, _CYCLES[self.cycle])
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
            If the shape of `b` or `x0` does not fit, or they have values that are not numbers or not finite.

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
        for name, one in (("b", given), ("x0", start)):
            if one is not None and (one.dtype.kind not in "biufc" or not np.isfinite(one).all()):
                raise ValueError(f"multigrid.solve: {name} has elements that are not finite numbers")
        kind = np.result_type(self.dtype, given.dtype, *([] if start is None else [start.dtype]))
        columns, starts = given.reshape(len(given), -1), None if start is None else start.reshape(len(given), -1)
        x = np.empty(columns.shape, kind)
        for j in range(columns.shape[1]):
            first = None if starts is None else starts[:, j]
            parts = [columns[:, j].real, columns[:, j].imag] if kind.kind == "c" else [columns[:, j]]
            firsts = [None] * 2 if first is None else [first.real, first.imag] if kind.kind == "c" else [first]
            solved = [self._solved(p.astype(float), s, tol, maxiter) for p, s in zip(parts, firsts)]
            x[:, j] = solved[0] if len(solved) == 1 else solved[0] + 1j * solved[1]
        return x.reshape(given.shape)

    def _solved(self, b: Any, x0: Any, tol: float, maxiter: int) -> Any:
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
            if self._at_rounding(x, b, residual):
                break
            if not error < before:
                raise np.linalg.LinAlgError(self._failed(error / size, tol, iterations, "does not become smaller"))
        if error > tol * size and not self._at_rounding(x, b, residual):
            raise np.linalg.LinAlgError(self._failed(error / size, tol, iterations, "is still larger"))
        return scale * (x - x.mean() if self.singular else x)

    def _failed(self, found: float, tol: float, iterations: int, what: str) -> str:
        return (
            f"multigrid.solve: after {iterations} iterations the relative residual is {found:.2g} and {what}, expected "
            f'{tol:.2g}; cycle="W" converges faster where coefficients jump'
        )

    def _at_rounding(self, x: Any, b: Any, residual: Any) -> bool:
        """Whether the backward error is at the level of rounding errors."""
        bound = self._norm * np.abs(x).max(initial=0.0) + np.abs(b).max(initial=0.0)
        return bool(np.abs(residual).max(initial=0.0) <= 16 * np.finfo(self.dtype).eps * bound)

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


def multigrid(
    A: Any,
    shape: int | Sequence[int] | None = None,
    *,
    smoother: str = "chebyshev",
    cycle: str = "V",
    dtype: Any = None,
) -> Multigrid:
    """Set up multigrid for a symmetric positive definite matrix of a grid, such as a diffusion equation.

    It solves systems in a time proportional to the number of unknowns, where direct solvers fill up and the iterations
    of conjugate gradients become many.

    Parameters
    ----------
    A : sparse matrix (ours or SciPy's), shape (n, n)
        Each row is a point of a grid of 1 to 3 axes, in C order, and is coupled to neighbouring points only, also
        diagonally: stencils of 3, 5, 7, 9 and 27 points. Axes may be periodic. The matrix is real, symmetric and
        positive definite, or singular with constants as its null space.
    shape : int or tuple of int, optional
        The grid. By default it is found from the offsets of the diagonals.
    smoother : {"chebyshev", "jacobi"}
        What is done on each level before and after the next one: a Chebyshev polynomial of degree 2, or two steps of
        the damped Jacobi method.
    cycle : {"V", "W"}
        "W" visits each level twice as often as the one above it. It takes longer and converges in fewer iterations,
        for example if coefficients jump at corners.
    dtype : {"float32", "float64"}, optional
        Type of the cycles. By default float64, or float32 if A is. Cycles in float32 take half of the memory and up to
        half of the time, and `solve` is as accurate.

    Returns
    -------
    Multigrid
        A `scipy.sparse.linalg.LinearOperator`, with ``M.solve(b)``; one cycle is ``M @ b``.

    Raises
    ------
    ValueError
        If A is not square, does not belong to a grid or to one of the given shape, is not symmetric, or its main
        diagonal is not positive; for such matrices, use PyAMG, whose hierarchies can be computed with our matrices. Or
        if A is on a GPU.
    TypeError
        If A is complex, or is no sparse matrix.
    MemoryError
        If the levels do not fit.

    Notes
    -----
    Each level is a matrix of diagonals. The next one has every second point of the axes along which points are strongly
    coupled. Interpolation depends on the coefficients (J. E. Dendy, *Black box multigrid*, J. Comput. Phys. 48, 366,
    1982), and the matrix of the next level is the product of restriction, matrix and interpolation. The smallest matrix
    is inverted. The set-up takes as long as some cycles.

    A result has the same bits for any number of threads.

    Examples
    --------
    >>> import numpy as np, diagsparse as ds
    >>> A = ds.hm_array(ds.gallery.diffusion((200, 300), lambda y, x: np.where(x < y, 1, 1000)))
    >>> M = ds.multigrid(A)
    >>> M.grid, [level.shape for level in M.levels]
    ((200, 300), [(200, 300), (100, 150), (50, 75), (25, 38), (13, 19)])
    >>> x = M.solve(np.ones(60000))
    >>> from scipy.sparse.linalg import cg
    >>> cg(A, np.ones(60000), M=M, rtol=1e-8)[1]
    0
    """
    who = "multigrid"
    a = unpacked(require_sparse(A, who, "A"))
    if a._backend is not CPU:
        raise ValueError(f"{who}: A is on {a.device}, expected a matrix on the CPU: use A.to('cpu')")
    if a.shape[0] != a.shape[1]:
        raise ValueError(f"{who}: A is {a!r}; expected a square matrix")
    if a.dtype.kind == "c" or a.dtype.itemsize < 4:
        raise TypeError(f"{who}: A is {a.dtype}, expected float32 or float64")
    for name, value, known in (("smoother", smoother, _SMOOTHERS), ("cycle", cycle, tuple(_CYCLES))):
        if value not in known:
            raise ValueError(f"{who}: {name}={value!r}, expected one of {', '.join(known)}")
    wanted = a.dtype if dtype is None else np.dtype(dtype)
    if wanted not in (np.float32, np.float64):
        raise ValueError(f"{who}: dtype={dtype!r}, expected float32 or float64")
    count = len(a._format.occupied(a))
    if count <= _MOST_DIAGONALS:  # otherwise it is no grid
        memory.require_free(8 * a.shape[0] * (3 * count + 20), f"{who}: the set-up")
    return Multigrid(a, shape, smoother, cycle, wanted)


def _grid_of(A: Any, shape: Any) -> tuple[tuple[int, ...], dict[grids.Step, Any]]:
    """Return the shape of the grid and the coefficients; raise ValueError if there is no such grid."""
    offsets = A._format.occupied(A)
    few = len(offsets) <= _MOST_DIAGONALS
    diagonals: Any = A.asformat("hm") if few else None
    if shape is not None:
        sizes = tuple(shape) if isinstance(shape, Sequence) else (shape,)
        grid = tuple(integer(size, "multigrid: shape") for size in sizes)
        if not 1 <= len(grid) <= 3 or prod(grid) != A.shape[0] or min(grid) < 1:
            raise ValueError(f"multigrid: shape={grid}, expected 1 to 3 axes with {A.shape[0]} points in all")
        if few and (found := grids.coefficients(diagonals, grid)) is not None:
            return grid, found
        raise ValueError(f"multigrid: A has elements that couple points of the grid {grid} that are not neighbours")
    if few and (guess := grids.shape_of(diagonals)) is not None:
        return guess
    what = f"{len(offsets)} diagonals" if len(offsets) > 12 else f"offsets {sorted(map(int, offsets))}"
    raise ValueError(
        f"multigrid: A has {what}, which are no steps to neighbours on a grid of 1 to 3 axes; give its shape=, or use "
        "PyAMG, whose hierarchies can be computed with our matrices"
    )


def _check(coefficients: dict[grids.Step, Any]) -> None:
    """Raise ValueError unless the matrix is symmetric, with a positive main diagonal."""
    center = coefficients[(0,) * len(next(iter(coefficients)))]
    if not (center > 0).all():
        raise ValueError("multigrid: the main diagonal of A has elements that are not positive")
    for step, values in coefficients.items():
        if step <= tuple(-s for s in step):
            continue
        other = coefficients.get(tuple(-s for s in step))
        if other is None or not all(_equal(values[here], other[there]) for here, there in _shifted(step)):
            raise ValueError("multigrid: A is not symmetric; use M=ds.factorized(...) or PyAMG")


def _shifted(step: grids.Step) -> Iterator[tuple[tuple[slice, ...], tuple[slice, ...]]]:
    """Yield the parts of a grid, and where they are after a step, also over the ends of the axes."""
    axes = {0: [(slice(None), slice(None))], 1: [(slice(None, -1), slice(1, None)), (slice(-1, None), slice(None, 1))]}
    axes[-1] = [(to, of) for of, to in axes[1]]
    for pairs in product(*(axes[s] for s in step)):
        yield tuple(of for of, _ in pairs), tuple(to for _, to in pairs)


def _equal(a: Any, b: Any) -> bool:
    return np.array_equal(a, b) or np.allclose(a, b, rtol=1e-10, atol=0)
