"""Drawings of halos as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from .._show.cells import GREY, color_of, svg

Halo: TypeAlias = Any  # of the module above

_WIDTH, _LINE, _NAMES = 420, 14, 52
_MOST = 64  # processes that are drawn


def halos(halos: Sequence[Halo]) -> tuple[str, str]:
    """Return a drawing with a line for each process, and its caption: the elements of x that it has and receives."""
    shown, (_, n) = halos[:_MOST], halos[0].shape if halos else (0, 0)
    if not n:
        return "", ""
    width = _WIDTH - _NAMES
    body = []
    for line, one in enumerate(shown):
        y = line * _LINE
        body.append(f"<text x='{_NAMES - 6}' y='{y + 10}' text-anchor='end'>{one.process}</text>")
        bars = [(one.column_range, GREY)]
        bars += [(part, color_of(e.peer)) for e in one.exchanges for part in e.receive]
        for (first, last), color in bars:
            length = max(1.0, (last - first) / n * width)
            left = min(_NAMES + first / n * width, _WIDTH - length)
            body.append(f"<rect x='{left:.1f}' y='{y + 2}' width='{length:.1f}' height='{_LINE - 4}' fill='{color}'/>")
    caption = "elements of x of each process (grey) and those that it receives, coloured by the process that has them"
    if len(halos) > len(shown):
        caption += f"; the first {len(shown)} of {len(halos)} processes"
    return svg(_WIDTH, _LINE * len(shown), "".join(body), "halo"), caption
