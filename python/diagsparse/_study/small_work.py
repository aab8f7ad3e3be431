"""Small work beside SciPy: `diagsparse bench small-work`. Each row is held to a limit that the project has set itself.

On one thread: products and planned products of 50 x 50, every element-wise operation of the formats that SciPy has at
three sizes, and the time to plan a product. The exit status says whether results are right, never how long they took.

It takes two minutes. With --quick it times the smallest size alone.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import gallery, measure
from .._matrix.construct import array
from .._matrix.sparse_array import SparseArray
from .._products.products import plan_matmul
from .._show import columns
from ..measure import Progress
from . import peers, steps
from .bench_summary import Pair
from .figures import BLUE, GREY, logarithmic, new_figure, save
from .timed_rows import identity

NAME = "small-work"
SIZES = (50, 1000, 100_000)
FORMATS = {"dia": "dia", "hm": "dia", "cdm": "dia", "csr": "csr", "csc": "csc", "coo": "coo"}  #: and SciPy's beside it
DENSE = 1000  #: rows up to which dense arrays take part

OPERATIONS: dict[str, Callable[[Any, Any, Any], Any]] = {  #: of A, of B on other diagonals, and of a dense row
    "A + A": lambda A, B, x: A + A,
    "A + B": lambda A, B, x: A + B,
    "A - B": lambda A, B, x: A - B,
    "A + A.T": lambda A, B, x: A + A.T,
    "A.multiply(A)": lambda A, B, x: A.multiply(A),
    "A.multiply(B)": lambda A, B, x: A.multiply(B),
    "A.multiply(row)": lambda A, B, x: A.multiply(x),
    "A * 3": lambda A, B, x: A * 3,
    "A / 2": lambda A, B, x: A / 2,
    "A / 3": lambda A, B, x: A / 3,
    "-A": lambda A, B, x: -A,
    "abs(A)": lambda A, B, x: abs(A),
    "A != B": lambda A, B, x: A != B,
    "A != 0": lambda A, B, x: A != 0,
    "A.copy()": lambda A, B, x: A.copy(),
    "A.T": lambda A, B, x: A.T,
    "A.conj()": lambda A, B, x: A.conj(),
    "A.astype(complex)": lambda A, B, x: A.astype(complex),
    "A.sum()": lambda A, B, x: A.sum(),
    "A.sum(axis=0)": lambda A, B, x: A.sum(axis=0),
    "A.sum(axis=1)": lambda A, B, x: A.sum(axis=1),
    "A.trace()": lambda A, B, x: A.trace(),
    "A.diagonal()": lambda A, B, x: A.diagonal(),
    "A.count_nonzero()": lambda A, B, x: A.count_nonzero(),
    "A.tocsr(copy=True)": lambda A, B, x: A.tocsr(copy=True),
    "A.tocsc(copy=True)": lambda A, B, x: A.tocsc(copy=True),
    "A.tocoo(copy=True)": lambda A, B, x: A.tocoo(copy=True),
}
WITH_DENSE: dict[str, Callable[[Any, Any, Any], Any]] = {  #: of A and of a dense array of its shape
    "A.toarray()": lambda A, B, X: A.toarray(),
    "A + dense": lambda A, B, X: A + X,
    "A.multiply(dense)": lambda A, B, X: A.multiply(X),
    "A != dense": lambda A, B, X: A != X,
    "A == A": lambda A, B, X: A == A,
}


@dataclass(frozen=True)
class Row:
    """One call of ours, SciPy's beside it (None for plans), and its limit: a share of SciPy's time, or seconds."""

    group: str
    what: str
    format: str
    n: int
    ours: Callable[[], Any]
    scipy: Callable[[], Any] | None
    limit: float


def run(*, quick: bool = False, progress: Progress | None = None) -> dict[str, Any]:
    """Time every row on one thread and return a report as plain values; `quick`: the smallest size, to see it work."""
    crowd = measure.Crowd()
    with measure.using_threads(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", sp.SparseEfficiencyWarning)  # SciPy's, of A == A
        made = steps.run(
            [(_named(row), partial(_timed, row, 0.01 if quick else 0.1)) for row in _rows(quick)], progress
        )
    return {
        "experiment": NAME,
        "hardware": peers.hardware(),
        "versions": peers.versions(),
        "date": date.today().isoformat(),
        "quick": quick,
        "warning": crowd.warning(),
        "ok": all(row["ok"] for row in made["rows"]),
        **made,
    }


def _rows(quick: bool) -> Iterator[Row]:
    A = gallery.banded(50, 2, 2, seed=0)
    x = np.random.default_rng(0).uniform(size=50)
    for format, theirs in FORMATS.items():
        a, b = array(A, format), A.asformat(theirs)
        yield Row("calls", "A @ x", format, 50, partial(operator.matmul, a, x), partial(operator.matmul, b, x), 0.4)
        if theirs == "dia":
            planned, product = plan_matmul(a, a), partial(operator.matmul, b, b)
            yield Row("calls", "A @ A", format, 50, partial(operator.matmul, a, a), product, 1 / 6)
            yield Row("calls", "plan(out=C)", format, 50, partial(planned, out=planned()), product, 1 / 15)
    for n in SIZES[: 1 if quick else None]:
        yield from _element_by_element(n)
    yield from _plans(0.02 if quick else 1.0)


def _element_by_element(n: int) -> Iterator[Row]:
    A, B = gallery.banded(n, 2, 2, seed=0), gallery.banded(n, 4, 1, seed=1)
    rng = np.random.default_rng(0)
    groups = [(OPERATIONS, rng.uniform(size=(1, n)))]
    if n <= DENSE:
        groups.append((WITH_DENSE, rng.uniform(size=(n, n))))
    for format, theirs in FORMATS.items():
        ours, scipy = (array(A, format), array(B, format)), (A.asformat(theirs), B.asformat(theirs))
        for operations, dense in groups:
            for what, call in operations.items():
                yield Row("elements", what, format, n, partial(call, *ours, dense), partial(call, *scipy, dense), 1.0)


def _plans(scale: float) -> Iterator[Row]:
    dense = np.random.default_rng(0).uniform(1, 2, size=(round(2000 * scale),) * 2)
    n, count = round(10_000 * scale), round(600 * scale)
    pairs = {
        "plan of two bands": [gallery.banded(round(1e6 * scale), d, d, seed=d) for d in (5, 20)],
        "plan of dense matrices": [dense, dense],
        f"plan of {count} x {count} scattered": [gallery.random_diagonals(n, count, seed=i) for i in (0, 1)],
    }
    for what, operands in pairs.items():
        a, b = (array(X, "hm") for X in operands)
        limit = 1e-4 if "bands" in what else 5e-3
        yield Row("plans", what, "hm", a.shape[0], partial(plan_matmul, a, b), None, limit)


def _named(row: Row) -> str:
    return f"{row.what}, {row.format}, n = {row.n}"


def _timed(row: Row, budget: float, report: Progress) -> Iterator[dict[str, Any]]:
    calls = {"ours": row.ours} | ({"scipy": row.scipy} if row.scipy else {})
    ok = row.scipy is None or _same(row.ours(), row.scipy())
    times = measure.time_calls(calls, budget=budget)
    ours, scipy = times["ours"].median, times["scipy"].median if row.scipy else None
    fields = {"group": row.group, "what": row.what, "format": row.format, "n": row.n}
    yield {
        "key": identity(fields), **fields, "seconds": ours, "scipy": scipy, "ratio": ours / scipy if scipy else None,
        "limit": row.limit, "ok": ok,
    }  # fmt: skip


def _same(ours: Any, theirs: Any) -> bool:
    """Whether two results are the same but for a few roundings."""
    if not sp.issparse(theirs):
        return bool(np.allclose(ours, theirs, rtol=1e-12, atol=1e-12))
    given = ours.to_scipy("csr") if isinstance(ours, SparseArray) else ours
    if theirs.dtype == bool:
        return bool((given.tocsr() != theirs.tocsr()).nnz == 0)
    off = abs(given.tocsr() - theirs.tocsr())
    return given.shape == theirs.shape and (off > 1e-13 * abs(theirs.tocsr())).nnz == 0


def pairs(report: dict[str, Any]) -> Iterator[Pair]:
    """Yield each of our calls beside SciPy's, by group."""
    for row in report["rows"]:
        if row["scipy"]:
            operation = "products" if row["group"] == "calls" else "element by element"
            name = f"{row['what']}, {row['format']}, n = {row['n']}"
            yield Pair(operation, name, row["format"], "SciPy", row["scipy"] / row["seconds"])


