"""The levels of multigrid, and the cycle through them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import new
from .._backends import memory
from .._backends.backend import CPU, Backend
from . import arrays
from .grids import CENTER, Coefficients, Step, both_ways, with_zeros
from .levels import CoarsestLevel, Level, level_of

_SMALL = 500  # points of a grid whose matrix is inverted
_SMALL_AND_OFTEN = 1000  # the same for W cycles of large grids, which visit it hundreds of times
_LARGE = 10**6
_MOST_INVERTED = 2000  # points of a grid that cannot be coarsened further
_WEAK = 0.3  # an axis is coarsened if its coupling is at least this fraction of that of the strongest one
_LISTED = 14 * 24  # bytes for each point of an axis: 27 entries of 24 bytes for every second one
_MARGIN_LINES, _MARGIN_WIDTH = 16, 167  # of zeros around the grid of a `PlaneLevel`, at most
_MOST_SCALE = 1.6  # of a coarse matrix that a caller gives, relative to the product; usual mistakes are factors of 2
_COUPLED = 0.9  # least couplings of a matrix whose scale is compared, relative to its main diagonal
_HIGHEST = 4.0  # bound of the eigenvalues of D^-1 A that the smoother assumes, where the sums of rows give a larger one


Coarse = Callable[[tuple[int, int, int]], Coefficients | None]
"""Returns the matrix of a coarse grid of this size, or None for the Galerkin product."""


class Hierarchy:
    """Levels of a matrix on a grid, down to a small one, whose matrix is inverted."""

    def __init__(
        self,
        finest: Coefficients,
        backend: Backend,
        dtype: Any,
        smoother: str,
        visits: int,
        coarse: Coarse | None = None,
    ) -> None:
        self._visits = visits
        statistics = finest.statistics
        self.dtype, self.norm = np.dtype(dtype), statistics["norm"]
        self.symmetric, self.singular = finest.symmetric, finest.singular
        # Cycles are for the matrix times a power of two, so that float32 holds all values of the levels.
        self.scale = _power_of_two(self.norm)
        self.levels: list[Level] = []
        small = _SMALL_AND_OFTEN if visits > 1 and prod(finest.size) >= _LARGE else _SMALL
        matrix = self._scaled(finest, backend)
        while True:
            size, values = matrix.size, matrix.values
            coarsened: tuple[bool, ...] = (False,) * 3
            if prod(size) > small:
                coarsened = _coarsened(size, matrix.periodic, matrix.steps, matrix.statistics["coupling"])
            if smoother == "line" and any(coarsened):
                matrix = with_zeros(matrix, both_ways(matrix.steps), backend)
                values = matrix.values
            grid = backend.core.Grid(size, matrix.periodic, coarsened, matrix.steps)
            polynomial = None if smoother == "line" else _polynomial(smoother, matrix.statistics["bound"])
            if not any(coarsened):
                _require_small(size, backend)
                self.levels.append(CoarsestLevel(backend, grid, _inverse(grid, values, self.singular), self.dtype))
                break
            weights = new.empty(backend, (len(grid.targets), prod(grid.coarse_size)), "float64")
            grid.interpolation(values, weights)
            given = None if coarse is None else coarse(grid.coarse_size)
            matrix = _product(backend, grid, values, weights)
            if given is not None:
                if self.symmetric:
                    _warn_of_another_scale(given, matrix, self.scale)
                matrix = self._scaled(given, backend)
            self.levels.append(level_of(backend, grid, values, weights, polynomial, self.dtype, self.symmetric))
        for i, level in enumerate(self.levels[:-1]):
            level.allocate(self.levels[i + 1], i > 0 and visits > 1)

    def _scaled(self, matrix: Coefficients, backend: Backend) -> Coefficients:
        return replace(matrix, values=arrays.multiplied(backend, matrix.values, self.scale))

    def cycle(self, depth: int = 0) -> None:
        """Compute `e` of a level, an approximation of the solution for its `b`."""
        level = self.levels[depth]
        if isinstance(level, CoarsestLevel):
            level.solve()
            return
        below = self.levels[depth + 1]
        level.descend(below)
        self.cycle(depth + 1)
        for _ in range(0 if isinstance(below, CoarsestLevel) else self._visits - 1):
            below.begin_correction()
            self.cycle(depth + 1)
            below.end_correction()
        level.ascend(below)


def forecast(finest: Coefficients, backend: Backend, axes: int, dtype: Any, lines: bool, visits: int) -> int:
    """Return about how many bytes the levels need if all axes are coarsened, without the finest coefficients."""
    points, fewer, size = prod(finest.size), 2**axes, np.dtype(dtype).itemsize
    weights, coarse = (3**axes - 1) / fewer, 3**axes / fewer  # values for each point
    plane = backend is not CPU and axes == 2 and finest.symmetric and not lines and not any(finest.periodic)
    steps = len(both_ways(finest.steps)) if lines else len(finest.steps)
    vectors = 0 if plane else 2 + (1 + axes if lines else 0)
    first = size * ((steps // 2 + 1 if plane else steps) + weights + 3 + vectors)
    others = size * (3**axes + weights + 3 + vectors + (visits > 1)) / (fewer - 1)
    zeros = 8 * steps if steps > len(finest.steps) else 0
    product = points * (8 * (weights + coarse) + zeros)  # in float64
    margins = _plane_margins(finest.size, size * (3**axes // 2 + 4 + weights + (visits > 1))) if plane else 0
    # On the CPU, the product of matrices has a list of the points of each axis.
    lists = _LISTED * sum(finest.size) if backend is CPU else 0
    return int(max(product + lists, points * (first + others) + margins + product * (1 + 1 / fewer)))


def _plane_margins(size: tuple[int, int, int], each: float) -> float:
    """Return at most how many bytes the zeros around the grids of all levels need; `each`: bytes for each point."""
    lines, width = size[0], size[2]
    margins = 0.0
    while lines * width > _SMALL:
        margins += each * ((lines + _MARGIN_LINES) * (width + _MARGIN_WIDTH) - lines * width)
        lines, width = (lines + 1) // 2, (width + 1) // 2
    return margins


def _require_small(size: tuple[int, int, int], backend: Backend) -> None:
    """Raise ValueError if a grid that cannot be coarsened has too many points for an inverse."""
    if (n := prod(size)) > _MOST_INVERTED:
        raise ValueError(
            f"multigrid: no axis of the grid of {' x '.join(map(str, size))} points is long and coupled enough to be "
            f"coarsened, and {n} points are too many to invert, expected at most {_MOST_INVERTED}; use ds.factorized"
        )
    memory.require_free(32 * n * n, f"multigrid: the inverse of the coarsest matrix, {n} x {n}")


def _product(backend: Backend, grid: Any, values: Any, weights: Any) -> Coefficients:
    """Return the product of restriction, matrix and interpolation, on the next grid."""
    size, periodic = grid.coarse_size, tuple(grid.periodic)
    steps: list[Any] = list(map(tuple, grid.coarse_steps))
    coarse = new.empty(backend, (len(steps), prod(size)), "float64")
    grid.galerkin(values, weights, coarse)
    statistics = backend.core.Grid(size, periodic, (False,) * 3, steps).statistics(coarse)
    coupling = statistics["coupling"]
    stored = [i for i, step in enumerate(steps) if step == CENTER or coupling[i] != 0]
    statistics["coupling"] = [coupling[i] for i in stored]
    return Coefficients(size, periodic, [steps[i] for i in stored], arrays.rows(backend, coarse, stored), statistics)


def _warn_of_another_scale(given: Coefficients, product: Coefficients, scale: float) -> None:
    """Warn if a given coarse matrix, times a number, changes smooth vectors much more or less than the product does."""
    (of_given, most), (of_product, all_of_product) = (_couplings(one) for one in (given, product))
    if of_given < _COUPLED * most or of_product < _COUPLED * all_of_product:
        return  # other terms decide how large the matrices are
    ratio = scale * of_given / of_product
    if not 1 / _MOST_SCALE <= ratio <= _MOST_SCALE:
        warnings.warn(
            f"multigrid: the matrix that coarse() returned for {prod(given.size)} points is about {ratio:.2g} times as "
            "large as the product of restriction, matrix and interpolation, so that cycles converge slowly, or not at "
            "all; coarse= of multigrid describes how it has to be scaled",
            stacklevel=5,
        )


def _couplings(matrix: Coefficients) -> tuple[float, float]:
    """Return the sum of absolute values of couplings, times the distances of neighbours, and that of the diagonal."""
    sums = list(zip(matrix.steps, matrix.statistics["coupling"], strict=True))
    return (
        sum(size * sum(map(abs, step)) for step, size in sums),
        sum(size for step, size in sums if step == CENTER),
    )


def _power_of_two(norm: float) -> float:
    """Return a factor that makes a norm about 1, where it is very large or small."""
    return 1.0 if not norm or 1e-10 < norm < 1e10 or not np.isfinite(norm) else float(2.0 ** -np.round(np.log2(norm)))


def _coarsened(
    size: Sequence[int], periodic: Sequence[bool], steps: Sequence[Step], sums: Sequence[float]
) -> tuple[bool, ...]:
    """Return which axes are coarsened: those that are long enough, and not coupled weakly.

    `sums` are those of the absolute values on each diagonal.
    """
    coupling = [sum(total for step, total in zip(steps, sums, strict=True) if step[axis]) for axis in range(3)]
    able = [n > (4 if around else 1) for n, around in zip(size, periodic, strict=True)]
    most = max((c for c, can in zip(coupling, able, strict=True) if can), default=0)
    return tuple(can and c >= _WEAK * most and c > 0 for c, can in zip(coupling, able, strict=True))


def _polynomial(smoother: str, bound: float) -> tuple[float, float]:
    """Return the coefficients of the smoother; `bound` is one of the eigenvalues of D^-1 A."""
    high = min(bound, _HIGHEST) or 1.0  # without points, there is no bound
    if smoother == "jacobi":
        omega = 4 / 3 / high
        return 2 * omega, -omega * omega
    low = high / 4
    middle, half = (high + low) / 2, (high - low) / 2
    tau = 2 * middle**2 / half**2 - 1
    return 4 * middle / (half**2 * tau), -2 / (half**2 * tau)


def _inverse(grid: Any, values: Any, singular: bool) -> NDArray[Any]:
    """Return the inverse; of a matrix whose null space are constants, the pseudoinverse."""
    A = _dense(grid.size, grid.steps, arrays.on_host(values))
    n = len(A)
    scale = float(np.trace(A)) / n / n if singular else 0.0
    try:
        return np.linalg.inv(A + scale) - (1 / (scale * n * n) if singular else 0.0)
    except np.linalg.LinAlgError:
        raise np.linalg.LinAlgError("multigrid: the matrix of the coarsest grid is singular") from None


def _dense(size: Sequence[int], steps: Sequence[Step], values: NDArray[np.float64]) -> NDArray[np.float64]:
    n = prod(size)
    A = np.zeros((n, n))
    points = np.indices(size).reshape(3, n)
    for step, one in zip(steps, values, strict=True):
        to = [(p + s) % m for p, s, m in zip(points, step, size, strict=True)]
        np.add.at(A, (np.arange(n), np.ravel_multi_index(to, size)), one)
    return A
