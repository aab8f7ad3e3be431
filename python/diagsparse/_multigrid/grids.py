"""Grids that matrices of diagonals belong to: their shape, and the coefficients of each point's neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._matrix.sparse_array import SparseArray

Step = tuple[int, ...]


def coefficients(A: SparseArray, shape: Sequence[int]) -> dict[Step, NDArray[np.float64]] | None:
    """Return the coefficients of all steps from a grid point to a neighbour, or None if A couples other points.

    Each array has the shape of the grid: at a point, the element of its row in the column of the neighbour. Steps over
    the ends of an axis lead to its other end.
    """
    n, grid = prod(shape), tuple(shape)
    if not n:
        return {(0,) * len(grid): np.zeros(grid)}
    strides = [prod(grid[axis + 1 :]) for axis in range(len(grid))]
    offsets = {int(k) for k in A.offsets}
    found: dict[Step, NDArray[np.float64]] = {}
    taken = 0
    for step in product((-1, 0, 1), repeat=len(grid)):
        for wraps in product(*((False, True) if s else (False,) for s in step)):
            moves = [
                s if not wrap else s - s * size for s, wrap, size in zip(step, wraps, grid, strict=True)
            ]  # along each axis
            if any(abs(move) >= size for move, size in zip(moves, grid, strict=True)):
                continue
            if any(wrap and size < 3 for wrap, size in zip(wraps, grid, strict=True)):
                continue
            offset = sum(move * stride for move, stride in zip(moves, strides, strict=True))
            if offset not in offsets:
                continue
            at = tuple(slice(max(0, -move), size - max(0, move)) for move, size in zip(moves, grid, strict=True))
            if step not in found:
                found[step] = np.zeros(grid)
            values = np.zeros(n)
            values[max(0, -offset) : n - max(0, offset)] = A.diagonal(offset)
            part = values.reshape(grid)[at]
            found[step][at] = part
            taken += int(np.count_nonzero(part))
    center = (0,) * len(grid)
    found = {step: values for step, values in found.items() if step == center or values.any()}
    return found if taken == _nonzeros(A) and center in found else None


def _nonzeros(A: SparseArray) -> int:
    return int(sum(np.count_nonzero(A.diagonal(int(k))) for k in A.offsets))


def shapes(A: SparseArray) -> Iterator[tuple[int, ...]]:
    """Yield the shapes of grids that the offsets of A may belong to, those with fewer axes first."""
    n = A.shape[0]
    far = sorted({abs(int(k)) for k in A.offsets} - {0})
    near = {k + step for k in far for step in (-1, 0, 1)} | {1}
    sizes = sorted(k for k in near if 1 < k < n and n % k == 0)
    if _fit(far, (n,)):
        yield (n,)
    for line in sizes:
        if _fit(far, (n // line, line)):
            yield n // line, line
    for plane in sizes:
        for line in sizes:
            if line < plane and plane % line == 0 and _fit(far, (n // plane, plane // line, line)):
                yield n // plane, plane // line, line


def _fit(offsets: Sequence[int], grid: tuple[int, ...]) -> bool:
    """Whether all offsets are steps to neighbours, also over the ends of the axes."""
    strides = [prod(grid[axis + 1 :]) for axis in range(len(grid))]
    along = [[0, 1, -1, size - 1, 1 - size] for size in grid]
    known = {abs(sum(map(int.__mul__, moves, strides))) for moves in product(*along)}
    return set(offsets) <= known


def shape_of(A: SparseArray) -> tuple[tuple[int, ...], dict[Step, Any]] | None:
    """Return the shape of the grid that A belongs to, and its coefficients; None if there is none."""
    for shape in shapes(A):
        if (found := coefficients(A, shape)) is not None:
            return shape, found
    return None
