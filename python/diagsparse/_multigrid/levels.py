"""One level of multigrid: a matrix on a grid, the interpolation from the next level, and the vectors of a cycle."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

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
        self.b, self.e = (arrays.zeros(backend, (prod(grid.size),), dtype) for _ in range(2))
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


class GridLevel(_WithVectors):
    """A level of any grid."""

    def __init__(
        self, backend: Backend, grid: Any, values: Any, weights: Any, polynomial: tuple[float, float], dtype: np.dtype
    ) -> None:
        super().__init__(backend, grid, dtype)
        self._polynomial, n = polynomial, prod(grid.size)
        self._coefficients = arrays.empty(backend, values.shape, dtype)
        grid.rounded(values, self._coefficients)
        self._weights = weights.astype(dtype)
        self._x = arrays.zeros(backend, (n,), dtype)  # the solution before the level below corrects it
        self._aside: Any = None
        self._between: Any = None
        # On a GPU, a cycle needs a vector of temporary memory.
        self._work = () if backend is CPU else (arrays.empty(backend, (n,), dtype),)

    @property
    def nbytes(self) -> int:
        stored = (self._coefficients, self._weights, self.b, self.e, self._x, self._aside, self._between, *self._work)
        return sum(one.nbytes for one in stored if one is not None)

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
        if not isinstance(below, PlaneLevel):
            return vector
        if self._between is None:
            self._between = arrays.empty(self._backend, (prod(below.grid.size),), self.b.dtype)
        return self._between

    def begin_correction(self) -> None:
        if self._aside is None:
            self._aside = arrays.zeros(self._backend, self.e.shape, self.e.dtype)
        self.grid.residual(self._coefficients, self.b, self.e, self.b)
        self.e, self._aside = self._aside, self.e

    def end_correction(self) -> None:
        arrays.add(self._backend, self._aside, self.e)


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
    backend: Backend, grid: Any, values: Any, weights: Any, polynomial: tuple[float, float], dtype: np.dtype
) -> Level:
    """Return a level, from its matrix and the weights of the interpolation to it, in float64."""
    kind: Any = PlaneLevel if backend is not CPU and backend.core.is_plane(grid) else GridLevel
    return kind(backend, grid, values, weights, polynomial, dtype)
