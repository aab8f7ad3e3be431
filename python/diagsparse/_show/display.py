"""How matrices and plans look: one line of text, and in Jupyter a drawing with the table of parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, TypeAlias

from .._backends.backend import CPU, get_num_threads
from .._backends.memory import SMALL, human
from . import drawing
from .cells import GREY, color_of, svg
from .columns import seconds

SparseArray: TypeAlias = Any  # a class of the folders above

# A notebook and a bare page show the table alike; the selectors outrank the notebook's own.
_STYLE = (
    "<style>.diagsparse table{border-collapse:collapse;margin:0}.diagsparse table th,.diagsparse table td"
    "{padding:.1em .6em;text-align:right;white-space:nowrap}.diagsparse tr :first-child{text-align:left}</style>"
)


def operand(a: SparseArray) -> str:
    """Return ``hm_array 5 x 5 float64``."""
    return f"{a.format}_array {a.shape[0]} x {a.shape[1]} {a.dtype}"


def where(a: SparseArray) -> str:
    """Return ``cpu, 2 threads``, or the GPU."""
    if a._backend is not CPU:
        return a.device
    return f"cpu, {counted(get_num_threads(), 'thread')}"


def counted(count: int, noun: str) -> str:
    """Return ``1 diagonal``, ``2 diagonals``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


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
    stored = _stored(a) or "the index arrays were modified and are invalid"
    return f"<{operand(a)}: {stored}, {a.device}{view}>"


def _stored(a: SparseArray) -> str | None:
    """Return ``13 stored, 184 B``, after what there is to say of the layout; None if index arrays are invalid."""
    try:
        return f"{a._format.description(a)}{a.nnz} stored, {human(a.nbytes)}"
    except ValueError:  # a user wrote to them
        return None


_VIEWS = ("", ".T", ".conj()", ".H")  # by the core's bits: 1 transposed, 2 conjugated


def plan(p: Any) -> str:
    """Return the repr of a product's plan."""
    what = f"{diagonals(p.offsets)}, " if len(p.offsets) else ""
    factors = (f"{x.format}{_VIEWS[x._op]}" for x in (p._a, p._b) if x is not None)
    names = f"{' x '.join(factors)} -> {p.format}: "
    return f'<plan {names}{what}{p.nnz} stored, {human(p.nbytes)}, kernel "{p.kernel}", {where(p._a)}>'


# ---- HTML ---------------------------------------------------------------------------------------------------------
def page(line: str, drawings: Iterable[tuple[str, str]], *more: str) -> str:
    """Return what every object shows: its line, drawings with what they say, then tables and the like. No scripts."""
    drawn = "".join(
        f"<div>{one}<div style='font-size:85%;opacity:.75;max-width:32em'>{escape(says)}</div></div>"
        for one, says in drawings
        if one
    )
    return (
        f"<div class='diagsparse'>{_STYLE}<code>{escape(line)}</code><div style='display:flex;flex-wrap:wrap;"
        f"gap:1em 2em;align-items:flex-start;margin-top:.5em'>{drawn}{''.join(more)}</div></div>"
    )


class Html(str):
    """A cell of a table that is HTML already."""


def bar(share: float, grey: bool = False) -> Html:
    """Return a bar of up to a hundred pixels."""
    color = GREY if grey else color_of(0)
    rect = f"<rect width='{max(1.0, 100 * share):.0f}' height='10' fill='{color}'/>"
    return Html(svg(100, 10, rect, f"{share:.2f}"))


def lines(told: Sequence[str]) -> str:
    """Return lines of text, one under the other, the whole width of a page."""
    return "<div style='flex-basis:100%'>" + "<br/>".join(map(escape, told)) + "</div>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table: text in the first column, numbers in the others."""
    body = "".join(
        f"<tr>{''.join(f'<td>{cell if isinstance(cell, Html) else escape(cell)}</td>' for cell in row)}</tr>"
        for row in rows
    )
    titles = "".join(f"<th>{escape(title)}</th>" for title in head)
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"


def parts_table(parts: Mapping[str, Any]) -> str:
    """Return the table of arrays by name."""
    return table(
        ("array", "shape", "dtype", "bytes"),
        ((name, sides(part.shape), str(part.dtype), human(part.nbytes)) for name, part in parts.items()),
    )


def sides(shape: tuple[int, ...]) -> str:
    """Return ``3 x 4``."""
    return " x ".join(map(str, shape))


def html(a: SparseArray) -> str:
    """Return the HTML repr: the line, drawings of the matrix, its middle and its layout, the table of parts.

    The line alone if index arrays are invalid.
    """
    if _stored(a) is None:
        return page(text(a), [])
    parts = "<div>A view has no component arrays of its own.</div>" if a._op else parts_table(a.parts())
    return page(text(a), drawings(a), parts)


def drawings(a: SparseArray) -> list[tuple[str, str]]:
    """Return the drawings and what to say of them; none where it takes long to bring to the host or unpack."""
    if a._backend is not CPU:
        if a.nbytes > SMALL:
            return []
        a = a.to("cpu")
    if a._packed and a._format.nbytes(a._summary()) > SMALL:
        return [drawing.layout(a)]
    return [drawing.matrix(a), drawing.middle_of(a), drawing.layout(a)]


def plan_html(p: Any) -> str:
    """Return the HTML of a product's plan: the line, the result's diagonals, what is multiplied, and the bytes."""
    operands = [] if p._a is None else [("A", p._a), ("B", p._b)]
    rows = [(name, x.format, sides(x.shape), str(x.nnz), human(x.nbytes)) for name, x in operands]
    rows += [("C", p.format, sides(p.shape), str(p.nnz), human(p.nbytes))]
    rows += [("workspace", "", "", "", human(p.workspace_nbytes))]
    drawn = [drawing.diagonals_of(p.shape, p.offsets, "the result")] if len(p.offsets) else []
    return page(plan(p), drawn, table(("", "format", "shape", "stored", "bytes"), rows))


def matvec_plan_html(p: Any) -> str:
    """Return the HTML of a plan of products with vectors: the line, the matrix, and what one product moves."""
    a, itemsize = p.matrix, p.matrix.dtype.itemsize
    rows = [("A", operand(a), human(a.nbytes))]
    rows += [(name, f"vector of {n}", human(n * itemsize)) for name, n in (("x", a.shape[1]), ("y", a.shape[0]))]
    rows += [("one product", "", human(p.nbytes))]
    return page(repr(p), drawings(a)[:2], table(("", "", "bytes"), rows))


def factors_html(f: Any) -> str:
    """Return the HTML of factors: the line, and how they were computed."""
    rows = [
        ("shift", f"{f.sigma}"),
        ("method", f.method),
        ("bytes", human(f.nbytes)),
        ("computed in", seconds(f.seconds)),
    ]
    return page(repr(f), [], table(("", ""), rows))


def batch_html(b: Any) -> str:
    """Return the HTML of a batch: the line, its first member, and the parts of all."""
    if not b.count:
        return page(repr(b), [], parts_table({"values": b.values}))
    first = [(one, "; ".join(filter(None, ["member 0", says]))) for one, says in drawings(b[0])[:2]]
    return page(repr(b), first, parts_table({**b[0].parts(), "values": b.values}))
