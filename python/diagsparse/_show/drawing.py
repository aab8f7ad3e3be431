"""Drawings of matrices and of their layouts as SVG, without scripts, with text in the colour of the page.

Small matrices are drawn with their values (see `cells`), larger ones by shapes and colours (this module).
"""

from __future__ import annotations

from math import hypot
from typing import Any, TypeAlias

import numpy as np

from .cells import (
    GREY,
    SMALL,
    color_of,
    frame,
    small_matrix,
    small_parts,
    small_rows,
    small_runs,
    small_strips,
    span_color,
    stored_runs,
    svg,
)
from .columns import diagonals
from .offsets import edge_labels, middle

SparseArray: TypeAlias = Any  # a class of the folders above

_SIDE, _SLIM = 220.0, 16.0  # pixels of the longer side of a drawing of a large matrix, and at least of the shorter one
_PALE = " stroke-opacity='.35'"
_MARKS = 200  # largest number of diagonals that are drawn
_LINE = 11  # height of a line of text
_SAMPLES = 1 << 20  # largest number of entries that are sampled for a density map
_STRIPS = 80  # largest number of entries for which csr, csc and coo are drawn with their indices


def matrix(a: SparseArray) -> tuple[str, str]:
    """Return a drawing of the matrix and a caption: values if it is small, otherwise diagonals or a density map."""
    (m, n), caption = a.shape, ""
    if m == 0 or n == 0:
        return "", ""
    if max(m, n) <= SMALL:
        body, width, height = small_matrix(a)
        return svg(width, height, frame(width, height) + body, _title(a)), caption
    scale = _SIDE / max(m, n)
    width, height = max(_SLIM, n * scale), max(_SLIM, m * scale)
    body, caption = a._format.draw(a, width, height)
    offsets = [one.offset for one in a._format.drawn_diagonals(a)]
    pale = "pale: mirror images, not stored" if "stroke-opacity" in body else ""
    caption = "; ".join(filter(None, [caption, pale, _slimmed(width, height)]))
    return labelled(a.shape, offsets, body, width, height, _title(a, offsets)), caption


def _title(a: SparseArray, offsets: list[int] | None = None) -> str:
    """Return the text alternative of the drawing of a matrix."""
    what = f"{diagonals(offsets)}, " if offsets else ""
    return f"matrix, {a.shape[0]} x {a.shape[1]}, {what}{a.nnz} stored"


def _slimmed(width: float, height: float) -> str:
    return "not drawn to scale" if _SLIM in (width, height) else ""


def labelled(shape: tuple[int, int], offsets: list[int], body: str, width: float, height: float, title: str) -> str:
    """Return the drawing of a matrix of this shape, clipped by its frame and surrounded by the diagonals' offsets."""
    m, n = shape
    text, left, top = edge_labels(offsets, width / n, height / m, width)
    inner = f"<svg width='{width:.1f}' height='{height:.1f}' overflow='hidden'>{frame(width, height)}{body}</svg>"
    inner = f"<g transform='translate({left:.0f} {top:.0f})'>{inner}{text}</g>"
    return svg(left + width, top + height, inner, title)


def middle_of(a: SparseArray) -> tuple[str, str]:
    """Return the middle of a matrix that is too large to be drawn with all of its values."""
    return ("", "") if max(a.shape) <= SMALL or 0 in a.shape else middle(a)


def diagonals_of(shape: tuple[int, int], positions: Any, what: str) -> tuple[str, str]:
    """Return a drawing of a matrix of which only the offsets are known, and its caption, which begins with `what`."""
    (m, n), scale = shape, _SIDE / max(shape)
    width, height = max(_SLIM, n * scale), max(_SLIM, m * scale)
    runs = [(k, max(0, -k), min(m, n - k) - max(0, -k)) for k in positions.tolist()]
    body, caption = _lines(shape, [(*run, color_of(d), False) for d, run in enumerate(runs)], width, height)
    caption = "; ".join(filter(None, [what, caption, _slimmed(width, height)]))
    offsets = [k for k, _, _ in runs]
    return labelled(shape, offsets, body, width, height, f"{what}, {m} x {n}, {diagonals(offsets)}"), caption


