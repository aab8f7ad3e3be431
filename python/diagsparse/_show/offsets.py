"""Offsets in drawings: labels at the edge where diagonals begin, and the middle of a matrix with its diagonals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .cells import Cell, cell_size, draw_cells, frame, svg, value_cell

SparseArray: TypeAlias = Any  # a class of the folders above

_LETTER, _LINE = 6, 11  # width of a letter of a label, height of its line
_NAMED = 4  # largest number of diagonals that a label lists individually
_MIDDLE = 9  # number of rows and columns in the drawing of the middle


def edge_labels(
    offsets: Sequence[int], sx: float, sy: float, width: float, corner: int = 0
) -> tuple[str, float, float]:
    """Return labels of the diagonals around a drawing, and the space that they need on the left and on top.

    An element is `sx` wide and `sy` high, and the diagonal `corner` begins in the upper left one. Diagonals above it
    begin at the upper edge, those below at the left edge. Labels that would overlap are merged: ``-1 to 1``, or ``5
    from 3 to 81`` if some of the offsets are missing.
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


class _Group(NamedTuple):
    """Diagonals that share a label, from the corner outwards."""

    first: int
    last: int
    size: int
    few: tuple[int, ...]  # the first few of them, which a label may list

    def joined(self, other: _Group) -> _Group:
        """Return the union with another group further out."""
        return _Group(self.first, other.last, self.size + other.size, (self.few + other.few)[:_NAMED])

    def at(self, corner: int, scale: float) -> float:
        """Return the position of the label along the edge: the middle of the elements where they begin."""
        return (abs(self.first - corner) + abs(self.last - corner) + 1) / 2 * scale

    @property
    def text(self) -> str:
        low, high = sorted((self.first, self.last))
        if self.size < 3 or (self.size <= _NAMED and high - low >= self.size):
            return ", ".join(map(str, sorted(self.few)))
        return f"{low} to {high}" if high - low + 1 == self.size else f"{self.size} from {low} to {high}"


def _merged(offsets: Sequence[int], corner: int, scale: float, room: Callable[[str], float]) -> list[tuple[float, str]]:
    """Return the positions of labels along an edge, from the corner outwards, and their texts."""
    groups: list[_Group] = []
    for k in offsets:
        groups.append(_Group(k, k, 1, (k,)))
        while len(groups) > 1:
            inner, outer = groups[-2:]
            apart = outer.at(corner, scale) - inner.at(corner, scale)
            if apart >= (room(outer.text) + room(inner.text)) / 2:
                break
            groups[-2:] = [inner.joined(outer)]
    return [(group.at(corner, scale), group.text) for group in groups]


def middle(a: SparseArray) -> tuple[str, str]:
    """Return the elements around the middle of the diagonal that is nearest to the main one, and a caption."""
    (m, n), drawn = a.shape, {one.offset: one for one in a._format.drawn_diagonals(a)}
    side = min(_MIDDLE, m, n)
    if not drawn or side < 2:
        return "", ""
    nearest = min(drawn, key=lambda k: (abs(k), k))
    first, last = max(0, -nearest), min(m, n - nearest)  # the rows of this diagonal
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
    on_diagonals = {(i, j) for j, i, _ in placed}
    nonzeros = zip(*(k.tolist() for k in values.nonzero()), strict=True)
    others = [position for position in nonzeros if position not in on_diagonals]
    placed += [(j, i, Cell(value_cell(a, values[i, j].item(), "").lines)) for i, j in others]
    w, h = cell_size([cell for _, _, cell in placed])
    body = draw_cells([(j * w, i * h, cell) for j, i, cell in placed], w, h)
    labels, left, top = edge_labels(inside, w, h, side * w, corner)
    caption = f"the middle: rows {row} to {row + side - 1}, columns {column} to {column + side - 1}"
    body = f"<g transform='translate({left:.0f} {top:.0f})'>{frame(side * w, side * h)}{body}{labels}</g>"
    return svg(left + side * w, top + side * h, body, caption), caption
