"""Advice against measurement.

For each matrix, `recommend` selects a layout for a number of products that makes conversions irrelevant. All possible
layouts are built and timed alternately. Since the fastest of many is also the luckiest one, the fastest and the
recommended layout are built five times more, on different pages, and timed again: their ratio is that of the medians.
The time of the recommendation is reported as well, in products with csr.

The matrices are those of the gallery in sizes within and beyond the caches, and the files in the folder
DIAGSPARSE_MATRICES. Families of matrices with 200,000 rows follow, for which products are timed in two ways: one after
another, as in a solver (`reuse=True`), and with other data in between (`reuse=False`), on a CPU with 1, 2 and all
threads. Their layouts are also ranked by costs that were fitted without the family. Squares of these matrices are timed
like those of the others. With --quick, the matrices are small.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from statistics import geometric_mean, median
from time import perf_counter
from typing import Any

import numpy as np

from diagsparse import get_num_threads, measure
from diagsparse._advice.candidate import Candidate
from diagsparse._advice.candidates import Candidates
from diagsparse._advice.machine import machine
from diagsparse._backends.backend import CPU, Backend
from diagsparse._matrix.construct import array
from diagsparse._matrix.registry import FORMATS
from diagsparse._study import gpu_clock
from diagsparse._study.exactness import vector
from diagsparse._study.titles import TITLES
from diagsparse.advice import recommend

from .. import prepare
from ..experiment import Experiment, NamedRow, kernel_of
from ..pictures import BLUE, GREY, label, new_figure
from ..tables import Columns, Row, Tables, table, time
from . import advice_fit
from .advice_families import families
from .advice_matrices import matrices

HOW = {True: "one after another", False: "other data in between"}  #: products with vectors, by `reuse`
_WORST = 5  # number of rows in the table of the worst recommendations
_MOST = 50_000_000  # largest number of multiply-adds of A A
_PRODUCTS = 1_000_000  # large enough that conversions are irrelevant


# ---- one matrix ---------------------------------------------------------------------------------------------------
def _rows(where: Backend, quick: bool) -> Iterator[NamedRow]:
    """Yield both products of every matrix; of the families, those with vectors with `reuse` and without.

    A row contains ``recommended`` and ``best`` (names of layouts), ``ratio`` (the seconds of the best one divided by
    those of the recommended one, at most 1), ``cost`` (of the recommendation, in products with csr) and
    ``advice_seconds``, ``reason``, ``times`` (layout: seconds of a product) and ``model`` (layout: predicted seconds).
    Products with vectors also have what costs can be fitted to: the ``counts`` and the ``traversals`` of their layouts,
    the number of ``threads`` and a ``family``.
    """
    build = lru_cache(maxsize=1)(lambda make: measure.csr32(make()))
    for name, make in matrices(where is not CPU, quick):
        for op, title in TITLES.items():
            yield f"{name}, {title}", partial(_run, build, make, "", op, True, quick)
    for family, name, make in families(quick):
        for threads in _thread_counts(where):
            for reuse, how in HOW.items():
                run = partial(_run, build, make, family, "matvec", reuse, quick)
                yield f"{name}, {words(threads)}{how}", partial(_with_threads, threads, run)
        yield f"{name} of this family, {TITLES['matmul']}", partial(_run, build, make, "", "matmul", True, quick)


def _thread_counts(where: Backend) -> list[int]:
    return sorted({1, min(2, get_num_threads()), get_num_threads()}) if where is CPU else [0]


def words(threads: int) -> str:
    """Return the number of threads for the name of a row."""
    return f"{threads} thread{'s' * (threads > 1)}, " if threads else ""


def _with_threads(threads: int, run: Callable[[Backend], Row], where: Backend) -> Row:
    with measure.using_threads(threads or get_num_threads()):
        return run(where)


def _run(
    build: Callable[[Any], Any], make: Callable[[], Any], family: str, op: str, reuse: bool, quick: bool, where: Backend
) -> dict[str, Any]:  # fmt: skip
    host = build(make)
    csr = array(host, "csr", device=where.name)
    on = machine(where, reuse)
    row = {"family": family, "op": op, "reuse": reuse, "threads": on.threads, "shape": list(csr.shape), "nnz": csr.nnz,
           "dtype": str(csr.dtype), "times": {}, "failed": {}, "columns": {}}  # fmt: skip
    if op == "matmul" and (csr.shape[0] != csr.shape[1] or _useful(host) > _MOST):
        return row
    advice = recommend(csr, op, products=_PRODUCTS, reuse=reuse)
    candidates = Candidates(csr, on, op)
    layouts = {one.name: one for one in (*advice.candidates, *candidates.layouts(list(FORMATS), requested=True))}
    budget = 0.005 if quick else 0.02
    calls, failed = _calls(list(layouts.values()), csr, op, where)
    times = _times(calls, where, budget, reuse)
    best, chosen = min(times, key=lambda name: times[name]), advice.best.name
    if chosen not in times:
        raise ArithmeticError(f"{chosen} was recommended, but {failed[chosen]}")
    finals = {name: layouts[name] for name in (best, chosen)}
    ran = {name: {"timed_on": where.name.partition(":")[0], **kernel_of(call)} for name, call in calls.items()}
    calls.clear()  # frees the matrices
    # All are built at the same time on different pages, because the placement of pages affects the use of caches.
    again = [_calls(list(finals.values()), csr, op, where)[0] for _ in range(1 if quick else 5)]
    measured = [
        _times(one, where, budget, reuse) for one in again if set(one) == set(finals)
    ]  # those that fit in memory
    final = {name: median(one[name] for one in measured or [times]) for name in finals}
    took, product = _cost(host, op, where), times["csr"]
    if op == "matvec":
        row |= {"counts": list(candidates.statistics.counts), "traversals": {
            name: {"format": one.format, "options": list(one.layout),
                   "traversal": list(candidates.traversal(one.format, one.layout))}
            for name, one in layouts.items() if name in times}}  # fmt: skip
    return row | {
        "recommended": chosen, "best": best,
        "ratio": min(1.0, final[best] / final[chosen]), "cost": took / product, "advice_seconds": took,
        "reason": advice.reason, "times": times | final, "failed": failed, "columns": ran,
        "model": {name: one.seconds for name, one in layouts.items() if name in times},
    }  # fmt: skip


def _useful(csr: Any) -> int:
    """Return the number of multiply-adds of A A."""
    return int(np.diff(csr.indptr)[csr.indices].sum()) if csr.shape[0] == csr.shape[1] else 0


def _calls(
    layouts: list[Candidate], csr: Any, op: str, where: Backend
) -> tuple[dict[str, Callable[[], Any]], dict[str, str]]:
    """Build each layout, and return calls of a product, and the errors of layouts that failed."""
    x = prepare.on_device(vector(csr.shape[1], csr.dtype), where)
    calls, failed = {}, {}
    for one in layouts:
        try:
            matrix = one.build(csr)
            calls[one.name] = prepare.planned_matvec(matrix, x)[0] if op == "matvec" else prepare.square(matrix)[0]
        except (MemoryError, ValueError) as error:
            failed[one.name] = f"{type(error).__name__}: {error}"
    return calls, failed


def _times(calls: dict[str, Callable[[], Any]], where: Backend, budget: float, reuse: bool) -> dict[str, float]:
    """Return the seconds of each call, timed alternately; on a CPU the least, as other work only adds to it."""
    timed = gpu_clock.time_all(calls, where, budget=budget * len(calls), samples=9, reuse=reuse)
    return {name: one.best if where is CPU else one.median for name, one in timed.items()}


def _cost(host: Any, op: str, where: Backend) -> float:
    """Return the seconds of a recommendation for a matrix without cached statistics."""
    seconds = []
    for _ in range(3):
        csr = array(host, "csr", device=where.name)
        gc.collect()
        start = perf_counter()
        recommend(csr, op)
        seconds.append(perf_counter() - start)
    return min(seconds)


# ---- tables and the picture ---------------------------------------------------------------------------------------
def summary(rows: list[dict[str, Any]]) -> str:
    """Return a line with the mean speed, the minimum speed, and the cost of recommendations."""
    ratios, costs = ([row[key] for row in rows] for key in ("ratio", "cost"))
    if not ratios:
        return "nothing was run"
    reached = f"the recommended layout reaches {geometric_mean(ratios):.3f} of the best one's speed (geometric mean of"
    cost = f"the advice costs {median(costs):.1f} products in csr (median), {max(costs):.0f} at most"
    return f"{reached} {len(ratios)} matrices), {min(ratios):.2f} at least; {cost}"


def _judged(report: Row) -> list[Row]:
    """Return the rows of matrices for which the operation was not too large."""
    return [row for row in report["rows"] if "ratio" in row]


def _tables(report: Row) -> Tables:
    first: Columns = {"matrix": lambda row: row["name"].rpartition(", ")[0]}
    yield from _tables_of_families(report)
    speed = {"of its speed": "{ratio:.2f}"}
    for op, title in TITLES.items():
        rows = [row for row in _judged(report) if row["op"] == op and not row.get("family")]
        yield f"{title}: {summary(rows)}", table(rows, {
            **first, "nonzeros": "{nnz:,}", "recommended": "{recommended}", "best": "{best}", **speed,
            "model / measured": lambda row: _predicted(row, row["recommended"]), "cost": "{cost:.1f}",
        })  # fmt: skip
        yield f"{title}: the worst, and why", table(sorted(rows, key=lambda row: row["ratio"])[:_WORST], {
            **first, **speed, "reason": "{reason}",
            "the best: model / measured": lambda row: f"{row['best']}: {_predicted(row, row['best'])}",
        })  # fmt: skip


def _tables_of_families(report: Row) -> Tables:
    """Yield a summary for each number of threads and way to multiply, and the ratio of each matrix."""
    groups: dict[str, list[Row]] = {}
    for row in _judged(report):
        if row.get("family"):
            groups.setdefault(words(row["threads"]) + HOW[row["reuse"]], []).append(row)
    if not groups:
        return
    ratios: dict[str, Row] = {}
    for name, rows in groups.items():
        for row in rows:
            matrix = row["name"].removesuffix(f", {name}")
            ratios.setdefault(matrix, {"name": matrix, "family": row["family"]})[name] = row["ratio"]
    yield "Families of matrices: speed relative to the best layout", table([
        {"name": name, **{f"{key}{what}": f(row[key] for row in rows) for key in ("ratio", "left_out")
                          for what, f in (("", geometric_mean), (", least", min))},
         "cost": median(row["cost"] for row in rows)}
        for name, rows in groups.items()
    ], {
        "products": "{name}", "mean": "{ratio:.3f}", "least": "{ratio, least:.2f}",
        "fitted to other families": "{left_out:.3f}", "least of these": "{left_out, least:.2f}", "cost": "{cost:.1f}",
    })  # fmt: skip
    yield "Each of them", table(list(ratios.values()), {
        "matrix": "{name}", "family": "{family}",
        **{name: partial(_ratio_in, name) for name in groups},
    })  # fmt: skip
    rows = sorted((row for rows in groups.values() for row in rows), key=lambda row: row["ratio"])[: 2 * _WORST]
    yield "The worst", table(rows, {
        "matrix": "{name}", "of the best speed": "{ratio:.2f}",
        "recommended: model / measured": lambda row: f"{row['recommended']}: {_predicted(row, row['recommended'])}",
        "the best: model / measured": lambda row: f"{row['best']}: {_predicted(row, row['best'])}",
    })  # fmt: skip


def _ratio_in(group: str, row: Row) -> str:
    return f"{row[group]:.2f}" if group in row else "-"


def _add_left_out(report: Row) -> None:
    """Add to the rows of families ``left_out``, the ratio with costs that were fitted without the family."""
    ratios = advice_fit.ratios_left_out(list(advice_fit.products(report)))
    for row in report["rows"]:
        if row.get("family") and "ratio" in row:
            row["left_out"] = ratios[row["name"]]


def _predicted(row: Row, layout: str) -> str:
    return f"{time(row['model'][layout])} / {time(row['times'][layout])}"


def _draw(report: Row) -> Any:
    """Draw predicted over measured times, and the fraction of the best speed for each matrix."""
    figure = new_figure(9.0, 4.4)
    left, right = figure.subplots(1, 2)
    rows = _judged(report)
    points = [(t, row["model"][n]) for row in rows for n, t in row["times"].items() if t]
    left.plot(*zip(*points, strict=True), ".", color=GREY, ms=3, label="every layout")
    chosen = [(row["times"][row["recommended"]], row["model"][row["recommended"]]) for row in rows]
    left.plot(*zip(*chosen, strict=True), "o", color=BLUE, ms=4, label="recommended")
    ends = min(min(p) for p in points), max(max(p) for p in points)
    left.plot(ends, ends, color="black", lw=0.7)
    label(left, "measured, seconds a product", "by the model")
    left.set(xscale="log", yscale="log")
    left.legend(fontsize=7)
    ratios = sorted((row["ratio"] for row in rows), reverse=True)
    right.bar(range(1, len(ratios) + 1), ratios, color=BLUE, width=0.8)
    right.set_ylim(0, 1.02)
    label(right, "matrices, the best advice first", "of the best layout's speed")
    return figure


ADVICE = Experiment("advice", __doc__, _rows, _tables, _draw, add=_add_left_out)
