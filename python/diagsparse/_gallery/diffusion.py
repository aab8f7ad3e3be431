"""Diffusion with variable coefficients on grids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from .arguments import Dtype, Format, checked_dtype, gallery_function, whole_number
from .construction import Diagonals
from .rows import row_range

_BOUNDARIES = ("dirichlet", "neumann", "periodic")


@gallery_function
def diffusion(
    shape: int | Sequence[int],
    k: ArrayLike | Callable[..., ArrayLike] = 1.0,
    *,
    boundary: str | Sequence[str] = "dirichlet",
    dtype: Dtype = float,
    format: Format = None,
    device: str | None = None,
) -> Any:
    """Return -div(k grad u) on a grid of 1 to 3 dimensions, by finite volumes with unit spacing.

    Each grid point is the center of a cell, and `k` is constant in a cell. The flux between two cells is the difference
    of their values times the harmonic mean of their coefficients, which is exact for layers of different materials.
    The matrix is symmetric, and has a row for each cell, in C order.

    Parameters
    ----------
    shape : int or tuple of int
        Number of cells along each axis: 1 to 3 of them.
    k : number, array, callable, or a tuple of one for each axis
        The coefficient, which is positive: the same for all cells, an array of the grid's shape, or a function of the
        coordinates of the cells' centers, one array for each axis, where the whole grid is the unit interval, square
        or cube. A tuple has the coefficients of the fluxes along each axis, for anisotropic materials.
    boundary : {"dirichlet", "neumann", "periodic"} or a sequence of one for each axis
        With "dirichlet", u is zero at distance 1 from the last center, and the coefficient there is that of the cell.
        With "neumann", nothing flows through the boundary. A periodic axis needs at least 3 cells. Without any
        Dirichlet boundary the matrix is singular: constants are its null space.
    format : str, optional
        One of `diagsparse.formats()`; with `device`, "hm" by default.
    device : str, optional
        Where the matrix is stored. It is built in host memory.

    Returns
    -------
    dia_array, shape (N, N)
        For N cells. If an axis of a grid in 2-D or 3-D is periodic, a `csr_array`, because the additional diagonals are
        mostly empty.

    See Also
    --------
    stencil : Constant coefficients, also with corners.

    Examples
    --------
    >>> from diagsparse import gallery
    >>> gallery.diffusion(4, [1, 1, 3, 3], boundary="neumann").toarray()
    array([[ 1. , -1. ,  0. ,  0. ],
           [-1. ,  2.5, -1.5,  0. ],
           [ 0. , -1.5,  4.5, -3. ],
           [ 0. ,  0. , -3. ,  3. ]])
    >>> layers = gallery.diffusion((200, 300), lambda y, x: np.where(y < 0.5, 1.0, 1000.0))
    >>> layers.offsets
    array([-300,   -1,    0,    1,  300], dtype=int32)
    """
    sizes = tuple(shape) if isinstance(shape, Sequence) else (shape,)
    grid = tuple(whole_number("shape", size, "a count of cells") for size in sizes)
    if not 1 <= len(grid) <= 3:
        raise ValueError(f"shape is {grid}, expected 1 to 3 axes")
    boundaries = (boundary,) * len(grid) if isinstance(boundary, str) else tuple(boundary)
    if len(boundaries) != len(grid) or not set(boundaries) <= set(_BOUNDARIES):
        raise ValueError(f"boundary is {boundary!r}, expected one of {', '.join(_BOUNDARIES)}, or one for each axis")
    if any(one == "periodic" and size < 3 for one, size in zip(boundaries, grid, strict=True)):
        raise ValueError(f"shape is {grid}, but a periodic axis needs at least 3 cells")
    dtype = checked_dtype(dtype)
    format = "hm" if device is not None and format is None else format
    if isinstance(k, tuple) and len(k) != len(grid):
        raise ValueError(f"k is a tuple of {len(k)}, expected one coefficient for each axis of the grid {grid}")
    along = [_coefficient(one, grid) for one in (k if isinstance(k, tuple) else (k,))]
    n = prod(grid)
    diagonals = Diagonals(row_range(None, (n, n)), dtype, format, most=1 + 4 * len(grid))
    main = diagonals[0].reshape(grid)
    for axis, (size, condition) in enumerate(zip(grid, boundaries, strict=True)):
        cells = along[axis if len(along) > 1 else 0]
        _add_fluxes(diagonals, main, cells, axis, condition, prod(grid[axis + 1 :]), size)
    matrix = diagonals.matrix()
    if format is None and "periodic" in boundaries and len(grid) > 1:
        matrix = sparse.csr_array(matrix)
        matrix.eliminate_zeros()
    return matrix if device is None else matrix.to(device)


def _add_fluxes(
    diagonals: Diagonals, main: NDArray[Any], cells: NDArray[Any], axis: int, condition: str, stride: int, size: int
) -> None:
    """Add the fluxes along an axis to the diagonals; `main` is a view of the main one."""

    def part(array: NDArray[Any], start: int | None, stop: int | None) -> NDArray[Any]:
        return array[(slice(None),) * axis + (slice(start, stop),)]

    def between(lower: NDArray[Any], upper: NDArray[Any]) -> NDArray[Any]:
        return 2 * lower * upper / (lower + upper)

    def add(flux: NDArray[Any], lower: slice, upper: slice, offset: int) -> None:
        for cells_of, k in ((lower, offset), (upper, -offset)):
            part(main, cells_of.start, cells_of.stop)[...] += flux
            part(diagonals[k].reshape(main.shape), cells_of.start, cells_of.stop)[...] -= flux

    if size > 1:
        flux = between(part(cells, None, -1), part(cells, 1, None))
        add(flux, slice(None, -1), slice(1, None), stride)
    if condition == "dirichlet":
        for end in (slice(None, 1), slice(-1, None)):
            part(main, end.start, end.stop)[...] += part(cells, end.start, end.stop)
    elif condition == "periodic":
        flux = between(part(cells, None, 1), part(cells, -1, None))
        add(flux, slice(None, 1), slice(-1, None), (size - 1) * stride)


def _coefficient(k: Any, grid: tuple[int, ...]) -> NDArray[Any]:
    """Return the coefficient of each cell."""
    if callable(k):
        k = k(*np.meshgrid(*((np.arange(size) + 0.5) / max(size, 1) for size in grid), indexing="ij", sparse=True))
    cells = np.asarray(k)
    if cells.dtype.kind not in "iuf":
        raise TypeError(f"k is {cells.dtype}, expected real numbers")
    try:
        cells = np.broadcast_to(cells.astype(np.promote_types(cells.dtype, float)), grid)
    except ValueError:
        raise ValueError(f"k has shape {cells.shape}, expected that of the grid, {grid}") from None
    if not (np.isfinite(cells) & (cells > 0)).all():
        raise ValueError("k has elements that are not positive and finite")
    return cells
