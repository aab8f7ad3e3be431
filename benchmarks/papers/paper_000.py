"""The experiments of the paper that introduced HM and CDM, on this machine.

Haque, Parvez, Hossain, "GPU Algorithms for Structured Sparse Matrix Multiplication with Diagonal Storage Schemes",
Algorithms 17(1):31, 2024: figures 6 and 7 (squares of bands), tables 1 and 2 (products of random diagonals). The
paper's times come from a TITAN Xp and one core of its host. Here the paper's own kernels are compared with the default
ones, SciPy and cuSPARSE, in double precision. The report names the kernel that ran in each column.

A bandwidth of w in the paper is taken as w diagonals on each side of the main one. The paper defines a lower and an
upper bandwidth, but prints no numbers of nonzeros of bands that would confirm this. Random diagonals are those of
`gallery.random_diagonals`, which fit the counts of tables 1 and 2.

It takes a minute and a half on a GPU. Without a GPU, only the columns of the CPU are run. With --quick, the matrices
are small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from operator import itemgetter, matmul
from typing import Any

import scipy.sparse as sp

from diagsparse import gallery
from diagsparse._backends.backend import CPU, Backend
from diagsparse._matrix.construct import array
from diagsparse._products.products import plan_matmul
from diagsparse._show import columns
from diagsparse._study.sampled import SampledMatmul
from diagsparse.measure import using_threads

from .. import prepare
from ..experiment import Clock, Contender, Experiment, NamedRow, fill
from ..pictures import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, YELLOW, curves, label, legend, new_figure
from ..pictures import milliseconds as of_column
from ..prepare import Prepared
from ..tables import Row, Tables, milliseconds, seconds, select, speedup, table, timed
from ..timed_columns import Columns


@dataclass(frozen=True)
class Product:
    """One product of the paper, with its times in milliseconds if they are printed."""

    source: str
    n: int
    a: int  #: number of diagonals of A; for a band, on each side of the main diagonal
    b: int
    nz: tuple[int, int, int] | None = None  #: nonzeros of A, B and C
    cpu_ms: float | None = None
    cuda_ms: float | None = None

    @property
    def band(self) -> bool:
        """Whether A is a band and B is A."""
        return self.source.startswith("figure")

    def operands(self, scale: float) -> tuple[Any, Any]:
        """Return A and B, smaller than the paper's for a `scale` below 1."""
        n = max(64, round(self.n * scale))
        if self.band:
            A = gallery.banded(n, self.a, self.a, seed=0)
            return A, A
        counts = (max(3, round(count * scale)) for count in (self.a, self.b))
        return tuple(gallery.random_diagonals(n, count, seed=i) for i, count in enumerate(counts))


PRODUCTS = (
    *(Product("figure 6", 1024 * i, w, w) for w in (5, 10, 15, 20) for i in range(1, 10)),
    *(Product("figure 7", 10_240, w, w) for w in (5, 10, 15, 20, 25, 30, 35, 40, 45, 50)),
    Product("table 1", 1000, 9, 5, (7446, 3968, 33_824), 4.33, 0.16),
    Product("table 1", 2000, 9, 15, (15_003, 25_201, 203_935), 2.12, 0.21),
    Product("table 1", 3000, 29, 15, (75_336, 39_207, 990_791), 11.66, 0.39),
    Product("table 1", 4000, 29, 35, (97_958, 120_652, 2_816_485), 38.6, 0.88),
    Product("table 1", 5000, 59, 35, (256_918, 150_005, 6_625_325), 99.52, 1.89),
    Product("table 1", 6000, 89, 75, (473_743, 381_842, 17_999_054), 440.61, 6.78),
    Product("table 1", 7000, 99, 75, (615_376, 451_559, 23_585_358), 560.69, 8.92),
    Product("table 1", 8000, 109, 35, (767_508, 247_865, 18_893_371), 307.67, 5.26),
    Product("table 1", 9000, 59, 75, (470_354, 593_612, 24_161_386), 444.0, 7.09),
    Product("table 1", 10_000, 109, 35, (938_979, 310_455, 24_738_090), 365.51, 6.34),
    Product("table 2", 10_000, 200, 200, (1_746_454, 1_734_514, 69_689_071), 4812.4, 66.62),
    Product("table 2", 10_000, 300, 300, (2_574_174, 2_599_683, 76_317_794), 11031.72, 141.86),
    Product("table 2", 10_000, 400, 400, (3_462_833, 3_499_657, 75_463_181), 19733.96, 241.23),
    Product("table 2", 10_000, 500, 500, (4_358_737, 4_372_825, 75_504_513), 31817.91, 358.39),
    Product("table 2", 10_000, 600, 600, (5_237_042, 5_233_209, 75_281_188), 46549.84, 468.83),
)
ONE_CORE = {"sequential": "sequential, 1 core", "": "hm, 1 core"}  #: kernels of hm on the CPU: their columns
SCIPY = "SciPy dia, 1 core"
GPU = (("cdm", "tiled"), ("hm", "atomic"), ("hm", "atomic_split"), ("hm", "entry"), ("hm", ""), ("csr", "cusparse"))


def _rows(where: Backend, quick: bool) -> Iterator[NamedRow]:
    """Yield the products.

    A row contains ``kernel`` (the default of hm on this device), ``nnz`` (of A and B), ``product_nnz`` (of C), and
    ``nz`` (the printed numbers of nonzeros of all three).
    """
    for e in PRODUCTS:
        yield f"{e.source}, n = {e.n}, {e.a} x {e.b}", partial(_run, e, 0.04 if quick else 1.0)


