"""The cases of the GPU benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from .bench_cases import BaseCase, band, constants, random, stencil, symmetric


@dataclass(frozen=True)
class Case(BaseCase):
    """A case of the GPU benchmark; `op` may also be "syrk", the lower triangle of A A^T, or "power", A^k x."""

    formats: tuple[str, ...] = ("dia", "hm", "cdm", "csr")
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
        return f"{self.columns} vectors" if self.columns else self._of_storage

    @property
    def _of_storage(self) -> str:
        return "wide values" if self.values else "full storage" if self.layout else ""

    @property
    def times(self) -> int:
        """The number of counterparts that are equivalent to one run of the case."""
        return self.columns or self.power or 1


_stencil = partial(stencil, random_values=True)  # constants compress
_diagonals = ("dia", "hm", "cdm")

# fmt: off
CASES = (
    Case("stencil-7-256", "spmv", "matvec", "7-point stencil 256^3", _stencil(7, 256, 256, 256)),
    Case("stencil-5-4096", "spmv", "matvec", "5-point stencil 4096^2", _stencil(5, 4096, 4096)),
    Case("stencil-27-192", "spmv", "matvec", "27-point stencil 192^3", _stencil(27, 192, 192, 192)),
    Case("band-41", "spmv", "matvec", "band, n = 10^6", band(10**6, 41)),
    Case("stencil-7-148", "spmv", "matvec", "7-point stencil 148 x 58 x 148", _stencil(7, 148, 58, 148)),
    Case(
        "stencil-9-columns", "spmm", "matvec", "9-point stencil 2048^2, 8 columns", _stencil(9, 2048, 2048), columns=8,
    ),
    Case("band-27-columns", "spmm", "matvec", "band, n = 10^6, 8 columns", band(10**6, 27), columns=8),
    Case(
        "stencil-7-256-narrow", "narrow", "matvec", "7-point stencil 256^3, float32 values",
        _stencil(7, 256, 256, 256), values="float32",
    ),
    Case("band-41-narrow", "narrow", "matvec", "band, n = 10^6, float32 values", band(10**6, 41), values="float32"),
    *(
        Case(
            f"band-{d}-symmetric", "packed", "matvec", "symmetric band, n = 10^6", symmetric(band(10**6, d)),
            formats=_diagonals, layout={"symmetry": "symmetric"},
        )
        for d in (27, 41)
    ),
    Case(
        "stencil-7-256-symmetric", "packed", "matvec", "symmetric 7-point stencil 256^3",
        symmetric(_stencil(7, 256, 256, 256)), formats=_diagonals, layout={"symmetry": "symmetric"},
    ),
    Case(
        "band-9-constant", "packed", "matvec", "band of constants, n = 10^7", constants(10**7, range(-4, 5)),
        formats=_diagonals, layout={"period": 1},
    ),
    Case(
        "stencil-9-constant", "packed", "matvec", "constants on 9-point diagonals, 3200^2",
        constants(3200**2, [3200 * i + j for i in (-1, 0, 1) for j in (-1, 0, 1)]),
        formats=_diagonals, layout={"period": 1},
    ),
    Case(
        "stencil-9-periodic", "packed", "matvec", "9-point stencil 3200^2, period 3200", stencil(9, 3200, 3200),
        formats=_diagonals, layout={"period": "auto"},
    ),
    Case("band-11-power", "chain", "power", "A^8 x, band, n = 10^6", band(10**6, 11), formats=_diagonals, power=8),
    Case("band-5-power", "chain", "power", "A^8 x, band, n = 10^5", band(10**5, 5), formats=_diagonals, power=8),
    Case("band-11-10240-squared", "spgemm", "matmul", "bands, n = 10240", band(10240, 11)),
    Case("band-41-10240-squared", "spgemm", "matmul", "bands, n = 10240", band(10240, 41)),
    Case("band-11-squared", "spgemm", "matmul", "bands, n = 10^6", band(10**6, 11)),
    Case("band-41-squared", "spgemm", "matmul", "bands, n = 10^6", band(10**6, 41)),
    *(
        Case(f"band-{d}-squared", "spgemm", "matmul", "bands, n = 10^6", band(10**6, d), formats=_diagonals)
        for d in (27, 61, 101)
    ),
    Case("stencil-7-148-squared", "spgemm", "matmul", "7-point stencils 148 x 58 x 148", _stencil(7, 148, 58, 148)),
    Case("band-41-triangle", "syrk", "syrk", "band, n = 10^6", band(10**6, 41), formats=_diagonals),
    Case("random-109-35", "random", "matmul", "random diagonals, n = 10^4", random(10_000, 109), random(10_000, 35)),
    *(
        Case(f"random-{d}", "random", "matmul", "random diagonals, n = 10^4", random(10_000, d))
        for d in (200, 300, 400, 600)
    ),
    Case("small-vector", "small", "matvec", "band, n = 1000", band(1000, 5, least=64)),
    Case("small-product", "small", "matmul", "bands, n = 1000", band(1000, 5, least=64)),
)
# fmt: on
