"""Drawings of matrices and of their layouts, as SVG: no scripts, text in the colour of the page.

Small matrices are drawn with their values (`_cells`), others by shape and colour, which is here.
"""

from __future__ import annotations

from math import hypot
from typing import TYPE_CHECKING, Any

import numpy as np

from .cells import (
    GREY,
    NAMES,
    SMALL,
    color_of,
    small_matrix,
    small_parts,
    small_rows,
    small_runs,
    small_strips,
    span_color,
    svg,
)

if TYPE_CHECKING:
    from .._matrix.base import SparseArray

_SIDE, _SLIM = 220.0, 40.0  # the sides of the drawing of a large matrix, in pixels: the longer, and at least
_MARKS = 200  # diagonals drawn at most
_SAMPLES = 1 << 20  # entries looked at for a density map
_STRIPS = 80  # entries up to which csr, csc and coo are drawn with their indices


def matrix(a: SparseArray) -> tuple[str, str]:
    """Return the matrix and what to say of it: values where it is small, else lines of diagonals or a density map."""
    (m, n), says = a.shape, ""
    if m == 0 or n == 0:
        return "", ""
    if max(m, n) <= SMALL:
        body, width, height = small_matrix(a)
    else:
        scale = _SIDE / max(m, n)
        width, height = max(_SLIM, n * scale), max(_SLIM, m * scale)
        body, says = a._drawn(width, height)
    return svg(width, height, _frame(width, height) + body, f"matrix, {m} x {n}"), says


def layout(a: SparseArray) -> tuple[str, str]:
    """Return the values as the format stores them, and a line that explains the drawing; nothing for a view."""
    if a._op or 0 in a.shape or a.nnz == 0:
        return "", ""
    return a._drawn_layout(max(a.shape) <= SMALL)


def diagonal_rows(a: Any, small: bool, says: str) -> tuple[str, str]:
    """Draw values that have rows for diagonals."""
    if not small and len(a.values) > _MARKS // 2:
        says += f"; {_MARKS // 2} of {len(a.values)} drawn"
    return small_rows(a) if small else _rows(a), says


def diagonal_runs(a: Any, small: bool) -> tuple[str, str]:
    """Draw values in one strip, a run per diagonal."""
    return small_runs(a) if small else _runs(a), "values, a run per diagonal"


def entry_parts(a: Any, small: bool) -> tuple[str, str]:
    """Draw arrays with an element per entry, and pointers."""
    if small and a.nnz <= _STRIPS:
        return small_strips(a), "the parts, coloured by " + ("column" if a._by_column else "row")
    return part_bars(a)


def _frame(width: float, height: float) -> str:
    return (
        f"<rect x='.5' y='.5' width='{width - 1:.1f}' height='{height - 1:.1f}' fill='none' stroke='currentColor' "
        "stroke-opacity='.6'/>"
    )


def _chosen(count: int, most: int) -> np.ndarray:
    return np.linspace(0, count - 1, min(count, most)).astype(int)


def diagonal_lines(a: Any, width: float, height: float) -> tuple[str, str]:
    """Draw stored diagonals as lines that stay visible where they are thin or short."""
    (m, n), spans, out = a.shape, a._spans(), []
    sx, sy = width / n, height / m
    stroke = max(2.0 if len(spans) <= 30 else 1.2, sx * sy / hypot(sx, sy))  # as wide as the cells: neighbours touch
    for d in _chosen(len(spans), _MARKS).tolist():
        offset, row, length, start = spans[d].tolist()
        x, y = (row + offset + length / 2) * sx, (row + length / 2) * sy
        dx, dy = length * sx / 2, length * sy / 2
        grow = max(1.0, 3 / hypot(dx, dy))
        dx, dy = dx * grow, dy * grow
        x, y = min(max(x, 3.0), width - 3), min(max(y, 3.0), height - 3)  # off the frame
        out.append(
            f"<line x1='{x - dx:.1f}' y1='{y - dy:.1f}' x2='{x + dx:.1f}' y2='{y + dy:.1f}' "
            f"stroke='{span_color(a, d, start, length)}'/>"
        )
    says = f"{_MARKS} of {len(spans)} diagonals drawn" if len(spans) > _MARKS else ""
    return f"<g stroke-width='{stroke:.1f}' stroke-linecap='square'>{''.join(out)}</g>", says


