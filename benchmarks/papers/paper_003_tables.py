"""The results of `paper_003` compared with those of the paper that introduced ellcsr: tables and a picture."""

from __future__ import annotations

from functools import partial
from itertools import cycle
from operator import itemgetter
from typing import Any

from ..pictures import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, YELLOW, curves, label, new_figure
from ..pictures import milliseconds as of_column
from ..tables import Columns, Row, Tables, faster, milliseconds, seconds, table, time, timed, times, with_printed

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
FIELDS = ("expansion", "longest", *BYTES, *TIMES)  # of PAPER
BLOCKS = {threads: f"blocks of {threads}" for threads in (16, 32, 64)}  # columns by threads per block
SHORT = {  # columns of the report: ellcsr with these bits per column index and this dtype
    "16 bits": (16, "float64"),
    "8 bits": (8, "float64"),
    "8 bits, float32 values": (8, "float32"),
}
TABLES_6_TO_8 = {16: 4.8881, 32: 3.2844, 64: 3.5434}  # milliseconds for a matrix that the paper does not name


def _rows(report: Row) -> list[Row]:
    """Return the rows of the ten matrices with the ``printed`` numbers, for matrices of the paper's size."""
    rows = [row for row in report["rows"] if "matrix" in row]
    return [row | {"printed": {} if report["quick"] else _printed(row["matrix"] - 1)} for row in rows]


def _printed(i: int) -> Row:
    sparsity = REFERENCE_SPARSITY, *SPARSITY[i]
    return dict(zip(FIELDS, PAPER[i], strict=True)) | {"reference": REFERENCE, "sparsity": sparsity}


def _columns(report: Row) -> list[str]:
    """Return the columns except those of block sizes and short column indices."""
    return [name for name in timed(_rows(report)) if name not in BLOCKS.values() and name not in SHORT]


def tables(report: Row) -> Tables:
    """Yield titles and cells: the paper's tables 3 to 10, with its numbers in brackets."""
    rows, first, gpu = _rows(report), {"matrix": "{matrix}"}, report["device"] == "cuda"
    peer, whom = ("cuSPARSE", "the fastest of cuSPARSE") if gpu else ("SciPy csr",) * 2
    theirs = [name for name in timed(report["rows"]) if name.startswith(peer)]
    ratio = {name: partial(faster, ours=name, theirs=theirs) for name in ("ellcsr", *SHORT)}
    printed = {f"the paper's {name}": partial(_printed_time, name=name) for name in TIMES}
    yield "The two regions (tables 3 and 4 of the paper in brackets)", table(rows, {**first, **_REGIONS})
    yield "MB of 2^20 bytes, by the paper's formulas and as allocated (its table in brackets)", table(rows, {
        **first,
        **{f"{name}, {what}": partial(_size, name, what) for name in BYTES for what in ("formula", "allocated")},
        f"sell, {SLICES} slices": lambda row: _megabytes(row["slices"]["nbytes"]),
    })  # fmt: skip
    if gpu:
        title = "A x by the paper's algorithm 7, in blocks of so many threads (its tables 6 to 8)"
        blocks = table(rows, first | {str(threads): partial(seconds, name=name) for threads, name in BLOCKS.items()})
        paper = ["the paper's", *map(milliseconds, TABLES_6_TO_8.values())]
        yield title, [*blocks, *([] if report["quick"] else [paper])]
    yield "A x", table(rows, {**first, **times(_columns(report)), **printed, f"ellcsr vs {whom}": ratio["ellcsr"]})
    short: Columns = {
        f"{name}, {what}": value
        for name in SHORT
        for what, value in (
            ("MB of 2^20 bytes", lambda row, name=name: _megabytes(row["short"][name])),
            ("time", partial(seconds, name=name)),
            (f"vs {whom}", ratio[name]),
        )
    }
    yield "A x in ellcsr with short columns, x and sums in float64", table(rows, {**first, **short})
    if large := [row for row in report["rows"] if "matrix" not in row]:
        yield "A x of larger matrices, and of the whole one of table 10", table(large, {
            "order": "{n}", "rows": "{rows}", "nonzeros": lambda row: f"{_nonzeros(row):,}",
            "GB in csr": lambda row: f"{row['nbytes']['csr']['allocated'] / 1e9:.2f}", **times(timed(large)),
            f"ellcsr vs {whom}": ratio["ellcsr"], "the whole in ellcsr": _whole,
            **{f"the paper's {name}": partial(_of_table_10, i) for i, name in enumerate(TIMES)},
        })  # fmt: skip


