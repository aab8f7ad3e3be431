"""The style of all pictures: colours, figures without a display, logarithmic axes, and saving."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import log10
from pathlib import Path
from typing import Any

# The palette of Okabe and Ito, which is suitable for colour-blind readers; in print, the markers help.
BLUE, ORANGE, GREEN, PURPLE, YELLOW, SKY, GREY = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#9a9a9a",
)  # fmt: skip
_MISSING = 'pictures need matplotlib: pip install "diagsparse[cli]"'
_STYLE: Any = {
    "font.size": 8, "axes.labelsize": 8, "axes.titlesize": 9, "xtick.labelsize": 7, "ytick.labelsize": 7,
    "legend.fontsize": 7, "legend.frameon": False, "axes.spines.top": False, "axes.spines.right": False,
    "lines.linewidth": 1,
}  # fmt: skip
_ROOMY = 2.2  # largest number of decades on a logarithmic axis for which 2 and 5 are labelled as well


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure of this size in inches."""
    try:
        from matplotlib.figure import Figure  # without pyplot, which needs a display and has global state
    except ImportError as error:
        raise ImportError(_MISSING) from error
    return Figure(figsize=(width, height), layout="constrained")


@contextmanager
def styled() -> Iterator[None]:
    """Within a ``with`` block, use a small font, and no frames around axes and legends."""
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError(_MISSING) from error
    with matplotlib.rc_context(_STYLE):
        yield


def save(figure: Any, path: str | Path) -> Path:
    """Save a figure, and return its path."""
    path = Path(path)
    figure.savefig(path, dpi=150)
    return path


def logarithmic(axes: Any, which: str) -> None:
    """Use a logarithmic scale for the axis "x" or "y", with plain numbers: 0.1, 1, 10, and 2 and 5 if they fit."""
    axes.set(**{f"{which}scale": "log"})
    axis = getattr(axes, f"{which}axis")

    def between(value: float, at: int | None) -> str:
        low, high = axis.get_view_interval()
        roomy = log10(high / low) < _ROOMY
        return f"{value:g}" if roomy and f"{value:.0e}"[0] in "25" else ""

    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(between)
