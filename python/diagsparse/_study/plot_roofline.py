"""The roofline of a comparison: flops per second over flops per byte, with the limit by the memory bandwidth."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10
from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression

from .._show import columns
from .figures import BLUE, GREEN, GREY, logarithmic
from .plot_structure import draw_nothing
from .titles import TITLES

_STYLES = {"matvec": ("o", BLUE), "matmul": ("s", GREEN)}  #: operation: marker, and colour of diagsparse
_SIDES = {"matvec": (0.17, "right", 1.0), "matmul": (0.83, "left", 0.0)}  #: position, alignment, start of the lines
_AROUND = 0.6  # space for labels on each side of the points, relative to their width
_LINE, _OUTSIDE = 0.155, 1.5  # height of a label, and of the space outside of the axes, in inches


def roofline_inches(c: Any) -> float:
    """Return the height of a picture with enough space for the labels of a comparison."""
    return max(5.0, _OUTSIDE + _LINE * max(len(c.of(op)) for op in TITLES))


def draw_roofline(axes: Any, c: Any) -> None:
    """Draw a point for each row, with labels of matvec on the left and of matmul on the right."""
    rows = {op: [row for row in c.of(op) if row.work] for op in TITLES}
    points = [_point(row) for op in TITLES for row in rows[op]]
    axes.spines[["top", "right"]].set_visible(False)
    if not points:
        draw_nothing(axes, "no multiply-adds")
        return
    roof = c.bandwidth / 1e9
    (left, low), (right, high) = np.min(points, axis=0), np.max(points, axis=0)
    room = max(right / left, 4.0) ** _AROUND
    reach = left / room**0.25, right * room**0.25
    logarithmic(axes, "x")
    logarithmic(axes, "y")
    axes.set_xlim(left / room, right * room)
    axes.set_ylim(min(low, reach[0] * roof) / 1.3, max(high, reach[1] * roof) * 1.3)
    limit = f"memory, {columns.digits(roof)} GB/s; above it caches serve"
    axes.plot(reach, [roof * x for x in reach], color="black", lw=1.2, label=limit)
    for op, title in TITLES.items():
        marker, color = _STYLES[op]
        for who, shade, mine in ((title, color, True), (f"{title}, other libraries", GREY, False)):
            some = [_point(row) for row in rows[op] if row.ours == mine]
            if some:
                axes.plot(*zip(*some), marker, color=shade, label=who, ms=6, alpha=0.9, zorder=3)
        _label(axes, rows[op], op, _LINE / (roofline_inches(c) - _OUTSIDE))
    axes.set_xlabel("useful flops / fewest bytes that the product moves in this format", fontsize=8)
    axes.set_ylabel("useful GFLOP/s: two for each multiply-add of csr", fontsize=8)
    axes.tick_params(which="both", labelsize=8)
    axes.figure.legend(loc="outside lower center", ncols=5, fontsize=8, frameon=False)


def _point(row: Any) -> tuple[float, float]:
    """Return flops per byte, and GFLOP/s."""
    return 2 * row.work / row.floor_nbytes, 2 * row.work / row.seconds / 1e9


def _label(axes: Any, rows: Sequence[Any], op: str, apart: float) -> None:
    """Write the names of the rows in a column, each as close to the height of its point as the others allow."""
    low, high = map(log10, axes.get_ylim())
    rows = sorted(rows, key=lambda row: _point(row)[1])
    heights = np.array([(log10(_point(row)[1]) - low) / (high - low) for row in rows])
    steps = apart * np.arange(len(rows))
    free = max(0.0, 1 - apart * len(rows))
    positions = np.clip(isotonic_regression(heights - steps).x, 0, free) + steps + apart / 2
    at, align, end = _SIDES[op]
    for row, position in zip(rows, positions):
        color = _STYLES[op][1] if row.ours else GREY
        line = {"arrowstyle": "-", "color": color, "lw": 0.5, "alpha": 0.6, "relpos": (end, 0.5), "shrinkB": 3}
        axes.annotate(
            f"{row.format} {row.kernel}", _point(row), (at, position), textcoords="axes fraction", fontsize=8,
            ha=align, va="center", color="black" if row.ours else GREY, arrowprops=line,
        )  # fmt: skip
