"""Drawings of halos as SVG, without scripts, with text in the colour of the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from .._backends.memory import human
from .._show.cells import GREY, color_of, svg

Halo: TypeAlias = Any  # of the module above

_NAMES, _BAR, _BYTES = 52, 380, 64  # widths: of the processes on the left, of all of x, of the bytes on the right
_LINE, _TEXT = 16, 13  # height of the line of a process, and of a line of text
_SLIMMEST = 2.5  # width of a range that is too short to be seen at its scale
_MOST = 64  # processes that are drawn


def halos(halos: Sequence[Halo]) -> tuple[str, str]:
    """Return a drawing of the elements of x that each process has and receives, and its caption.

    The first line is all of x, in one colour for each process that has a part of it, if there are not too many of them.
    It is followed by a line for each process: the elements that it has in grey, and those that it receives in the
    colour of the process they come from.
    """
    shown, (_, n) = halos[:_MOST], halos[0].shape if halos else (0, 0)
    if not n:
        return "", ""
    cols = halos[0]._cols
    owners = [cols.range(p) for p in range(cols.processes)] if cols.processes <= _MOST else []  # else too narrow
    top = _TEXT + _LINE + 3
    width, height = _NAMES + _BAR + _BYTES, top + _LINE * len(shown) + 1
    body = [_text(_NAMES - 6, 10, "process"), _text(width, 10, "receives")]
    body.append(f"<text x='{_NAMES + _BAR / 2:g}' y='10'>elements of x, 0 to {n}</text>")
    for p, (first, last) in enumerate(owners):
        if first < last:
            body.append(_rect(first, last, n, _TEXT + 1, color_of(p)))
            if (last - first) / n * _BAR >= 6 * len(str(p)) + 4:  # room for the number
                middle = _NAMES + (first + last) / 2 / n * _BAR
                body.append(f"<text x='{middle:.1f}' y='{_TEXT + 12}' fill='#000' font-weight='bold'>{p}</text>")
    borders = "".join(
        f"M{_NAMES + last / n * _BAR:.1f},{top}V{height}" for first, last in owners if first < last and last < n
    )
    if borders:
        body.append(f"<path d='{borders}' stroke='currentColor' stroke-opacity='.2'/>")
    for line, one in enumerate(shown):
        y = top + line * _LINE
        body.append(_text(_NAMES - 6, y + 11, str(one.process)))
        body.append(_text(width, y + 11, human(one.receive_nbytes)))
        first, last = one.column_range
        body.append(_rect(first, last, n, y, GREY))
        body += [_rect(a, b, n, y, color_of(e.peer)) for e in one.exchanges for a, b in e.receive]
    caption = "grey: elements of x that a process has; colours: those that it receives, by the process they come from"
    if len(halos) > len(shown):
        caption += f"; the first {len(shown)} of {len(halos)} processes"
    return svg(width, height, "".join(body), f"elements of x, 0 to {n}, that each process has and receives"), caption


def _text(x: float, y: float, text: str) -> str:
    return f"<text x='{x:g}' y='{y:g}' text-anchor='end'>{text}</text>"


def _rect(first: int, last: int, n: int, y: float, color: str) -> str:
    """Return a bar for a range of elements; one that is too short to be seen is widened around its middle."""
    if first == last:
        return ""
    width = max(_SLIMMEST, (last - first) / n * _BAR)
    left = _NAMES + min(max(0.0, (first + last) / 2 / n * _BAR - width / 2), _BAR - width)
    return f"<rect x='{left:.1f}' y='{y + 2:g}' width='{width:.1f}' height='{_LINE - 4}' fill='{color}'/>"
