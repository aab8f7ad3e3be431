"""What the thesis that bmsparse comes from prints, beside what `paper_004` finds: tables and a picture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._show import columns
from .figures import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, YELLOW, logarithmic, new_figure, save
from .paper_tables import Tables, as_section, as_text, machine, seconds, with_share

PLANNED, VECTOR = " planned", ", A x"  #: how the names of columns end
CSR = "csr"
CUSPARSE, CUPY, SCIPY, SCIPY_BSR, MKL = "cuSPARSE", "CuPy csr", "SciPy csr", "SciPy bsr", "MKL csr"
PEERS = {"cuda": (CUPY, CUSPARSE), "cpu": (SCIPY,)}  #: the first one that there is is what rows are compared with
RANGES = ((1, 4), (4, 8), (8, 16), (16, 31), (31, 65))  #: of nonzeros a block on average
LISTS = ("baseline", "indexed", "segmented_sort", "adaptive")  #: kernels that sort the thesis's list of tasks
MULTIPLIED = ("tc_naive", "tc_2blk", "tc_2tsk", "cuda_cores")  #: and that multiply them, in the order of its table 3.6
STAGED = (*LISTS, *MULTIPLIED)
FACTOR_BITS = {"tf32": 11, "fp16": 11, "bf16": 8, "tc_naive": 11, "tc_2blk": 11, "tc_2tsk": 11}
"""The bits that kernels round factors to which round them."""
BY_RULE = "A @ A"
HEADLINE = 1.62  #: the thesis's harmonic mean of speedups of A x over cuSPARSE, from 31 nonzeros a block on


@dataclass(frozen=True)
class Printed:
    """A matrix as table 3.2 prints it, the milliseconds of its square, and where it comes from.

    Tables 3.3 and 3.7 both time the thesis's first version, and hold nearly the same times in another order: from table
    3.6 on they seem to be sorted by time, also where they have names. `ms` is what table 3.7 says under the matrix's
    number, `sorted_ms` what it says in the place that the matrix has when table 3.3 is sorted.
    """

    name: str
    rows: int
    nnz: int
    blocks: int
    ms: float
    sorted_ms: float
    grid: tuple[int, ...] = ()  #: the points of its grid along each axis, of one that has its neighbours alone
    hubs: float = 0.0  #: the exponent of the power law of its links; without it and a grid it is a mesh


TABLE = (
    Printed("cryg10000", 10_000, 49_699, 8613, 0.89, 0.89, grid=(100, 100)),
    Printed("Goodwin_030", 10_142, 312_814, 20_728, 1.54, 2.15),
    Printed("ted_A_unscaled", 10_605, 424_587, 13_761, 2.15, 1.54),
    Printed("Goodwin_095", 100_037, 3_226_066, 203_725, 6.67, 9.88),
    Printed("matrix_9", 103_430, 2_121_550, 148_928, 9.48, 9.48),
    Printed("hcircuit", 105_676, 513_072, 90_082, 9.88, 6.67, hubs=0.8),
    Printed("webbase-1M", 1_000_005, 3_105_536, 550_761, 11.66, 17.50, hubs=0.7),
    Printed("t2em", 921_632, 4_590_832, 572_656, 17.50, 11.66, grid=(1388, 664)),
    Printed("atmosmodd", 1_270_432, 8_814_880, 1_410_884, 27.22, 27.22, grid=(58, 148, 148)),
)

SHARES = {
    "cryg10000": (23, 25, 51), "Goodwin_030": (24, 42, 33), "ted_A_unscaled": (21, 33, 44), "Goodwin_095": (24, 56, 19),
    "matrix_9": (24, 54, 21), "hcircuit": (22, 56, 20), "webbase-1M": (24, 58, 17), "t2em": (22, 53, 24),
    "atmosmodd": (25, 55, 19),
}  # fmt: skip
"""Table 3.4: percent of the sort, of the multiplication, and of the rest."""
MULTIPLY_MS = {
    "cryg10000": (0.02, 0.02, 0.02, 0.03), "Goodwin_030": (0.06, 0.07, 0.07, 0.08),
    "ted_A_unscaled": (0.09, 0.09, 0.09, 0.13), "Goodwin_095": (0.96, 0.77, 0.77, 1.08),
    "matrix_9": (1.35, 1.15, 1.14, 1.56), "hcircuit": (0.77, 0.81, 0.78, 1.17), "webbase-1M": (1.26, 1.07, 1.03, 1.50),
    "t2em": (2.46, 2.18, 2.12, 2.85), "atmosmodd": (4.11, 3.57, 3.47, 5.09),
}  # fmt: skip
"""Table 3.6: milliseconds of T6 by each of `MULTIPLIED` on an RTX 3090 Ti."""


def kernels(report: dict[str, Any], op: str) -> list[str]:
    """Return the kernels of bmsparse that the rows have, the default first."""
    return list(dict.fromkeys(kernel for row in report["rows"] for kernel in row["kernels"][op]))


def peer(report: dict[str, Any], end: str = "") -> str:
    """Return the other library that rows are compared with."""
    names = PEERS[report["device"]]
    return next((name for name in names if any(name + end in row["times"] for row in report["rows"])), names[-1])


def speedup(row: dict[str, Any], names: list[str], other: str) -> float | None:
    """Return how many times as long another column takes as the fastest of these."""
    ours = min((t for name in names if (t := row["times"].get(name))), default=None)
    theirs = row["times"].get(other)
    return theirs / ours if ours and theirs else None


def _tables(report: dict[str, Any]) -> Tables:
    """Yield titles and cells: the nine matrices, their squares, products with vectors, and means of these."""
    against = "a copy" if report["device"] == "cuda" else "the read bandwidth"
    yield "Matrices (the thesis's nonzeros a block in brackets; * stands in for the thesis's)", list(_nine(report))
    if any(row.get("stages") for row in report["rows"]):
        yield (
            "Stages of a square by the kernel `indexed`: shares (the thesis's table 3.4 in brackets)",
            list(_shares(report)),
        )
        yield "The sort of the list of tasks, T4 (the thesis's figure 3.2)", list(_sorts(report))
        title = "The multiplication, T6 (the thesis's table 3.6, of an RTX 3090 Ti, in brackets)"
        yield title, list(_multiplications(report))
    title = "C = A A (the thesis's table 3.7, of an RTX 3090 Ti: as printed, and in the order of its table 3.3)"
    yield title, list(_squares(report))
    yield f"y = A x: time, and share of {against}", list(_vectors(report))
    yield "y = A x: how many times as fast, harmonic means", list(_means(report))


def _name(row: dict[str, Any]) -> str:
    return f"{row['what']}{'*' * row['stands_in']}"


def _nine(report: dict[str, Any]) -> Iterator[list[str]]:
    yield ["matrix", "rows", "nonzeros", "blocks", "nonzeros a block"]
    for row in report["rows"]:
        if row["thesis"] and row["dtype"] == "float32":
            counts = (f"{count:,}" for count in (row["shape"][0], row["nnz"], row["blocks"]))
            printed = row["thesis"]["nnz"] / row["thesis"]["blocks"]
            yield [_name(row), *counts, f"{row['fill']:.2f} ({printed:.2f})"]


def _staged(report: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, dict[str, float]], bool]]:
    """Yield the rows in the thesis's precision, what their stages take, and whether to show its figures."""
    for row in report["rows"]:
        if row["thesis"] and row["dtype"] == "float32" and row.get("stages"):
            yield row, row["stages"], not report["quick"]


