"""The results of `paper_002` compared with those of the paper that introduced qband: tables and a picture."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from statistics import geometric_mean
from typing import Any

import numpy as np

from diagsparse._show import columns

from ..pictures import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, YELLOW, curves, label, new_figure
from ..tables import Columns, Row, Tables, machine, seconds, select, speedup, table, time, timed, with_printed

PLANNED, ONCE, FROM_CSR = "qband planned", "qband", "qband from csr"
PAPERS_PLANNED, PAPERS_ONCE, PAPERS_FROM_CSR = "paper planned", "paper", "paper from csr"
SEGMENTS, VECTOR = "paper segments", ", A x"
PLANNED_PEERS = ("cuSPARSE", "csr planned")  #: compared with planned products
PEERS = ("CuPy csr", "MKL csr", "SciPy csr")  #: compared with unplanned products, with or without the partition
COMPARED = {PLANNED: PLANNED_PEERS, PAPERS_PLANNED: PLANNED_PEERS, ONCE: PEERS, FROM_CSR: PEERS, PAPERS_FROM_CSR: PEERS}
_THEIRS = {"CuPy csr": "cuSPARSE (CuPy)", "cuSPARSE": "cuSPARSE, reused"}  #: names of columns in the summary
HEADLINE = {"table 2": "5x", "table 3": "2x"}  #: the paper's mean speedups over cuSPARSE
_CROSSING = {"random": "85"}  #: percentage in the bands from which the product of the paper is faster, if stated
_COUNTS = {"bands": "band_count", "diagonals": "diagonal_count"}  #: columns, and fields of `bands.properties`
_SHARES = {  #: the same, and fields of `Printed`
    "full (%)": ("band_occupancy", "occupancy"), "in the bands (%)": ("band_percentage", "percentage"),
    "spread (%)": ("band_spread", "spread"),
}  # fmt: skip

Compared = tuple[str, str]
"""A column of diagsparse, and the column with which it is compared."""


def compared(report: Row) -> list[Compared]:
    """Return the comparisons in a report: planned products, and unplanned products."""
    names = set(timed(report["rows"]))
    return [(ours, peer) for ours, peers in COMPARED.items() for peer in peers if {ours, peer} <= names]


def _over(pair: Compared) -> str:
    return f"{pair[0]}, over {_THEIRS.get(pair[1], pair[1])}"


def tables(report: Row) -> Tables:
    """Yield titles and cells: mean speedups, matrices, squares, their stages, and products with vectors."""
    yield "How many times as fast: geometric means (the slowest row to the fastest)", _means(report)
    yield "Percentage of the nonzeros in the bands from which on products are faster", _crossings(report)
    yield "Matrices (the paper's figures in brackets; * stands in for the paper's)", _matrices(report)
    yield "Bands, their diagonals, and what they hold (%), by each partition", _partitions(report)
    names = timed(report["rows"])
    squares = [name for name in names if not name.endswith(VECTOR)]
    yield (
        "C = A A (csr: by default, this product is computed in csr)",
        _times(report, squares, partial(partial, _product)),
    )
    yield "Stages of one product in qband", _stages(report, "stages")
    yield "Stages of the paper's algorithm", _stages(report, "algorithm")
    vectors = timed(report["rows"], end=VECTOR)
    yield "y = A x", _times(report, vectors, lambda name: partial(seconds, name=name + VECTOR))


def _grouped(
    rows: list[Row], first: Columns, pairs: list[Compared], value: Callable[[list[Row], Compared], str],
    printed: dict[str, str],
) -> list[list[str]]:  # fmt: skip
    """Return a table of groups of rows with the same `first` columns: a value for each pair, and that of the paper."""
    (head, *keys) = table(rows, first)
    cells = [[*head, *map(_over, pairs), "paper"]]
    for key in dict.fromkeys(map(tuple, keys)):
        some = [row for row, other in zip(rows, keys, strict=True) if tuple(other) == key]
        cells.append([*key, *(value(some, pair) for pair in pairs), printed.get(key[0], "")])
    return cells


def _means(report: Row) -> list[list[str]]:
    first = {"from": "{source}", "precision": "{dtype}"}
    return _grouped(report["rows"], first, compared(report), _mean, HEADLINE)


def _mean(rows: list[Row], pair: Compared) -> str:
    ratios = [ratio for row in rows if (ratio := speedup(row, *pair))]
    means = (columns.digits(one(ratios)) for one in (geometric_mean, min, max) if ratios)
    return "{}x ({} to {})".format(*means) if ratios else ""


def _crossings(report: Row) -> list[list[str]]:
    first = {"rest": "{options[layout]}", "precision": "{dtype}"}
    return _grouped(select(report, source="experiment 3"), first, compared(report), _crossing, _CROSSING)


def _crossing(rows: list[Row], pair: Compared) -> str:
    """Return the percentage in the bands from which on all rows are faster, or "none"."""
    ratios = {row["options"]["band_percentage"]: ratio for row in rows if (ratio := speedup(row, *pair))}
    start = next((s for s in sorted(ratios) if all(r > 1 for at, r in ratios.items() if at >= s)), None)
    return "none" if start is None else str(start)


# ---- matrices -----------------------------------------------------------------------------------------------------
def _bands(row: Row, *names: str) -> Row:
    """Return the properties of the first of these partitions in the row, or of the partition by bytes."""
    partitions: Row = row["partitions"]
    return next((partitions[name] for name in (*names, "bytes") if name in partitions), {})


def _matrices(report: Row) -> list[list[str]]:
    def count(row: Row, what: str) -> str:
        return with_printed(str(_bands(row, "built", "paper")[_COUNTS[what]]), (row["paper"] or {}).get(what))

    def fraction(row: Row, what: str) -> str:
        field, printed = _SHARES[what]
        return with_printed(f"{_bands(row, 'built', 'paper')[field]:.2f}", (row["paper"] or {}).get(printed))

    def of_stand_in(row: Row) -> str:
        product, other = row["product_nnz"], row["stand_in_product_nnz"]
        return f"{other:,}, {columns.digits(other / product)}x" if product and other else ""

    return table(select(report, dtype="float32"), {
        "matrix": _name, "rows": "{n:,}", "nonzeros": "{nnz:,}",
        **{name: partial(count, what=name) for name in _COUNTS},
        **{name: partial(fraction, what=name) for name in _SHARES}, "outside of the bands": "{rest}",
        "nonzeros of C": lambda row: f"{row['product_nnz']:,}" if row["product_nnz"] else "",
        "of the stand-in's C": of_stand_in,
    })  # fmt: skip


def _partitions(report: Row) -> list[list[str]]:
    matrices: dict[str, Row] = {}
    for row in report["rows"]:
        matrices.setdefault(_name(row), {"name": _name(row), "paper": _counts(row["partitions"].get("paper"))})
        matrices[_name(row)][row["dtype"]] = _counts(_bands(row))
    return table(matrices.values(), {
        "matrix": "{name}", **{f"bytes, {dtype}": partial(_of_dtype, dtype=dtype) for dtype in ("float32", "float64")},
        "paper": "{paper}",
    })  # fmt: skip


def _of_dtype(row: Row, dtype: str) -> str:
    return str(row.get(dtype, ""))


def _counts(bands: Row | None) -> str:
    return "{band_count}, {diagonal_count}, {band_percentage:.2f}".format(**bands) if bands else ""


def _name(row: Row) -> str:
    return f"{row['source']}, {row['what']}{'*' * row['stands_in']}"


# ---- times --------------------------------------------------------------------------------------------------------
def _times(report: Row, names: list[str], value: Callable[[str], Callable[[Row], str]]) -> list[list[str]]:
    return table(report["rows"], {"matrix": _name, "precision": "{dtype}", **{name: value(name) for name in names}})


def _product(name: str, row: Row) -> str:
    """Return the time of a square, and whether the product is in csr."""
    return seconds(row, name) + ", csr" * (name in COMPARED and row["formats"].get(name) == "csr")


def _stages(report: Row, field: str) -> list[list[str]]:
    rows = [row for row in report["rows"] if row[field]]
    names = dict.fromkeys(name for row in rows for name in row[field])
    stages = {name: lambda row, name=name: time(row[field].get(name)) for name in names}
    return table(rows, {"matrix": _name, "precision": "{dtype}", **stages})


def summary(report: Row) -> str:
    """Return the mean speedups as Markdown, for the page about the format."""
    return columns.markdown(_means(report))


def head(report: Row) -> str:
    """Return the line about the machine."""
    return machine(report, "float32 and float64")


# ---- picture ------------------------------------------------------------------------------------------------------
def draw(report: Row) -> Any:
    """Draw figures 2 and 3 (c): speedups over the percentage in the bands, and the times of the stages."""
    figure = new_figure(12.8, 3.9)
    left, middle, right = figure.subplots(1, 3)
    for axes, ours in ((left, PAPERS_FROM_CSR), (middle, PLANNED)):
        _plot_speedups(axes, report, next((pair for pair in compared(report) if pair[0] == ours), None))
    middle.legend(fontsize=6, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.2))
    _plot_stages(right, report)
    return figure


def _plot_speedups(axes: Any, report: Row, pair: Compared | None) -> None:
    """Draw the speedups of one column over another in experiment 3."""
    for layout, color in zip(("random", "row_block", "column_block"), (BLUE, ORANGE, GREEN), strict=True):
        for dtype, style in (("float32", ".-"), ("float64", ".:")):
            rows = [r for r in select(report, source="experiment 3", dtype=dtype) if r["options"]["layout"] == layout]
            ratios = {f"{layout}, {dtype}": (lambda row: speedup(row, *pair) if pair else None, style, color)}
            curves(axes, rows, lambda row: row["options"]["band_percentage"], ratios)
    label(axes, "nonzeros in the bands (%)", "times as fast", title=_over(pair) if pair else "", line=1)
    axes.set_ylim(bottom=0)


def _plot_stages(axes: Any, report: Row) -> None:
    """Draw the fraction of each stage of the paper's algorithm for the matrices of table 3, as in figure 2."""
    rows = [row for row in select(report, source="table 3", dtype="float32") if row["algorithm"]]
    names, below = list(dict.fromkeys(name for row in rows for name in row["algorithm"])), np.zeros(len(rows))
    for name, color in zip(names, (GREY, SKY, BLUE, ORANGE, GREEN, PURPLE, YELLOW, "black"), strict=False):
        shares = [100 * row["algorithm"].get(name, 0) / sum(row["algorithm"].values()) for row in rows]
        axes.bar(range(len(rows)), shares, bottom=below, color=color, label=name)
        below = below + shares
    axes.set_xticks(range(len(rows)), [row["what"] for row in rows], rotation=45, ha="right")
    label(axes, y="share of the time of a product (%)", title="the paper's algorithm, float32")
    if names:
        axes.legend(fontsize=6, loc="center left", bbox_to_anchor=(1, 0.5))
