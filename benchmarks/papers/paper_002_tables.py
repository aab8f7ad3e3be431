"""The results of `paper_002` compared with those of the paper that introduced qband: tables and a picture."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import geometric_mean
from typing import Any

import numpy as np

from diagsparse._show import columns
from diagsparse._study.figures import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, YELLOW, new_figure

from ..tables import Tables, machine, seconds, speedup

PLANNED, ONCE, FROM_CSR = "qband planned", "qband", "qband from csr"
PAPERS_PLANNED, PAPERS_ONCE, PAPERS_FROM_CSR = "paper planned", "paper", "paper from csr"
SEGMENTS, VECTOR = "paper segments", ", A x"
PLANNED_PEERS = ("cuSPARSE", "csr planned")  #: compared with planned products
PEERS = ("CuPy csr", "MKL csr", "SciPy csr")  #: compared with unplanned products, with or without the partition
COMPARED = {PLANNED: PLANNED_PEERS, PAPERS_PLANNED: PLANNED_PEERS, ONCE: PEERS, FROM_CSR: PEERS, PAPERS_FROM_CSR: PEERS}
_THEIRS = {"CuPy csr": "cuSPARSE (CuPy)", "cuSPARSE": "cuSPARSE, reused"}  #: names of columns in the summary
HEADLINE = {"table 2": 5, "table 3": 2}  #: the paper's mean speedups over cuSPARSE
_CROSSING = {"random": 85}  #: percentage in the bands from which the product of the paper is faster, if stated

Compared = tuple[str, str]
"""A column of diagsparse, and the column with which it is compared."""


def compared(report: dict[str, Any]) -> list[Compared]:
    """Return the comparisons in a report: planned products, and unplanned products."""
    named = {name for row in report["rows"] for name in row["times"]}
    return [(ours, peer) for ours, peers in COMPARED.items() for peer in peers if {ours, peer} <= named]


def _over(pair: Compared) -> str:
    return f"{pair[0]}, over {_THEIRS.get(pair[1], pair[1])}"


def tables(report: dict[str, Any]) -> Tables:
    """Yield titles and cells: mean speedups, matrices, squares, their stages, and products with vectors."""
    yield "How many times as fast: geometric means (the slowest row to the fastest)", _means(report)
    yield "Share of the nonzeros in the bands from which on products are faster (%)", _crossings(report)
    yield "Matrices (the paper's figures in brackets; * stands in for the paper's)", _matrices(report)
    yield "Bands, their diagonals, and what they hold (%), by each partition", _partitions(report)
    yield "C = A A (csr: the rule made that product as csr)", _times(report, "")
    yield "Stages of one product in qband", _stages(report, "stages")
    yield "Stages of the paper's algorithm", _stages(report, "algorithm")
    yield "y = A x", _times(report, VECTOR)


def _means(report: dict[str, Any]) -> Iterator[list[str]]:
    pairs = compared(report)
    yield ["from", "precision", *map(_over, pairs), "paper"]
    for source, dtype in dict.fromkeys((row["source"], row["dtype"]) for row in report["rows"]):
        rows = [row for row in report["rows"] if (row["source"], row["dtype"]) == (source, dtype)]
        cells = []
        for pair in pairs:
            ratios = [ratio for row in rows if (ratio := speedup(row, *pair))]
            means = (columns.digits(one(ratios)) for one in (geometric_mean, min, max) if ratios)
            cells.append("{}x ({} to {})".format(*means) if ratios else "")
        yield [source, dtype, *cells, f"{HEADLINE[source]}x" if source in HEADLINE else ""]


def _crossings(report: dict[str, Any]) -> Iterator[list[str]]:
    pairs = compared(report)
    yield ["rest", "precision", *map(_over, pairs), "paper"]
    rows = [row for row in report["rows"] if row["source"] == "experiment 3"]
    for layout, dtype in dict.fromkeys((row["options"]["layout"], row["dtype"]) for row in rows):
        of = [row for row in rows if (row["options"]["layout"], row["dtype"]) == (layout, dtype)]
        yield [layout, dtype, *(_crossing(of, pair) for pair in pairs), str(_CROSSING.get(layout, ""))]


def _crossing(rows: list[dict[str, Any]], pair: Compared) -> str:
    """Return the percentage in the bands from which on all rows are faster, or "none"."""
    ratios = {row["options"]["band_percentage"]: ratio for row in rows if (ratio := speedup(row, *pair))}
    start = next((s for s in sorted(ratios) if all(r > 1 for at, r in ratios.items() if at >= s)), None)
    return "none" if start is None else str(start)


# ---- matrices -----------------------------------------------------------------------------------------------------
def _properties(row: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the properties of the first of these partitions in the row, or of the partition by bytes."""
    partitions = row["partitions"]
    return next((partitions[name] for name in (*names, "bytes") if name in partitions), {})


def _matrices(report: dict[str, Any]) -> Iterator[list[str]]:
    yield [
        "matrix", "rows", "nonzeros", "bands", "diagonals", "full (%)", "in the bands (%)", "spread (%)",
        "beside the bands", "nonzeros of C", "of the stand-in's C",
    ]  # fmt: skip
    for row in report["rows"]:
        if row["dtype"] != "float32":
            continue
        bands, paper = _properties(row, "built", "paper"), row["paper"] or {}
        product, other = row["product_nnz"], row["stand_in_product_nnz"]
        yield [
            _name(row),
            f"{row['n']:,}",
            f"{row['nnz']:,}",
            *(_with_printed(str(bands[name]), paper.get(key)) for name, key in _COUNTS.items()),
            *(_with_printed(f"{bands[name]:.2f}", paper.get(key)) for name, key in _SHARES.items()),
            row["rest"],
            f"{product:,}" if product else "",
            f"{other:,}, {columns.digits(other / product)}x" if product and other else "",
        ]


