"""What all pictures share: the colours, figures without a display, and how they are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

# Okabe and Ito: told apart by colour-blind readers; in print the markers help.
BLUE, ORANGE, GREEN, PURPLE, YELLOW, SKY, GREY = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#9a9a9a",
)  # fmt: skip


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure of this size in inches."""
    try:
        from matplotlib.figure import Figure  # no pyplot: no display is asked for, no state is left
    except ImportError as error:
        raise ImportError('pictures need matplotlib: pip install "diagsparse[cli]"') from error
    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Any, path: str | Path) -> Path:
    """Write a figure and return where."""
    path = Path(path)
    figure.savefig(path, dpi=150)
    return path
