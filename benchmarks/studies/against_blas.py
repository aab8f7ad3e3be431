"""Threads of diagsparse together with those of a BLAS. Loops in which NumPy and SciPy call their BLAS.

The default numbers of threads of diagsparse and of the BLAS are compared with all settings of one thread and all
threads. The loops are products between two `np.dot`, and `cg`, `gmres` and `lobpcg` of SciPy with a fixed number of
steps, for a 5-point stencil on 400 x 400 points in float64. The limit for the default is 1.1 times the best setting.
SciPy's csr, whose product runs on one thread, shows the time of the BLAS itself. The exit status depends only on
whether the results agree, not on times.

Settings are timed alternately, and each time is the median of the rounds. The study takes a minute, and needs
threadpoolctl. With --quick, the grid has 60 x 60 points.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse.linalg import cg, gmres, lobpcg

from diagsparse import gallery, measure
from diagsparse._backends.backend import Backend, get_num_threads, set_num_threads
from diagsparse._matrix.construct import array
from diagsparse._show import columns
from diagsparse._study.bench_summary import Pair

from ..experiment import Experiment, NamedRow, Report
from ..pictures import BLUE, GREY, ORANGE, label, new_figure
from ..tables import Row, Tables, run_of, table, times

LIMIT = 1.1  #: largest time of the default relative to the best setting
DEFAULT, SCIPY = "default", "SciPy csr, default"
POINTS, QUICK_POINTS = 400, 60  #: points of the grid along each axis
_BUDGET, _QUICK_BUDGET = 12.0, 0.1  # seconds of timing for each loop, for all settings together


@dataclass(frozen=True)
class Loop:
    """A named loop; `run(A, x)` returns a number that has to be the same for all settings."""

    what: str
    run: Callable[[Any, np.ndarray], float]


def _between_dots(A: Any, x: np.ndarray) -> float:
    total = 0.0
    for _ in range(50):
        total += np.dot(x, x)
        y = A @ x
        total += np.dot(y, y)
    return total


def _blocks(A: Any, x: np.ndarray) -> float:
    X = np.stack([np.roll(x, 7 * k) for k in range(4)], axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # lobpcg does not converge in so few steps
        return float(lobpcg(A, X, largest=True, tol=1e-30, maxiter=8)[0].sum())


LOOPS = (
    Loop("A @ x between two np.dot, 50 times", _between_dots),
    Loop("cg, 40 steps", lambda A, x: float(np.linalg.norm(cg(A, x, rtol=1e-30, maxiter=40)[0]))),
    Loop("gmres, 20 steps", lambda A, x: float(np.linalg.norm(gmres(A, x, rtol=1e-30, restart=20, maxiter=1)[0]))),
    Loop("lobpcg, 4 vectors, 8 steps", _blocks),
)


class _Blas:
    """The multithreaded libraries of NumPy and SciPy, and their default number of threads."""

    def __init__(self) -> None:
        try:
            control = importlib.import_module("threadpoolctl")
        except ImportError:
            raise ImportError('against-blas: it needs threadpoolctl: pip install "diagsparse[bench]"') from None
        blas = control.ThreadpoolController().select(user_api="blas")
        self._libraries, self.info = blas.lib_controllers, blas.info()
        self.threads = max((one["num_threads"] for one in self.info), default=1)

    def set(self, threads: int) -> None:
        for library in self._libraries:
            library.set_num_threads(threads)

    def __str__(self) -> str:
        return ", ".join(sorted({f"{one['internal_api']} {one['version']}" for one in self.info})) or "no BLAS"


def _rows(where: Backend, quick: bool) -> Iterator[NamedRow]:
    """Yield the loops.

    A row contains ``times`` (setting: seconds), the ``best`` setting, the ``ratio`` of the default to it and its
    ``limit``, and whether the results of all settings agree (``ok``).
    """
    blas, ours = _Blas(), get_num_threads()
    settings = {DEFAULT: (ours, blas.threads)}
    for mine in sorted({1, ours}):
        for theirs in sorted({1, blas.threads}):
            settings[f"{mine} and {theirs}"] = mine, theirs
    settings[SCIPY] = settings[DEFAULT]
    side = QUICK_POINTS if quick else POINTS
    csr = measure.csr32(gallery.stencil(5, (side, side)))
    matrices = {name: csr if name == SCIPY else array(csr, "hm") for name in settings}
    x = np.random.default_rng(0).uniform(0.5, 1.5, csr.shape[0])
    for loop in LOOPS:
        yield loop.what, partial(_timed, loop, matrices, x, settings, blas, _QUICK_BUDGET if quick else _BUDGET)


def _timed(
    loop: Loop, matrices: dict[str, Any], x: np.ndarray, settings: dict[str, tuple[int, int]], blas: _Blas,
    budget: float, where: Backend,
) -> dict[str, Any]:  # fmt: skip
    def call(A: Any, mine: int, theirs: int) -> float:
        set_num_threads(mine)
        blas.set(theirs)
        return loop.run(A, x)

    calls = {name: partial(call, matrices[name], *threads) for name, threads in settings.items()}
    try:
        results = [one() for one in calls.values()]
        timings = measure.time_calls(calls, budget=budget, pause=0.01)  # threads that spin go to sleep
    finally:
        set_num_threads(settings[DEFAULT][0])
        blas.set(settings[DEFAULT][1])
    seconds = {name: timing.median for name, timing in timings.items()}
    best = min((name for name in seconds if name != SCIPY), key=seconds.__getitem__)
    return {
        "n": len(x), "times": seconds, "samples": timings[DEFAULT].samples, "best": best,
        "ratio": seconds[DEFAULT] / seconds[best], "limit": LIMIT,
        "ok": bool(np.allclose(results, results[0], rtol=1e-6)),
    }  # fmt: skip


def _add(report: Report) -> None:
    blas = _Blas()
    report |= {"blas": str(blas), "threads": {"ours": get_num_threads(), "blas": blas.threads}}


def _pairs(report: Report) -> Iterator[Pair]:
    """Yield the comparisons of the default with the best setting and with SciPy's csr, loop by loop."""
    for row in report["rows"]:
        yield Pair("a loop", row["name"], DEFAULT, "best setting", 1 / row["ratio"])
        yield Pair("a loop", row["name"], DEFAULT, "SciPy csr", row["times"][SCIPY] / row["times"][DEFAULT])


