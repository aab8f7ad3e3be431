"""The results of `paper_003` compared with those of the paper that introduced ellcsr: tables and a picture."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from typing import Any

import numpy as np

from diagsparse._show import columns
from diagsparse._study.figures import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, YELLOW, logarithmic, new_figure

from ..tables import Tables, seconds, speedup

# For matrices 1 to 10. Table 3: nonzeros in the expansion space, length of the longest row; table 5: MB (2^20 bytes) in
# csr, ell, sliced ell and the paper's format; table 9: milliseconds of cuSPARSE's csr, CSR5 and the paper's kernel.
PAPER = (
    (9_678_327, 1074, 356.44, 407.25, 397.13, 356.76, 12.6567, 7.3672, 3.3661),
    (9_673_031, 1069, 356.46, 398.25, 395.06, 356.70, 12.8334, 8.1694, 3.3573),
    (9_666_827, 1078, 356.39, 405.75, 404.44, 356.63, 12.1227, 7.8954, 3.4127),
    (9_670_529, 1068, 356.49, 403.88, 397.03, 356.67, 13.1043, 8.2654, 3.5434),
    (9_669_733, 1060, 356.39, 399.38, 395.06, 356.66, 13.4352, 8.1489, 3.8167),
    (9_673_530, 1069, 356.38, 399.75, 397.59, 356.70, 12.3672, 8.2336, 3.1884),
    (9_666_857, 1079, 356.45, 400.88, 396.94, 356.63, 13.2559, 8.3962, 3.3655),
    (9_670_234, 1077, 356.51, 401.25, 396.56, 356.67, 13.1655, 7.3672, 3.3784),
    (9_661_419, 1067, 356.43, 402.75, 398.25, 356.57, 12.8985, 8.5934, 4.1836),
    (9_670_316, 1064, 356.44, 405.00, 403.13, 356.67, 13.3568, 7.8349, 3.3471),
)
REFERENCE = 21_463_040  # nonzeros of the reference region, of each matrix
# Table 4: sparsity of the reference region of each matrix; sparsities of the expansion region and of the matrix for
# matrices 1 to 10. The paper divides by 0.1 and 0.9 of the number of elements, which are not integers.
REFERENCE_SPARSITY = 0.800110
SPARSITY = (
    (0.989985, 0.970997), (0.989990, 0.971002), (0.989997, 0.971008), (0.989993, 0.971005), (0.989994, 0.971005),
    (0.989990, 0.971002), (0.989997, 0.971008), (0.989993, 0.971005), (0.990002, 0.971013), (0.989993, 0.971005),
)  # fmt: skip
# Number of slices of sliced ell in table 5. The paper does not state it, but the bytes correspond to 12 bytes per
# element in this number of equal slices: with 8192 rows, a column of one slice has 0.09375 MB, and each printed number
# is a multiple of that.
SLICES = 4
# Table 10, for ten matrices of this order: average seconds of cuSPARSE, CSR5 and the paper's kernel.
TABLE_10_ORDER = 1_048_576
TABLE_10 = (12.5761, 7.9806, 3.1831)
BYTES = ("csr", "ell", "sell", "ellcsr")  # the formats of table 5
TIMES = ("cuSPARSE", "CSR5", "warp2")  # the kernels in table 9
SCIPY = "SciPy csr"
BLOCKS = {
    16: "blocks of 16",
    32: "blocks of 32",
    64: "blocks of 64",
}  # by threads per block
SHORT = {  # columns of the report: ellcsr with these bits per column index and this dtype
    "16 bits": (16, "float64"),
    "8 bits": (8, "float64"),
    "8 bits, float32 values": (8, "float32"),
}
TABLES_6_TO_8 = {16: 4.8881, 32: 3.2844, 64: 3.5434}  # milliseconds for a matrix that the paper does not name


def _rows(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of the ten matrices."""
    return [row for row in report["rows"] if "matrix" in row]