def _shares(report: dict[str, Any]) -> Iterator[list[str]]:
    yield ["matrix", "T1 to T3 (%)", "T4 sort (%)", "T5 reduce (%)", "T6 multiply (%)", "T7 compact (%)",
           "thesis: sort, multiply, others (%)"]  # fmt: skip
    for row, stages, whose in _staged(report):
        seconds = list(stages["indexed"].values())
        parts = [sum(seconds[:3]), *seconds[3:]]
        shown = (f"{100 * part / sum(parts):.0f}" for part in parts)
        yield [_name(row), *shown, ", ".join(map(str, SHARES[row["what"]])) * whose]


def _sorts(report: dict[str, Any]) -> Iterator[list[str]]:
    yield ["matrix", *LISTS]
    for row, stages, _ in _staged(report):
        yield [_name(row), *(columns.seconds(stages[kernel]["T4 sort"]) for kernel in LISTS)]


def _multiplications(report: dict[str, Any]) -> Iterator[list[str]]:
    yield ["matrix", *MULTIPLIED]
    for row, stages, whose in _staged(report):
        theirs = (f" ({ms:.2f} ms)" * whose for ms in MULTIPLY_MS[row["what"]])
        ours = (columns.seconds(stages[kernel]["T6 multiply"]) for kernel in MULTIPLIED)
        yield [_name(row), *(f"{time}{printed}" for time, printed in zip(ours, theirs, strict=True))]


