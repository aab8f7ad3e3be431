"""The representation of matrices and plans: one line of text, and in Jupyter drawings and a table of arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, TypeAlias

from .._backends.backend import CPU, get_num_threads
from .._backends.memory import SMALL, human
from . import drawing
from .cells import GREY, color_of, svg
from .columns import counted, diagonals, seconds

SparseArray: TypeAlias = Any  # a class of the folders above

# A notebook and a plain page show the same table; the selectors are more specific than those of the notebook.
_STYLE = (
    "<style>.diagsparse table{border-collapse:collapse;margin:0}.diagsparse table th,.diagsparse table td"
    "{padding:.1em .6em;text-align:right;white-space:nowrap}.diagsparse tr :first-child{text-align:left}"
    ".diagsparse tbody th{font-weight:normal}.diagsparse figure{margin:0}"
    ".diagsparse figcaption{font-size:85%;opacity:.75;max-width:32em}"
    ".diagsparse .wide{overflow-x:auto;max-width:100%}</style>"
)


def operand(a: SparseArray) -> str:
    """Return ``hm_array 5 x 5 float64``."""
    return f"{a.format}_array {a.shape[0]} x {a.shape[1]} {a.dtype}"


def where(a: SparseArray) -> str:
    """Return ``cpu, 2 threads``, or the GPU."""
    if a._backend is not CPU:
        return a.device
    return f"cpu, {counted(get_num_threads(), 'thread')}"


def text(a: SparseArray) -> str:
    """Return the one-line repr."""
    view = {0: "", 1: ", transposed view", 2: ", conjugated view", 3: ", adjoint view"}[a._op]
    stored = _stored(a) or "the index arrays were modified and are invalid"
    return f"<{operand(a)}: {stored}, {a.device}{view}>"


def _stored(a: SparseArray) -> str | None:
    """Return the description of the layout and ``13 stored, 184 B``; None if the index arrays are invalid."""
    try:
        return f"{a._format.description(a)}{a.nnz} stored, {human(a.nbytes)}"
    except ValueError:  # the user has modified them
        return None


_VIEWS = ("", ".T", ".conj()", ".H")  # by the bits of `_op`: 1 transposed, 2 conjugated


def plan(p: Any) -> str:
    """Return the repr of the plan of a product."""
    what = f"{diagonals(p.offsets)}, " if len(p.offsets) else ""
    factors = (f"{x.format}{_VIEWS[x._op]}" for x in (p._a, p._b) if x is not None)
    names = f"{' x '.join(factors)} -> {p.format}: "
    return f'<plan {names}{what}{p.nnz} stored, {human(p.nbytes)}, kernel "{p.kernel}", {where(p._a)}>'


# ---- HTML ---------------------------------------------------------------------------------------------------------
def page(line: str, drawings: Iterable[tuple[str, str]], *more: str) -> str:
    """Return the HTML of an object: its line, drawings with captions, then tables; without scripts."""
    drawn = "".join(
        f"<figure>{one}<figcaption>{escape(caption)}</figcaption></figure>" for one, caption in drawings if one
    )
    return (
        f"<div class='diagsparse'>{_STYLE}<code>{escape(line)}</code><div style='display:flex;flex-wrap:wrap;"
        f"gap:1em 2em;align-items:flex-start;margin-top:.5em'>{drawn}{''.join(more)}</div></div>"
    )


class Html(str):
    """A cell of a table that already is HTML."""


def bar(fraction: float, grey: bool = False) -> Html:
    """Return a horizontal bar of up to 100 pixels."""
    color = GREY if grey else color_of(0)
    rect = f"<rect width='{max(1.0, 100 * fraction):.0f}' height='10' fill='{color}'/>"
    return Html(svg(100, 10, rect, f"{100 * fraction:.0f} % of the longest bar"))


def lines(text: Sequence[str]) -> str:
    """Return lines of text that span the width of the page."""
    return "<div style='flex-basis:100%'>" + "<br/>".join(map(escape, text)) + "</div>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table with text in the first column, which names the row, and numbers in the others."""
    body = "".join(
        f"<tr>{_cell('th', row[0], 'row')}{''.join(_cell('td', one) for one in row[1:])}</tr>" for row in rows
    )
    titles = "".join(_cell("th", title, "col") if title else "<td></td>" for title in head)
    first = f"<thead><tr>{titles}</tr></thead>" if any(head) else ""
    return f"<div class='wide'><table>{first}<tbody>{body}</tbody></table></div>"


