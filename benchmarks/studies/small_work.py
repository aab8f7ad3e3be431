"""Small operations compared with SciPy. Each row has a limit that the project has set itself.

On one thread: products and planned products of 50 x 50, every element-wise operation of the formats that SciPy has at
three sizes, and the time to plan a product. On two threads: what reads all diagonals, compared with SciPy's best format
for it. A BLAS has one thread in all of them, since its threads keep the processors busy for a while after a call, when
others are timed. The exit status depends only on whether results are correct, not on times.

It takes two minutes. With --quick, only the smallest size is timed.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from math import isqrt
from typing import Any

import numpy as np
import scipy.sparse as sp

from diagsparse import gallery, measure
from diagsparse._backends.backend import Backend
from diagsparse._matrix.construct import array
from diagsparse._matrix.norms import norm
from diagsparse._matrix.sparse_array import SparseArray
from diagsparse._products.products import plan_matmul
from diagsparse._show import columns
from diagsparse._study.bench_summary import Pair
from diagsparse._study.timed_rows import Timed

from ..experiment import Experiment, NamedRow, Report
from ..pictures import BLUE, GREY, label, new_figure
from ..tables import Row, Tables, distinct, run_of, select, table, time

SIZES = (50, 1000, 100_000)
FORMATS = {"dia": "dia", "hm": "dia", "cdm": "dia", "csr": "csr", "csc": "csc", "coo": "coo"}  #: with those of SciPy
DENSE = 1000  #: largest number of rows for operations with dense arrays

OPERATIONS: tuple[str, ...] = (  #: with A, with B on other diagonals, and with a dense row
    "A + A", "A + B", "A - B", "A + A.T", "A.multiply(A)", "A.multiply(B)", "A.multiply(row)", "A * 3", "A / 2",
    "A / 3", "-A", "abs(A)", "A != B", "A != 0", "A.copy()", "A.T", "A.conj()", "A.astype(complex)", "A.sum()",
    "A.sum(axis=0)", "A.sum(axis=1)", "A.trace()", "A.diagonal()", "A.count_nonzero()", "A.tocsr(copy=True)",
    "A.tocsc(copy=True)", "A.tocoo(copy=True)",
)  # fmt: skip
#: What reads or writes whole diagonals, and SciPy's best format for it; `d` is a vector, `mask` one of bools.
READING: dict[str, str] = {
    "setdiag(A, d)": "dia", "A.max()": "csr", "norm(A)": "csr", "A.sum()": "csc", "A > 0": "csr", "A[mask]": "csr",
    "A[:, [3]]": "csr", "A.tocoo()": "csr",
}  # fmt: skip
RATIOS = {  #: groups that have a table of ratios, and its title
    "whole diagonals": "What reads or writes whole diagonals, as a fraction of SciPy's time",
    "elements": "Element by element, as a fraction of SciPy's time",
}
WITH_DENSE: tuple[str, ...] = ("A.toarray()", "A + dense", "A.multiply(dense)", "A != dense", "A == A")


@dataclass(frozen=True)
class Call:
    """A call of diagsparse, that of SciPy (None for plans), and its limit: relative to SciPy's time, or seconds."""

    group: str
    what: str
    format: str
    n: int
    ours: Callable[[], Any]
    scipy: Callable[[], Any] | None
    limit: float
    threads: int = 1


def _rows(where: Backend, quick: bool) -> Iterator[NamedRow]:
    """Yield every call; if `quick`, only those of the smallest size and small plans.

    A row contains ``group``, ``what``, ``format``, ``n``, ``seconds``, those of SciPy (``scipy``), their ``ratio`` and
    its ``limit``, and whether the result is correct (``ok``).
    """
    for call in _calls(quick):
        yield f"{call.what}, {call.format}, n = {call.n}", partial(_timed, call, 0.01 if quick else 0.1)


