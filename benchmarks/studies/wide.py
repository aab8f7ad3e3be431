"""Wide bands, triangles and dense matrices by diagonals.

Squares of bands of 51 to 801 diagonals, of dense matrices, triangles and Hessenberg matrices of order 1000 and 2000,
in float64 and float32: dia and hm compared with csr, SciPy and MKL, and on a GPU with cuSPARSE. Each rate is compared
with that of a dense product on the same machine, by MKL or NumPy, on a GPU by CuPy. The rate counts a multiply and an
add for each pair of elements that are multiplied, and no zeros outside of the diagonals.

Products of diagsparse are planned, with a preallocated result. It takes about two minutes. With --quick, only small
orders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from diagsparse import gallery, measure
from diagsparse._backends.backend import CPU, Backend
from diagsparse._matrix.construct import array
from diagsparse._products.products import plan_matmul
from diagsparse._show import columns
from diagsparse._study import peers
from diagsparse._study.sampled import SampledMatmul

from .. import prepare
from ..experiment import Clock, Contender, Experiment, NamedRow, fill, gpu_squares
from ..pictures import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, curves, label, legend, new_figure
from ..prepare import Prepared
from ..tables import Row, Tables, fastest, machine, select, table, timed, times
from ..timed_columns import Columns

FORMATS = ("dia", "hm", "csr")
PEERS = ("cuSPARSE csr", "CuPy csr", "SciPy csr", "MKL csr")
WIDTHS = (51, 101, 201, 401, 801)
ORDERS = (1000, 2000)
ELEMENTS, GPU_ELEMENTS, QUICK_ELEMENTS = 2_000_000, 20_000_000, 20_000  #: on the diagonals of a band
_MOST_BY_ROWS, _MOST_BY_ROWS_GPU = 10**9, 10**10  #: largest number of multiply-adds for products by rows
_DENSE, _DENSE_GPU, _DENSE_QUICK = 2000, 8192, 200  #: order of the dense product that measures the peak rate


@dataclass(frozen=True)
class Case:
    """A named matrix; `make` returns it as a SciPy `dia_array`."""

    what: str
    order: int
    make: Callable[[], sp.dia_array]


def _cases(quick: bool, gpu: bool) -> Iterator[Case]:
    elements = QUICK_ELEMENTS if quick else GPU_ELEMENTS if gpu else ELEMENTS
    for width in WIDTHS[:2] if quick else WIDTHS:
        n = max(2 * width, elements // width)
        yield Case(f"band of {width}", n, partial(gallery.banded, n, width // 2, width // 2, seed=0))
    for n in (100,) if quick else ORDERS:
        for what, low, high in (("dense", 1 - n, n - 1), ("lower triangle", 1 - n, 0), ("Hessenberg", -1, n - 1)):
            yield Case(what, n, partial(gallery.banded, n, -low, high, seed=0))


def _rows(where: Backend, quick: bool) -> Iterator[NamedRow]:
    """Yield each matrix in both precisions.

    A row contains ``what``, ``order``, ``dtype``, ``diagonals``, ``multiply_adds``, ``dense_rate`` (flops per second)
    and ``kernels`` (format: kernel).
    """
    rates: dict[str, float] = {}
    for case in _cases(quick, where is not CPU):
        for dtype in ("float64", "float32"):
            yield f"{case.what}, {case.order}, {dtype}", partial(_run, case, dtype, rates, quick)


def _run(case: Case, dtype: str, rates: dict[str, float], quick: bool, where: Backend) -> dict[str, Any]:
    host = case.make().astype(dtype)
    csr = measure.csr32(sp.csr_array(host))
    clock = Clock(where, budget=0.01 if quick else 0.3, samples=5 if quick else 15)
    if dtype not in rates:
        rates[dtype] = _dense_rate(dtype, quick, where, clock)
    row: dict[str, Any] = {
        "what": case.what, "order": case.order, "dtype": dtype, "diagonals": len(host.offsets),
        "multiply_adds": _multiply_adds(host), "dense_rate": rates[dtype], "kernels": {},
    }  # fmt: skip
    fill(row, _contenders(host, csr, row, where, clock), SampledMatmul(csr, csr))
    return row


def _contenders(host: Any, csr: Any, row: dict[str, Any], where: Backend, clock: Clock) -> Iterator[Contender]:
    for name in ("dia", "hm"):
        yield name, partial(_planned, array(host, name, device=where.name), row["kernels"]), clock
    if row["multiply_adds"] > (_MOST_BY_ROWS if where is CPU else _MOST_BY_ROWS_GPU):
        return
    ours = array(csr, "csr", device=where.name)
    yield "csr", partial(prepare.planned_square, ours), clock
    if where is not CPU:
        yield from gpu_squares(ours, clock)
        return
    yield "SciPy csr", partial(prepare.square, csr), clock
    if (mkl := peers.mkl()) is not None:
        yield "MKL csr", partial(prepare.called, mkl.dot_product_mkl, csr, csr), clock


def _planned(A: Any, kernels: dict[str, str]) -> Prepared:
    plan = plan_matmul(A, A)
    kernels[A.format] = plan.kernel
    return prepare.planned(plan)


def _dense_rate(dtype: str, quick: bool, where: Backend, clock: Clock) -> float:
    """Return the flops per second of a dense product by MKL or NumPy, or by CuPy on a GPU (0 without CuPy)."""
    n = _DENSE_QUICK if quick else _DENSE if where is CPU else _DENSE_GPU
    a = np.random.default_rng(0).random((n, n)).astype(dtype)
    if where is not CPU:
        if (cupy := peers.cupy()) is None:
            return 0.0
        on_gpu, out = cupy.asarray(a), cupy.empty((n, n), dtype)
        return 2 * n**3 / clock(partial(cupy.matmul, on_gpu, on_gpu, out=out))
    mkl = peers.mkl()
    return 2 * n**3 / clock(partial(mkl.dot_product_mkl, a, a) if mkl else partial(np.matmul, a, a))


def _multiply_adds(host: Any) -> int:
    """Count the pairs of elements that are multiplied: for each k, those in column k times those in row k."""
    n, offsets = host.shape[0], np.sort(host.offsets)
    k = np.arange(n)
    in_row = np.searchsorted(offsets, n - k) - np.searchsorted(offsets, -k)
    in_column = np.searchsorted(offsets, k, "right") - np.searchsorted(offsets, k - n, "right")
    return int((in_row * in_column).sum())


# ---- tables and the picture ---------------------------------------------------------------------------------------
def _tables(report: Row) -> Tables:
    names = timed(report["rows"], (*FORMATS, *PEERS))
    yield "A A", table(report["rows"], {
        "matrix": "{what}", "order": "{order:,}", "precision": "{dtype}", "diagonals": "{diagonals}", **times(names),
        "kernel": lambda row: ", ".join(dict.fromkeys(row["kernels"].values())),
        "GFLOP/s": lambda row: columns.digits(rate / 1e9) if (rate := _rate(row)) else "",
        "of a dense product": _of_dense,
    })  # fmt: skip


def _of_dense(row: Row) -> str:
    rate, dense = _rate(row), row["dense_rate"]
    return f"{100 * rate / dense:.0f} %" if rate and dense else ""


def _rate(row: Row, names: tuple[str, ...] = ("dia", "hm")) -> float | None:
    best = fastest(row, names)
    return 2 * row["multiply_adds"] / best if best else None


def _draw(report: Row) -> Any:
    """Draw the rates of bands over their diagonals, compared with a dense product."""
    figure = new_figure(8.6, 3.4)
    series = {
        name: (partial(_gigaflops, name=name), ".-" if name in FORMATS else ".--", color)
        for name, color in zip((*FORMATS, *PEERS), (BLUE, SKY, ORANGE, GREY, "black", PURPLE, GREEN), strict=True)
    }
    for ax, dtype in zip(figure.subplots(1, 2), ("float64", "float32"), strict=True):
        rows = [row for row in select(report, dtype=dtype) if row["what"].startswith("band")]
        curves(ax, rows, lambda row: row["diagonals"], series, lw=1.2)
        if rows and rows[0]["dense_rate"]:
            ax.axhline(rows[0]["dense_rate"] / 1e9, color="black", lw=0.7, ls=":", label="a dense product")
        label(ax, "diagonals", "GFLOP/s", title=f"A A, {dtype}")
        ax.set_xscale("log")
        ax.set_xticks([row["diagonals"] for row in rows], [str(row["diagonals"]) for row in rows])
        ax.minorticks_off()
        ax.set_ylim(bottom=0)
    legend(figure, "outside right center")
    return figure


def _gigaflops(row: Row, name: str) -> float | None:
    return rate / 1e9 if (rate := _rate(row, (name,))) else None


WIDE = Experiment(
    "wide", __doc__, _rows, _tables, _draw, partial(machine, dtypes="float32 and float64"), Columns("A A", FORMATS)
)
