"""What happens once in a process: imports, the first matrix, the first product, and on a GPU the start of CUDA.

Each step is timed in new processes, one after the other, on two threads: the import of diagsparse, `ds.array(S)` for a
five-point stencil with 10^6 nonzeros, and a product. With --device cuda also the load of the module for GPUs, the CUDA
context, the copies of the matrix and of x, and the first product on the GPU, which loads its kernel. Later calls, and
SciPy's product and copy of S in csr, are next to them. It takes half a minute.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from statistics import median
from typing import Any

from diagsparse._backends.backend import CPU, Backend
from diagsparse._show import columns
from diagsparse._study.bench_summary import Pair
from diagsparse._study.timed_rows import Timed

from ..experiment import Experiment, NamedRow, Report
from ..pictures import BLUE, GREY, ORANGE, label, new_figure
from ..tables import Row, Tables, machine, table, time

RUNS = 9  #: processes, of which the median counts
LATER = 20  #: later calls, of which the fastest counts
SIDE = 447  #: of the grid: 10^6 nonzeros
QUICK_SIDE = 32


@dataclass(frozen=True)
class Step:
    """Statements that are timed in a new process after those of the steps before; without a name, only executed."""

    name: str
    code: str
    times: int = 1  #: how often they are executed; the shortest time counts


PRODUCT, COPY = "SciPy: a later S @ x", "SciPy: the first S.copy()"
MATRIX = "the first ds.array(S)"
ON_CPU = (
    Step("import numpy, scipy.sparse", "import numpy as np, scipy.sparse as sp"),
    Step("import diagsparse", "import diagsparse as ds"),
    Step("", "ds.set_num_threads(2); S = sp.csr_array(ds.gallery.stencil(5, (side, side))); x = np.ones(S.shape[1])"),
    Step("", "S.data *= np.random.default_rng(0).uniform(1, 2, S.nnz)"),  # neither symmetric nor periodic
    Step("import of ds.array", "ds.array"),
    Step(MATRIX, "A = ds.array(S)"),
    Step("a later ds.array(S)", "later = ds.array(S)", LATER),
    Step("the first A @ x", "y = A @ x"),
    Step("a later A @ x", "A @ x", LATER),
    Step(PRODUCT, "expected = S @ x", LATER),
    Step(COPY, "copied = S.copy()"),
    Step("", "right = bool(np.allclose(y, expected))"),
)
ON_GPU = (
    Step("", "from diagsparse._backends import backend"),
    Step("load of the GPU's module", "core = backend._cuda()"),
    Step("CUDA context", "core.empty((1,), 'float64', 0); core.synchronize(0)"),
    Step('A.to("cuda")', "B = A.to('cuda')"),
    Step("copy of x to the GPU", "there = core.from_host(x, 0)"),
    Step("the first product on the GPU", "y = B @ there; core.synchronize(0)"),
    Step("a later product on the GPU", "B @ there; core.synchronize(0)", LATER),
    Step("", "right = right and bool(np.allclose(y.get(), expected))"),
)
START_OF_GPU = "all of the GPU until its first product"  #: the sum of the steps before a later product
LIMITS = {"import diagsparse": 0.12, START_OF_GPU: 1.0}  #: seconds, goals of the project
PRODUCTS = 3.0  #: and for the first matrix, products of SciPy's csr

_PROCESS = """
import json, sys, time
variables, seconds = {"side": int(sys.argv[1])}, {}
for name, code, times in json.loads(sys.argv[2]):
    compiled, taken = compile(code, name, "exec"), []
    for _ in range(times):
        start = time.perf_counter()
        exec(compiled, variables)
        taken.append(time.perf_counter() - start)
    if name:
        seconds[name] = min(taken)
