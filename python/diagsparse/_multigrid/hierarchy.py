"""The levels of multigrid, and the cycle through them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._backends.backend import CPU
from .grids import Step

_SMALL = 500  # points of a grid whose matrix is inverted
_WEAK = 0.3  # an axis is coarsened if its coupling is at least this fraction of that of the strongest one
_HIGHEST = 4.0  # bound of the eigenvalues of D^-1 A that the smoother assumes, where the sums of rows give a larger one
_ROUNDING = 1e-13  # of the sum of a row, as a fraction of its elements


class Level:
    """A matrix on a grid, the interpolation from the next level, and the vectors of a cycle.

    Attributes
    ----------
    grid : Grid
        Native: the shape, the axes that are coarsened, and the operations.
    coefficients : ndarray, shape (steps, points)
        The diagonals.
    polynomial : (float, float)
        The smoother.
    weights : ndarray, shape (targets, coarse points)
        The interpolation; empty on the coarsest level.
    b, e : ndarray
        Right-hand side and solution of a cycle; empty on the finest level, which has those of its caller.
    x : ndarray
        The solution before the coarser levels correct it; empty on the coarsest level.
    """

    def __init__(self, grid: Any, coefficients: NDArray[Any], polynomial: tuple[float, float]) -> None:
        self.grid, self.coefficients, self.polynomial = grid, coefficients, polynomial
        self.weights = self.b = self.e = self.x = np.empty(0, coefficients.dtype)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(one.nbytes for one in (self.coefficients, self.weights, self.b, self.e, self.x))


class Hierarchy:
    """Levels of a matrix on a grid, down to a small one, whose matrix is inverted."""

    def __init__(
        self, shape: Sequence[int], coefficients: dict[Step, NDArray[np.float64]], dtype: Any, smoother: str
    ) -> None:
        size = _three(shape, 1)
        steps = [_three(step, 0) for step in coefficients]
        values = np.stack([one.reshape(-1) for one in coefficients.values()])
        periodic = _periodic(size, dict(zip(steps, values, strict=True)))
        self.dtype, self.singular, self.norm = np.dtype(dtype), False, 0.0
        self.levels: list[Level] = []
        while True:
            statistics = CPU.core.Grid(size, periodic, (False,) * 3, steps).statistics(values)
            if not self.levels:
                self.norm = statistics["norm"]
                self.singular = prod(size) > 0 and statistics["row_sum"] <= _ROUNDING * self.norm
            coarsened = _coarsened(size, periodic, steps, statistics["coupling"])
            grid = CPU.core.Grid(size, periodic, coarsened, steps)
            rounded = np.empty(values.shape, self.dtype)
            grid.rounded(values, rounded)
            level = Level(grid, rounded, _polynomial(smoother, statistics["bound"]))
            if self.levels:
                level.b, level.e = np.zeros((2, prod(size)), self.dtype)
            self.levels.append(level)
            if not any(coarsened) or prod(size) <= _SMALL:
                break
            level.x = np.zeros(prod(size), self.dtype)
            weights = np.empty((len(grid.targets), prod(grid.coarse_size)))
            grid.interpolation(values, weights)
            coarse = np.empty((27, prod(grid.coarse_size)))
            present = grid.galerkin(values, weights, coarse)
            level.weights = weights.astype(self.dtype)
            stored = [c for c in range(27) if present[c] or c == 13]
            steps = [(c // 9 - 1, c // 3 % 3 - 1, c % 3 - 1) for c in stored]
            values = coarse if len(stored) == 27 else coarse[stored]
            size = grid.coarse_size
        self.inverse = _inverse(_dense(size, steps, values), self.singular).astype(self.dtype)

    def cycle(self, b: NDArray[Any], out: NDArray[Any], visits: int, depth: int = 0) -> None:
        """Compute an approximation of the solution for b."""
        level = self.levels[depth]
        if depth == len(self.levels) - 1:
            np.matmul(self.inverse, b, out=out)
            return
        below = self.levels[depth + 1]
        a, w, (a1, a2) = level.coefficients, level.weights, level.polynomial
        level.grid.descend(a, w, a1, a2, b, level.x, below.b)
        self.cycle(below.b, below.e, visits, depth + 1)
        for _ in range(visits - 1 if depth + 2 < len(self.levels) else 0):
            r, correction = np.empty_like(below.b), np.empty_like(below.e)
            below.grid.residual(below.coefficients, below.b, below.e, r)
            self.cycle(r, correction, visits, depth + 1)
            below.e += correction
        level.grid.ascend(a, w, a1, a2, b, level.x, below.e, out)


def _three(shape: Sequence[int], one: int) -> tuple[int, int, int]:
    """Return three axes: slabs of lines of points; two axes have no lines, and one axis is a single line."""
    s = tuple(map(int, shape))
    return (s[0], s[1], s[2]) if len(s) == 3 else (s[0], one, s[1]) if len(s) == 2 else (one, one, s[0])


def _periodic(size: Sequence[int], coefficients: dict[Step, NDArray[Any]]) -> tuple[bool, ...]:
    """Whether a point at the end of each axis has a neighbour at the other end."""
    found = [False] * 3
    for step, values in coefficients.items():
        whole = values.reshape(size)
        for axis, s in enumerate(step):
            if s:
                end = whole.take(-1 if s > 0 else 0, axis)
                found[axis] |= bool(end.any())
    return tuple(found)


def _coarsened(
    size: Sequence[int], periodic: Sequence[bool], steps: Sequence[Step], sums: Sequence[float]
) -> tuple[bool, ...]:
    """Return which axes are coarsened: those that are long enough, and not coupled weakly.

    `sums` are those of the absolute values on each diagonal.
    """
    coupling = [sum(total for step, total in zip(steps, sums, strict=True) if step[axis]) for axis in range(3)]
    able = [n > (4 if around else 3) for n, around in zip(size, periodic, strict=True)]
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


def _inverse(A: NDArray[np.float64], singular: bool) -> NDArray[Any]:
    """Return the inverse; of a matrix whose null space are constants, the pseudoinverse."""
    n = len(A)
    if not singular:
        return np.linalg.inv(A)
    scale = float(np.trace(A)) / n / n
    return np.linalg.inv(A + scale) - 1 / (scale * n * n)


def _dense(size: Sequence[int], steps: Sequence[Step], values: NDArray[np.float64]) -> NDArray[np.float64]:
    n = prod(size)
    A = np.zeros((n, n))
    points = np.indices(size).reshape(3, n)
    for step, one in zip(steps, values, strict=True):
        to = [(p + s) % m for p, s, m in zip(points, step, size, strict=True)]
        np.add.at(A, (np.arange(n), np.ravel_multi_index(to, size)), one)
    return A