# ---- tables -------------------------------------------------------------------------------------------------------
def _cells(report: dict[str, Any]) -> Iterator[list[str]]:
    yield ["", "format", "n", "ours", "SciPy", "ratio", "limit", "within"]
    for row in report["rows"]:
        share = row["ratio"] is not None
        limit = columns.digits(row["limit"]) if share else columns.seconds(row["limit"])
        yield [
            row["what"], row["format"], str(row["n"]), columns.seconds(row["seconds"]),
            columns.seconds(row["scipy"]) if share else "", columns.digits(row["ratio"]) if share else "", limit,
            ("yes" if (row["ratio"] if share else row["seconds"]) <= row["limit"] else "no")
            + ("" if row["ok"] else "  WRONG"),
        ]  # fmt: skip


def text(report: dict[str, Any]) -> str:
    """Return the report as a table for a terminal."""
    return "\n".join([_machine(report), "", *columns.columns(list(_cells(report)), "<<>>>>><")])


def markdown(report: dict[str, Any]) -> str:
    """Return the report as Markdown."""
    head, *cells = _cells(report)
    lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * 2 + ["---:"] * 5 + ["---"], *cells)]
    return f"{_machine(report)}.\n\n" + "\n".join(lines) + "\n"


def _machine(report: dict[str, Any]) -> str:
    hardware, versions = report["hardware"], report["versions"]
    parts = [hardware["cpu"], hardware["instruction_set"], f"SciPy {versions['scipy']}", "1 thread, float64"]
    return "; ".join([*parts, *["smallest size (--quick)"] * report["quick"], *steps.ended(report), report["date"],
                      *filter(None, [report.get("warning")])])  # fmt: skip


def plot_bench(report: dict[str, Any], path: Any) -> Any:
    """Save the ratios to SciPy's time as a picture: a point for each operation and format, by size."""
    figure = new_figure(6.4, 7.0)
    axes = figure.subplots(1, 1)
    rows = [row for row in report["rows"] if row["group"] == "elements"]
    names = list(dict.fromkeys(row["what"] for row in rows))[::-1]
    for n, mark in zip(SIZES, ".x+", strict=True):
        some = [row for row in rows if row["n"] == n]
        axes.plot([row["ratio"] for row in some], [names.index(row["what"]) for row in some], mark, color=BLUE,
                  label=f"n = {n}")  # fmt: skip
    axes.axvline(1.0, color=GREY, lw=1)
    logarithmic(axes, "x")
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.set_xlabel("time over SciPy's, every format", fontsize=8)
    axes.tick_params(labelsize=7)
    axes.legend(fontsize=7, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return save(figure, path)
