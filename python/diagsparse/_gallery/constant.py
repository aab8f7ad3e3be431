"""Matrices of constant diagonals, and finite differences on grids."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from .arguments import Dtype, Format, Rows, checked_dtype, gallery_function, numbers, whole_number
from .construction import Diagonals, as_format, from_constants, require_memory_for_entries
from .rows import RowRange, row_range

_STENCILS = {3: (1, False), 5: (2, False), 7: (3, False), 9: (2, True), 27: (3, True)}  # points: dimensions, corners


@gallery_function
def tridiagonal(
    n: int,
    *,
    lower: complex = -1,
    main: complex = 2,
    upper: complex = -1,
    dtype: Dtype = float,
    rows: Rows = None,
    format: Format = None,
) -> Any:
    """Return a tridiagonal matrix with constant diagonals, by default the negative second difference.

    Parameters
    ----------
    lower, main, upper : number
        Values on the diagonals -1, 0 and 1. Diagonals with the value zero are not stored.

    Examples
    --------
    >>> from diagsparse import gallery
    >>> gallery.tridiagonal(3).toarray()
    array([[ 2., -1.,  0.],
           [-1.,  2., -1.],
           [ 0., -1.,  2.]])
    """
    n = whole_number("n", n, "an order")
    values = numbers("(lower, main, upper)", (lower, main, upper))
    return from_constants(row_range(rows, (n, n)), np.arange(-1, 2), values, dtype, format)


@gallery_function
def toeplitz(
    first_column: ArrayLike,
    first_row: ArrayLike | None = None,
    *,
    dtype: Dtype = None,
    rows: Rows = None,
    format: Format = None,
) -> Any:
    """Return a Toeplitz matrix, which has constant diagonals. Only the nonzero diagonals are stored.

    Parameters
    ----------
    first_column : array_like, shape (m,)
        First column.
    first_row : array_like, shape (n,), optional
        First row, by default the conjugate of the column. Its first element is ignored, as in `scipy.linalg.toeplitz`.
    dtype : dtype, optional
        By default that of the values, or float64 for integers.

    Returns
    -------
    dia_array, shape (m, n)

    Examples
    --------
    >>> from diagsparse import gallery
    >>> gallery.toeplitz([4, 1, 0], [4, 0, 2, 0]).toarray()
    array([[4., 0., 2., 0.],
           [1., 4., 0., 2.],
           [0., 1., 4., 0.]])
    """
    column = numbers("first_column", first_column)
    row = column.conj() if first_row is None else numbers("first_row", first_row)
    values = np.concatenate((column[::-1], row[1:]))
    offsets = np.arange(len(values)) - (len(column) - 1)
    dtype = values.dtype if dtype is None and values.dtype.kind in "fc" else dtype
    return from_constants(row_range(rows, (len(column), len(row))), offsets, values, dtype, format)


@gallery_function
def stencil(
    points: int,
    shape: int | Sequence[int],
    *,
    periodic: bool = False,
    dtype: Dtype = float,
    rows: Rows = None,
    format: Format = None,
) -> Any:
    """Return the negative Laplacian on a grid by finite differences, with unit spacing.

    Boundaries are periodic, or have Dirichlet conditions. The matrix has a row for each grid point, in C order. The
    main diagonal is points - 1, and neighbours are -1. With 9 and 27 points, the corners count as neighbours; 27 points
    give the matrix of the HPCG benchmark.

    Parameters
    ----------
    points : {3, 5, 7, 9, 27}
        Number of points of the stencil: 3 in 1-D, 5 or 9 in 2-D, 7 or 27 in 3-D.
    shape : int or tuple of int
        Number of grid points along each axis, or one number for all axes.
    periodic : bool
        Whether the grid is periodic, which requires at least 3 points along each axis.

    Returns
    -------
    dia_array, shape (N, N)
        For N grid points. A periodic grid in 2-D or 3-D is a `csr_array`, because its additional diagonals are mostly
        empty.

    Examples
    --------
    >>> from diagsparse import gallery
    >>> gallery.stencil(5, (100, 200)).offsets
    array([-200,   -1,    0,    1,  200], dtype=int32)
    >>> gallery.stencil(5, (100, 200), rows=(5000, 10000), format="hm")  # of the second of four processes
    <hm_array 5000 x 20000 float64: 5 diagonals from 4800 to 5200, 25000 stored, 200 KB, cpu>
    """
    if points not in _STENCILS:
        raise ValueError(f"points is {points!r}, expected one of {', '.join(map(str, _STENCILS))}")
    dimensions, corners = _STENCILS[points]
    sizes = tuple(shape) if isinstance(shape, Sequence) else (shape,) * dimensions
    grid = tuple(whole_number("shape", size, "a count of grid points") for size in sizes)
    if len(grid) != dimensions:
        raise ValueError(f"shape is {grid}, but {points} points need a {dimensions}-D grid")
    if periodic and min(grid) < 3:
        raise ValueError(f"shape is {grid}, but a periodic axis needs at least 3 points")
    dtype = checked_dtype(dtype)
    n, strides = prod(grid), [prod(grid[axis + 1 :]) for axis in range(dimensions)]
    selected = row_range(rows, (n, n))
    if periodic and dimensions > 1 and (rows is None or format is None):
        return as_format(_periodic(selected, grid, strides, _steps([(-1, 0, 1)] * dimensions, corners), dtype), format)
    # On a periodic axis, the first and the last point are neighbours: two more steps.
    steps = _steps([(-1, 0, 1, size - 1, 1 - size) if periodic else (-1, 0, 1) for size in grid], corners)
    diagonals = Diagonals(selected, dtype, format, most=len(steps))
    for box in selected.boxes(grid):
        for step in steps:
            targets = {axis: range(max(0, -s), size - max(0, s)) for axis, (s, size) in enumerate(zip(step, grid))}
            if (at := box.part(targets)) is not None:
                # Several steps have the same offset if the grid has one or two points along an axis.
                diagonals.within(box, sum(map(operator.mul, step, strides)))[at] += -1 if any(step) else points - 1
    return diagonals.matrix()


def _steps(along: Sequence[Sequence[int]], corners: bool) -> list[tuple[int, ...]]:
    """Return all steps of a stencil, from the steps along each axis."""
    return [step for step in product(*along) if corners or sum(map(bool, step)) <= 1]


def _periodic(
    rows: RowRange, grid: Sequence[int], strides: Sequence[int], steps: list[tuple[int, ...]], dtype: np.dtype[Any]
) -> sparse.csr_array:
    """Return rows of a stencil on a periodic grid; its diagonals are mostly empty."""
    require_memory_for_entries(rows.shape[0] * len(steps), dtype)
    columns = np.empty((rows.shape[0], len(steps)), int)
    for box in rows.boxes(grid):
        for column, step in zip(columns[box.rows].T, steps, strict=True):
            axes = zip(box.coordinates, step, grid, strides, strict=True)
            terms = ((at + s) % size * stride for at, s, size, stride in axes)
            column[:] = sum(terms, start=np.zeros((), int)).ravel()
    values = np.array([-1 if any(step) else len(steps) - 1 for step in steps], dtype)
    pointers = np.arange(rows.shape[0] + 1) * len(steps)
    csr = sparse.csr_array((np.tile(values, rows.shape[0]), columns.ravel(), pointers), shape=rows.shape)
    return csr.sorted_indices()
