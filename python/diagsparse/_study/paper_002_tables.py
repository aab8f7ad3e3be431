"""What the paper that qband comes from prints, beside what `paper_002` finds: tables and a picture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._show import columns
from .figures import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, YELLOW, new_figure, save
from .paper_tables import Tables, as_section, as_text, machine, seconds

PLANNED, SEGMENTS, VECTOR = "qband planned", "qband segments", ", A x"
PEERS = ("CuPy csr", "cuSPARSE", "MKL csr", "SciPy csr")  #: the first one that a row has is what it is compared with
_THEIRS = {"CuPy csr": "cuSPARSE (CuPy)", "cuSPARSE": "cuSPARSE, reused"}  #: what some are called in the summary
HEADLINE = {"table 2": 5, "table 3": 2}  #: the paper's mean speedups over cuSPARSE


@dataclass(frozen=True)
class Printed:
    """A matrix as tables 2 and 3 print it."""

    name: str
    rows: int
    nnz: int
    outside: int  #: nonzeros beside the bands
    bands: int
    diagonals: int
    occupancy: float
    spread: float | None = None
    percentage: float | None = None


TABLES = {
    "table 2": (
        Printed("fv1", 9604, 85_264, 0, 3, 9, 99.32, 4.08),
        Printed("nasa2146", 2146, 72_250, 0, 3, 45, 76.63, 13.79),
        Printed("epb1", 14_734, 95_053, 0, 3, 11, 58.96, 3.77),
        Printed("af23560", 23_560, 484_000, 0, 5, 33, 62.5, 12.9),
        Printed("crystm03", 24_696, 583_000, 0, 27, 39, 88.8, 689.21),
        Printed("denormal", 89_400, 1_156_000, 0, 5, 13, 99.75, 6.67),
        Printed("pcrystk03", 24_696, 1_751_000, 0, 9, 99, 72.66, 76.53),
        Printed("windscreen", 22_692, 1_482_000, 0, 9, 99, 79.36, 909.68),
        Printed("nemeth21", 9506, 1_173_000, 0, 1, 169, 73.39, 0.0),
    ),
    "table 3": (
        Printed("Sieber", 2290, 15_000, 8_000, 1, 5, 60.02, None, 46.18),
        Printed("Chebyshev3", 4101, 37_000, 16_000, 1, 9, 44.43, None, 55.59),
        Printed("matrix_9", 103_430, 2_000_000, 9_500, 5, 31, 66.73, None, 99.55),
        Printed("PR02R", 161_070, 8_200_000, 61_000, 5, 108, 47.0, None, 99.25),
        Printed("pwtk", 217_918, 11_000_000, 2_100_000, 3, 71, 61.31, None, 81.46),
        Printed("raefsky3", 21_200, 1_500_000, 34_000, 3, 93, 75.48, None, 97.71),
        Printed("af_shell9", 504_855, 18_000_000, 10_000_000, 1, 25, 59.83, None, 42.93),
        Printed("heart1", 3557, 1_400_000, 950_000, 1, 239, 52.32, None, 31.51),
        Printed("trdheim", 22_098, 1_900_000, 1_400_000, 1, 35, 64.88, None, 25.92),
        Printed("cegb2802", 2802, 277_000, 156_000, 1, 67, 65.0, None, 43.73),
    ),
}


def peer(row: dict[str, Any]) -> tuple[str, float] | None:
    """Return whom a row is compared with, and the seconds of that."""
    return next(((name, t) for name in PEERS if (t := row["times"].get(name))), None)


def speedup(row: dict[str, Any], name: str = PLANNED) -> float | None:
    """Return how many times as long the peer takes."""
    ours, theirs = row["times"].get(name), peer(row)
    return theirs[1] / ours if ours and theirs else None


def _tables(report: dict[str, Any]) -> Tables:
    """Yield titles and cells: mean speedups, the matrices, products of two, their stages, products with vectors."""
    yield "How many times as fast, geometric means", list(_means(report))
    yield "Share of the nonzeros in the bands from which on planned products are faster", list(_crossings(report))
    yield "Matrices (the paper's figures in brackets; * stands in for the paper's)", list(_matrices(report))
    yield "C = A A", list(_times(report, ""))
    yield "Stages of one product in qband", list(_stages(report))
    yield "y = A x", list(_times(report, VECTOR))


def _means(report: dict[str, Any]) -> Iterator[list[str]]:
    whom = [name for name in PEERS if any(name in row["times"] for row in report["rows"])]
    over = [(name, other) for other in whom for name in (PLANNED, "qband")]
    said = {PLANNED: "planned", "qband": "in all"}
    yield ["from", "precision", *(f"{said[name]}, over {_THEIRS.get(other, other)}" for name, other in over), "paper"]
    for source, dtype in dict.fromkeys((row["source"], row["dtype"]) for row in report["rows"]):
        rows = [row for row in report["rows"] if (row["source"], row["dtype"]) == (source, dtype)]
        cells = []
        for name, other in over:
            pairs = [(row["times"].get(name), row["times"].get(other)) for row in rows]
            ratios = [theirs / ours for ours, theirs in pairs if ours and theirs]
            cells.append(f"{columns.digits(float(np.exp(np.mean(np.log(ratios)))))}x" if ratios else "")
        yield [source, dtype, *cells, f"{HEADLINE[source]}x" if source in HEADLINE else ""]


def _crossings(report: dict[str, Any]) -> Iterator[list[str]]:
    yield ["rest", "precision", "compared with", "from (%)"]
    rows = [row for row in report["rows"] if row["source"] == "experiment 3"]
    for layout, dtype in dict.fromkeys((row["options"]["layout"], row["dtype"]) for row in rows):
        of = [row for row in rows if (row["options"]["layout"], row["dtype"]) == (layout, dtype)]
        for other in PEERS:
            wins = {
                row["options"]["band_percentage"]: theirs > ours
                for row in of
                if (ours := row["times"].get(PLANNED)) and (theirs := row["times"].get(other))
            }
            if wins:
                start = next((s for s in sorted(wins) if all(won for at, won in wins.items() if at >= s)), None)
                yield [layout, dtype, _THEIRS.get(other, other), "none" if start is None else str(start)]


def _matrices(report: dict[str, Any]) -> Iterator[list[str]]:
    yield ["matrix", "rows", "nonzeros", "bands", "diagonals", "full (%)", "in the bands (%)", "spread (%)"]
    for row in report["rows"]:
        if row["dtype"] != "float32":
            continue
        found, paper = row["properties"], row["paper"] or {}
        yield [
            _name(row),
            f"{row['n']:,}",
            f"{row['nnz']:,}",
            *(_beside(str(found[name]), paper.get(key)) for name, key in _COUNTS.items()),
            *(_beside(f"{found[name]:.2f}", paper.get(key)) for name, key in _SHARES.items()),
        ]


_COUNTS = {"band_count": "bands", "diagonal_count": "diagonals"}
_SHARES = {"band_occupancy": "occupancy", "band_percentage": "percentage", "band_spread": "spread"}


def _beside(ours: str, paper: Any) -> str:
    return ours if paper is None else f"{ours} ({paper})"


def _name(row: dict[str, Any]) -> str:
    return f"{row['source']}, {row['what']}{'*' * row['stands_in']}"


def _columns(report: dict[str, Any], end: str) -> list[str]:
    names = dict.fromkeys(name for row in report["rows"] for name in row["times"])
    return [name for name in names if name.endswith(VECTOR) == bool(end)]


def _times(report: dict[str, Any], end: str) -> Iterator[list[str]]:
    names = _columns(report, end)
    more = [] if end else ["planned vs the peer", "in all"]
    yield ["matrix", "precision", *(name.removesuffix(VECTOR) for name in names), *more]
    for row in report["rows"]:
        ratios = [] if end else [speedup(row), speedup(row, "qband")]
        cells = [seconds(row, name) for name in names]
        yield [_name(row), row["dtype"], *cells, *(f"{columns.digits(r)}x" if r else "" for r in ratios)]


def _stages(report: dict[str, Any]) -> Iterator[list[str]]:
    names = list(dict.fromkeys(name for row in report["rows"] for name in row["stages"]))
    yield ["matrix", "precision", *names]
    for row in report["rows"]:
        cells = (columns.seconds(row["stages"][name]) if name in row["stages"] else "" for name in names)
        yield [_name(row), row["dtype"], *cells]


def _head(report: dict[str, Any]) -> str:
    return machine(report, "float32 and float64")


def text(report: dict[str, Any]) -> str:
    """Return the report as tables for a terminal."""
    return as_text(_head(report), _tables(report))


def markdown(report: dict[str, Any]) -> str:
    """Return the report as Markdown for the docs."""
    return as_section(_head(report), _tables(report))


# ---- picture ------------------------------------------------------------------------------------------------------
def plot_bench(report: dict[str, Any], path: Any) -> Any:
    """Save figures 2 and 3 (c) as a picture: speedup over the share in the bands, and what stages take."""
    figure = new_figure(9.6, 3.6)
    left, right = figure.subplots(1, 2)
    for layout, color in zip(("random", "row_block", "column_block"), (BLUE, ORANGE, GREEN), strict=True):
        for dtype, style in (("float32", ".-"), ("float64", ".:")):
            rows = [
                row for row in report["rows"]
                if row["dtype"] == dtype and row["source"] == "experiment 3" and row["options"]["layout"] == layout
            ]  # fmt: skip
            shares = [row["options"]["band_percentage"] for row in rows]
            left.plot(shares, [speedup(row) or np.nan for row in rows], style, color=color, lw=1,
                      label=f"{layout}, {dtype}")  # fmt: skip
    left.axhline(1, color="black", lw=0.7)
    left.set_xlabel("nonzeros in the bands (%)", fontsize=8)
    whom = ", ".join(dict.fromkeys(found[0] for row in report["rows"] if (found := peer(row))))
    left.set_ylabel(f"times as fast as {whom}, planned", fontsize=8)
    left.legend(fontsize=6, frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.2))
    left.set_ylim(bottom=0)
    rows = [row for row in report["rows"] if row["source"] == "table 3" and row["dtype"] == "float32" and row["stages"]]
    names, below = list(dict.fromkeys(name for row in rows for name in row["stages"])), np.zeros(len(rows))
    for name, color in zip(names, (GREY, SKY, BLUE, ORANGE, GREEN, PURPLE, YELLOW, "black"), strict=False):
        shares = [100 * row["stages"].get(name, 0) / sum(row["stages"].values()) for row in rows]
        right.bar(range(len(rows)), shares, bottom=below, color=color, label=name)
        below = below + shares
    right.set_xticks(range(len(rows)), [row["what"] for row in rows], rotation=45, ha="right", fontsize=7)
    right.set_ylabel("share of the time of a product (%)", fontsize=8)
    if right.get_legend_handles_labels()[0]:
        right.legend(fontsize=6, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    for axes in (left, right):
        axes.tick_params(which="both", labelsize=7)
        axes.spines[["top", "right"]].set_visible(False)
    return save(figure, path)