def _squares(report: dict[str, Any]) -> Iterator[list[str]]:
    rows = [row for row in report["rows"] if row["thesis"]]
    names = [name for name in dict.fromkeys(n for row in rows for n in row["times"]) if not name.endswith(VECTOR)]
    whom = peer(report)
    yield ["matrix", "precision", *names, "planned vs csr planned", f"{BY_RULE} vs {whom}", "thesis", "in that order"]
    planned = [kernel + PLANNED for kernel in kernels(report, "matmul") if kernel not in FACTOR_BITS]
    for row in rows:
        ratios = speedup(row, planned, CSR + PLANNED), speedup(row, [BY_RULE], whom)
        whose = row["dtype"] == "float32" and not report["quick"]
        thesis = (columns.seconds(row["thesis"][name] / 1e3) if whose else "" for name in ("ms", "sorted_ms"))
        yield [_name(row), row["dtype"], *(seconds(row, name) for name in names), *map(_times, ratios), *thesis]


def _times(ratio: float | None) -> str:
    return f"{columns.digits(ratio)}x" if ratio else ""


def _vectors(report: dict[str, Any]) -> Iterator[list[str]]:
    ours = [*kernels(report, "matvec"), CSR]
    ends = dict.fromkeys(n for row in report["rows"] for n in row["times"] if n.endswith(VECTOR))
    theirs = [name for end in ends if (name := end.removesuffix(VECTOR)) not in ours]
    whom = peer(report, VECTOR)
    yield ["matrix", "precision", "nonzeros a block", *ours, *theirs, "vs csr", f"vs {whom}"]
    for row in sorted(report["rows"], key=lambda row: (row["fill"], row["dtype"])):
        yield [_name(row), row["dtype"], f"{row['fill']:.2f}", *(_shared(row, name) for name in ours),
               *(seconds(row, name + VECTOR) for name in theirs), *map(_times, _over(report, row))]  # fmt: skip


def _shared(row: dict[str, Any], name: str) -> str:
    if not (t := row["times"].get(name + VECTOR)):
        return seconds(row, name + VECTOR)
    moved = row["nbytes"][CSR if name == CSR else "bmsparse"] + np.dtype(row["dtype"]).itemsize * sum(row["shape"])
    return with_share(t, moved, row["bandwidth"])


def _over(report: dict[str, Any], row: dict[str, Any]) -> tuple[float | None, float | None]:
    """Return how many times as fast as csr, and as the other library, the fastest kernel's A x is."""
    names = [kernel + VECTOR for kernel in row["kernels"]["matvec"]]
    return speedup(row, names, CSR + VECTOR), speedup(row, names, peer(report, VECTOR) + VECTOR)


def _means(report: dict[str, Any]) -> Iterator[list[str]]:
    whom = peer(report, VECTOR)
    yield ["nonzeros a block", "precision", "matrices", "over csr", f"over {whom}", "thesis, over cuSPARSE"]
    for low, high in RANGES:
        for dtype in dict.fromkeys(row["dtype"] for row in report["rows"]):
            rows = [row for row in report["rows"] if row["dtype"] == dtype and low <= row["fill"] < high]
            if rows:
                means = (_harmonic(ratios) for ratios in zip(*(_over(report, row) for row in rows), strict=True))
                whose = low == RANGES[-1][0] and dtype == "float32" and not report["quick"]
                yield [f"{low} to {high - 1}", dtype, str(len(rows)), *map(_times, means), f"{HEADLINE}x" * whose]


