"""The levels of multigrid as a table and as a picture."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._backends.backend import CPU, Backend
from .._show.columns import seconds
from .._show.display import human
from .hierarchy import Hierarchy
from .levels import CoarsestLevel, Level

_REPEATS = 3


@dataclass(frozen=True)
class LevelReport:
    """One level of a `Multigrid`.

    Attributes
    ----------
    shape : tuple of int
        Grid points along each axis.
    diagonals : int
        Number of diagonals of the matrix.
    coarsened : tuple of bool
        Which axes have half as many points on the next level.
    nbytes : int
        Bytes of the matrix, the interpolation and the vectors.
    """

    shape: tuple[int, ...]
    diagonals: int
    coarsened: tuple[bool, ...]
    nbytes: int

    @property
    def points(self) -> str:
        """``300 x 400``."""
        return " x ".join(map(str, self.shape))


def level_times(hierarchy: Hierarchy, backend: Backend) -> list[float]:
    """Return the seconds of one visit to each level, without those below: the shortest of some."""
    levels = hierarchy.levels
    return [min(_visit(levels, i, backend) for _ in range(_REPEATS)) for i in range(len(levels))]


def _visit(levels: list[Level], i: int, backend: Backend) -> float:
    level, began = levels[i], _now(backend)
    if isinstance(level, CoarsestLevel):
        level.solve()
    else:
        level.descend(levels[i + 1])
        level.ascend(levels[i + 1])
    return _now(backend) - began


def _now(backend: Backend) -> float:
    """Return the time, after all work on the device has finished."""
    if backend is not CPU:
        backend.core.synchronize(backend.index)
    return time.perf_counter()


def table(levels: list[LevelReport], times: list[float]) -> list[str]:
    """Return the lines of a table."""
    rows = ["level  points                  diagonals     bytes      time  coarsened axes"]
    for i, (level, spent) in enumerate(zip(levels, times, strict=True)):
        axes = ", ".join(str(axis) for axis, half in enumerate(level.coarsened) if half)
        axes = "none: inverted" if i == len(levels) - 1 else axes
        size = human(level.nbytes)
        rows.append(f"{i:5}  {level.points:22}  {level.diagonals:9}  {size:>8}  {seconds(spent):>8}  {axes}")
    return rows


def plot(levels: list[LevelReport], times: list[float], title: str, path: str | Path) -> Path:
    """Save a picture with a bar for each level, as long as a visit takes."""
    from .._study.figures import BLUE, new_figure, save, styled

    with styled():
        figure = new_figure(6.0, 1.2 + 0.3 * len(levels))
        axes: Any = figure.add_subplot()
        milliseconds = [1e3 * one for one in times]
        axes.barh(range(len(levels)), milliseconds, color=BLUE)
        for i, (level, spent) in enumerate(zip(levels, times, strict=True)):
            label = f" {seconds(spent)}, {level.diagonals} diagonals, {human(level.nbytes)}"
            axes.text(milliseconds[i], i, label, va="center", fontsize=7)
        axes.set_yticks(range(len(levels)), [level.points for level in levels])
        axes.invert_yaxis()
        axes.set_xlim(0, 1.8 * max(milliseconds))
        axes.set_xlabel("milliseconds for one visit: smoothing, residual, transfers")
        axes.set_title(title)
        return save(figure, path)