def layout(a: SparseArray) -> tuple[str, str]:
    """Return a drawing of the values as they are stored, and a caption; empty strings for a view."""
    if a._op or 0 in a.shape or a.nnz == 0:
        return "", ""
    return a._format.draw_layout(a, max(a.shape) <= SMALL)


def diagonal_rows(a: Any, small: bool, caption: str) -> tuple[str, str]:
    """Draw values that are stored in rows of diagonals."""
    if not small and len(a.values) > _MARKS // 2:
        caption += f"; {_MARKS // 2} of {len(a.values)} drawn"
    return small_rows(a) if small else _rows(a), caption


def diagonal_runs(a: Any, small: bool) -> tuple[str, str]:
    """Draw values in one strip, with one run per diagonal."""
    return small_runs(a) if small else _runs(a), "values, diagonal by diagonal"


def entry_parts(a: Any, small: bool) -> tuple[str, str]:
    """Draw arrays with one element per entry, and pointers."""
    if small and a.nnz <= _STRIPS:
        return small_strips(a), "the component arrays, coloured by " + ("column" if a._format.by_column else "row")
    return part_bars(a)


def _chosen(count: int, most: int) -> np.ndarray:
    return np.linspace(0, count - 1, min(count, most)).astype(int)


def diagonal_lines(a: Any, width: float, height: float) -> tuple[str, str]:
    """Draw the stored diagonals as lines that remain visible even if they are thin or short."""
    spans = a._format.spans(a).tolist()
    runs = [
        (k, row, length, one.color, one.pale) for (k, row, length, _), one in zip(spans, a._format.drawn_diagonals(a))
    ]
    return _lines(a.shape, runs, width, height)


def _lines(
    shape: tuple[int, int], runs: list[tuple[int, int, int, str, bool]], width: float, height: float
) -> tuple[str, str]:
    """Draw runs of diagonals, given by offset, first row, length, colour, and whether they are pale."""
    (m, n), out = shape, []
    sx, sy = width / n, height / m
    stroke = max(2.0 if len(runs) <= 30 else 1.2, sx * sy / hypot(sx, sy))  # so that neighbours touch
    for d in _chosen(len(runs), _MARKS).tolist():
        offset, row, length, color, pale = runs[d]
        x, y = (row + offset + length / 2) * sx, (row + length / 2) * sy
        dx, dy = length * sx / 2, length * sy / 2
        grow = max(1.0, 3 / hypot(dx, dy))
        dx, dy = dx * grow, dy * grow
        x, y = min(max(x, 3.0), width - 3), min(max(y, 3.0), height - 3)  # keep a distance from the frame
        out.append(
            f"<line x1='{x - dx:.1f}' y1='{y - dy:.1f}' x2='{x + dx:.1f}' y2='{y + dy:.1f}' "
            f"stroke='{color}'{_PALE * pale}/>"
        )
    caption = f"{_MARKS} of {len(runs)} diagonals drawn" if len(runs) > _MARKS else ""
    return f"<g stroke-width='{stroke:.1f}' stroke-linecap='square'>{''.join(out)}</g>", caption


