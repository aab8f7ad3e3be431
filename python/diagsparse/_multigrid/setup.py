"""`multigrid`: which matrices it is for."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from .._backends import memory
from .._backends.arguments import integer
from .._backends.backend import CPU, Backend
from .._matrix.convert import unpacked
from .._matrix.norms import norm
from .._matrix.operands import require_sparse
from . import grids
from .hierarchy import Coarse, forecast
from .solver import CYCLES, Multigrid

_SMOOTHERS = ("chebyshev", "jacobi", "line")
_LONGEST = 2**30  # points on an axis on a GPU, where coordinates have 32 bits


def multigrid(
    A: Any,
    shape: int | Sequence[int] | None = None,
    *,
    smoother: str | None = None,
    cycle: str = "V",
    coarse: Callable[[tuple[int, ...]], Any] | None = None,
    dtype: Any = None,
) -> Multigrid:
    """Set up multigrid for a matrix of a grid, such as a diffusion equation, or one with convection.

    It solves systems in a time proportional to the number of unknowns, where direct solvers fill up and the iterations
    of conjugate gradients become many.

    Parameters
    ----------
    A : sparse matrix (ours or SciPy's), shape (n, n)
        On the CPU or on a GPU. Each row is a point of a grid of 1 to 3 axes, in C order, and is coupled to neighbouring
        points only, also diagonally: stencils of 3, 5, 7, 9 and 27 points. Axes may be periodic. The matrix is real,
        and its main diagonal positive. It is symmetric and positive definite; or not symmetric, with a dominant main
        diagonal, as that of convection and diffusion with upwind differences; or singular with constants as its null
        space.
    shape : int or tuple of int, optional
        The grid. By default it is found from the offsets of the diagonals.
    smoother : {"chebyshev", "jacobi", "line"}, optional
        What is done on each level before and after the next one: a Chebyshev polynomial of degree 2, which is the
        default for symmetric matrices; two steps of the damped Jacobi method, the default for others; or the damped
        solution of the equations on all lines along each axis, one axis after the other. Lines take longer. They are
        for couplings that are strong along one axis in a part of the grid and along another one elsewhere, and for
        convection that is much stronger than diffusion.
    cycle : {"V", "W"}
        "W" visits each level twice as often as the one above it. It takes longer and converges in fewer iterations,
        for example if coefficients jump at corners.
    coarse : callable, optional
        ``coarse(shape)`` returns the matrix of a coarser grid, for example that of the same equation there, or None
        for the default: the product of restriction, matrix and interpolation. It is called for one grid after the
        other. The points of a coarser grid are the points 0, 2, 4, ... of the axes that are coarsened. Right-hand sides
        are restricted by the transpose of the interpolation, so the matrix is that of the finite element or finite
        volume method, without division by the volume of a cell: a coupling along an axis has a factor of 2 for each
        coarsened axis, and if the axis itself is coarsened another one of 1/4. If all axes are coarsened, a stencil is
        multiplied by 1/2 for each coarser grid of one axis, by 1 for two axes, and by 2 for three. There is a warning
        if the matrix of a symmetric problem has another scale. Boundaries have to be where they are on the finest grid;
        with `gallery.diffusion`, those of Neumann conditions and periodic axes are.
    dtype : {"float32", "float64"}, optional
        Type of the cycles. By default float64, or float32 if A is. Cycles in float32 take half of the memory and
        less time, and `solve` is as accurate.

    Returns
    -------
    Multigrid
        A `scipy.sparse.linalg.LinearOperator`, with ``M.solve(b)``; one cycle is ``M @ b``.

    Raises
    ------
    ValueError
        If A is not square, does not belong to a grid or to one of the given shape, or its main diagonal is not
        positive; for such matrices, use PyAMG, whose hierarchies can be computed with our matrices.
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

    A result has the same bits for any number of threads, and in each run on a GPU. The levels have one set of vectors,
    so calls from several threads follow one another.

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

    Matrices for the coarser grids of a given equation, here in three dimensions:

    >>> def diffusion(shape):
    ...     return ds.gallery.diffusion(shape, boundary="neumann") * (32 / shape[0])
    >>> M = ds.multigrid(diffusion((32, 32, 32)), coarse=diffusion)
    >>> M.convergence_factor() < 0.5
    True
    """
    began, who = time.perf_counter(), "multigrid"
    a = _readable(require_sparse(A, who, "A"))
    if a.shape[0] != a.shape[1]:
        raise ValueError(f"{who}: A is {a!r}; expected a square matrix")
    if a.dtype.kind == "c" or a.dtype.itemsize < 4:
        raise TypeError(f"{who}: A is {a.dtype}, expected float32 or float64")
    for name, value, known in (("smoother", smoother, (None, *_SMOOTHERS)), ("cycle", cycle, tuple(CYCLES))):
        if value not in known:
            raise ValueError(f"{who}: {name}={value!r}, expected one of {', '.join(filter(None, known))}")
    try:
        wanted = a.dtype if dtype is None else np.dtype(dtype)
    except TypeError:
        wanted = None
    if wanted not in (np.float32, np.float64):
        raise ValueError(f"{who}: dtype={dtype!r}, expected float32 or float64")
    if coarse is not None and not callable(coarse):
        raise TypeError(f"{who}: coarse={coarse!r}, expected a function that returns the matrix of a grid")
    grid, coefficients = _grid_of(a, shape)
    _check(coefficients)
    nbytes = forecast(coefficients, a._backend, len(grid), wanted, smoother == "line", CYCLES[cycle])
    memory.require_free(nbytes, f"{who}: the levels", a._backend)
    given = None if coarse is None else _coarse_matrices(coarse, len(grid), a._backend)
    chosen = smoother or ("chebyshev" if coefficients.symmetric else "jacobi")
    if coefficients.singular and not coefficients.symmetric:
        coefficients = replace(coefficients, conserving=_conserves(a, coefficients.rounding))
    return Multigrid(a, grid, coefficients, chosen, cycle, wanted, given, began)


def _readable(a: Any) -> Any:
    """Return a matrix all of whose diagonals are in its values: if it is symmetric, the upper ones are enough."""
    return a if a._packed and a.period is None and a.symmetry in ("symmetric", "hermitian") else unpacked(a)


def _coarse_matrices(coarse: Callable[[tuple[int, ...]], Any], axes: int, backend: Backend) -> Coarse:
    """Return the coefficients of the matrices that a caller gives for coarse grids."""

    def found(size: tuple[int, int, int]) -> grids.Coefficients | None:
        shape = grids.own_axes(size, axes)
        given = coarse(shape)
        if given is None:
            return None
        what = f"multigrid: coarse({shape})"
        b: Any = _readable(require_sparse(given, "multigrid", "the result of coarse"))
        if b.shape != (prod(shape),) * 2 or b.dtype.kind == "c":
            raise ValueError(f"{what} returned {b!r}, expected a real matrix {prod(shape)} x {prod(shape)}")
        if b._backend is not backend:
            b = b.to(backend.name)
        coefficients = grids.coefficients(b.asformat("hm"), shape)
        if coefficients is None:
            raise ValueError(f"{what} couples points of this grid that are not neighbours")
        _check(coefficients, what)
        return coefficients

    return found


def _grid_of(A: Any, shape: Any) -> tuple[tuple[int, ...], grids.Coefficients]:
    """Return the shape of the grid and the coefficients; raise ValueError if there is no such grid."""
    offsets = A._format.occupied(A)
    few = len(offsets) <= grids.MOST_DIAGONALS
    if few:
        memory.require_free(8 * A.shape[0] * min(27, len(offsets)), "multigrid: the coefficients", A._backend)
    diagonals: Any = A.asformat("hm") if few else None
    if shape is not None:
        sizes = tuple(shape) if isinstance(shape, Sequence) else (shape,)
        grid = tuple(integer(size, "multigrid: shape") for size in sizes)
        if not 1 <= len(grid) <= 3 or prod(grid) != A.shape[0] or min(grid) < 1:
            raise ValueError(f"multigrid: shape={grid}, expected 1 to 3 axes with {A.shape[0]} points in all")
        if A._backend is not CPU and max(grid) > _LONGEST:
            raise ValueError(f"multigrid: shape={grid}, expected at most 2^30 points on an axis on a GPU")
        if few and (found := grids.coefficients(diagonals, grid)) is not None:
            return grid, found
        raise ValueError(f"multigrid: A has elements that couple points of the grid {grid} that are not neighbours")
    if few and (A._backend is CPU or A.shape[0] <= _LONGEST) and (guess := grids.shape_of(diagonals)) is not None:
        return guess
    what = f"{len(offsets)} diagonals" if len(offsets) > 12 else f"offsets {sorted(map(int, offsets))}"
    raise ValueError(
        f"multigrid: A has {what}, which are no steps to neighbours on a grid of 1 to 3 axes; give its shape=, or use "
        "PyAMG, whose hierarchies can be computed with our matrices"
    )


def _check(found: grids.Coefficients, what: str = "multigrid: A") -> None:
    """Raise ValueError unless all elements are finite, and those on the main diagonal positive."""
    if not np.isfinite(sum(found.statistics["coupling"])):
        raise ValueError(f"{what} has elements that are not finite numbers")
    if not found.positive:
        raise ValueError(
            f"{what} has elements on its main diagonal that are not positive; if A is negative definite, use -A"
        )


def _conserves(A: Any, rounding: float) -> bool:
    """Whether the columns of a matrix add up to zero, but for rounding errors."""
    sums = np.abs(A.astype("float64", copy=False).T @ np.ones(A.shape[0]))
    return bool(sums.max() <= max(1e-10, rounding) * norm(A, 1))
