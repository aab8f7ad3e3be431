"""The picture of a report on blocks: figures 3.4, 4.4, 4.6 and 4.7 of the thesis, and squares of its nine matrices."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np

from ..pictures import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, YELLOW, Series, curves, label, milliseconds, new_figure
from ..tables import Row, select, speedup, timed
from . import paper_004_columns as names
from .paper_004_columns import FINAL, LARGE, OTHERS, PLANNED, VECTOR, final, kernels, peer

_ACROSS = 3  # panels
_FILLS = ("1", "2", "3-4", "5-8", "9-16", "17-32", "33-63", "64")

Panel = Callable[[Any], None]
"""A function that draws on axes."""


def draw(report: Row) -> Any:
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


def _panels(report: Row) -> list[Panel]:
    single = select(report, dtype="float32")
    panels: list[Panel] = [
        partial(_plot_speedups, report=report, other="csr"),
        partial(_plot_speedups, report=report, other=peer(report, VECTOR)),
        partial(_plot_squares, report=report),
        partial(_plot_sizes, rows=single),
        partial(_plot_fills, rows=single),
    ]
    if "batch" in timed(single, end=VECTOR):
        panels.append(partial(_plot_batch, rows=single))
    large = [row for row in single if final(row) in row["times"] and (row["shape"][0] > LARGE or not row["thesis"])]
    if others := timed(large, OTHERS):
        panels.append(partial(_plot_peers, rows=large, others=others))
    return panels


def _plot_speedups(axes: Any, *, report: Row, other: str) -> None:
    """Figure 4.7: speedup of A x over csr or another library, over the nonzeros per block."""
    for kernel, color in zip(kernels(report, "matvec"), (BLUE, ORANGE, GREEN, PURPLE), strict=False):
        for dtype, face in (("float32", "none"), ("float64", color)):
            rows = select(report, dtype=dtype)
            ratios = [speedup(row, kernel + VECTOR, other + VECTOR) or np.nan for row in rows]
            axes.scatter([row["fill"] for row in rows], ratios, 14, facecolors=face, edgecolors=color, linewidths=0.8,
                         label=f"{kernel}, {dtype}")  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
    label(axes, "nonzeros a block", f"A x: times as fast as {other}", line=1)


def _plot_squares(axes: Any, *, report: Row) -> None:
    rows = [row for row in select(report, dtype="float32") if row["thesis"]]
    default, *others = kernels(report, "matmul")
    shown = [default, *(kernel for kernel in ("baseline", "short_segments", FINAL, "fp16") if kernel in others)]
    styles = {name: (color, "o") for name, color in zip(shown, (BLUE, GREEN, PURPLE, SKY, YELLOW), strict=False)}
    styles |= {name + PLANNED: (color, "^") for name, (color, _) in styles.items()}
    styles |= {f"csr{PLANNED}": (ORANGE, "^"), "csr": (ORANGE, "o"), peer(report): (GREY, "s")}
    positions = {row["what"]: i for i, row in enumerate(rows)}
    series = {name: (milliseconds(name), marker, color) for name, (color, marker) in styles.items()}
    curves(axes, rows, lambda row: positions[row["what"]], series, ms=4)
    if not report["quick"]:
        thesis = [row["thesis"]["sorted_ms"] for row in rows]
        axes.plot(range(len(rows)), thesis, "_", color="black", ms=10, label="thesis (RTX 3090 Ti)")
    label(axes, y="A A in float32 (ms)", log="y")
    axes.set_xticks(range(len(rows)), [names.name(row) for row in rows], rotation=35, ha="right")


def _plot_sizes(axes: Any, *, rows: list[Row]) -> None:
    """Figure 4.4, left: nonzeros and columns over rows."""
    sizes: dict[str, Series] = {
        "nonzeros": (itemgetter("nnz"), "o", BLUE), "columns": (lambda row: row["shape"][1], "o", ORANGE),
    }  # fmt: skip
    curves(axes, rows, lambda row: row["shape"][0], sizes, ms=3.5)
    label(axes, "rows of a matrix", log="xy")


def _plot_fills(axes: Any, *, rows: list[Row]) -> None:
    """Figure 4.4, right: histogram of the nonzeros per block, averaged over all matrices."""
    axes.bar(_FILLS, np.mean([row["blocks_by_fill"] for row in rows], axis=0), color=BLUE)
    axes.set_yscale("log")
    label(axes, "nonzeros of a block", f"blocks, mean of {len(rows)} matrices")


def _plot_batch(axes: Any, *, rows: list[Row]) -> None:
    """Figure 4.6: time of base divided by that of batch, over nonzeros."""
    ratio = partial(speedup, ours=f"batch{VECTOR}", theirs=f"base{VECTOR}")
    curves(axes, rows, itemgetter("nnz"), {"": (ratio, "o", BLUE)}, ms=3.5)
    label(axes, "nonzeros", "A x: time of base over that of batch", log="x", line=1)
    axes.set_ylim(bottom=0)


def _plot_peers(axes: Any, *, rows: list[Row], others: list[str]) -> None:
    """Figure 3.4: speedup of A A over other libraries for large matrices."""
    for other, color in zip(others, (BLUE, ORANGE, GREY), strict=False):
        ratio = partial(speedup, ours=final(rows[0]), theirs=other)
        curves(axes, rows, itemgetter("nnz"), {f"over {other}": (ratio, "o", color)}, ms=3.5)
    label(axes, "nonzeros", f"A A in float32: times as fast, {final(rows[0])}", log="xy", line=1)
