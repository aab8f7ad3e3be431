"""Drawings of small matrices as SVG, with their values in cells; also the frame and the colours of all drawings.

A diagonal (a row in `csr` and `coo`, a column in `csc`) has the same colour in every drawing. Grey is stored memory
without meaning: the padding of `dia`, and the part of a row of `cdm` that holds only zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple, TypeAlias

import numpy as np

SparseArray: TypeAlias = Any  # a class of the folders above

SMALL = 12  # matrices up to this size are drawn with their values
GREY = "#888888"
NAMES = 52  # width that is reserved for the names on the left of a strip
_PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # Okabe and Ito
_SCANNED = 1 << 24  # largest number of values that are searched for diagonals of zeros
_FONT, _LETTER = 10, 6  # height and width of a letter
_LINE = 420  # strips longer than this continue on the next line


class Cell(NamedTuple):
    """A cell: lines of text and a fill colour.

    Without a fill there is only text. Grey without text is padding. Pale cells are not stored themselves.
    """

    lines: tuple[str, ...] = ()
    color: str | None = None
    pale: bool = False


class Drawn(NamedTuple):
    """A diagonal in a drawing; pale if it is the mirror image of a stored one."""

    offset: int
    color: str
    pale: bool


_PADDING = Cell((), GREY)


def svg(width: float, height: float, body: str, label: str) -> str:
    """Return a drawing that is clipped at its borders; `label` is its text alternative."""
    return (
        f"<svg width='{width:.0f}' height='{height:.0f}' viewBox='0 0 {width:.0f} {height:.0f}' role='img' "
        f"aria-label='{escape(label)}' style='overflow:hidden;max-width:100%;height:auto' font-family='monospace' "
        f"font-size='{_FONT}' text-anchor='middle' fill='currentColor'>{body}</svg>"
    )


def frame(width: float, height: float) -> str:
    """Return the frame of a matrix."""
    return (
        f"<rect x='.5' y='.5' width='{width - 1:.1f}' height='{height - 1:.1f}' fill='none' stroke='currentColor' "
        "stroke-opacity='.6'/>"
    )


def color_of(index: int) -> str:
    """Return the colour of the diagonal, row or column with this index."""
    return _PALETTE[index % len(_PALETTE)]


def stored_runs(a: Any) -> list[tuple[int, int, int, int]]:
    """Return (diagonal, offset, length, start) of each run of values, once for two diagonals that share it."""
    spans, most = a._format.spans(a).tolist(), a.period or max(a.shape)
    owner = {start: d for d, (_, _, _, start) in enumerate(spans)}  # of two mirror images the upper one
    return [
        (d, offset, min(length, most), start) for d, (offset, _, length, start) in enumerate(spans) if owner[start] == d
    ]


def drawn_diagonals(a: Any) -> list[Drawn]:
    """Return how diagonals are drawn, ascending: mirror images are pale, in the colour of the stored diagonal."""
    runs = stored_runs(a)
    color, own = {start: span_color(a, d, start, length) for d, _, length, start in runs}, {d for d, *_ in runs}
    return [Drawn(k, color[start], d not in own) for d, (k, _, _, start) in enumerate(a._format.spans(a).tolist())]


def span_color(a: Any, d: int, start: int, length: int) -> str:
    """Return the colour of diagonal `d`: grey if it consists of the zeros that pad a row shared with another one."""
    flat = a._matrix.values.reshape(-1)
    zero = a._format.shares_rows and flat.size <= _SCANNED and not flat[start : start + length].any()
    return GREY if zero else color_of(d)


def _number(value: float, room: int, sign: str = "") -> str:
    """Return a number with as many digits as fit into `room` characters, but at least one."""
    for digits in range(room, 0, -1):
        mantissa, _, exponent = f"{value:{sign}.{digits}g}".partition("e")
        written = f"{mantissa}e{int(exponent)}" if exponent else mantissa
        if len(written) <= room:
            break
    return written


def value_cell(a: SparseArray, value: complex, color: str) -> Cell:
    """Return the cell of a value; the imaginary part has a line of its own."""
    room = 7 if max(a.shape) <= 6 else 6 if max(a.shape) <= 9 else 5
    lines: tuple[str, ...] = (_number(value.real, room),)
    if value.imag != 0:
        lines += (_number(value.imag, room, "+") + "j",)
    return Cell(lines, color)


def cell_size(cells: Sequence[Cell]) -> tuple[int, int]:
    """Return the width and height of cells that fit the longest line and the largest number of lines."""
    longest = max((len(line) for cell in cells for line in cell.lines), default=1)
    return max(22, _LETTER * longest + 6), 20 + 9 * (max((len(cell.lines) for cell in cells), default=1) > 1)


def draw_cells(placed: Sequence[tuple[int, int, Cell]], w: int, h: int) -> str:
    """Draw cells at their positions: one path per colour, then the text."""
    fills: dict[tuple[str, bool], str] = {}
    padding = texts = ""
    for x, y, (lines, color, pale) in placed:
        if color == GREY and not lines:
            padding += f"<rect x='{x}' y='{y}' width='{w}' height='{h}'/>"
        elif color:
            fills[color, pale] = fills.get((color, pale), "") + f"M{x},{y}h{w}v{h}h-{w}z"
        for k, line in enumerate(lines):
            down = y + h / 2 + 3.5 + (k - (len(lines) - 1) / 2) * (_FONT + 1)
            texts += f"<text x='{x + w / 2:g}' y='{down:g}'>{escape(line)}</text>"
    if padding:
        padding = f"<g class='padding' fill='{GREY}' fill-opacity='.6'>{padding}</g>"
    paths = "".join(
        f"<path d='{path}' fill='{color}' fill-opacity='{'.15' if pale else '.4'}'/>"
        for (color, pale), path in fills.items()
    )
    return f"<g stroke='currentColor' stroke-opacity='.25'>{padding}{paths}</g>{texts}"


def of_diagonals(a: Any) -> list[tuple[int, int, Cell]]:
    """Return (row, column, cell) of all stored elements, in the colours of the diagonals."""
    drawn = {one.offset: one for one in a._format.drawn_diagonals(a)}
    return [
        (row + t, row + t + offset, Cell(value_cell(a, value, drawn[offset].color).lines, *drawn[offset][1:]))
        for offset, row, values in a._format.diagonals(a)
        for t, value in enumerate(a._format.apply_conjugation(a, values).tolist())
    ]


def of_entries(a: Any) -> list[tuple[int, int, Cell]]:
    """Return (row, column, cell) of all stored elements, in the colours of the rows or columns."""
    coo = a.to_scipy("coo")
    by_column = a._format.by_column != bool(a._op & 1)
    triplets = zip(coo.row.tolist(), coo.col.tolist(), coo.data.tolist(), strict=True)
    return [(i, j, value_cell(a, value, color_of(j if by_column else i))) for i, j, value in triplets]


def _strip(
    tracks: Sequence[tuple[str, Sequence[Cell]]],
    size: tuple[int, int],
    top: int,
    marks: Sequence[int] = (),
    room: int = NAMES,
) -> tuple[str, int, int]:
    """Draw named arrays of the same length below each other, wrapped together; `marks` are drawn as boundaries.

    The names use a width of `room` on the left. Return the drawing, its width, and the position of its lower end.
    """
    (w, h), length, y = size, len(tracks[0][1]), top
    per_line = max(SMALL + 1, (_LINE - room) // w)
    placed, drawn = [], ""
    for begin in range(0, length, per_line):
        for name, cells in tracks:
            drawn += f"<text x='{room - 6}' y='{y + h / 2 + 3.5:g}' text-anchor='end'>{escape(name)}</text>"
            placed += [(room + k * w, y, cell) for k, cell in enumerate(cells[begin : begin + per_line])]
            y += h
        for x in (room + (mark - begin) * w for mark in marks if begin <= mark < begin + per_line):
            drawn += f"<path d='M{x},{y}v-{h}' stroke='currentColor' stroke-width='2'/>"
        y += 8
    return draw_cells(placed, w, h) + drawn, room + min(length, per_line) * w + 1, y


def small_matrix(a: Any) -> tuple[str, float, float]:
    """Draw all stored elements at their positions in the matrix; return the drawing, its width and height."""
    entries = a._format.draw_cells(a)
    w, h = cell_size([cell for _, _, cell in entries])
    body = draw_cells([(j * w, i * h, cell) for i, j, cell in entries], w, h)
    return body, float(a.shape[1] * w), float(a.shape[0] * h)


def small_rows(a: Any) -> str:
    """Draw the rows of `dia` and `cdm`, including the slots that no diagonal fills."""
    parts = a.parts()
    values, stride = parts["values"], parts["values"].shape[1]
    slots = [[_PADDING] * stride for _ in values]
    for d, _, length, start in stored_runs(a):
        r, c = divmod(start, stride)
        color = span_color(a, d, start, length)
        slots[r][c : c + length] = [value_cell(a, value, color) for value in values[r, c : c + length].tolist()]
    tracks = [(str(label), row) for label, row in zip(parts[a._format.labels].tolist(), slots, strict=True)]
    size = cell_size([cell for row in slots for cell in row])
    title = f"<text x='{NAMES - 6}' y='12' text-anchor='end'>{a._format.labels}</text>"
    body, width, height = _strip(tracks, size, 17)
    return svg(width, height, title + body, f"values of {a.format}, row by row")


def small_runs(a: Any) -> str:
    """Draw the strip of `hm`, each run below the offset of its diagonal."""
    values, names, starts = [], [], []
    flat = a.values.reshape(-1)
    for d, offset, length, start in sorted(stored_runs(a), key=lambda run: run[3]):
        starts.append(start)
        names += [Cell((str(offset),))] + [Cell()] * (length - 1)
        values += [value_cell(a, value, color_of(d)) for value in flat[start : start + length].tolist()]
    tracks, size = [("offsets", names), ("values", values)], cell_size(values)
    body, width, height = _strip(tracks, size, 0, starts)
    return svg(width, height, body, "values of hm, diagonal after diagonal")


def small_parts(a: Any) -> str:
    """Draw the component arrays of any format, 2-D arrays row by row."""
    drawn, width, height, size = "", 0, 0, (0, 0)
    room = max(NAMES, _LETTER * max(len(name) + 3 * (part.ndim == 2) for name, part in a.parts().items()) + 8)
    for name, part in a.parts().items():
        rows = [(f"{name}[{k}]", row) for k, row in enumerate(part)] if part.ndim == 2 else [(name, part)]
        cell_of = (lambda v: value_cell(a, v, color_of(0))) if "values" in name else (lambda v: Cell((str(v),)))
        tracks = [(title, [cell_of(v) for v in row.tolist()]) for title, row in rows]
        if not tracks or not tracks[0][1]:
            continue
        size = size if any(size) else cell_size([cell for _, row in tracks for cell in row])
        body, wide, height = _strip(tracks, size, height, room=room)
        drawn, width = drawn + body, max(width, wide)
    return svg(width, height, drawn, f"parts of {a.format}")


def small_strips(a: Any) -> str:
    """Draw the component arrays of `csr`, `csc` and `coo`: those with one element per entry, then the pointers."""
    parts = a.parts()
    pointers = parts.get("indptr")
    lines = parts["row"] if pointers is None else np.repeat(np.arange(len(pointers) - 1), np.diff(pointers))
    colors = [color_of(line) for line in lines.tolist()]
    values = [value_cell(a, value, color) for value, color in zip(parts["values"].tolist(), colors, strict=True)]
    tracks = [("values", values)] + [
        (name, [Cell((str(k),), color) for k, color in zip(array.tolist(), colors, strict=True)])
        for name, array in parts.items()
        if name not in ("values", "indptr")
    ]
    size = cell_size(values)
    body, width, height = _strip(tracks, size, 0)
    if pointers is not None:
        last = len(pointers) - 1
        cells = [Cell((str(p),), color_of(k) if k < last else None) for k, p in enumerate(pointers.tolist())]
        more, wide, height = _strip([("indptr", cells)], (size[0], 20), height)
        body, width = body + more, max(width, wide)
    return svg(width, height, body, f"parts of {a.format}")