def _partitions(report: dict[str, Any]) -> Iterator[list[str]]:
    yield ["matrix", "bytes, float32", "bytes, float64", "paper"]
    named: dict[str, dict[str, dict[str, Any]]] = {}
    for row in report["rows"]:
        named.setdefault(_name(row), {})[row["dtype"]] = row
    for name, by_dtype in named.items():
        by_bytes = [_properties(by_dtype[dtype]) if dtype in by_dtype else {} for dtype in ("float32", "float64")]
        papers = next(iter(by_dtype.values()))["partitions"].get("paper", {})
        yield [name, *(_counts(bands) for bands in (*by_bytes, papers))]


def _counts(bands: dict[str, Any]) -> str:
    if not bands:
        return ""
    return f"{bands['band_count']}, {bands['diagonal_count']}, {bands['band_percentage']:.2f}"


_COUNTS = {"band_count": "bands", "diagonal_count": "diagonals"}
_SHARES = {"band_occupancy": "occupancy", "band_percentage": "percentage", "band_spread": "spread"}


def _with_printed(ours: str, paper: Any) -> str:
    return ours if paper is None else f"{ours} ({paper})"


def _name(row: dict[str, Any]) -> str:
    return f"{row['source']}, {row['what']}{'*' * row['stands_in']}"


# ---- times --------------------------------------------------------------------------------------------------------
def _columns(report: dict[str, Any], end: str) -> list[str]:
    names = dict.fromkeys(name for row in report["rows"] for name in row["times"])
    return [name for name in names if name.endswith(VECTOR) == bool(end)]


def _times(report: dict[str, Any], end: str) -> Iterator[list[str]]:
    names = _columns(report, end)
    yield ["matrix", "precision", *(name.removesuffix(VECTOR) for name in names)]
    for row in report["rows"]:
        by_csr = {name for name in COMPARED if row["formats"].get(name) == "csr"}
        cells = (seconds(row, name) + ", csr" * (name in by_csr) for name in names)
        yield [_name(row), row["dtype"], *cells]


def _stages(report: dict[str, Any], field: str) -> Iterator[list[str]]:
    rows = [row for row in report["rows"] if row[field]]
    names = list(dict.fromkeys(name for row in rows for name in row[field]))
    yield ["matrix", "precision", *names]
    for row in rows:
        cells = (columns.seconds(row[field][name]) if name in row[field] else "" for name in names)
        yield [_name(row), row["dtype"], *cells]


def summary(report: dict[str, Any]) -> str:
    """Return the mean speedups as Markdown, for the page about the format."""
    return columns.markdown(list(_means(report)))


def head(report: dict[str, Any]) -> str:
    """Return the line about the machine."""
    return machine(report, "float32 and float64")


# ---- picture ------------------------------------------------------------------------------------------------------
def draw(report: dict[str, Any]) -> Any:
    """Draw figures 2 and 3 (c): speedups over the percentage in the bands, and the times of the stages."""
    figure = new_figure(12.8, 3.9)
    left, middle, right = figure.subplots(1, 3)
    pairs = compared(report)
    _plot_speedups(left, report, next((pair for pair in pairs if pair[0] == PAPERS_FROM_CSR), None))
    _plot_speedups(middle, report, next((pair for pair in pairs if pair[0] == PLANNED), None))
    middle.legend(fontsize=6, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.2))
    _plot_stages(right, report)
    return figure


def _plot_speedups(axes: Any, report: dict[str, Any], pair: Compared | None) -> None:
    """Draw the speedups of one column over another in experiment 3."""
    for layout, color in zip(("random", "row_block", "column_block"), (BLUE, ORANGE, GREEN), strict=True):
        for dtype, style in (("float32", ".-"), ("float64", ".:")):
            rows = [
                row for row in report["rows"]
                if row["dtype"] == dtype and row["source"] == "experiment 3" and row["options"]["layout"] == layout
            ]  # fmt: skip
            shares = [row["options"]["band_percentage"] for row in rows]
            ratios = [(speedup(row, *pair) if pair else None) or np.nan for row in rows]
            axes.plot(shares, ratios, style, color=color, label=f"{layout}, {dtype}")
    axes.axhline(1, color="black", lw=0.7)
    axes.set_xlabel("nonzeros in the bands (%)")
    axes.set_title(_over(pair) if pair else "")
    axes.set_ylabel("times as fast")
    axes.set_ylim(bottom=0)


def _plot_stages(axes: Any, report: dict[str, Any]) -> None:
    """Draw the fraction of each stage of the paper's algorithm for the matrices of table 3, as in figure 2."""
    of = [row for row in report["rows"] if row["source"] == "table 3" and row["dtype"] == "float32"]
    rows = [row for row in of if row["algorithm"]]
    names, below = list(dict.fromkeys(name for row in rows for name in row["algorithm"])), np.zeros(len(rows))
    for name, color in zip(names, (GREY, SKY, BLUE, ORANGE, GREEN, PURPLE, YELLOW, "black"), strict=False):
        shares = [100 * row["algorithm"].get(name, 0) / sum(row["algorithm"].values()) for row in rows]
        axes.bar(range(len(rows)), shares, bottom=below, color=color, label=name)
        below = below + shares
    axes.set_xticks(range(len(rows)), [row["what"] for row in rows], rotation=45, ha="right")
    axes.set_ylabel("share of the time of a product (%)")
    axes.set_title("the paper's algorithm, float32")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=6, loc="center left", bbox_to_anchor=(1, 0.5))
