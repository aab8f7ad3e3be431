"""The systems of ``diagsparse bench solve``: bands, batches of them, triangles, and grids with jumping coefficients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import gallery
from .._matrix.registry import FORMATS
from .._products.batches import batch_array

LEAST = 50  #: rows of a band at least


@dataclass(frozen=True)
class SolveCase:
    """A system: a matrix of SciPy, or some members of a batch that have it as their first one."""

    name: str
    what: str  #: description
    make: Callable[[float], Any]  #: returns the matrix for a scale of at most 1
    devices: tuple[str, ...] = ("cpu", "cuda")
    members: int = 0  #: of a batch, 0 for a single matrix
    triangular: bool = False  #: whether it is a lower triangle
    iterative: bool = False  #: whether it is a grid, which multigrid and conjugate gradients solve

    def count(self, scale: float) -> int:
        """Return the number of members for a scale."""
        return max(4, round(self.members * scale)) if self.members else 0


def dominant_band(n: int, half: int) -> Callable[[float], Any]:
    """Return a function that creates a symmetric positive definite band with `half` diagonals on each side."""

    def make(scale: float) -> Any:
        rows = max(LEAST, round(n * scale))
        rng = np.random.default_rng(0)
        above = {k: rng.uniform(-1, 1, rows - k) for k in range(1, half + 1)}
        sums = np.zeros(rows)
        for k, values in above.items():
            sums[:-k] += abs(values)
            sums[k:] += abs(values)
        diagonals = [sums + 0.1, *(values for values in above.values() for _ in range(2))]
        return sp.dia_array(sp.diags_array(diagonals, offsets=[0, *(s * k for k in above for s in (1, -1))]))

    return make


def ring(n: int) -> Callable[[float], Any]:
    """Return a function that creates a symmetric, diagonally dominant tridiagonal matrix with two corner elements."""

    def make(scale: float) -> Any:
        rows = max(LEAST, round(n * scale))
        rng = np.random.default_rng(0)
        above = {k: rng.uniform(-1, 1, rows - k) for k in (1, rows - 1)}
        diagonals = {0: np.full(rows, 4.5), **above, **{-k: values for k, values in above.items()}}
        return sp.dia_array(sp.diags_array([*diagonals.values()], offsets=[*diagonals]))

    return make


def jumping(*sides: int) -> Callable[[float], Any]:
    """Return a function that creates a diffusion equation whose coefficient is 1 or 1000 in blocks of the grid."""

    def make(scale: float) -> Any:
        shape = tuple(max(6, round(side * scale ** (1 / len(sides)))) for side in sides)
        return gallery.diffusion(shape, lambda *x: np.where(sum((3 * at).astype(int) for at in x) % 2, 1000.0, 1.0))

    return make


def lower(make: Callable[[float], Any]) -> Callable[[float], Any]:
    """Return a function that creates the lower triangles of matrices."""
    return lambda scale: sp.dia_array(sp.tril(make(scale)))


def full_diagonals(n: int, *distances: int) -> Callable[[float], Any]:
    """Return a function that creates a lower triangle with diagonals at these distances from the main one."""

    def make(scale: float) -> Any:
        rows, rng = max(2 * max(distances), round(n * scale)), np.random.default_rng(0)
        values = [rng.uniform(-0.2, 0.2, rows - d) for d in distances]
        return sp.dia_array(sp.diags_array([np.ones(rows), *values], offsets=[0, *(-d for d in distances)]))

    return make


def batch_of(A: Any, count: int) -> batch_array:
    """Return a batch of matrices with the diagonals of A, multiplied by numbers from 1 to 2."""
    like: Any = FORMATS["dia"].array(A)
    return batch_array(np.multiply.outer(np.linspace(1, 2, count), like.values), like)


# fmt: off
CASES = (
    SolveCase("solve-tridiagonal", "tridiagonal", dominant_band(10**6, 1)),
    SolveCase("solve-band-5", "band of 5", dominant_band(10**5, 2)),
    SolveCase("solve-band-11", "band of 11", dominant_band(200_000, 5)),
    SolveCase("solve-band-41", "band of 41", dominant_band(50_000, 20)),
    SolveCase("solve-batch-50", "batch of tridiagonal matrices", dominant_band(50, 1), members=10_000),
    SolveCase("solve-batch-64", "batch of tridiagonal matrices", dominant_band(64, 1), ("cuda",), members=1_000_000),
    SolveCase("solve-batch-1000", "batch of tridiagonal matrices", dominant_band(1000, 1), members=1000),
    SolveCase("solve-batch-cyclic", "batch of periodic matrices", ring(64), members=10_000),
    SolveCase("solve-batch-5", "batch of bands of 5", dominant_band(50, 2), members=10_000),
    SolveCase("solve-triangle-5", "lower triangle, 5-point grid", lower(jumping(1000, 1000)), triangular=True),
    SolveCase("solve-triangle-7", "lower triangle, 7-point grid", lower(jumping(128, 128, 128)), triangular=True),
    SolveCase("solve-triangle-far", "offsets 0, -50, -1000", full_diagonals(10**6, 50, 1000), triangular=True),
    SolveCase("solve-grid-5-200", "5-point grid, jumps of 1000", jumping(200, 200), iterative=True),
    SolveCase("solve-grid-5", "5-point grid, jumps of 1000", jumping(1000, 1000), iterative=True),
    SolveCase("solve-grid-7", "7-point grid, jumps of 1000", jumping(100, 100, 100), iterative=True),
    SolveCase("solve-grid-5-4096", "5-point grid, jumps of 1000", jumping(4096, 4096), ("cuda",), iterative=True),
    SolveCase("solve-grid-7-256", "7-point grid, jumps of 1000", jumping(256, 256, 256), ("cuda",), iterative=True),
)
# fmt: on


def solve_cases(name: str, device: str) -> list[SolveCase]:
    """Return the cases on a device whose names start with `name`; "solve" selects all."""
    known = [case for case in CASES if device in case.devices]
    chosen = [case for case in known if case.name.startswith(name)]
    if not chosen:
        raise ValueError(f'bench: no case "{name}" on {device}; there are {", ".join(case.name for case in known)}')
    return chosen