def _sampled(a: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and columns of all stored entries, or of `_SAMPLES` of them."""
    parts = a._matrix.parts()
    count = len(parts["values"])
    at = np.arange(count)
    if count > _SAMPLES:  # a random one in each of _SAMPLES intervals: a constant step might hit a single diagonal
        at = ((np.arange(_SAMPLES) + np.random.default_rng(0).random(_SAMPLES)) * (count / _SAMPLES)).astype(np.int64)
    if "row" in parts:
        i, j = parts["row"][at], parts["col"][at]
    else:
        i, j = np.searchsorted(parts["indptr"], at, side="right") - 1, parts["indices"][at]
    return (j, i) if a._format.by_column != bool(a._op & 1) else (i, j)


def density(a: Any, width: float, height: float) -> tuple[str, str]:
    """Draw the density of the entries in the cells of a coarse grid, in five shades."""
    cells = 40
    rows, cols = (max(1, round(cells * side / _SIDE)) for side in (height, width))
    i, j = _sampled(a)
    at = i.astype(np.int64) * rows // a.shape[0] * cols + j.astype(np.int64) * cols // a.shape[1]
    counts = np.bincount(at, minlength=rows * cols)
    shades = np.ceil(5 * counts / max(1, counts.max())).astype(int)
    out = ""
    for shade in range(1, 6):
        path = "".join(f"M{k % cols},{k // cols}h1v1h-1z" for k in np.flatnonzero(shades == shade).tolist())
        out += f"<path d='{path}' fill-opacity='{0.25 + 0.15 * shade:.1f}'/>" if path else ""
    return f"<g fill='{color_of(0)}' transform='scale({width / cols:.3f} {height / rows:.3f})'>{out}</g>", ""


def _rows(a: Any) -> str:
    """Draw the rows of `dia` and `cdm` as bars: diagonals in their colours on grey, with labels if they fit."""
    count, stride = a.values.shape
    chosen = _chosen(count, _MARKS // 2)
    pitch = max(1.6, min(14.0, 160 / len(chosen)))
    rank = {r: k for k, r in enumerate(chosen.tolist())}
    height, left, out = pitch * len(chosen), 0, ""
    if pitch >= _LINE:
        names = list(map(str, a.parts()[a._format.labels].tolist()))
        left = 6 * max(map(len, names)) + 8
        for k, name in enumerate(names):
            out += f"<text x='{left - 5}' y='{(k + 0.43) * pitch + 3.5:.1f}' text-anchor='end'>{name}</text>"
    for d, _, length, start in stored_runs(a):
        r, c = divmod(start, stride)
        if r not in rank:
            continue
        x, w = c * _SIDE / stride, max(1.0, length * _SIDE / stride)
        out += (
            f"<rect x='{left + min(x, _SIDE - w):.1f}' y='{rank[r] * pitch:.1f}' width='{w:.1f}' "
            f"height='{pitch * 0.85:.1f}' fill='{span_color(a, d, start, length)}'/>"
        )
    bars = "".join(f"M{left},{k * pitch:.1f}h{_SIDE:.0f}v{pitch * 0.85:.1f}h-{_SIDE:.0f}z" for k in range(len(chosen)))
    ground = f"<path class='padding' d='{bars}' fill='{GREY}' fill-opacity='.5'/>"
    return svg(left + _SIDE, height, ground + out, f"values of {a.format}, {count} rows")


def _runs(a: Any) -> str:
    """Draw the strip of `hm`: one segment per diagonal in the order of storage, below its offset if that fits."""
    runs = sorted(stored_runs(a), key=lambda run: run[3])
    chosen = [runs[k] for k in _chosen(len(runs), _MARKS).tolist()]
    gap, out = 1.0 if len(chosen) <= 50 else 0.0, ""
    edges = [start * _SIDE / a.values.size for _, _, _, start in chosen] + [_SIDE]
    for (d, offset, _, _), x, end in zip(chosen, edges, edges[1:], strict=False):
        w = max(1.0, end - x - gap)
        out += f"<rect x='{min(x, _SIDE - 1):.1f}' y='{_LINE + 3}' width='{w:.1f}' height='18' fill='{color_of(d)}'/>"
        if w > 6 * len(str(offset)) + 2:
            out += f"<text x='{x + w / 2:.1f}' y='{_LINE - 1}'>{offset}</text>"
    return svg(_SIDE, _LINE + 21, out, "values of hm, diagonal after diagonal")


def parts_of(a: Any, small: bool) -> tuple[str, str]:
    """Draw the component arrays of any format."""
    if small and a._matrix.values.size <= _STRIPS:
        return small_parts(a), "the component arrays"
    return part_bars(a)


def part_bars(a: Any) -> tuple[str, str]:
    """Draw the component arrays as bars."""
    parts, out = a.parts(), ""
    most = max(1, *(array.nbytes for array in parts.values()))
    left = 6 * max(map(len, parts)) + 8
    for k, (name, array) in enumerate(parts.items()):
        width = max(1.0, array.nbytes * _SIDE / most)
        out += (
            f"<text x='{left - 5}' y='{k * 20 + 13}' text-anchor='end'>{name}</text>"
            f"<rect x='{left}' y='{k * 20 + 2}' width='{width:.1f}' height='15' fill='{color_of(k)}'/>"
        )
    return svg(left + _SIDE, len(parts) * 20, out, f"parts of {a.format}, bytes to scale"), "bytes to scale"
