"""The cases of the benchmarks of both devices: their definition, their matrices, and their selection by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import gallery

Make = Callable[[float, int, Any], Any]  # (scale, seed, dtype) -> SciPy's dia_array; scale 1 or below


@dataclass(frozen=True)
class Case:
    """One product: the construction of its operands, and the formats in which it runs."""

    name: str
    group: str
    op: str  #: "matvec" or "matmul"; on a GPU also "syrk", the lower triangle of A A^T, or "power", A^k x
    what: str  #: description
    make: Make
    make_right: Make | None = None  #: for the right operand of a product; by default like the left with other values
    formats: tuple[str, ...] = ()  #: by default all formats with a kernel for the operation
    kernels: tuple[str, ...] = ()  #: of hm on a CPU, in addition to the default
    read: bool = True  #: whether memory bandwidth matters on a CPU
    columns: int = 0  #: number of columns of x, in C order; 0 for a vector
    values: str = ""  #: dtype of the values of A, if it differs from that of x
    layout: Mapping[str, Any] = field(default_factory=dict)  #: options of the formats
    power: int = 0  #: k of A^k x

    @property
    def counterpart(self) -> str:
        """The product with which each kernel is also compared: the same without the special property of the case."""
        if self.op == "syrk":
            return "whole product"
        if self.power:
            return f"{self.power} products"
        if self.columns:
            return f"{self.columns} vectors"
        if "palette" in self.layout:
            return "no palette"
        return "wide values" if self.values else "full storage" if self.layout else ""

    @property
    def times(self) -> int:
        """The number of counterparts that are equivalent to one run of the case."""
        return self.columns or self.power or 1


def cases(name: str | None = None, device: str = "cpu") -> list[Case]:
    """Return the cases of a group, or those whose names start with `name`; all by default."""
    known = CASES[device]
    selected = [case for case in known if is_named(name, case.group, case.name)]
    if not selected:
        raise ValueError(
            f'bench: no case "{name}"{" on a GPU" * (device == "cuda")}; there are the groups '
            f"{', '.join(dict.fromkeys(case.group for case in known))} and the cases "
            f"{', '.join(case.name for case in known)}; the papers' experiments are run in a clone, by "
            "`python -m benchmarks`"
        )
    return selected


def is_named(name: str | None, group: str, case: str) -> bool:
    """Return whether `name` is the group of a case, a prefix of its name, or empty."""
    return not name or group == name or case.startswith(name)


# ---- matrices -----------------------------------------------------------------------------------------------------
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


def spins(sites: int) -> Make:
    """Return a function that creates the Hamiltonian of a Heisenberg chain, with at least 2^6 states."""
    return lambda scale, seed, dtype: gallery.heisenberg(max(6, round(sites + np.log2(scale))), dtype=dtype)


# ---- cases --------------------------------------------------------------------------------------------------------
_stencil = partial(stencil, random_values=True)  # constants compress
_diagonals = ("dia", "hm", "cdm")
_on_gpu = partial(Case, formats=(*_diagonals, "csr"))

# fmt: off
_CPU_CASES = (
    *(Case(f"band-{d}", "spmv", "matvec", "band", band(10**6, d)) for d in (5, 11, 41)),
    Case("stencil-5", "stencil", "matvec", "5-point stencil", stencil(5, 1000, 1000)),
    Case("stencil-9", "stencil", "matvec", "9-point stencil", stencil(9, 1000, 1000)),
    Case("stencil-7", "stencil", "matvec", "7-point stencil", stencil(7, 100, 100, 100)),
    Case("stencil-27", "stencil", "matvec", "27-point stencil", stencil(27, 60, 60, 60)),
    Case("spins-18", "spins", "matvec", "Heisenberg chain of 18 spins", spins(18), formats=("mdia", "hm", "csr")),
    Case("band-41-squared", "spgemm", "matmul", "bands", band(60_000, 41)),
    Case("band-11-squared", "spgemm", "matmul", "bands", band(250_000, 11)),
    Case("random-200", "spgemm", "matmul", "random diagonals", random(10_000, 200), formats=("hm",)),
    Case(
        "random-109-35", "spgemm", "matmul", "random diagonals", random(10_000, 109), random(10_000, 35),
        formats=("hm",), kernels=("sequential",),
    ),
    Case("small-vector", "small", "matvec", "band", band(50, 5), read=False),
    Case("small-product", "small", "matmul", "band", band(50, 5), read=False),
)
_GPU_CASES = (
    _on_gpu("stencil-7-256", "spmv", "matvec", "7-point stencil 256^3", _stencil(7, 256, 256, 256)),
    _on_gpu("stencil-5-4096", "spmv", "matvec", "5-point stencil 4096^2", _stencil(5, 4096, 4096)),
    _on_gpu("stencil-27-192", "spmv", "matvec", "27-point stencil 192^3", _stencil(27, 192, 192, 192)),
    _on_gpu("band-41", "spmv", "matvec", "band, n = 10^6", band(10**6, 41)),
    _on_gpu("stencil-7-148", "spmv", "matvec", "7-point stencil 148 x 58 x 148", _stencil(7, 148, 58, 148)),
    Case(
        "spins-20", "spins", "matvec", "Heisenberg chain of 20 spins", spins(20), formats=("mdia", "csr"),
        layout={"palette": True},
    ),
    _on_gpu(
        "stencil-9-columns", "spmm", "matvec", "9-point stencil 2048^2, 8 columns", _stencil(9, 2048, 2048), columns=8,
    ),
    _on_gpu("band-27-columns", "spmm", "matvec", "band, n = 10^6, 8 columns", band(10**6, 27), columns=8),
    _on_gpu(
        "stencil-7-256-narrow", "narrow", "matvec", "7-point stencil 256^3, float32 values",
        _stencil(7, 256, 256, 256), values="float32",
    ),
    _on_gpu("band-41-narrow", "narrow", "matvec", "band, n = 10^6, float32 values", band(10**6, 41), values="float32"),
    *(
        _on_gpu(
            f"band-{d}-symmetric", "packed", "matvec", "symmetric band, n = 10^6", symmetric(band(10**6, d)),
            formats=_diagonals, layout={"symmetry": "symmetric"},
        )
        for d in (27, 41)
    ),
    _on_gpu(
        "stencil-7-256-symmetric", "packed", "matvec", "symmetric 7-point stencil 256^3",
        symmetric(_stencil(7, 256, 256, 256)), formats=_diagonals, layout={"symmetry": "symmetric"},
    ),
    _on_gpu(
        "band-9-constant", "packed", "matvec", "band of constants, n = 10^7", constants(10**7, range(-4, 5)),
        formats=_diagonals, layout={"period": 1},
    ),
    _on_gpu(
        "stencil-9-constant", "packed", "matvec", "constants on 9-point diagonals, 3200^2",
        constants(3200**2, [3200 * i + j for i in (-1, 0, 1) for j in (-1, 0, 1)]),
        formats=_diagonals, layout={"period": 1},
    ),
    _on_gpu(
        "stencil-9-periodic", "packed", "matvec", "9-point stencil 3200^2, period 3200", stencil(9, 3200, 3200),
        formats=_diagonals, layout={"period": "auto"},
    ),
    _on_gpu("band-11-power", "chain", "power", "A^8 x, band, n = 10^6", band(10**6, 11), formats=_diagonals, power=8),
    _on_gpu("band-5-power", "chain", "power", "A^8 x, band, n = 10^5", band(10**5, 5), formats=_diagonals, power=8),
    _on_gpu("band-11-10240-squared", "spgemm", "matmul", "bands, n = 10240", band(10240, 11)),
    _on_gpu("band-41-10240-squared", "spgemm", "matmul", "bands, n = 10240", band(10240, 41)),
    _on_gpu("band-11-squared", "spgemm", "matmul", "bands, n = 10^6", band(10**6, 11)),
    _on_gpu("band-41-squared", "spgemm", "matmul", "bands, n = 10^6", band(10**6, 41)),
    *(
        _on_gpu(f"band-{d}-squared", "spgemm", "matmul", "bands, n = 10^6", band(10**6, d), formats=_diagonals)
        for d in (27, 61, 101)
    ),
    _on_gpu("stencil-7-148-squared", "spgemm", "matmul", "7-point stencils 148 x 58 x 148", _stencil(7, 148, 58, 148)),
    _on_gpu("band-41-triangle", "syrk", "syrk", "band, n = 10^6", band(10**6, 41), formats=_diagonals),
    _on_gpu("random-109-35", "random", "matmul", "random diagonals, n = 10^4", random(10_000, 109), random(10_000, 35)),
    *(
        _on_gpu(f"random-{d}", "random", "matmul", "random diagonals, n = 10^4", random(10_000, d))
        for d in (200, 300, 400, 600)
    ),
    _on_gpu("small-vector", "small", "matvec", "band, n = 1000", band(1000, 5, least=64)),
    _on_gpu("small-product", "small", "matmul", "bands, n = 1000", band(1000, 5, least=64)),
)
# fmt: on
CASES = {"cpu": _CPU_CASES, "cuda": _GPU_CASES}