def _columns(report: dict[str, Any]) -> list[str]:
    """Return the columns except those of block sizes and short column indices."""
    names = dict.fromkeys(name for row in _rows(report) for name in row["times"])
    return [name for name in names if name not in BLOCKS.values() and name not in SHORT]


def _of_paper(report: dict[str, Any], row: dict[str, Any], field: int) -> Any:
    """Return a printed number for a matrix of the paper's size."""
    return None if report["quick"] else PAPER[row["matrix"] - 1][field]


def tables(report: dict[str, Any]) -> Tables:
    """Yield titles and cells: the paper's tables 3 to 10, with its numbers in brackets."""
    yield "The two regions (tables 3 and 4 of the paper in brackets)", _counts(report)
    yield "MB of 2^20 bytes, by the paper's formulas and as allocated (its table in brackets)", _sizes(report)
    if report["device"] == "cuda":
        yield "A x by the paper's algorithm 7, in blocks of so many threads (its tables 6 to 8)", _blocks(report)
    yield "A x", _times(report)
    yield "A x in ellcsr with short columns, x and sums in float64", _short(report)
    if large := _large(report):
        yield "A x of larger matrices, and of the whole one of table 10", large


def _with_printed(ours: str, paper: Any) -> str:
    return ours if paper is None else f"{ours} ({paper})"


def _counts(report: dict[str, Any]) -> Iterator[list[str]]:
    regions = ("reference", "expansion")
    yield [
        "matrix", *regions, "longest row", "its number", *(f"longest in the {region}" for region in regions),
        *(f"{region} sparsity" for region in regions), "sparsity of all",
    ]  # fmt: skip
    for row in _rows(report):
        c, expansion = row["counts"], _of_paper(report, row, 0)
        printed = (REFERENCE_SPARSITY, *SPARSITY[row["matrix"] - 1]) if expansion else (None,) * 3
        yield [
            str(row["matrix"]),
            _with_printed(f"{c['reference']:,}", expansion and f"{REFERENCE:,}"),
            _with_printed(f"{c['expansion']:,}", expansion and f"{expansion:,}"),
            _with_printed(str(c["longest"]), _of_paper(report, row, 1)),
            str(c["longest_row"]),
            str(c["width"]),
            str(c["longest"] - c["width"]),  # all rows have the same number in the reference region
            *(
                _with_printed(f"{ours:.6f}", paper and f"{paper:.6f}")
                for ours, paper in zip(c["sparsity"], printed, strict=True)
            ),
        ]


def _sizes(report: dict[str, Any]) -> Iterator[list[str]]:
    rows = _rows(report)
    yield [
        "matrix",
        *(f"{name}, {what}" for name in BYTES for what in ("formula", "allocated")),
        f"sell, {SLICES} slices",
    ]
    for row in rows:
        cells = [str(row["matrix"])]
        for i, name in enumerate(BYTES):
            formula, allocated = (f"{row['nbytes'][name][what] / 2**20:.2f}" for what in ("paper", "allocated"))
            printed = _of_paper(report, row, 2 + i)
            cells += [formula, _with_printed(allocated, printed and f"{printed:.2f}")]
        yield [*cells, f"{row['slices']['nbytes'] / 2**20:.2f}"]


def _blocks(report: dict[str, Any]) -> Iterator[list[str]]:
    yield ["matrix", *map(str, BLOCKS)]
    for row in _rows(report):
        yield [str(row["matrix"]), *(seconds(row, name) for name in BLOCKS.values())]
    if not report["quick"]:
        yield ["the paper's", *(columns.seconds(TABLES_6_TO_8[threads] / 1e3) for threads in BLOCKS)]


def _times(report: dict[str, Any]) -> Iterator[list[str]]:
    names = _columns(report)
    yield ["matrix", *names, *(f"the paper's {name}" for name in TIMES), f"ellcsr vs {_peer(report)}"]
    for row in _rows(report):
        paper = [columns.seconds(ms / 1e3) if (ms := _of_paper(report, row, 6 + i)) else "" for i in range(len(TIMES))]
        cells = (seconds(row, name) for name in names)
        yield [str(row["matrix"]), *cells, *paper, _ratio(report, row, "ellcsr")]