def _calls(quick: bool) -> Iterator[Call]:
    A = gallery.banded(50, 2, 2, seed=0)
    x = np.random.default_rng(0).uniform(size=50)
    for format, theirs in FORMATS.items():
        a, b = array(A, format), A.asformat(theirs)
        yield Call("calls", "A @ x", format, 50, partial(operator.matmul, a, x), partial(operator.matmul, b, x), 0.4)
        if theirs == "dia":
            planned, product = plan_matmul(a, a), partial(operator.matmul, b, b)
            yield Call("calls", "A @ A", format, 50, partial(operator.matmul, a, a), product, 1 / 6)
            yield Call("calls", "plan(out=C)", format, 50, partial(planned, out=planned()), product, 1 / 15)
    for n in SIZES[: 1 if quick else None]:
        yield from _elementwise(n)
        yield from _reading(n)
    yield from _plans(0.02 if quick else 1.0)


def _elementwise(n: int) -> Iterator[Call]:
    A, B = gallery.banded(n, 2, 2, seed=0), gallery.banded(n, 4, 1, seed=1)
    rng = np.random.default_rng(0)
    named = [("row", OPERATIONS, rng.uniform(size=(1, n)))]
    named += [("dense", WITH_DENSE, rng.uniform(size=(n, n)))] if n <= DENSE else []
    for format, theirs in FORMATS.items():
        ours, scipy = (array(A, format), array(B, format)), (A.asformat(theirs), B.asformat(theirs))
        for name, operations, dense in named:
            for what in operations:
                call = eval(f"lambda A, B, {name}: {what}")
                yield Call("elements", what, format, n, partial(call, *ours, dense), partial(call, *scipy, dense), 1.0)


def _reading(n: int) -> Iterator[Call]:
    """Yield what reads whole diagonals of the five-point stencil on a square grid with about `n` points."""
    A = gallery.stencil(5, (isqrt(n),) * 2)
    rng = np.random.default_rng(0)
    d, mask = rng.uniform(1, 2, A.shape[0]), rng.uniform(size=A.shape[0]) < 0.5
    for format in (format for format, theirs in FORMATS.items() if theirs == "dia"):
        for what, peer in READING.items():
            call = eval(f"lambda A, norm, setdiag: {what}", {"d": d, "mask": mask})
            ours = partial(call, array(A, format), norm, _set_diagonal)
            scipy = partial(call, A.asformat(peer, copy=True), sp.linalg.norm, _set_diagonal)
            yield Call("whole diagonals", what, format, A.shape[0], ours, scipy, 1.0, 2)


def _set_diagonal(A: Any, d: np.ndarray) -> Any:
    """Set the main diagonal of a matrix, and return the matrix."""
    A.setdiag(d)
    return A


def _plans(scale: float) -> Iterator[Call]:
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
        yield Call("plans", what, "hm", a.shape[0], partial(plan_matmul, a, b), None, limit)


def _timed(call: Call, budget: float, where: Backend) -> dict[str, Any]:
    """Return the row of a call, timed on its number of threads."""
    calls = {"ours": call.ours} | ({"scipy": call.scipy} if call.scipy else {})
    with measure.using_threads(call.threads), _one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", sp.SparseEfficiencyWarning)  # by SciPy's A == A
        ok = call.scipy is None or _same(call.ours(), call.scipy())
        times = measure.time_calls(calls, budget=budget)
    ours, scipy = times["ours"].median, times["scipy"].median if call.scipy else None
    return {
        "group": call.group, "what": call.what, "format": call.format, "n": call.n, "seconds": ours, "scipy": scipy,
        "ratio": ours / scipy if scipy else None, "limit": call.limit, "ok": ok,
    }  # fmt: skip


def _one_blas_thread() -> AbstractContextManager[Any]:
    """Return a context in which a BLAS has one thread."""
    try:
        control = import_module("threadpoolctl")
    except ImportError:
        raise ImportError('small-work: it needs threadpoolctl: pip install "diagsparse[bench]"') from None
    limits: AbstractContextManager[Any] = control.threadpool_limits(1, "blas")
    return limits


