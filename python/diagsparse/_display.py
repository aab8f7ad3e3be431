"""How matrices and plans look: one line of text, and in Jupyter a drawing with the table of parts."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ._backend import get_num_threads
from ._memory import human

if TYPE_CHECKING:
    from ._array import SparseArray

_LABEL = 12  # matrices up to this size are drawn with their values
_PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # Okabe and Ito


def operand(a: SparseArray) -> str:
    """Return ``hm_array 5 x 5 float64``."""
    return f"{a.format}_array {a.shape[0]} x {a.shape[1]} {a.dtype}"


def where() -> str:
    """Return ``cpu, 2 threads``."""
    n = get_num_threads()
    return f"cpu, {n} thread{'s' * (n > 1)}"


def diagonals(offsets: Any) -> str:
    """Return ``5 diagonals from -1000 to 1000``."""
    if len(offsets) == 0:
        return "no diagonals"
    if len(offsets) == 1:
        return f"1 diagonal, {offsets[0]}"
    return f"{len(offsets)} diagonals from {min(offsets)} to {max(offsets)}"


def text(a: SparseArray) -> str:
    """Return the one-line repr."""
    view = {0: "", 1: ", transposed view", 2: ", conjugated view", 3: ", adjoint view"}[a._op]
    what = f"{diagonals(a.offsets)}, " if hasattr(a, "offsets") else ""
    return f"<{operand(a)}: {what}{a.nnz} stored, {human(a.nbytes)}, {a.device}{view}>"


def plan(p: Any) -> str:
    """Return the repr of a product's plan."""
    what = f"{diagonals(p.offsets)}, " if len(p.offsets) else ""
    names = f"{p._a.format} x {p._b.format} -> {p.format}: " if p._a is not None else f"{p.format}: "
    return f'<plan {names}{what}{p.nnz} stored, {human(p.nbytes)}, kernel "{p.kernel}", {where()}>'


def html(a: SparseArray) -> str:
    """Return the HTML repr: the line, a drawing of the layout, the table of parts. No scripts."""
    plain = a.copy() if a._op and a.nnz < 1 << 16 else a
    rows = ""
    if not plain._op:
        for name, array in plain.parts().items():
            shape = " x ".join(map(str, array.shape))
            rows += f"<tr><td>{name}</td><td>{shape}</td><td>{array.dtype}</td><td>{human(array.nbytes)}</td></tr>"
    table = (
        "<table style='border-collapse:collapse'><thead><tr><th>part</th><th>shape</th><th>dtype</th>"
        f"<th>bytes</th></tr></thead><tbody>{rows}</tbody></table>"
    )
    return (
        f"<div><code>{escape(text(a))}</code><div style='display:flex;gap:2em;align-items:center;"
        f"flex-wrap:wrap;margin-top:.5em'>{_draw(plain)}{table}</div></div>"
    )


def _draw(a: SparseArray) -> str:
    """Return an SVG of the matrix: values for a small one, else the lines of its diagonals or a density map."""
    m, n = a.shape
    if m == 0 or n == 0:
        return ""
    scale = 220 / max(m, n)
    width, height = max(6.0, n * scale), max(6.0, m * scale)
    frame = f"<rect width='{width:.1f}' height='{height:.1f}' fill='none' stroke='currentColor' stroke-opacity='.5'/>"
    if max(m, n) <= _LABEL:
        body = _cells(a, scale)
    elif hasattr(a, "_spans"):
        body = _lines(a, scale)
    else:
        body = _density(a, width, height)
    return (
        f"<svg width='{width + 2:.0f}' height='{height + 2:.0f}' viewBox='-1 -1 {width + 2:.1f} {height + 2:.1f}' "
        f"font-family='monospace' role='img' aria-label='layout of {a.format}'>{body}{frame}</svg>"
    )


def _color(index: int) -> str:
    return _PALETTE[index % len(_PALETTE)]


def _cells(a: SparseArray, size: float) -> str:
    """Draw every stored element as a cell with its value, coloured by diagonal (diagonal formats) or row."""
    out = []
    if hasattr(a, "_spans"):
        entries = [
            (row + t, row + t + offset, value, d)
            for d, (offset, row, values) in enumerate(a._diagonals())
            for t, value in enumerate(a._seen(values).tolist())
        ]
    else:
        coo = a.to_scipy("coo")
        entries = [(i, j, v, 0) for i, j, v in zip(coo.row.tolist(), coo.col.tolist(), coo.data.tolist(), strict=True)]
    for i, j, value, d in entries:
        x, y = j * size, i * size
        label = escape(f"{value:.3g}")
        font = min(size * 0.45, 1.6 * size / max(1, len(label)))
        out.append(
            f"<rect x='{x:.1f}' y='{y:.1f}' width='{size:.1f}' height='{size:.1f}' fill='{_color(d)}' "
            f"fill-opacity='.25'/><text x='{x + size / 2:.1f}' y='{y + size / 2:.1f}' fill='currentColor' "
            f"font-size='{font:.1f}' text-anchor='middle' dominant-baseline='central'>{label}</text>"
        )
    return "".join(out)


def _lines(a: Any, scale: float) -> str:
    """Draw each stored diagonal as a line (at most 200 of them, evenly chosen)."""
    spans = a._spans()
    chosen = spans[np.linspace(0, len(spans) - 1, min(len(spans), 200)).astype(int)] if len(spans) else spans
    width = max(0.8, min(6.0, scale))
    return "".join(
        f"<line x1='{(row + offset) * scale:.1f}' y1='{row * scale:.1f}' x2='{(row + offset + length) * scale:.1f}' "
        f"y2='{(row + length) * scale:.1f}' stroke='{_color(d)}' stroke-width='{width:.1f}'/>"
        for d, (offset, row, length, _) in enumerate(chosen.tolist())
    )


def _density(a: SparseArray, width: float, height: float) -> str:
    """Draw how full each cell of a coarse grid is."""
    cells = 40
    coo = a.to_scipy("coo")
    rows, cols = (max(1, min(cells, extent)) for extent in a.shape)
    i = coo.row.astype(np.int64) * rows // a.shape[0]
    j = coo.col.astype(np.int64) * cols // a.shape[1]
    counts = np.bincount(i * cols + j, minlength=rows * cols)
    top = max(1, counts.max(initial=0))
    w, h = width / cols, height / rows
    return "".join(
        f"<rect x='{c % cols * w:.1f}' y='{c // cols * h:.1f}' width='{w:.1f}' height='{h:.1f}' "
        f"fill='{_color(0)}' fill-opacity='{0.15 + 0.85 * counts[c] / top:.2f}'/>"
        for c in np.flatnonzero(counts).tolist()
    )
