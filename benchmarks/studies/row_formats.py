"""The row formats side by side.

Products with vectors, ``A @ x`` and ``A.T @ x``, in float64, for matrices with short or long rows of equal or different
lengths. The times are reported with the fraction of the memory bandwidth that they reach: the bytes of A, x and y per
second, relative to a copy on a GPU, or to reading on a CPU. On a CPU, each matrix has a row for one thread and one for
all threads.

Seven matrices of 32768 to 4 million rows with 20 to 50 million nonzeros; on a CPU, a quarter or half of their rows.
With --quick, a hundredth.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from textwrap import wrap
from typing import Any

import numpy as np
import scipy.sparse as sp

from diagsparse import gallery, measure
from diagsparse._backends.backend import CPU, Backend, get_num_threads
from diagsparse._backends.memory import human
from diagsparse._matrix.construct import array
from diagsparse._matrix.registry import format_named
from diagsparse._study import gpu_clock, peers
from diagsparse._study.exactness import MatvecCheck, vector

from .. import prepare
from ..experiment import Clock, Contender, Experiment, NamedRow, cached_maker, fill
from ..pictures import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, YELLOW, label, new_figure
from ..tables import Row, Tables, bandwidth, machine, seconds, select, speedup, table, timed, with_fraction
from ..timed_columns import Columns

FORMATS = ("csr", "ell", "hyb", "sell", "jds", "csb", "ellcsr")
PEERS = ("cuSPARSE csr", "cuSPARSE sell", "SciPy csr", "MKL csr")
_COLORS = (GREY, ORANGE, YELLOW, PURPLE, GREEN, SKY, BLUE, "black", "#7f7f3f")
TRANSPOSED = " transposed"  #: end of the names of columns of A.T @ x
MUCH = 8  #: formats that need more than this many times the bytes of csr are left out


@dataclass(frozen=True, eq=False)
class Matrix:
    """A named matrix; `make(scale)` returns it as SciPy's csr, with `scale` times its rows."""

    what: str
    make: Callable[[float], sp.csr_array]
    layout: dict[str, dict[str, Any]] = field(default_factory=dict)  #: options of formats
    cpu: float = 0.25  #: the scale on a CPU


def _band(rows: int, half: int) -> Callable[[float], sp.csr_array]:
    return lambda scale: gallery.banded(round(rows * scale), half, half, seed=0).tocsr()


def random_rows(
    rows: int, lengths: Callable[[np.random.Generator, int], np.ndarray]
) -> Callable[[float], sp.csr_array]:
    """Return a function that creates a square matrix with random columns in rows of these lengths."""

    def make(scale: float) -> sp.csr_array:
        rng, n = np.random.default_rng(0), round(rows * scale)
        indptr = np.concatenate(([0], np.cumsum(np.minimum(lengths(rng, n), n))))
        indices = rng.integers(0, n, indptr[-1], dtype=np.int32)
        A = sp.csr_array((rng.uniform(0.5, 1.5, indptr[-1]), indices, indptr), shape=(n, n))
        A.sum_duplicates()
        return A

    return make


