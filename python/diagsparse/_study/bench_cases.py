"""The cases of the benchmarks of both devices: their definition, their matrices, and their selection by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from .. import gallery

Make = Callable[[float, int, Any], Any]  # (scale, seed, dtype) -> SciPy's dia_array; scale 1 or below


@dataclass(frozen=True)
class BaseCase:
    """One product: the construction of its operands, and the formats in which it runs."""

    name: str
    group: str
    op: str  #: "matvec" or "matmul"
    what: str  #: description
    make: Make
    make_right: Make | None = None  #: for the right operand of a product; by default like the left with other values
    formats: tuple[str, ...] = ()  #: by default all formats with a kernel for the operation


AnyCase = TypeVar("AnyCase", bound=BaseCase)


def chosen(cases: Sequence[AnyCase], name: str | None, where: str = "") -> list[AnyCase]:
    """Return the cases of a group, or those whose names start with `name`; all by default. `where` is for errors."""
    selected = [case for case in cases if is_named(name, case.group, case.name)]
    if not selected:
        raise ValueError(
            f'bench: no case "{name}"{where}; there are the groups {", ".join(dict.fromkeys(c.group for c in cases))} '
            f"and the cases {', '.join(case.name for case in cases)}; the papers' experiments are run in a clone, by "
            "`python -m benchmarks`"
        )
    return selected


def is_named(name: str | None, group: str, case: str) -> bool:
    """Return whether `name` is the group of a case, a prefix of its name, or empty."""
    return not name or group == name or case.startswith(name)


def band(n: int, diagonals: int, least: int = 50) -> Make:
    """Return a function that creates a band around the main diagonal, with at least `least` rows."""
    half = diagonals // 2
    return lambda scale, seed, dtype: gallery.banded(
        max(least, round(n * scale)), half, diagonals - 1 - half, dtype=dtype, seed=seed
    )


def stencil(points: int, *sides: int, random_values: bool = False) -> Make:
    """Return a function that creates a stencil on a grid, with constant or (incompressible) random values."""

    def make(scale: float, seed: int, dtype: Any) -> Any:
        shape = tuple(max(5, round(side * scale ** (1 / len(sides)))) for side in sides)
        A = gallery.stencil(points, shape, dtype=dtype)
        if random_values:
            A = sp.dia_array(A)
            A.data *= np.random.default_rng(seed).uniform(0.5, 1.5, A.data.shape).astype(dtype)
        return A

    return make


def symmetric(make: Make) -> Make:
    """Return a function that creates a matrix by `make` and copies its upper triangle to the lower one."""

    def mirrored(scale: float, seed: int, dtype: Any) -> Any:
        A = sp.dia_array(make(scale, seed, dtype))
        rows = {int(k): row for k, row in zip(A.offsets, A.data, strict=True)}
        for k, row in rows.items():
            if k < 0:  # data[., j] is A[j - k, j], and A[j, j - k] is stored in column j - k
                row[:k] = rows[-k][-k:]
        return A

    return mirrored


def constants(n: int, offsets: Sequence[int]) -> Make:
    """Return a function that creates a matrix with a constant value on each of these diagonals."""

    def make(scale: float, seed: int, dtype: Any) -> Any:
        rows = max(2 * max(map(abs, offsets)) + 64, round(n * scale))
        values = np.random.default_rng(seed).uniform(0.5, 1.5, len(offsets)).astype(dtype)
        return sp.dia_array((np.repeat(values[:, np.newaxis], rows, axis=1), list(offsets)), shape=(rows, rows))

    return make


def random(n: int, count: int) -> Make:
    """Return a function that creates `count` full diagonals at random offsets."""
    return lambda scale, seed, dtype: gallery.random_diagonals(
        max(50, round(n * scale)), max(2, round(count * scale)), dtype=dtype, seed=seed
    )