def _harmonic(ratios: tuple[float | None, ...]) -> float | None:
    known = [ratio for ratio in ratios if ratio]
    return len(known) / sum(1 / ratio for ratio in known) if known else None


def _head(report: dict[str, Any]) -> str:
    speed = float(np.median([row["bandwidth"] for row in report["rows"]]))
    told = f"copy {speed / 1e12:.2f} TB/s" if report["device"] == "cuda" else f"reads {speed / 1e9:.1f} GB/s"
    return f"{machine(report, 'float32 and float64')}; {told}"


def text(report: dict[str, Any]) -> str:
    """Return the report as tables for a terminal."""
    return as_text(_head(report), _tables(report))


def markdown(report: dict[str, Any]) -> str:
    """Return the report as Markdown for the docs."""
    return as_section(_head(report), _tables(report))


# ---- picture ------------------------------------------------------------------------------------------------------
def plot_bench(report: dict[str, Any], path: Any) -> Any:
    """Save figure 4.7 and the squares as a picture: speedups of A x over how full blocks are, and times of A A."""
    figure = new_figure(13.0, 3.8)
    beside_csr, beside_peer, squares = figure.subplots(1, 3, width_ratios=(1, 1, 1.35))
    _plot_speedups(beside_csr, report, CSR)
    _plot_speedups(beside_peer, report, peer(report, VECTOR))
    _plot_squares(squares, report)
    for axes in (beside_csr, beside_peer, squares):
        axes.tick_params(which="both", labelsize=7)
        axes.spines[["top", "right"]].set_visible(False)
        beside = {"loc": "center left", "bbox_to_anchor": (1, 0.5)} if axes is squares else {}
        axes.legend(fontsize=6.5, frameon=False, **beside)
    return save(figure, path)


def _plot_speedups(axes: Any, report: dict[str, Any], other: str) -> None:
    for kernel, color in zip(kernels(report, "matvec"), (BLUE, ORANGE, GREEN, PURPLE), strict=False):
        for dtype, face in (("float32", "none"), ("float64", color)):
            rows = [row for row in report["rows"] if row["dtype"] == dtype]
            ratios = [speedup(row, [kernel + VECTOR], other + VECTOR) or np.nan for row in rows]
            axes.scatter([row["fill"] for row in rows], ratios, 14, facecolors=face, edgecolors=color, linewidths=0.8,
                         label=f"{kernel}, {dtype}")  # fmt: skip
    axes.axhline(1, color="black", lw=0.7)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
    axes.set_xlabel("nonzeros a block", fontsize=8)
    axes.set_ylabel(f"A x: times as fast as {other}", fontsize=8)


def _plot_squares(axes: Any, report: dict[str, Any]) -> None:
    rows = [row for row in report["rows"] if row["thesis"] and row["dtype"] == "float32"]
    all_of_them = kernels(report, "matmul")
    found = all_of_them[:1] + [
        kernel for kernel in ("baseline", "adaptive", "tc_2tsk", "fp16") if kernel in all_of_them
    ]
    others = [f"{CSR}{PLANNED}", CSR, peer(report)]
    styles = {name: (color, "o") for name, color in zip(found, (BLUE, GREEN, PURPLE, SKY, YELLOW), strict=False)}
    styles |= {name + PLANNED: (color, "^") for name, (color, _) in styles.items()}
    styles |= dict(zip(others, ((ORANGE, "^"), (ORANGE, "o"), (GREY, "s")), strict=True))
    for name, (color, marker) in styles.items():
        times = [1e3 * (row["times"].get(name) or np.nan) for row in rows]
        axes.plot(range(len(rows)), times, marker, color=color, ms=4, label=name)
    if not report["quick"]:
        thesis = [row["thesis"]["sorted_ms"] for row in rows]
        axes.plot(range(len(rows)), thesis, "_", color="black", ms=10, label="thesis (RTX 3090 Ti)")
    logarithmic(axes, "y")
    axes.set_xticks(range(len(rows)), [_name(row) for row in rows], rotation=35, ha="right", fontsize=7)
    axes.set_ylabel("A A in float32 (ms)", fontsize=8)