def _counted(name: str, row: Row) -> str:
    ours, printed = row["counts"][name], row["printed"].get(name)
    return with_printed(f"{ours:,}", printed and f"{printed:,}")


def _sparsity(i: int, row: Row) -> str:
    printed = row["printed"].get("sparsity")
    return with_printed(f"{row['counts']['sparsity'][i]:.6f}", printed and f"{printed[i]:.6f}")


_REGIONS: Columns = {
    "reference": partial(_counted, "reference"), "expansion": partial(_counted, "expansion"),
    "longest row": lambda row: with_printed(str(row["counts"]["longest"]), row["printed"].get("longest")),
    "its number": "{counts[longest_row]}", "longest in the reference": "{counts[width]}",  # that of all rows
    "longest in the expansion": lambda row: str(row["counts"]["longest"] - row["counts"]["width"]),
    **{name: partial(_sparsity, i) for i, name in enumerate(
        ("reference sparsity", "expansion sparsity", "sparsity of all")
    )},
}  # fmt: skip


def _megabytes(nbytes: float) -> str:
    return f"{nbytes / 2**20:.2f}"


def _size(name: str, what: str, row: Row) -> str:
    """Return the bytes of a format by the formula of the paper, or those that are allocated, and the printed ones."""
    if what == "formula":
        return _megabytes(row["nbytes"][name]["paper"])
    printed = row["printed"].get(name)
    return with_printed(_megabytes(row["nbytes"][name]["allocated"]), printed and f"{printed:.2f}")


def _printed_time(row: Row, name: str) -> str:
    return milliseconds(row["printed"].get(name))


def _nonzeros(row: Row) -> int:
    return int(row["counts"]["reference"] + row["counts"]["expansion"])


def _whole(row: Row) -> str:
    """Return the time of all rows of a matrix, some of which are timed."""
    t = row["times"].get("ellcsr")
    return time(t and t * row["n"] / row["rows"])


def _of_table_10(i: int, row: Row) -> str:
    return time(TABLE_10[i]) if row["n"] == TABLE_10_ORDER else ""


# ---- picture ------------------------------------------------------------------------------------------------------
def draw(report: Row) -> Any:
    """Draw figures 5 and 6: the bytes of each format, and the times, for each matrix."""
    colors = (GREY, PURPLE, GREEN, ORANGE, SKY, YELLOW, BLUE, "black", "#cc9966", "#9467bd", "#7f7f3f")
    figure, rows = new_figure(9.6, 3.6), _rows(report)
    left, right = figure.subplots(1, 2)
    for name, color in zip(BYTES, colors, strict=False):
        allocated = {name: (lambda row, name=name: row["nbytes"][name]["allocated"] / 2**20, ".-", color)}
        curves(left, rows, itemgetter("matrix"), allocated)
        curves(left, rows, itemgetter("matrix"), {"": (partial(_printed_number, name), "x", color)})
    series = {name: (name, ".-") for name in _columns(report)} | {f"ellcsr, {name}": (name, ".:") for name in SHORT}
    curves(right, rows, itemgetter("matrix"), {
        **{text: (of_column(name), form, color) for (text, (name, form)), color in zip(series.items(), cycle(colors))},
        **{f"the paper's {name}": (partial(_printed_number, name), mark, "black") for name, mark in zip(TIMES, "x+v")},
    })  # fmt: skip
    label(left, "matrix", "MB (x: the paper's)")
    label(right, "matrix", "time of A x (ms)", log="y")
    for axes in (left, right):
        axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def _printed_number(name: str, row: Row) -> float | None:
    return row["printed"].get(name)
