"""How matrices and plans look: one line of text, and in Jupyter a drawing with the table of parts."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from .._places.backend import CPU, get_num_threads
from .._places.memory import SMALL, human
from . import drawing

if TYPE_CHECKING:
    from .._matrix.base import SparseArray

# A notebook and a bare page show the table alike; the selectors outrank the notebook's own.
_STYLE = (
    "<style>.diagsparse table{border-collapse:collapse;margin:0}.diagsparse table th,.diagsparse table td"
    "{padding:.1em .6em;text-align:right;white-space:nowrap}.diagsparse table :first-child{text-align:left}</style>"
)


def operand(a: SparseArray) -> str:
    """Return ``hm_array 5 x 5 float64``."""
    return f"{a.format}_array {a.shape[0]} x {a.shape[1]} {a.dtype}"


def where(a: SparseArray) -> str:
    """Return ``cpu, 2 threads``, or the GPU."""
    if a._place is not CPU:
        return a.device
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
    return f"<{operand(a)}: {a._told()}{a.nnz} stored, {human(a.nbytes)}, {a.device}{view}>"


def plan(p: Any) -> str:
    """Return the repr of a product's plan."""
    what = f"{diagonals(p.offsets)}, " if len(p.offsets) else ""
    names = f"{p._a.format} x {p._b.format} -> {p.format}: " if p._a is not None else f"{p.format}: "
    return f'<plan {names}{what}{p.nnz} stored, {human(p.nbytes)}, kernel "{p.kernel}", {where(p._a)}>'


def html(a: SparseArray) -> str:
    """Return the HTML repr: the line, drawings of the matrix and of its layout, the table of parts. No scripts."""
    drawings = "".join(
        f"<div>{drawing}<div style='font-size:85%;opacity:.75;max-width:32em'>{escape(says)}</div></div>"
        for drawing, says in _drawings(a)
        if drawing
    )
    return (
        f"<div class='diagsparse'>{_STYLE}<code>{escape(text(a))}</code><div style='display:flex;flex-wrap:wrap;"
        f"gap:1em 2em;align-items:flex-start;margin-top:.5em'>{drawings}{_parts(a)}</div></div>"
    )


def _drawings(a: SparseArray) -> list[tuple[str, str]]:
    """Return the drawings and what to say of them; none where it takes long to bring to the host or unpack."""
    if a._place is not CPU:
        if a.nbytes > SMALL:
            return []
        a = a.to("cpu")
    if a._packed:  # the matrix in full, where that is quickly made; its layout is not the one that is stored
        nbytes = a._forecast(a._summary())
        return [drawing.matrix(a.unpacked())] if nbytes <= SMALL else []
    return [drawing.matrix(a), drawing.layout(a)]


def _parts(a: SparseArray) -> str:
    """Return the table of parts."""
    if a._op:
        return "<div>view: no parts of its own</div>"
    rows = ""
    for name, array in a.parts().items():
        shape = " x ".join(map(str, array.shape))
        rows += f"<tr><td>{name}</td><td>{shape}</td><td>{array.dtype}</td><td>{human(array.nbytes)}</td></tr>"
    head = "".join(f"<th>{title}</th>" for title in ("part", "shape", "dtype", "bytes"))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
