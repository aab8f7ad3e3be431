"""Pictures of all experiments: axes with their labels, and curves of the columns of a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from diagsparse._study.figures import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, YELLOW, logarithmic, new_figure

from .tables import Row

__all__ = ["BLUE", "GREEN", "GREY", "ORANGE", "PURPLE", "SKY", "YELLOW", "new_figure"]  # for the experiments

Value = Callable[[Row], float | None]
Series = tuple[Value, str, str]  #: the value of a row, the style of markers and lines as in matplotlib, and the color


def label(axes: Any, x: str = "", y: str = "", *, title: str = "", log: str = "", line: float | None = None) -> None:
    """Set the labels and the title of axes, make axes ``log`` logarithmic ("x", "y", "xy"), and draw a black line."""
    axes.set(xlabel=x, ylabel=y, title=title)
    for axis in log:
        logarithmic(axes, axis)
    if line is not None:
        axes.axhline(line, color="black", lw=0.7)


def curves(
    axes: Any, rows: Iterable[Row], x: Value, series: Mapping[str, tuple[Value, str, str]], **style: Any
) -> None:
    """Draw curves over `x`, with gaps where a value is missing.

    `series` are those of the labels, and `style` are further options of all of them.
    """
    rows = list(rows)
    for name, (y, form, color) in series.items():
        values = [np.nan if (value := y(row)) is None else value for row in rows]
        if not np.isnan(values).all():
            axes.plot([x(row) for row in rows], values, form, color=color, label=name or None, **style)


def milliseconds(name: str) -> Value:
    """Return a function that returns the milliseconds of a column, or None."""
    return lambda row: 1e3 * t if (t := row["times"].get(name)) else None


def legend(figure: Any, where: str, columns: int = 1) -> None:
    """Draw one legend for all axes of a figure."""
    handles = {name: one for axes in figure.axes for one, name in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles, loc=where, ncols=columns)