print(json.dumps([seconds, variables["right"]]))
"""


def _rows(where: Backend, quick: bool) -> Iterator[NamedRow]:
    """Yield the steps.

    A row contains ``seconds``, the ``limit`` of the project in seconds or None, and whether products are correct
    (``ok``).
    """
    on_gpu = ON_GPU if where is not CPU else ()
    size = (QUICK_SIDE, 1) if quick else (SIDE, RUNS)
    measured = cache(partial(_measured, (*ON_CPU, *on_gpu), *size))  # once, for all rows
    names = [step.name for step in (*ON_CPU, *on_gpu) if step.name] + [START_OF_GPU] * bool(on_gpu)
    for name in names:
        yield name, partial(_step, name, measured)


def _step(name: str, measured: Callable[[], dict[str, Row]], where: Backend) -> Row:
    return measured()[name]


def _measured(steps: tuple[Step, ...], side: int, runs: int) -> dict[str, Row]:
    """Return the row of each step: the median of the times in `runs` new processes."""
    listed = json.dumps([(step.name, step.code, step.times) for step in steps])
    command = [sys.executable, "-c", _PROCESS, str(side), listed]
    printed = [json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout) for _ in range(runs)]
    taken = [seconds | _start_of_gpu(seconds) for seconds, _ in printed]
    medians = {name: median(one[name] for one in taken) for name in taken[0]}
    limits = LIMITS | {MATRIX: PRODUCTS * medians[PRODUCT]}
    ok = all(right for _, right in printed)
    return {name: {"seconds": of, "limit": limits.get(name), "ok": ok} for name, of in medians.items()}


def _start_of_gpu(seconds: dict[str, float]) -> dict[str, float]:
    once = [seconds[step.name] for step in ON_GPU if step.name in seconds and step.times == 1]
    return {START_OF_GPU: sum(once)} if once else {}


def _pairs(report: Report) -> Iterator[Pair]:
    """Yield the comparison of the first matrix with a copy of SciPy's."""
    seconds = {row["name"]: row["seconds"] for row in report["rows"]}
    if MATRIX in seconds and COPY in seconds:
        yield Pair("a first matrix", MATRIX, "", COPY, seconds[COPY] / seconds[MATRIX])


def _times(report: Report) -> Iterator[Timed]:
    """Yield each step of diagsparse."""
    for row in report["rows"]:
        if "SciPy" not in row["name"]:
            yield Timed(row["name"], "", "", "", row["seconds"], row["ok"])


# ---- the table and the picture ------------------------------------------------------------------------------------
def _tables(report: Row) -> Tables:
    yield "", table(report["rows"], {
        "step": "{name}", "time": lambda row: time(row["seconds"]), "limit": lambda row: time(row["limit"]),
        "within": _within,
    })  # fmt: skip


def _within(row: Row) -> str:
    within = "" if row["limit"] is None else "yes" if row["seconds"] <= row["limit"] else "no"
    return within + "  WRONG" * (not row["ok"])


def _draw(report: Row) -> Any:
    """Draw a bar for each step, and the limits."""
    rows = report["rows"][::-1]
    figure = new_figure(7.2, 1.0 + 0.28 * len(rows))
    axes = figure.subplots()
    for position, row in enumerate(rows):
        axes.barh(position, row["seconds"], 0.7, color=GREY if "SciPy" in row["name"] else BLUE)
        axes.annotate(
            columns.seconds(row["seconds"]), (row["seconds"], position), xytext=(4, 0), textcoords="offset points",
            va="center",
        )  # fmt: skip
        if row["limit"]:
            axes.plot([row["limit"]] * 2, [position - 0.45, position + 0.45], color=ORANGE)
    axes.set_yticks(range(len(rows)), [row["name"] for row in rows])
    label(axes, "seconds; orange: the limit", log="x")
    axes.set_xlim(right=4 * max(row["seconds"] for row in rows))
    axes.tick_params(length=0, axis="y")
    return figure


_HEAD = partial(machine, dtypes="float64, 2 threads")
FIRST_USE = Experiment("first-use", __doc__, _rows, _tables, _draw, _HEAD, pairs=_pairs, timed=_times)
