"""Offsets in drawings: at the edge where each diagonal begins, and the diagonals of the middle one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .cells import Cell, cell_size, draw_cells, frame, svg, value_cell

if TYPE_CHECKING:
    from .._matrix.base import SparseArray

_LETTER, _LINE = 6, 11  # width of a letter of a label, height of its line
_MIDDLE = 9  # rows and columns of the middle that are drawn one by one


def edge_labels(
    offsets: Sequence[int], sx: float, sy: float, width: float, corner: int = 0
) -> tuple[str, float, float]:
    """Return labels of the diagonals around a drawing, and the room that they take on the left and on top.

    A place is `sx` wide and `sy` high, and the diagonal `corner` begins in the upper left one. Those above it begin at
    the upper edge, those below at the left. Labels without room of their own are one: ``-1 to 1``, or ``5 from 3 to
    81`` where offsets between are missing.
    """
    above, below = [k for k in offsets if k >= corner], [k for k in offsets if k < corner][::-1]
    top = _merged(above, corner, sx, lambda text: _LETTER * len(text) + 6)
    side = _merged(below, corner, sy, lambda text: _LINE)
    left = max((_LETTER * len(text) + 8 for _, text in side), default=0)
    drawn = "".join(f"<text x='-5' y='{max(at, 4) + 3.5:.1f}' text-anchor='end'>{text}</text>" for at, text in side)
    for at, text in top:
        room = _LETTER * len(text) / 2
        at = max(min(at, width - room), room - left)
        drawn += f"<text x='{at:.1f}' y='-4'>{text}</text>"
    return f"<g>{drawn}</g>" if drawn else "", float(left), float(_LINE + 4 if top else 0)


def _merged(offsets: Sequence[int], corner: int, scale: float, room: Callable[[str], float]) -> list[tuple[float, str]]:
    """Return where labels stand along an edge, from the corner outwards, and what they say."""
    groups: list[list[int]] = []
    for k in offsets:
        groups.append([k])
        while len(groups) > 1:
            apart = _at(groups[-1], corner, scale) - _at(groups[-2], corner, scale)
            if apart >= (room(_said(groups[-1])) + room(_said(groups[-2]))) / 2:
                break
            groups[-2:] = [groups[-2] + groups[-1]]
    return [(_at(group, corner, scale), _said(group)) for group in groups]


def _at(group: list[int], corner: int, scale: float) -> float:
    """Return where the middle of a group of diagonals begins; of one alone the middle of its place."""
    return (abs(group[0] - corner) + abs(group[-1] - corner) + 1) / 2 * scale


def _said(group: list[int]) -> str:
    low, high = min(group), max(group)
    if len(group) < 3 or (len(group) <= 4 and high - low >= len(group)):
        return ", ".join(map(str, sorted(group)))
    return f"{low} to {high}" if high - low + 1 == len(group) else f"{len(group)} from {low} to {high}"


def middle(a: SparseArray) -> tuple[str, str]:
    """Return the places around the middle of the diagonal that is nearest to the main one, and a line that says so."""
    (m, n), drawn = a.shape, {one.offset: one for one in a._drawn_diagonals()}
    side = min(_MIDDLE, m, n)
    if not drawn or side < 2:
        return "", ""
    nearest = min(drawn, key=lambda k: (abs(k), k))
    first, last = max(0, -nearest), min(m, n - nearest)  # the rows that it crosses
    row = min(max((first + last - side) // 2, 0), m - side)
    column = min(max(row + nearest, 0), n - side)
    values, corner = np.asarray(a[row : row + side, column : column + side].toarray()), column - row
    inside = [k for k in sorted(drawn) if -side < k - corner < side]
    placed = []
    for one in (drawn[k] for k in inside):
        shift = one.offset - corner
        for i in range(max(0, -shift), min(side, side - shift)):
            value = values[i, i + shift].item()
            lines = value_cell(a, value, one.color).lines if value != 0 else ()
            placed.append((i + shift, i, Cell(lines, one.color, one.pale)))
    taken = {(i, j) for j, i, _ in placed}
    others = [(i, j) for i, j in zip(*(k.tolist() for k in values.nonzero()), strict=True) if (i, j) not in taken]
    placed += [(j, i, Cell(value_cell(a, values[i, j].item(), "").lines)) for i, j in others]
    w, h = cell_size([cell for _, _, cell in placed])
    body = draw_cells([(j * w, i * h, cell) for j, i, cell in placed], w, h)
    labels, left, top = edge_labels(inside, w, h, side * w, corner)
    told = f"the middle: rows {row} to {row + side - 1}, columns {column} to {column + side - 1}"
    body = f"<g transform='translate({left:.0f} {top:.0f})'>{frame(side * w, side * h)}{body}{labels}</g>"
    return svg(left + side * w, top + side * h, body, told), told
