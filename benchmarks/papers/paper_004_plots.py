"""The picture of a report on blocks: figures 3.4, 4.4, 4.6 and 4.7 of the thesis, and squares of its nine matrices."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from diagsparse._study.figures import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, YELLOW, logarithmic, new_figure

from ..tables import speedup
from .paper_004_columns import (
    CSR,
    CUPY,
    FINAL,
    LARGE,
    MKL,
    MKL_BSR,
    PLANNED,
    VECTOR,
    Row,
    final,
    kernels,
    peer,
)

_ACROSS = 3  # panels
_FILLS = ("1", "2", "3-4", "5-8", "9-16", "17-32", "33-63", "64")

Panel = Callable[[Any], None]
"""A function that draws on axes."""


def draw(report: dict[str, Any]) -> Any:
    """Draw the figures for which the report contains times, as one picture."""
    panels = _panels(report)
    down = -(-len(panels) // _ACROSS)
    figure = new_figure(13.0, 3.8 * down)
    axes = list(figure.subplots(down, _ACROSS, width_ratios=(1, 1, 1.35), squeeze=False).flat)
    for ax, draw in zip(axes, panels, strict=False):
        draw(ax)
        if ax.get_legend_handles_labels()[0]:
            outside = {"loc": "center left", "bbox_to_anchor": (1, 0.5)} if draw is panels[2] else {}
            ax.legend(fontsize=6.5, **outside)
    for ax in axes[len(panels) :]:
        ax.set_visible(False)
    return figure


def _panels(report: dict[str, Any]) -> list[Panel]:
    single = [row for row in report["rows"] if row["dtype"] == "float32"]
    panels: list[Panel] = [
        partial(_plot_speedups, report=report, other=CSR),
        partial(_plot_speedups, report=report, other=peer(report, VECTOR)),
        partial(_plot_squares, report=report),
        partial(_plot_sizes, rows=single),
        partial(_plot_fills, rows=single),
    ]
    if any(f"batch{VECTOR}" in row["times"] for row in single):
        panels.append(partial(_plot_batch, rows=single))
    large = [row for row in single if final(row) in row["times"] and (row["shape"][0] > LARGE or not row["thesis"])]
    if others := [name for name in (MKL, MKL_BSR, CUPY) if any(name in row["times"] for row in large)]:
        panels.append(partial(_plot_peers, rows=large, others=others))
    return panels


def _plot_speedups(axes: Any, *, report: dict[str, Any], other: str) -> None:
    """Figure 4.7: speedup of A x over csr or another library, over the nonzeros per block."""
    for kernel, color in zip(kernels(report, "matvec"), (BLUE, ORANGE, GREEN, PURPLE), strict=False):
        for dtype, face in (("float32", "none"), ("float64", color)):
            rows = [row for row in report["rows"] if row["dtype"] == dtype]
            ratios = [speedup(row, kernel + VECTOR, other + VECTOR) or np.nan for row in rows]
            axes.scatter([row["fill"] for row in rows], ratios, 14, facecolors=face, edgecolors=color, linewidths=0.8,
                         label=f"{kernel}, {dtype}")  # fmt: skip
    axes.axhline(1, color="black", lw=0.7)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
    axes.set_xlabel("nonzeros a block")
    axes.set_ylabel(f"A x: times as fast as {other}")


def _plot_squares(axes: Any, *, report: dict[str, Any]) -> None:
    rows = [row for row in report["rows"] if row["thesis"] and row["dtype"] == "float32"]
    all_of_them = kernels(report, "matmul")
    shown = all_of_them[:1] + [
        kernel for kernel in ("baseline", "short_segments", FINAL, "fp16") if kernel in all_of_them
    ]
    others = [f"{CSR}{PLANNED}", CSR, peer(report)]
    styles = {name: (color, "o") for name, color in zip(shown, (BLUE, GREEN, PURPLE, SKY, YELLOW), strict=False)}
    styles |= {name + PLANNED: (color, "^") for name, (color, _) in styles.items()}
    styles |= dict(zip(others, ((ORANGE, "^"), (ORANGE, "o"), (GREY, "s")), strict=True))
    for name, (color, marker) in styles.items():
        times = [1e3 * (row["times"].get(name) or np.nan) for row in rows]
        axes.plot(range(len(rows)), times, marker, color=color, ms=4, label=name)
    if not report["quick"]:
        thesis = [row["thesis"]["sorted_ms"] for row in rows]
        axes.plot(range(len(rows)), thesis, "_", color="black", ms=10, label="thesis (RTX 3090 Ti)")
    logarithmic(axes, "y")
    names = [f"{row['what']}{'*' * row['stands_in']}" for row in rows]
    axes.set_xticks(range(len(rows)), names, rotation=35, ha="right")
    axes.set_ylabel("A A in float32 (ms)")


def _plot_sizes(axes: Any, *, rows: list[Row]) -> None:
    """Figure 4.4, left: nonzeros and columns over rows."""
    for what, values, color in (
        ("nonzeros", [row["nnz"] for row in rows], BLUE), ("columns", [row["shape"][1] for row in rows], ORANGE),
    ):  # fmt: skip
        axes.plot([row["shape"][0] for row in rows], values, "o", color=color, ms=3.5, label=what)
    logarithmic(axes, "x")
    logarithmic(axes, "y")
    axes.set_xlabel("rows of a matrix")


def _plot_fills(axes: Any, *, rows: list[Row]) -> None:
    """Figure 4.4, right: histogram of the nonzeros per block, averaged over all matrices."""
    means = np.mean([row["blocks_by_fill"] for row in rows], axis=0)
    axes.bar(_FILLS, means, color=BLUE)
    axes.set_yscale("log")
    axes.set_xlabel("nonzeros of a block")
    axes.set_ylabel(f"blocks, mean of {len(rows)} matrices")


def _plot_batch(axes: Any, *, rows: list[Row]) -> None:
    """Figure 4.6: time of base divided by that of batch, over nonzeros."""
    ratios = [speedup(row, f"batch{VECTOR}", f"base{VECTOR}") or np.nan for row in rows]
    axes.plot([row["nnz"] for row in rows], ratios, "o", color=BLUE, ms=3.5)
    axes.axhline(1, color="black", lw=0.7)
    logarithmic(axes, "x")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("nonzeros")
    axes.set_ylabel("A x: time of base over that of batch")


def _plot_peers(axes: Any, *, rows: list[Row], others: list[str]) -> None:
    """Figure 3.4: speedup of A A over other libraries for large matrices."""
    for other, color in zip(others, (BLUE, ORANGE, GREY), strict=False):
        ratios = [speedup(row, final(row), other) or np.nan for row in rows]
        axes.plot([row["nnz"] for row in rows], ratios, "o", color=color, ms=3.5, label=f"over {other}")
    axes.axhline(1, color="black", lw=0.7)
    logarithmic(axes, "x")
    logarithmic(axes, "y")
    axes.set_xlabel("nonzeros")
    axes.set_ylabel(f"A A in float32: times as fast, {final(rows[0])}")
