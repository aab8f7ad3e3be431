"""Plots of comparisons, of the structure of a matrix, and of benchmark results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ._backends.docstrings import completed_by
from ._show import columns
from ._study.figures import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, YELLOW, logarithmic, new_figure, save
from ._study.plot_roofline import draw_roofline, roofline_inches
from ._study.plot_structure import draw_entries, draw_nothing, draw_occupancy, draw_row_lengths
from ._study.titles import TITLES, label

__all__ = ["plot_bench", "plot_comparisons", "plot_rooflines", "plot_structure", "set_up_cases"]

_WIDTH, _WIDTHS = 15.0, (1.0, 1.0, 0.5, 0.95)  # of a picture in inches, and the relative widths of its panels
_ROOFLINE = 10.0  # width of a roofline in inches
_WIDE = 40.0  # largest ratio of the slowest to the fastest time on a linear axis
_UNITS = ((1e-6, "us"), (1e-3, "ms"), (1.0, "s"))
_documented = completed_by("""
Parameters
----------
path : str or path
    The suffix determines the kind of file: `.png` (150 dpi), `.svg`, `.pdf`.

Returns
-------
Path
    The path of the file.

Raises
------
ImportError
    If matplotlib is not installed.
""")


# ---- comparisons --------------------------------------------------------------------------------------------------
@_documented
def plot_comparisons(comparisons: Sequence[Any], path: str | Path) -> Path:
    """Plot comparisons: for each of them the times of both operations, the entries, and the diagonals.

    Parameters
    ----------
    comparisons : list of Comparison
    """
    bars = [max([3, *(len(c.of(op)) for op in TITLES)]) for c in comparisons]
    figure = new_figure(_WIDTH, sum(1.6 + 0.27 * n for n in bars))
    rows = figure.subfigures(len(comparisons), 1, height_ratios=[1.6 + 0.27 * n for n in bars], squeeze=False)
    for c, row in zip(comparisons, rows[:, 0]):
        _head(row, c)
        *times, entries, diagonals = row.subplots(1, 4, width_ratios=_WIDTHS)
        for axes, op in zip(times, TITLES):
            _draw_times(axes, c, op)
        draw_entries(entries, c.structure)
        draw_occupancy(diagonals, c.structure, 0.8 * _WIDTH * _WIDTHS[-1] / sum(_WIDTHS))
    return save(figure, path)


@_documented
def plot_rooflines(comparisons: Sequence[Any], path: str | Path) -> Path:
    """Plot rooflines of comparisons: flops per second over flops per byte, below the limit of the memory bandwidth.

    Each point is a format and a kernel. The flops are the useful ones, two for each multiply-add in csr. The bytes are
    those that have to be moved at least.

    Parameters
    ----------
    comparisons : list of Comparison
    """
    heights = [roofline_inches(c) for c in comparisons]
    figure = new_figure(_ROOFLINE, sum(heights))
    parts = figure.subfigures(len(comparisons), 1, height_ratios=heights, squeeze=False)
    for c, part in zip(comparisons, parts[:, 0]):
        _head(part, c)
        draw_roofline(part.subplots(), c)
    return save(figure, path)


PLOTS = {"bars": plot_comparisons, "roofline": plot_rooflines}  #: what `Comparison.plot` draws, by `kind=`


def _head(part: Any, c: Any) -> None:
    """Write a title above a part of a picture: the matrix and the device."""
    title = f"{c.name}: {c.shape[0]} x {c.shape[1]}, {c.nnz} nonzeros, {c.dtype}  ({c._where()})"
    part.suptitle(title, fontsize=10, fontweight="bold", x=0.01, ha="left")


def _draw_times(axes: Any, c: Any, op: str) -> None:
    """Draw a bar for each format and kernel, the fastest on top, with the floor of each as a line."""
    rows = c.of(op)
    axes.set_title(TITLES[op], fontsize=10, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    if not rows:
        reasons = [s.reason for s in c.skipped if s.op == op] or ["not run"]
        draw_nothing(axes, reasons[0])
        return
    scale, unit = _unit(rows[-1].seconds)
    positions = np.arange(len(rows))[::-1]
    colors = [BLUE if row.ours else GREY for row in rows]
    axes.barh(positions, [row.seconds / scale for row in rows], color=colors, height=0.7)
    most = 1.5 * rows[-1].seconds / scale  # marks beyond this would squeeze the bars and are replaced by arrows
    for position, row in zip(positions, rows):
        floor = min(most, row.floor_nbytes / c.bandwidth / scale)
        if floor < most:
            axes.plot([floor, floor], [position - 0.35, position + 0.35], color=ORANGE, lw=2, solid_capstyle="butt")
        else:
            axes.plot(most, position, color=ORANGE, marker=">", markersize=4)
        text = f" {columns.seconds(row.seconds)}   {columns.digits(row.ratio)}x"
        left = max(row.seconds / scale, floor * (row.fraction > 1 and floor < most))
        axes.text(left, position, text, va="center", fontsize=8)
    reach = max(rows[-1].seconds / scale, *(min(most, row.floor_nbytes / c.bandwidth / scale) for row in rows))
    left, right = 0.0, 1.42 * reach
    # Short bars would be invisible, for example those of a GPU next to a CPU.
    if rows[-1].seconds > _WIDE * rows[0].seconds:
        left = min(min(row.seconds, row.floor_nbytes / c.bandwidth) for row in rows) / scale / 2
        right = reach * (reach / left) ** 0.4
        logarithmic(axes, "x")
    axes.text(
        left, positions[-1] - 0.75, "| time to read the bytes once from memory", fontsize=7, color=ORANGE, va="center"
    )
    axes.set_yticks(positions, [f"{row.format} {row.kernel}" for row in rows], fontsize=8)
    axes.set_xlim(left, right)
    axes.set_ylim(-1.0, len(rows) - 0.4)
    axes.set_xlabel(f"time of one call ({unit}), and how many times as fast as SciPy's csr", fontsize=8)
    axes.tick_params(labelsize=8, length=0, axis="y")
    axes.tick_params(labelsize=8, axis="x")


def _unit(seconds: float) -> tuple[float, str]:
    return next(((scale, unit) for scale, unit in _UNITS if seconds < 1000 * scale), _UNITS[-1])


# ---- one matrix ---------------------------------------------------------------------------------------------------
@_documented
def plot_structure(s: Any, path: str | Path) -> Path:
    """Plot the structure of a matrix: the positions of its entries, how full its diagonals are, and its row lengths.

    Parameters
    ----------
    s : Structure
        The result of `analyze`.
    """
    widths = (0.6, 1.2, 0.7)
    figure = new_figure(11.0, 3.6)
    entries, diagonals, rows = figure.subplots(1, 3, width_ratios=widths)
    draw_entries(entries, s)
    draw_occupancy(diagonals, s, 0.8 * 11.0 * widths[1] / sum(widths))
    draw_row_lengths(rows, s)
    return save(figure, path)


# ---- benchmark ----------------------------------------------------------------------------------------------------
_MARKS_OF = {  # label: colour, marker
    "hm": (BLUE, "o"), "dia": (SKY, "s"), "cdm": (GREEN, "^"), "csr": (PURPLE, "D"), "csc": (PURPLE, "v"),
    "coo": (PURPLE, "."), "ell": (GREEN, "P"), "hyb": (GREEN, "X"), "sell": (GREEN, "p"),
    "jds": (GREEN, "*"), "ellcsr": (GREEN, "D"), "coosr": (PURPLE, "1"), "coosc": (PURPLE, "2"), "csb": (PURPLE, "P"),
    "qband": (SKY, "D"), "mdia": (ORANGE, "^"), "bmsparse": (ORANGE, "s"),
    "hm planned": (ORANGE, "*"),
    "hm sequential": (BLUE, "x"), "SciPy dia": (GREY, "s"), "SciPy csr": (GREY, "D"), "MKL csr": (YELLOW, "D"),
}  # fmt: skip


@_documented
def plot_bench(report: dict[str, Any], path: str | Path) -> Path:
    """Plot benchmark results: the speed of each contender, compared with the memory bandwidth of this machine.

    There is a panel for each number of threads, and a line for each case. The speed is in bytes per
    second. For all contenders of a case, it refers to the bytes of the format that needs the fewest,
    so distances are ratios of times. Small cases, whose times consist mostly of the overhead of a
    call, are shown in separate panels.

    Parameters
    ----------
    report : dict
        The results of `diagsparse bench`, as in its JSON file.
    """
    rows = report["rows"]
    large = [row for row in rows if row["fraction"] is not None]
    small = [row for row in rows if row["fraction"] is None]
    panels: list[tuple[list[dict[str, Any]], int]] = [
        ([row for row in part if row["threads"] == count], count)
        for part in (large, small)
        for count in dict.fromkeys(row["threads"] for row in part)
    ]
    heights = [1.0 + 0.32 * len({row["case"] for row in part}) for part in (large, small) if part]
    columns = max(1, len(panels) // max(1, len(heights)))
    figure = new_figure(6.2 * columns, sum(heights) + 0.7)
    grid = figure.subplots(len(heights), columns, squeeze=False, height_ratios=heights)
    for axes, (part, count) in zip(grid.flat, panels):
        _draw_cases(axes, part, count)
    handles = {name: handle for axes in grid.flat for handle, name in zip(*axes.get_legend_handles_labels())}
    across = min(len(handles), 6 * columns)
    figure.legend(handles.values(), handles, loc="outside upper center", ncols=across, fontsize=8, frameon=False)
    return save(figure, path)


def _draw_cases(axes: Any, rows: list[dict[str, Any]], threads: int) -> None:
    names = list(dict.fromkeys(row["case"] for row in rows))
    large = rows[0]["fraction"] is not None
    least = {name: min(row["floor_nbytes"] for row in rows if row["case"] == name) for name in names}
    for name in dict.fromkeys(map(label, rows)):
        color, marker = _MARKS_OF.get(name, (GREY, "."))
        mine = [row for row in rows if label(row) == name]
        values = [least[row["case"]] / row["seconds"] / 1e9 if large else row["seconds"] * 1e6 for row in mine]
        positions = [-names.index(row["case"]) for row in mine]
        axes.plot(values, positions, marker, color=color, label=name, ms=8 if marker == "*" else 6, alpha=0.9)
    title = f"{threads} thread{'s' * (threads > 1)}"
    if large:
        for position, name in enumerate(names):
            row = next(row for row in rows if row["case"] == name)
            for key, style in (("read_bandwidth", "-"), ("read_bandwidth_same_size", ":")):
                axes.plot([row[key] / 1e9] * 2, [-position - 0.4, -position + 0.4], style, color="black", lw=1.2)
        title += "   (lines: reads from memory; dotted: from an array of this size)"
    axes.set_title(title, fontsize=8.5, loc="left")
    set_up_cases(axes, names, "fewest bytes of any format / time (GB/s)" if large else "time of one call (us)")


def set_up_cases(axes: Any, names: Sequence[str], label: str) -> None:
    """Set up axes with a line for each case, from 0 downwards, and a logarithmic scale with this label."""
    logarithmic(axes, "x")
    axes.set_yticks([-i for i in range(len(names))], names, fontsize=8)
    axes.set_ylim(-len(names) + 0.4, 0.6)
    axes.grid(axis="y", color="#eeeeee")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel(label, fontsize=8)
    axes.tick_params(labelsize=8)