def _cell(tag: str, content: str, scope: str = "") -> str:
    """Return a cell, or the header of a row or column, which screen readers repeat in front of its cells."""
    start = f"{tag} scope='{scope}'" if scope else tag
    return f"<{start}>{content if isinstance(content, Html) else escape(content)}</{tag}>"


def parts_table(parts: Mapping[str, Any]) -> str:
    """Return a table of the arrays."""
    return table(
        ("array", "shape", "dtype", "bytes"),
        ((name, sides(part.shape), str(part.dtype), human(part.nbytes)) for name, part in parts.items()),
    )


def sides(shape: tuple[int, ...]) -> str:
    """Return ``3 x 4``."""
    return " x ".join(map(str, shape))


def html(a: SparseArray) -> str:
    """Return the HTML repr: the line, drawings of the matrix, its middle and its layout, and the table of arrays.

    If the index arrays are invalid, return the line only.
    """
    if _stored(a) is None:
        return page(text(a), [])
    parts = "<div>A view has no component arrays of its own.</div>" if a._op else parts_table(a.parts())
    return page(text(a), drawings(a), parts)


def drawings(a: SparseArray) -> list[tuple[str, str]]:
    """Return the drawings and their captions; none if copying to the host or unpacking would take long."""
    if a._backend is not CPU:
        if a.nbytes > SMALL:
            return []
        a = a.to("cpu")
    if a._packed and a._format.nbytes(a._summary()) > SMALL:
        return [drawing.layout(a)]
    return [drawing.matrix(a), drawing.middle_of(a), drawing.layout(a)]


def plan_html(p: Any) -> str:
    """Return the HTML of the plan of a product: the line, the diagonals of the result, the operands, the bytes."""
    operands = [] if p._a is None else [("A", p._a), ("B", p._b)]
    rows = [(name, x.format, sides(x.shape), str(x.nnz), human(x.nbytes)) for name, x in operands]
    rows += [("C", p.format, sides(p.shape), str(p.nnz), human(p.nbytes))]
    rows += [("workspace", "", "", "", human(p.workspace_nbytes))]
    drawn = [drawing.diagonals_of(p.shape, p.offsets, "the result")] if len(p.offsets) else []
    return page(plan(p), drawn, table(("", "format", "shape", "stored", "bytes"), rows))


def matvec_plan_html(p: Any) -> str:
    """Return the HTML of a plan of products with vectors: the line, the matrix, and the bytes that a product moves."""
    a, itemsize = p.matrix, p.matrix.dtype.itemsize
    rows = [("A", operand(a), human(a.nbytes))]
    rows += [(name, f"vector of {n}", human(n * itemsize)) for name, n in (("x", a.shape[1]), ("y", a.shape[0]))]
    rows += [("one product", "", human(p.nbytes))]
    return page(repr(p), drawings(a)[:2], table(("", "", "bytes"), rows))


def factors_html(f: Any) -> str:
    """Return the HTML of a factorization: the line, and how it was computed."""
    rows = [
        ("shift", f"{f.sigma}"),
        ("method", f.method),
        ("bytes", human(f.nbytes)),
        ("computed in", seconds(f.seconds)),
    ]
    return page(repr(f), [], table(("", ""), rows))


def batch_html(b: Any) -> str:
    """Return the HTML of a batch: the line, its first member, and the arrays of all members."""
    if not b.count:
        return page(repr(b), [], parts_table({"values": b.values}))
    first = [(one, "; ".join(filter(None, ["member 0", caption]))) for one, caption in drawings(b[0])[:2]]
    return page(repr(b), first, parts_table({**b[0].parts(), "values": b.values}))