def _short(report: dict[str, Any]) -> Iterator[list[str]]:
    yield [
        "matrix",
        *(f"{name}, {what}" for name in SHORT for what in ("MB of 2^20 bytes", "time", f"vs {_peer(report)}")),
    ]
    for row in _rows(report):
        cells = [str(row["matrix"])]
        for name in SHORT:
            cells += [f"{row['short'][name] / 2**20:.2f}", seconds(row, name), _ratio(report, row, name)]
        yield cells


def _large(report: dict[str, Any]) -> list[list[str]]:
    """Return a table of the larger matrices; the times of some rows are scaled to the entire matrix of table 10."""
    rows = [row for row in report["rows"] if "matrix" not in row]
    names = list(dict.fromkeys(name for row in rows for name in row["times"]))
    if not rows:
        return []
    head = ["order", "rows", "nonzeros", "GB in csr", *names, f"ellcsr vs {_peer(report)}", "the whole in ellcsr"]
    cells = [[*head, *(f"the paper's {name}" for name in TIMES)]]
    for row in rows:
        counts, time = row["counts"], row["times"].get("ellcsr")
        paper = TABLE_10 if row["n"] == TABLE_10_ORDER else (None,) * len(TIMES)
        cells.append([
            str(row["n"]),
            str(row["rows"]),
            f"{counts['reference'] + counts['expansion']:,}",
            f"{row['nbytes']['csr']['allocated'] / 1e9:.2f}",
            *(seconds(row, name) for name in names),
            _ratio(report, row, "ellcsr"),
            columns.seconds(time * row["n"] / row["rows"]) if time else "",
            *(columns.seconds(s) if s else "" for s in paper),
        ])  # fmt: skip
    return cells


def _peer(report: dict[str, Any]) -> str:
    return "the fastest of cuSPARSE" if report["device"] == "cuda" else SCIPY


def _ratio(report: dict[str, Any], row: dict[str, Any], name: str) -> str:
    """Return the time of the fastest peer divided by that of a column."""
    peers = "cuSPARSE" if report["device"] == "cuda" else SCIPY
    return columns.times(speedup(row, name, [column for column in row["times"] if column.startswith(peers)]))


# ---- picture ------------------------------------------------------------------------------------------------------
def draw(report: dict[str, Any]) -> Any:
    """Draw figures 5 and 6: the bytes of each format, and the times, for each matrix."""
    colors = (GREY, PURPLE, GREEN, ORANGE, SKY, YELLOW, BLUE, "black", "#cc9966", "#9467bd", "#7f7f3f")
    figure, rows = new_figure(9.6, 3.6), _rows(report)
    left, right = figure.subplots(1, 2)
    at = [row["matrix"] for row in rows]
    for i, (name, color) in enumerate(zip(BYTES, colors, strict=False)):
        left.plot(
            at,
            [row["nbytes"][name]["allocated"] / 2**20 for row in rows],
            ".-",
            color=color,
            label=name,
        )
        if not report["quick"]:
            left.plot(at, [PAPER[m - 1][2 + i] for m in at], "x", color=color)
    left.set_ylabel("MB (x: the paper's)")
    lines = {name: (name, ".-") for name in _columns(report)} | {name: (f"ellcsr, {name}", ".:") for name in SHORT}
    for (name, (label, style)), color in zip(lines.items(), cycle(colors)):
        times = [1e3 * t if (t := row["times"].get(name)) else np.nan for row in rows]
        right.plot(at, times, style, color=color, label=label)
    if not report["quick"]:
        for i, (name, mark) in enumerate(zip(TIMES, "x+v", strict=True)):
            right.plot(at, [PAPER[m - 1][6 + i] for m in at], mark, color="black", label=f"the paper's {name}")
    right.set_ylabel("time of A x (ms)")
    logarithmic(right, "y")
    for axes in (left, right):
        axes.set_xlabel("matrix")
        axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure
