"""One level of multigrid: a matrix on a grid, the interpolation from the next level, and the vectors of a cycle."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .._arrays import new
from .._backends.backend import CPU, Backend
from . import arrays


class Level:
    """A level; a cycle computes `e`, an approximation of the solution, for the right-hand side `b`.

    Attributes
    ----------
    grid : Grid
        Native: the shape, the axes that are coarsened, and the steps to neighbours.
    b, e : array
        The vectors.
    lines : Lines
        On a GPU, where the values of points are in the vectors.
    nbytes : int
        Bytes of everything that is stored.
    """

    grid: Any
    b: Any
    e: Any
    lines: Any

    @property
    def nbytes(self) -> int:
        raise NotImplementedError

    def allocate(self, below: Level, often: bool) -> None:
        """Allocate what cycles need beyond the vectors; `often`: if they visit the level more than once."""
        if often:
            self.begin_correction()
            self.end_correction()

    def products(self) -> Any:
        """Return an array whose sum is the inner product of `b` and `e`, or None: on a GPU, cycles may compute it."""
        return None

    def load(self, b: Any) -> None:
        """Set the right-hand side to a vector with one value for each point."""
        raise NotImplementedError

    def unload(self, e: Any) -> None:
        """Copy the solution to a vector with one value for each point."""
        raise NotImplementedError

    def descend(self, below: Level) -> None:
        """Smooth from zero, and compute the right-hand side of the level below."""
        raise NotImplementedError

    def ascend(self, below: Level) -> None:
        """Add the correction of the level below, and smooth."""
        raise NotImplementedError

    def begin_correction(self) -> None:
        """Replace the right-hand side by the residual, and put the solution aside."""
        raise NotImplementedError

    def end_correction(self) -> None:
        """Add the solution that was put aside."""
        raise NotImplementedError


class _WithVectors(Level):
    """A level whose vectors have one value for each point, one after the other."""

    def __init__(self, backend: Backend, grid: Any, dtype: np.dtype) -> None:
        self._backend, self.grid = backend, grid
        self.b, self.e = (new.zeros(backend, (prod(grid.size),), dtype) for _ in range(2))
        self.lines = None if backend is CPU else backend.core.Lines()

    def load(self, b: Any) -> None:
        arrays.copy(b, self.b)

    def unload(self, e: Any) -> None:
        arrays.copy(self.e, e)


class CoarsestLevel(_WithVectors):
    """The last level, whose matrix is inverted."""

    def __init__(self, backend: Backend, grid: Any, inverse: Any, dtype: np.dtype) -> None:
        super().__init__(backend, grid, dtype)
        self._inverse = arrays.on_device(backend, inverse.astype(dtype))

    @property
    def nbytes(self) -> int:
        return self._inverse.nbytes + self.b.nbytes + self.e.nbytes

    def solve(self) -> None:
        """Compute `e` exactly."""
        arrays.multiply(self._backend, self._inverse, self.b, self.e)


class _WithMatrix(_WithVectors):
    """A level whose matrix has one coefficient of each step for each point."""

    def __init__(self, backend: Backend, grid: Any, values: Any, weights: Any, dtype: np.dtype) -> None:
        super().__init__(backend, grid, dtype)
        n = prod(grid.size)
        self._coefficients = new.empty(backend, values.shape, dtype)
        grid.rounded(values, self._coefficients)
        self._weights = weights.astype(dtype)
        self._x = new.zeros(backend, (n,), dtype)  # the solution before the level below corrects it
        self._aside: Any = None
        # On a GPU, a cycle needs a vector of temporary memory.
        self._work = () if backend is CPU else (new.empty(backend, (n,), dtype),)

    @property
    def nbytes(self) -> int:
        stored = (self._coefficients, self._weights, self.b, self.e, self._x, self._aside, *self._work)
        return sum(one.nbytes for one in stored if one is not None)

    def begin_correction(self) -> None:
        if self._aside is None:
            self._aside = new.zeros(self._backend, self.e.shape, self.e.dtype)
        self.grid.residual(self._coefficients, self.b, self.e, self.b)
        self.e, self._aside = self._aside, self.e

    def end_correction(self) -> None:
        arrays.add(self._backend, self._aside, self.e)


class GridLevel(_WithMatrix):
    """A level of any grid, smoothed by a polynomial."""

    def __init__(
        self, backend: Backend, grid: Any, values: Any, weights: Any, polynomial: tuple[float, float], dtype: np.dtype
    ) -> None:
        super().__init__(backend, grid, values, weights, dtype)
        self._polynomial = polynomial
        self._between: Any = None

    @property
    def nbytes(self) -> int:
        return super().nbytes + (0 if self._between is None else self._between.nbytes)

    def allocate(self, below: Level, often: bool) -> None:
        super().allocate(below, often)
        if isinstance(below, PlaneLevel):
            self._between = new.empty(self._backend, (prod(below.grid.size),), self.b.dtype)

    def descend(self, below: Level) -> None:
        matrix = self._coefficients, self._weights, *self._polynomial
        b = self._flat(below, below.b)
        self.grid.descend(*matrix, self.b, self._x, b, *self._work)
        if b is not below.b:
            below.load(b)

    def ascend(self, below: Level) -> None:
        matrix = self._coefficients, self._weights, *self._polynomial
        e = self._flat(below, below.e)
        if e is not below.e:
            below.unload(e)
        self.grid.ascend(*matrix, self.b, self._x, e, self.e, *self._work)

    def _flat(self, below: Level, vector: Any) -> Any:
        """Return a vector of the level below, or one in its place with one value for each point."""
        return vector if self._between is None else self._between


class LineLevel(_WithMatrix):
    """A level of any grid, smoothed along the lines of each axis, one axis after the other.

    The equations of the points on a line are solved together. Afterwards the axes follow in the opposite order, so that
    the cycle of a symmetric matrix is symmetric. On a plane, the largest eigenvalue of a line smoother without damping
    is below 2, because lines couple the two neighbouring lines only.
    """

    _DAMPING = 0.7

    def __init__(self, backend: Backend, grid: Any, values: Any, weights: Any, dtype: np.dtype) -> None:
        super().__init__(backend, grid, values, weights, dtype)
        n = prod(grid.size)
        self._r = new.empty(backend, (n,), dtype)
        self._inverses = {axis: new.empty(backend, (n,), dtype) for axis in line_axes(grid)}
        for axis, inverse in self._inverses.items():
            grid.pivots(axis, values, inverse)

    @property
    def nbytes(self) -> int:
        return super().nbytes + self._r.nbytes + sum(one.nbytes for one in self._inverses.values())

    def descend(self, below: Level) -> None:
        self._x.fill(0)
        for i, axis in enumerate(self._inverses):
            self._smooth(axis, self._x, self.b if i == 0 else None)
        self.grid.residual(self._coefficients, self.b, self._x, self._r)
        self.grid.restricted(self._weights, self._r, below.b)

    def ascend(self, below: Level) -> None:
        self.grid.corrected(self._weights, self._x, below.e, self.e)
        for axis in reversed(self._inverses):
            self._smooth(axis, self.e)

    def _smooth(self, axis: int, x: Any, r: Any = None) -> None:
        """Add the damped solution of the lines of an axis for the residual, which may be known, to x."""
        if r is None:
            self.grid.residual(self._coefficients, self.b, x, r := self._r)
        inverse = self._inverses[axis]
        self.grid.smooth_lines(axis, self._coefficients, inverse, self._DAMPING, r, x, *self._work)


def line_axes(grid: Any) -> list[int]:
    """Return the axes whose points are coupled to the one before and the one after."""
    ahead = [tuple(int(axis == d) for d in range(3)) for axis in range(3)]
    steps = set(map(tuple, grid.steps))
    return [axis for axis, step in enumerate(ahead) if step in steps and tuple(-s for s in step) in steps]


class PlaneLevel(Level):
    """A level of a grid of two axes on a GPU, which are both coarsened and not periodic."""

    def __init__(
        self, backend: Backend, grid: Any, values: Any, weights: Any, polynomial: tuple[float, float], dtype: np.dtype
    ) -> None:
        self.grid, self._plane = grid, backend.core.Plane(grid, values, weights, *polynomial, dtype.name)
        self.b, self.e, self.lines = self._plane.b, self._plane.e, self._plane.lines

    @property
    def nbytes(self) -> int:
        return self._plane.nbytes

    def allocate(self, below: Level, often: bool) -> None:
        super().allocate(below, often)
        if not isinstance(below, PlaneLevel):
            self.ascend(below)  # all vectors are zero, and stay so

    def products(self) -> Any:
        return self._plane.products()

    def load(self, b: Any) -> None:
        self._plane.load(b)

    def unload(self, e: Any) -> None:
        self._plane.unload(e)

    def begin_correction(self) -> None:
        self._plane.begin_correction()
        self.e = self._plane.e

    def end_correction(self) -> None:
        self._plane.end_correction()

    def descend(self, below: Level) -> None:
        self._plane.descend(below._plane if isinstance(below, PlaneLevel) else below.b)

    def ascend(self, below: Level) -> None:
        self._plane.ascend(below._plane if isinstance(below, PlaneLevel) else below.e)


def level_of(
    backend: Backend,
    grid: Any,
    values: Any,
    weights: Any,
    polynomial: tuple[float, float] | None,
    dtype: np.dtype,
    symmetric: bool,
) -> Level:
    """Return a level, from its matrix and the weights of the interpolation to it, in float64.

    Without a polynomial, it is smoothed along lines.
    """
    if polynomial is None:
        return LineLevel(backend, grid, values, weights, dtype)
    kind: Any = PlaneLevel if symmetric and backend is not CPU and backend.core.is_plane(grid) else GridLevel
    return kind(backend, grid, values, weights, polynomial, dtype)