def _sampled(a: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and columns of stored entries: all, or `_SAMPLES` of them."""
    parts = a._matrix.parts()
    count = len(parts["values"])
    at = np.arange(count)
    if count > _SAMPLES:  # one somewhere in each of as many stretches: an even step would see one diagonal only
        at = ((np.arange(_SAMPLES) + np.random.default_rng(0).random(_SAMPLES)) * (count / _SAMPLES)).astype(np.int64)
    if "row" in parts:
        i, j = parts["row"][at], parts["col"][at]
    else:
        i, j = np.searchsorted(parts["indptr"], at, side="right") - 1, parts["indices"][at]
    return (j, i) if a._by_column != bool(a._op & 1) else (i, j)


def density(a: Any, width: float, height: float) -> tuple[str, str]:
    """Draw how full each cell of a coarse grid is, in five shades."""
    cells = 40
    rows, cols = (max(1, round(cells * side / _SIDE)) for side in (height, width))
    i, j = _sampled(a)
    at = i.astype(np.int64) * rows // a.shape[0] * cols + j.astype(np.int64) * cols // a.shape[1]
    counts = np.bincount(at, minlength=rows * cols)
    shades = np.ceil(5 * counts / max(1, counts.max())).astype(int)
    out = ""
    for shade in range(1, 6):
        path = "".join(f"M{k % cols},{k // cols}h1v1h-1z" for k in np.flatnonzero(shades == shade).tolist())
        out += f"<path d='{path}' fill-opacity='{shade / 5:.1f}'/>" if path else ""
    return f"<g fill='{color_of(0)}' transform='scale({width / cols:.3f} {height / rows:.3f})'>{out}</g>", ""


def _rows(a: Any) -> str:
    """Draw the rows of `dia` and `cdm` as bars: the diagonals in their colours, on grey."""
    spans, (count, stride) = a._spans(), a.values.shape
    chosen = _chosen(count, _MARKS // 2)
    pitch = max(1.6, min(14.0, 160 / len(chosen)))
    rank = {r: k for k, r in enumerate(chosen.tolist())}
    height, out = pitch * len(chosen), ""
    for d in np.flatnonzero(np.isin(spans[:, 3] // stride, chosen)).tolist():
        _, _, length, start = spans[d].tolist()
        r, c = divmod(start, stride)
        x, w = c * _SIDE / stride, max(1.0, length * _SIDE / stride)
        out += (
            f"<rect x='{min(x, _SIDE - w):.1f}' y='{rank[r] * pitch:.1f}' width='{w:.1f}' "
            f"height='{pitch * 0.85:.1f}' fill='{span_color(a, d, start, length)}'/>"
        )
    bars = "".join(f"M0,{k * pitch:.1f}h{_SIDE:.0f}v{pitch * 0.85:.1f}h-{_SIDE:.0f}z" for k in range(len(chosen)))
    ground = f"<path class='padding' d='{bars}' fill='{GREY}' fill-opacity='.5'/>"
    return svg(_SIDE, height, ground + out, f"values of {a.format}, {count} rows")


def _runs(a: Any) -> str:
    """Draw the one strip of `hm`, a segment per diagonal in the order of storage."""
    spans = a._spans()
    order = np.argsort(spans[:, 3])[_chosen(len(spans), _MARKS)]
    gap = 1.0 if len(order) <= 50 else 0.0
    edges = np.append(spans[order, 3], a.values.size) * _SIDE / a.values.size
    out = "".join(
        f"<rect x='{min(x, _SIDE - 1):.1f}' width='{max(1.0, end - x - gap):.1f}' height='18' fill='{color_of(d)}'/>"
        for d, x, end in zip(order.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    )
    return svg(_SIDE, 18, out, "values of hm, diagonal after diagonal")


def parts_of(a: Any, small: bool) -> tuple[str, str]:
    """Draw the parts of any format."""
    if small and a._matrix.values.size <= _STRIPS:
        return small_parts(a), "the parts"
    return part_bars(a)


def part_bars(a: Any) -> tuple[str, str]:
    """Draw the parts as bars."""
    parts, out = a.parts(), ""
    most = max(1, *(array.nbytes for array in parts.values()))
    for k, (name, array) in enumerate(parts.items()):
        width = max(1.0, array.nbytes * _SIDE / most)
        out += (
            f"<text x='{NAMES - 6}' y='{k * 20 + 13}' text-anchor='end'>{name}</text>"
            f"<rect x='{NAMES}' y='{k * 20 + 2}' width='{width:.1f}' height='15' fill='{color_of(k)}'/>"
        )
    return svg(NAMES + _SIDE, len(parts) * 20, out, f"parts of {a.format}, bytes to scale"), "bytes to scale"