def _same(ours: Any, theirs: Any) -> bool:
    """Return whether two results are equal up to a few rounding errors."""
    if not sp.issparse(theirs):
        return bool(np.allclose(ours, theirs, rtol=1e-12, atol=1e-12))
    given = ours.to_scipy("csr") if isinstance(ours, SparseArray) else ours
    if theirs.dtype == bool:
        return bool((given.tocsr() != theirs.tocsr()).nnz == 0)
    off = abs(given.tocsr() - theirs.tocsr())
    bound = 1e-13 * abs(theirs.tocsr())
    return given.shape == theirs.shape and bool((off > bound).nnz == 0 and np.isfinite(off.data).all())


def _pairs(report: Report) -> Iterator[Pair]:
    """Yield the comparison of each call with SciPy's, by group."""
    for row in report["rows"]:
        if row["scipy"]:
            operation = {"calls": "products", "elements": "element by element"}.get(row["group"], row["group"])
            yield Pair(operation, row["name"], row["format"], "SciPy", row["scipy"] / row["seconds"])


def _times(report: Report) -> Iterator[Timed]:
    """Yield each call, with SciPy's time for the same operation."""
    for row in report["rows"]:
        peers = {"SciPy": row["scipy"]} if row["scipy"] else {}
        yield Timed(row["name"], "", row["format"], "", row["seconds"], row["ok"], peers=peers)


# ---- tables and the picture ---------------------------------------------------------------------------------------
def _tables(report: Row) -> Tables:
    yield "", table([row for row in report["rows"] if row["group"] not in RATIOS], {
        "": "{what}", "format": "{format}", "n": "{n}", "ours": lambda row: time(row["seconds"]),
        "SciPy": lambda row: time(row["scipy"]),
        "ratio": lambda row: columns.digits(row["ratio"]) if row["ratio"] else "",
        "limit": lambda row: (columns.digits if row["ratio"] else time)(row["limit"]), "within": _within,
    })  # fmt: skip
    for group, title in RATIOS.items():
        rows = select(report, group=group)
        formats = {format: partial(_ratio, format=format) for (format,) in distinct(rows, "format")}
        same = [select({"rows": rows}, what=what, n=n) for what, n in distinct(rows, "what", "n")]
        yield title, table(same, {"": lambda some: some[0]["what"], "n": lambda some: str(some[0]["n"]), **formats})


def _ratio(rows: list[Row], format: str) -> str:
    """Return the ratio of the row with this format, "" if there is none."""
    return "".join(
        columns.digits(row["ratio"]) + "  WRONG" * (not row["ok"]) for row in rows if row["format"] == format
    )


def _within(row: Row) -> str:
    within = (row["ratio"] or row["seconds"]) <= row["limit"]
    return ("yes" if within else "no") + "  WRONG" * (not row["ok"])


def _machine(report: Row) -> str:
    hardware, size = report["hardware"], ["smallest size (--quick)"] * report["quick"]
    threads = "1 thread, 2 for whole diagonals, float64"
    parts = [hardware["cpu"], hardware["instruction_set"], f"SciPy {report['versions']['scipy']}", threads]
    return "; ".join([*parts, *size, *run_of(report)])


def _draw(report: Row) -> Any:
    """Draw the times relative to SciPy, with a point for each operation, format and size."""
    figure = new_figure(6.4, 7.0)
    axes = figure.subplots(1, 1)
    names = [what for (what,) in distinct(select(report, group="elements"), "what")][::-1]
    for n, mark in zip(SIZES, ".x+", strict=True):
        some = select(report, group="elements", n=n)
        positions = [names.index(row["what"]) for row in some]
        axes.plot([row["ratio"] for row in some], positions, mark, color=BLUE, label=f"n = {n}")
    axes.axvline(1.0, color=GREY)
    label(axes, "time over SciPy's, every format", log="x")
    axes.set_yticks(range(len(names)), names)
    axes.legend(fontsize=7)
    return figure


SMALL_WORK = Experiment(
    "small-work", __doc__, _rows, _tables, _draw, _machine, pairs=_pairs, timed=_times, only_cpu=True
)