def power_law(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return random row lengths, a few of which are large."""
    return np.minimum(1 + (4 * rng.pareto(1.3, n)).astype(np.int64), 5000)


def _interaction(symmetric: bool) -> Callable[[float], sp.csr_array]:
    return lambda scale: gallery.ci_matrix(round(32768 * scale), symmetric=symmetric, seed=0)


_sorted = {"sell": {"sigma": 4096}}
_triangle = {"ellcsr": {"symmetry": "symmetric", "column_bits": 16}}
MATRICES = (
    Matrix("band of 5 diagonals", _band(4 * 10**6, 2)),
    Matrix("band of 41 diagonals", _band(10**6, 20)),
    Matrix("16 in each row, at random", random_rows(2 * 10**6, lambda rng, n: np.full(n, 16))),
    Matrix("5 to 39 in a row, at random", random_rows(10**6, lambda rng, n: rng.integers(5, 40, n)), _sorted),
    Matrix("lengths by a power law", random_rows(10**6, power_law), _sorted),
    Matrix("configuration interaction", _interaction(False), cpu=0.5),
    Matrix("the same, symmetric", _interaction(True), _triangle, cpu=0.5),
)


def _rows(where: Backend, quick: bool) -> Iterator[NamedRow]:
    """Yield each matrix, on a CPU with one thread and with the current number of threads.

    A row contains ``bandwidth`` (bytes per second) and ``nbytes`` (format: bytes).
    """
    make = cached_maker()
    for matrix in MATRICES:
        for threads in sorted({1, get_num_threads()}) if where is CPU else [0]:
            yield f"{matrix.what}{f', {threads} threads' * bool(threads)}", partial(_run, matrix, make, threads, quick)


def _run(
    matrix: Matrix, make: Callable[[Matrix, float], sp.csr_array], threads: int, quick: bool, where: Backend
) -> dict[str, Any]:
    A = make(matrix, 0.01 if quick else matrix.cpu if where is CPU else 1.0)
    clock = Clock(where, budget=0.01 if quick else 0.3)
    row: dict[str, Any] = {
        "matrix": matrix.what, "shape": list(A.shape), "nnz": A.nnz, "threads": threads, "nbytes": {},
    }  # fmt: skip
    checks = {end: MatvecCheck(B, vector(B.shape[1], A.dtype)) for end, B in (("", A), (TRANSPOSED, A.T.tocsr()))}
    with measure.using_threads(threads or get_num_threads()):
        row["bandwidth"] = gpu_clock.bandwidth(where, 1 << 24 if quick else 1 << 32)
        if threads and (mkl := peers.mkl()):
            mkl.mkl_set_num_threads(threads)
        for contender in _contenders(A, matrix, where, clock, row):
            fill(row, [contender], checks[TRANSPOSED if contender[0].endswith(TRANSPOSED) else ""])
    return row


def _contenders(
    A: sp.csr_array, matrix: Matrix, where: Backend, clock: Clock, row: dict[str, Any]
) -> Iterator[Contender]:
    csr = array(A, "csr", device=where.name)
    for format in FORMATS:
        layout, cls = matrix.layout.get(format, {}), format_named(format)
        row["nbytes"][format] = cls.nbytes(csr._summary(), **cls.checked_options(layout))  # type: ignore[attr-defined]
        if row["nbytes"][format] > MUCH * csr.nbytes:
            continue
        B = csr if format == "csr" else csr.asformat(format, **layout)
        row["nbytes"][format] = B.nbytes
        yield format, partial(_planned, B, where), clock
        yield format + TRANSPOSED, partial(_planned, B.T, where), clock
        if where is not CPU and format in ("csr", "sell"):
            yield f"cuSPARSE {format}", partial(_planned, B, where, "cusparse"), clock
            if format == "csr":  # cuSPARSE does not support the transpose of sell, so our own kernel would run
                yield f"cuSPARSE csr{TRANSPOSED}", partial(_planned, B.T, where, "cusparse"), clock
    if where is not CPU:
        return
    others: dict[str, Callable[[Any, np.ndarray], Any]] = {"SciPy csr": operator.matmul}
    if mkl := peers.mkl():
        others["MKL csr"] = mkl.dot_product_mkl
    for name, product in others.items():
        for end, B in (("", measure.csr32(A)), (TRANSPOSED, measure.csr32(A).T)):
            yield name + end, partial(prepare.called, product, B, vector(B.shape[1], A.dtype)), clock


def _planned(B: Any, where: Backend, kernel: str = "") -> tuple[Callable[[], Any], Any]:
    return prepare.planned_matvec(B, prepare.on_device(vector(B.shape[1], np.float64), where), kernel)


# ---- tables and the picture ---------------------------------------------------------------------------------------
def _tables(report: Row) -> Tables:
    """Yield titles and cells: the times of both products with the fraction of the bandwidth, and the bytes."""
    first = {"matrix": "{matrix}"} | ({} if report["device"] == "cuda" else {"threads": "{threads}"})
    for what, end in (("A @ x", ""), ("A.T @ x", TRANSPOSED)):
        names = [*FORMATS, *timed(report["rows"], PEERS, end)]
        products = {name: partial(_time, name=name, end=end) for name in names}
        yield f"{what}: time, and fraction of {bandwidth(report)}", table(report["rows"], {**first, **products})
    matrices = {row["matrix"]: row for row in report["rows"]}.values()
    sizes = {name: partial(_size, name=name) for name in FORMATS}
    yield "Bytes", table(matrices, {"matrix": "{matrix}", "rows": "{shape[0]:,}", "nonzeros": "{nnz:,}", **sizes})


def _time(row: Row, name: str, end: str) -> str:
    if name not in row["nbytes"]:
        return seconds(row, name + end)
    if name + end not in row["times"]:
        return f"({_size(row, name)})"
    if not (t := row["times"][name + end]):
        return "fails"
    return with_fraction(t, row["nbytes"][name] + 8 * sum(row["shape"]), row["bandwidth"])


def _size(row: Row, name: str) -> str:
    return human(row["nbytes"][name])


def _machine(report: Row) -> str:
    """Return the line about the machine, with the bandwidths to which the fractions refer."""
    speeds = {row["threads"]: row["bandwidth"] for row in report["rows"]}
    if report["device"] == "cuda":
        return f"{machine(report)}; copy {speeds[0] / 1e12:.2f} TB/s"
    read = (f"{count} threads read {speed / 1e9:.1f} GB/s" for count, speed in speeds.items())
    return "; ".join([machine(report), *read])


def _draw(report: Row) -> Any:
    """Draw the time of A @ x relative to csr for each matrix, on all threads."""
    rows = select(report, threads=max(row["threads"] for row in report["rows"]))
    names = [*FORMATS, *timed(rows, PEERS)]
    figure = new_figure(9.6, 3.2)
    axes = figure.subplots()
    width, top = 0.85 / len(names), 3.0  # of a bar; higher bars are labelled
    for i, (name, color) in enumerate(zip(names, _COLORS, strict=False)):
        ratios = [speedup(row, "csr", name) or np.nan for row in rows]
        at = np.arange(len(rows)) + (i - len(names) / 2 + 0.5) * width
        axes.bar(at, ratios, width, color=color, label=name)
        for position, ratio in zip(at, ratios, strict=True):
            if ratio > top:
                axes.text(position, top, f"{ratio:.1f}", fontsize=6, ha="center", va="bottom", rotation=90)
    label(axes, y="time of A @ x / that of csr", line=1)
    axes.set_ylim(0, top)
    axes.set_xticks(range(len(rows)), ["\n".join(wrap(row["matrix"], 18)) for row in rows])
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


ROW_FORMATS = Experiment(
    "row-formats", __doc__, _rows, _tables, _draw, _machine, Columns("A @ x", FORMATS, {TRANSPOSED: "A.T @ x"})
)
