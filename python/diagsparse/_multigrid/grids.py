"""Grids that matrices of diagonals belong to: their shape, and the coefficients of each point's neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

import numpy as np

from .._arrays import new
from .._backends.backend import CPU, Backend
from .._matrix.sparse_array import SparseArray
from . import arrays

Step = tuple[int, int, int]
CENTER: Step = (0, 0, 0)
MOST_DIAGONALS = 125  #: more than a grid of three axes has, also a periodic one


@dataclass(frozen=True)
class Coefficients:
    """A matrix on a grid, whose shape always has three axes here: slabs of lines of points.

    Attributes
    ----------
    size : tuple of int
        Points along each axis; a grid of two axes has one line in each slab, and one of one axis is a single line.
    periodic : tuple of bool
        Whether the points at the ends of an axis are neighbours.
    steps : list of (int, int, int)
        From a point to its neighbours, in ascending order.
    values : array, shape (steps, points)
        The element of each point's row in the column of the neighbour, in float64, on the device of the matrix.
    statistics : dict
        Of these values: what the set-up has to know, see `Grid.statistics`.
    positive : bool
        Whether all elements on the main diagonal are.
    symmetric : bool
        Whether the matrix is, but for rounding errors.
    rounding : float
        Up to which fraction of the elements of a row their sum is due to rounding.
    conserving : bool
        Whether columns add up to zero where rows do, so that constants are the null space of the transpose, too.
    """

    size: tuple[int, int, int]
    periodic: tuple[bool, ...]
    steps: list[Step]
    values: Any
    statistics: dict[str, Any]
    positive: bool = True
    symmetric: bool = True
    rounding: float = 1e-13
    conserving: bool = True

    @property
    def singular(self) -> bool:
        """Whether constants are the null space."""
        small = self.statistics["row_sum"] <= self.rounding * self.statistics["norm"]
        return prod(self.size) > 0 and self.conserving and small


def three_axes(shape: Sequence[int], one: int = 1) -> tuple[int, int, int]:
    """Return a shape of one to three axes as one of three; `one` is the size of those that are added."""
    s = tuple(map(int, shape))
    return (s[0], s[1], s[2]) if len(s) == 3 else (s[0], one, s[1]) if len(s) == 2 else (one, one, s[0])


def own_axes(three: Sequence[Any], axes: int) -> tuple[Any, ...]:
    """Return what belongs to the axes of a grid of one to three axes: the inverse of `three_axes`."""
    return tuple(three[axis] for axis in {1: (2,), 2: (0, 2), 3: (0, 1, 2)}[axes])


def coefficients(A: SparseArray, shape: Sequence[int]) -> Coefficients | None:
    """Return the coefficients of a grid, or None if A couples points that are not neighbours."""
    size, offsets = three_axes(shape), {int(k) for k in A._format.occupied(A)}
    usual, all_steps = (_candidates(offsets, size, around) for around in (False, True))
    found = _placed(A, size, usual)
    return _placed(A, size, all_steps) if found is None and all_steps != usual else found


def _placed(A: SparseArray, size: tuple[int, int, int], steps: list[Step]) -> Coefficients | None:
    """Return the coefficients if all elements of A couple points by one of these steps."""
    backend, n = A._backend, prod(size)
    grid = backend.core.Grid(size, (False,) * 3, (False,) * 3, steps)
    rounding = 1e-13 if A.dtype == np.float64 else 16 * float(np.finfo(A.dtype).eps)
    tolerance = max(1e-10, rounding)
    values, periodic = new.empty(backend, (len(steps), n), "float64"), [False] * 3
    found = None
    if backend is not CPU and n:
        found = backend.core.gather_coefficients(grid, A._matrix, A._op, tolerance, values)
    if found and found[0]:
        _, (positive, symmetric), statistics = found  # in one pass
    else:
        values.fill(0)
        for offset in map(int, A._format.occupied(A)) if n else ():
            diagonal = A._core.diagonal(A._matrix, A._op, offset, True)
            fits, around = grid.place(offset, arrays.in_dtype(diagonal, "float64"), values)
            if not fits:
                return None
            periodic = [one or other for one, other in zip(periodic, around, strict=True)]
        statistics = grid.statistics(values)
        around_grid = backend.core.Grid(size, tuple(periodic), (False,) * 3, steps)
        positive, symmetric = around_grid.definite(values, tolerance)
    coupling = statistics["coupling"]
    used = [i for i, step in enumerate(steps) if step == CENTER or coupling[i] != 0]
    statistics["coupling"] = [coupling[i] for i in used]
    kept = arrays.rows(backend, values, used)
    stored = [steps[i] for i in used]
    return Coefficients(size, tuple(periodic), stored, kept, statistics, positive, symmetric, rounding)


def _candidates(offsets: set[int], size: tuple[int, int, int], around: bool) -> list[Step]:
    """Return the steps that elements with these offsets may be, and the center.

    `around`: also steps that are taken over the ends of axes only, as where each line of a grid continues in the next.
    """
    strides, found = (size[1] * size[2], size[2], 1), {CENTER}
    for z, y, x in product((-1, 0, 1), repeat=3):
        step = (z, y, x)
        if any(s and n < 2 for s, n in zip(step, size, strict=True)):
            continue
        ways = [(s, s - s * n) if s and n > 2 and around else (s,) for s, n in zip(step, size, strict=True)]
        if any(sum(map(int.__mul__, way, strides)) in offsets for way in product(*ways)):
            found.add(step)
    return sorted(found)


def both_ways(steps: Sequence[Step]) -> list[Step]:
    """Return steps with those from a point to both neighbours along each axis on which points are coupled."""
    unit = [tuple(int(axis == d) for d in range(3)) for axis in range(3)]
    along = [one for axis, one in enumerate(unit) if any(step[axis] for step in steps)]
    return sorted({*steps, *((s * z, s * y, s * x) for z, y, x in along for s in (-1, 1))})


def with_zeros(found: Coefficients, steps: list[Step], backend: Backend) -> Coefficients:
    """Return coefficients of more steps, which are zero for those that are new."""
    if steps == found.steps:
        return found
    n = prod(found.size)
    values = new.zeros(backend, (len(steps), n), "float64")
    coupling, to, given = [0.0] * len(steps), values.ravel(), found.values.ravel()
    for i, step in enumerate(found.steps):
        j = steps.index(step)
        arrays.copy(given[i * n : (i + 1) * n], to[j * n : (j + 1) * n])
        coupling[j] = found.statistics["coupling"][i]
    return replace(found, steps=steps, values=values, statistics={**found.statistics, "coupling": coupling})


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


def shape_of(A: SparseArray) -> tuple[tuple[int, ...], Coefficients] | None:
    """Return the shape of the grid that A belongs to, and its coefficients; None if there is none."""
    for shape in shapes(A):
        if (found := coefficients(A, shape)) is not None:
            return shape, found
    return None
