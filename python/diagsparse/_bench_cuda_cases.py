"""The cases of the GPU's benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from ._bench_cases import BaseCase, band, random, stencil


@dataclass(frozen=True)
class Case(BaseCase):
    """A case of the GPU's benchmark; its `op` may also be "syrk", the lower triangle of A A^T."""

    formats: tuple[str, ...] = ("dia", "hm", "cdm", "csr")
    columns: int = 0  #: of x, in C order; 0: it is a vector
    values: str = ""  #: the dtype of A's values, where it is another than that of all else

    @property
    def counterpart(self) -> str:
        """What each of our kernels is also compared with, in words: the same product without what the case is about."""
        if self.op == "syrk":
            return "whole product"
        return f"{self.columns} vectors" if self.columns else "wide values" if self.values else ""


_stencil = partial(stencil, random_values=True)  # constants compress
_diagonals = ("dia", "hm", "cdm")

CASES = (
    Case("stencil-7-256", "spmv", "matvec", "7-point stencil 256^3", _stencil(7, 256, 256, 256)),
    Case("stencil-5-4096", "spmv", "matvec", "5-point stencil 4096^2", _stencil(5, 4096, 4096)),
    Case("stencil-27-192", "spmv", "matvec", "27-point stencil 192^3", _stencil(27, 192, 192, 192)),
    Case("band-41", "spmv", "matvec", "band, n = 10^6", band(10**6, 41)),
    Case("stencil-7-148", "spmv", "matvec", "7-point stencil 148 x 58 x 148", _stencil(7, 148, 58, 148)),
    Case(
        "stencil-9-columns", "spmm", "matvec", "9-point stencil 2048^2, 8 columns", _stencil(9, 2048, 2048), columns=8
    ),
    Case("band-27-columns", "spmm", "matvec", "band, n = 10^6, 8 columns", band(10**6, 27), columns=8),
    Case(
        "stencil-7-256-narrow",
        "narrow",
        "matvec",
        "7-point stencil 256^3, float32 values",
        _stencil(7, 256, 256, 256),
        values="float32",
    ),
    Case("band-41-narrow", "narrow", "matvec", "band, n = 10^6, float32 values", band(10**6, 41), values="float32"),
    Case("band-11-10240-squared", "spgemm", "matmul", "bands, n = 10240", band(10240, 11)),
    Case("band-41-10240-squared", "spgemm", "matmul", "bands, n = 10240", band(10240, 41)),
    Case("band-11-squared", "spgemm", "matmul", "bands, n = 10^6", band(10**6, 11)),
    Case("band-41-squared", "spgemm", "matmul", "bands, n = 10^6", band(10**6, 41)),
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