def _run(product: Product, scale: float, where: Backend) -> dict[str, Any]:
    A, B = product.operands(scale)
    paper = {} if A.shape[0] == product.n else {"nz": None, "cpu_ms": None, "cuda_ms": None}
    counts = {"n": A.shape[0], "nnz": [A.nnz, B.nnz], "product_nnz": None, "kernel": ""}
    row: dict[str, Any] = asdict(product) | paper | counts
    fill(row, _contenders(A, B, where, row), SampledMatmul(A, B))
    return row


def _contenders(A: Any, B: Any, where: Backend, row: dict[str, Any]) -> Iterator[Contender]:
    def planned(left: Any, right: Any, kernel: str) -> Prepared:
        plan = plan_matmul(left, right, kernel=kernel or None)
        C = plan()
        row["product_nnz"] = row["product_nnz"] or C.nnz
        if not kernel and left._backend is where:
            row["kernel"] = plan.kernel
        return partial(plan, out=C), C

    a, b = array(A, "hm"), array(B, "hm")
    for kernel, name in ONE_CORE.items():
        yield name, partial(_on_one_core, partial(planned, a, b, kernel)), Clock(CPU, budget=0.05, threads=1)
    left, right = sp.dia_array(A), sp.dia_array(B)
    yield SCIPY, partial(prepare.called, matmul, left, right), Clock(CPU, budget=0.05)
    if where is CPU:
        return
    for format, kernel in GPU:
        name = "cuSPARSE" if kernel == "cusparse" else f"{format} {kernel or 'default'}"
        c, d = (array(X, "hm", device=where.name).asformat(format) for X in (A, B))
        yield name, partial(planned, c, d, kernel), Clock(where, samples=9)


def _on_one_core(function: Callable[..., Any], *args: Any) -> Any:
    with using_threads(1):
        return function(*args)


# ---- tables and the picture ---------------------------------------------------------------------------------------
def _tables(report: Row) -> Tables:
    yield "", table(report["rows"], {
        "from": "{source}", "n": "{n}", "diagonals": _diagonals, "nonzeros of C (the paper's)": _nonzeros,
        **{name: partial(_time, name=name) for name in timed(report["rows"])},
        "default kernel": "{kernel}", "the paper's CPU": lambda row: milliseconds(row["cpu_ms"]),
        "its GPU": lambda row: milliseconds(row["cuda_ms"]),
        "default vs sequential": partial(_faster, peer=ONE_CORE["sequential"]),
        "vs SciPy": partial(_faster, peer=SCIPY),
    })  # fmt: skip


def _time(row: Row, name: str) -> str:
    return seconds(row, name) or "fails"


def _diagonals(row: Row) -> str:
    band = row["source"].startswith("figure")
    return f"{2 * row['a'] + 1}, squared" if band else f"{row['a']} x {row['b']}"


def _nonzeros(row: Row) -> str:
    """Return the number of nonzeros of C, and that of the paper in brackets."""
    ours, paper = row["product_nnz"], row["nz"]
    return (f"{ours:,}" if ours else "") + (f" ({paper[2]:,})" if paper else "")


def _faster(row: Row, peer: str) -> str:
    """Return the speedup of the default kernel, on a GPU if the row has its time there."""
    default = "hm default" if row["times"].get("hm default") else ONE_CORE[""]
    ratio = speedup(row, default, peer)
    return f"{columns.digits(ratio)}x" if ratio else ""


def draw(report: Row) -> Any:
    """Draw figures 6 and 7 and tables 1 and 2: times over the order, the bandwidth, and the number of diagonals."""
    colors = (GREY, PURPLE, YELLOW, GREEN, ORANGE, "#cc9966", SKY, BLUE, "black")
    series: dict[str, Any] = {
        name: (of_column(name), ".-", color) for name, color in zip(timed(report["rows"]), colors, strict=False)
    }
    for field, mark, device in (("cpu_ms", "x", "CPU"), ("cuda_ms", "+", "GPU")):
        series[f"the paper's {device}"] = (itemgetter(field), mark, "black")
    figure = new_figure(11.2, 3.6)
    panels: tuple[tuple[str, str, dict[str, Any], Any], ...] = (
        ("figure 6, band of 41", "order n", {"source": "figure 6", "a": 20}, itemgetter("n")),
        ("figure 7, n = 10240", "diagonals of the band", {"source": "figure 7"}, lambda row: 2 * row["a"] + 1),
        ("table 1", "order n", {"source": "table 1"}, itemgetter("n")),
        ("table 2, n = 10000", "diagonals of A", {"source": "table 2"}, itemgetter("a")),
    )
    for axes, (title, x_label, fields, x) in zip(figure.subplots(1, 4), panels, strict=True):
        curves(axes, select(report, **fields), x, series)
        label(axes, x_label, title=title, log="y")
    figure.axes[0].set_ylabel("time (ms)")
    legend(figure, "outside lower center", columns=6)
    return figure


TABLES_000 = Experiment(
    "tables-000", __doc__, _rows, _tables, draw,
    columns=Columns("C = A B", ("hm default", "hm"), {", 1 core": "C = A B, 1 core"}),
)  # fmt: skip
