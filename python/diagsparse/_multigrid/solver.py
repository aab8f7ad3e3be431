"""Solving with multigrid: the operator, and the iterations that it preconditions."""

from __future__ import annotations

import time
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from .._arrays import new, owners
from .._backends import memory
from .._backends.arguments import integer
from .._backends.types import product_dtypes
from .._matrix.protocols import not_pickled
from .._show.columns import seconds
from .._show.display import human
from . import arrays, columns, reports
from .gmres import gmres_nbytes
from .grids import Coefficients, own_axes
from .hierarchy import Coarse, Hierarchy
from .iteration import TINY, Iteration
from .levels import Level
from .reports import LevelReport
from .vectors import vectors

CYCLES = {"V": 1, "W": 2}


class Multigrid(LinearOperator):
    """A multigrid cycle for a matrix of a grid, created by `multigrid`: an approximation of the inverse.

    ``M @ b`` is one cycle, so M can be the preconditioner `M` of SciPy's `cg`, `gmres` and `lobpcg`. `solve` is the
    conjugate gradient method with this preconditioner, or GMRES if the matrix is not symmetric.

    Attributes
    ----------
    grid : tuple of int
        Shape of the grid.
    levels : list of LevelReport
        The levels, from the finest to the coarsest one.
    cycle : {"V", "W"}
        How often each level is visited: once, or twice as often as the one above it.
    smoother : {"chebyshev", "jacobi", "line"}
        What damps errors that change from one point to the next.
    symmetric : bool
        Whether the matrix is symmetric.
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
        self, A: Any, grid: tuple[int, ...], coefficients: Coefficients, smoother: str, cycle: str, dtype: Any,
        coarse: Coarse | None, began: float,
    ) -> None:  # fmt: skip
        self.cycle, self.smoother, self.cycle_dtype = cycle, smoother, np.dtype(dtype)
        super().__init__(A.dtype, A.shape)
        self.grid, self._axes, self._lock, self._backend = grid, len(grid), RLock(), A._backend
        self._hierarchy = Hierarchy(coefficients, A._backend, self.cycle_dtype, smoother, CYCLES[cycle], coarse)
        self.singular, self.symmetric = self._hierarchy.singular, self._hierarchy.symmetric
        self.levels = [self._report(level) for level in self._hierarchy.levels]
        self.nbytes = sum(level.nbytes for level in self.levels)
        self._matrix, self._vectors = A, vectors(A)
        self._iteration = Iteration(self._hierarchy, self._vectors, cycle, smoother, self._lock)
        self.seconds = time.perf_counter() - began

    def _report(self, level: Level) -> LevelReport:
        size, coarsened = (own_axes(three, self._axes) for three in (level.grid.size, level.grid.coarsened))
        return LevelReport(size, len(level.grid.steps), coarsened, level.nbytes)

    # ---- one cycle --------------------------------------------------------------------------------
    def _adjoint(self) -> Multigrid:
        if not self.symmetric:
            raise NotImplementedError("multigrid: A is not symmetric; for its transpose, use ds.multigrid(A.T)")
        return self

    _transpose = _adjoint

    def _applied(self, b: Any) -> Any:
        return columns.apply(self._matrix, lambda vector, *_: self._cycled(vector), b, "multigrid")

    # SciPy's operators convert operands to NumPy arrays, which fails for arrays on a GPU.
    def dot(self, b: Any) -> Any:
        return self._applied(b) if owners.owner_of(b) else super().dot(b)

    def matvec(self, b: Any) -> Any:
        return self._applied(b) if owners.owner_of(b) else super().matvec(b)

    def matmat(self, b: Any) -> Any:
        return self._applied(b) if owners.owner_of(b) else super().matmat(b)

    def rmatvec(self, b: Any) -> Any:
        return self.T.matvec(b)

    def rmatmat(self, b: Any) -> Any:
        return self.T.matmat(b)

    def _matvec(self, b: Any) -> Any:
        return self._applied(np.asarray(b).reshape(-1))

    def _matmat(self, b: Any) -> Any:
        return self._applied(b)

    def _cycled(self, b: Any) -> Any:
        """Return one cycle for a vector, in float64."""
        v = self._vectors
        scale, _ = v.size(b)  # must not overflow or vanish in the type of the cycle
        if scale < TINY or not np.isfinite(scale):
            return v.combined(np.nan if scale >= TINY or np.isnan(scale) else 0.0, b)
        finest, out = self._hierarchy.levels[0], new.empty(self._backend, b.shape, self.cycle_dtype)
        with self._lock:  # the levels have one set of vectors
            finest.load(v.combined(1 / scale, b, dtype=self.cycle_dtype))
            self._hierarchy.cycle()
            finest.unload(out)
            v.synchronize()  # another thread may use another stream
        result = v.combined(scale * self._hierarchy.scale, out)
        return v.shifted(result, -v.mean(result)) if self.singular else result

    # ---- solving ----------------------------------------------------------------------------------
    def solve(self, b: Any, *, tol: float = 1e-10, x0: Any = None, maxiter: int = 100) -> Any:
        """Return the solution of ``A x = b`` by an iteration with one cycle as the preconditioner.

        It is the conjugate gradient method, or GMRES with a restart after 20 iterations if A is not symmetric.

        Parameters
        ----------
        b : array_like, shape (n,) or (n, k)
            Right-hand side, or several as columns. If A is on a GPU, also an array of CuPy, PyTorch or JAX, or a
            `DeviceArray`, there.
        tol : float
            Bound for the relative residual ``norm(b - A x) / norm(b)``, which is computed from x at the end.
        x0 : array_like, optional
            The start; by default zeros.
        maxiter : int
            Most iterations.

        Returns
        -------
        array
            The solution, of the shape of `b`, and with the dtype of ``A @ b``; on a GPU of the library of `b`, on the
            CPU of NumPy. If the matrix is singular, it is the one whose elements add up to zero.

        Raises
        ------
        numpy.linalg.LinAlgError
            If the residual is larger than `tol` after the iterations, and not as small as rounding allows; if the
            solution overflows; or if the matrix is singular and the elements of b do not add up to zero, so that there
            is no solution.
        ValueError, TypeError
            If the shape of `b` or `x0` does not fit, they have values that are not numbers or not finite, or `tol` or
            `maxiter` is negative.

        Notes
        -----
        If the solution is much larger than the right-hand side, no x of this precision has a residual below
        ``eps norm(A) norm(x)``. The iteration also ends there: the backward error
        ``norm(b - A x) / (norm(A) norm(x) + norm(b))``, in the maximum norm, is then at the level of rounding errors.

        A matrix counts as singular if its rows add up to zero but for rounding errors of its dtype. Then the mean of b
        is left out, if it is due to rounding: at most a millionth of b. LinAlgError is raised if those of the matrix
        keep the residual above `tol`, which is usual for float32 matrices and a `tol` below 1e-6.

        Examples
        --------
        >>> import numpy as np, diagsparse as ds
        >>> A = ds.hm_array(ds.gallery.diffusion((100, 120)))
        >>> x = ds.multigrid(A).solve(np.ones(12000))
        >>> bool(np.linalg.norm(1 - A @ x) <= 1e-10 * np.sqrt(12000))
        True
        """
        who = "multigrid.solve"
        maxiter = integer(maxiter, f"{who}: maxiter")
        if not isinstance(tol, (int, float, np.number)):
            raise TypeError(f"{who}: tol={tol!r}, expected a number")
        if not tol >= 0 or maxiter < 0:
            raise ValueError(f"{who}: tol={tol}, maxiter={maxiter}, expected numbers >= 0")
        if not self.symmetric:
            memory.require_free(gmres_nbytes(self.shape[0], maxiter), f"{who}: the vectors of GMRES", self._backend)
        starts: list[Any] = []
        if x0 is not None:
            if tuple(np.shape(b)) != tuple(np.shape(x0)):
                raise ValueError(f"{who}: x0 has shape {np.shape(x0)}, expected that of b, {np.shape(b)}")
            kinds = [product_dtypes(self.dtype, owners.dtype_of(one))[1].kind for one in (b, x0)]
            if "c" in kinds and kinds[0] != "c":
                b = (b if owners.owner_of(b) else np.asarray(b)) + 0j  # so that there are as many parts
            starts = columns.separate(self._matrix, x0, "c" in kinds, who, "x0")

        def solved(right: Any, j: int, dtype: np.dtype) -> Any:
            start = starts[j] if starts else None
            x, info = self._iteration.solve(right, start, tol, maxiter, np.finfo(dtype).eps), np.finfo(dtype)
            if self._vectors.size(x)[0] > info.max:
                raise np.linalg.LinAlgError(f"{who}: the solution overflows {info.dtype}")
            return x

        return columns.apply(self._matrix, solved, b, who)

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
        if integer(cycles, "convergence_factor: cycles") < 1:
            raise ValueError(f"convergence_factor: cycles={cycles}, expected a number >= 1")
        v = self._vectors
        x = arrays.on_device(self._backend, np.random.default_rng(0).standard_normal(self.shape[0]))
        factors = []
        for _ in range(cycles):
            x = v.shifted(x, -v.mean(x)) if self.singular else x
            size = v.size(x)[1]
            if not size:
                return 0.0
            x = v.combined(1 / size, x)
            x = v.combined(1.0, x, -1.0, self._cycled(v.multiply(x)))
            factors.append(v.size(x)[1])
        return float(np.exp(np.mean(np.log(np.maximum(factors[cycles // 2 :], 1e-300)))))

    def report(self) -> str:
        """Return a table of the levels with the measured time of a visit to each, and the convergence factor."""
        return "\n".join([*reports.table(self.levels, self._times()), self._measured()])

    def plot(self, path: str | Path) -> Path:
        """Save a picture of the levels with the time of a visit to each; it needs matplotlib.

        Parameters
        ----------
        path : path-like
            Where to save it; the suffix, such as ".png" or ".svg", determines the format.

        Returns
        -------
        Path
            The path.

        Raises
        ------
        ImportError
            If matplotlib is not installed: ``pip install "diagsparse[cli]"``.
        """
        return reports.plot(self.levels, self._times(), self._measured(), path)

    def _times(self) -> list[float]:
        with self._lock:
            return reports.level_times(self._hierarchy, self._backend)

    def _measured(self) -> str:
        factor, setup = self.convergence_factor(), seconds(self.seconds)
        return f"a {self.cycle} cycle in {self.cycle_dtype} reduces errors to {factor:.2g}; set-up {setup}"

    __reduce__ = not_pickled("multigrid cannot be pickled; pickle A, and set it up again: diagsparse.multigrid(A)")

    def __repr__(self) -> str:
        grid = " x ".join(map(str, self.grid))
        return (
            f"<multigrid for a grid of {grid} points: {len(self.levels)} levels, {self.cycle} cycles in "
            f"{self.cycle_dtype}, {human(self.nbytes)}>"
        )