# ---- tables and the picture ---------------------------------------------------------------------------------------
def _tables(report: Row) -> Tables:
    yield "", table(report["rows"], {
        "threads: ours and the BLAS's": "{name}", **times(report["rows"][0]["times"]),
        "default / best": lambda row: columns.digits(row["ratio"]),
        "within 1.1": lambda row: ("yes" if row["ratio"] <= row["limit"] else "no") + "  WRONG" * (not row["ok"]),
    })  # fmt: skip


def _machine(report: Row) -> str:
    hardware, versions, threads = report["hardware"], report["versions"], report["threads"]
    return "; ".join([
        f"{hardware['cpu']}, {hardware['cores']} cores, {hardware['instruction_set']}",
        f"NumPy {versions['numpy']}, SciPy {versions['scipy']}, {report['blas']}",
        f"default: {threads['ours']} threads of ours, {threads['blas']} of the BLAS",
        f"n = {report['rows'][0]['n']}, float64" + ", small (--quick)" * report["quick"], *run_of(report),
    ])  # fmt: skip


def _draw(report: Row) -> Any:
    """Draw the time of every setting relative to the best one for each loop."""
    rows = report["rows"]
    figure = new_figure(8.0, 1.0 + 0.25 * sum(len(row["times"]) + 1 for row in rows))
    axes, position = figure.subplots(), 0.0
    ticks: dict[float, str] = {}
    white = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}  # covers the line of the limit
    for row in rows:
        axes.text(0, position, row["name"], fontsize=8.5, fontweight="bold", va="center", bbox=white)
        for name, seconds in row["times"].items():
            position -= 1
            ratio = seconds / row["times"][row["best"]]
            axes.barh(position, ratio, 0.7, color=BLUE if name == DEFAULT else GREY)
            text = f"{columns.seconds(seconds)}, {columns.digits(ratio)}x"
            axes.annotate(text, (ratio, position), xytext=(4, 0), textcoords="offset points", va="center", bbox=white)
            ticks[position] = name
        position -= 1.4
    axes.axvline(LIMIT, color=ORANGE)
    axes.text(LIMIT, 0.9, f" the limit of the default, {LIMIT:g}x", color=ORANGE, va="center")
    axes.set_yticks(list(ticks), list(ticks.values()))
    axes.set_ylim(position + 0.8, 1.3)
    axes.set_xlim(0, 1.25 * max(s / min(row["times"].values()) for row in rows for s in row["times"].values()))
    label(axes, "time relative to the best setting (threads of diagsparse and of the BLAS)")
    axes.tick_params(length=0, axis="y")
    return figure


AGAINST_BLAS = Experiment(
    "against-blas", __doc__, _rows, _tables, _draw, _machine, pairs=_pairs, only_cpu=True, add=_add
)
