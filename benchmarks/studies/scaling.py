"""Products on many processes: P processes of T threads, compared with one process that has all threads.

Stencils of 5, 7 and 27 points and Heisenberg chains in hm, distributed by rows over the processes of this machine, from
one process with all cores to one process for each core. Each process is bound to cores of its own. Products follow one
another without a barrier. The speed of a machine changes with time, so each process multiplies for some seconds before
it is timed, all divisions are timed in turn, twice, and a time is the median of all samples. The results of all runs
are compared bit by bit.

A second table is about products with the rows and columns of each process alone, without messages, which all processes
compute at the same time. What they lose in comparison with one process is because of cores that differ in speed: one
process gives a faster core more rows, whereas each of several has its own rows.

It needs mpi4py and `mpiexec`. With --quick, only small problems.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from diagsparse._backends.backend import Backend
from diagsparse._show import columns

from ..experiment import Experiment, NamedRow
from ..pictures import label, new_figure
from ..tables import Row, Tables, table, time
from ..timed_columns import Columns

PROBLEMS: dict[str, dict[str, Any]] = {
    "5 points, 4000 x 4000": {"points": 5, "grid": [4000, 4000]},
    "7 points, 256 x 256 x 256": {"points": 7, "grid": [256, 256, 256]},
    "27 points, 216 x 216 x 216": {"points": 27, "grid": [216, 216, 216]},
    "Heisenberg, 20 sites": {"sites": 20},
}
QUICK: dict[str, dict[str, Any]] = {
    "5 points, 100 x 100": {"points": 5, "grid": [100, 100]},
    "Heisenberg, 8 sites": {"sites": 8},
}
_ROUNDS, _WARM_UP = 2, 3.0  # seconds
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none", "PRTE_MCA_hwloc_default_binding_policy": "none",
}  # fmt: skip


def _rows(where: Backend, quick: bool) -> Iterator[NamedRow]:
    """Yield the problems.

    A row contains ``rows``, ``nnz``, ``halo_nbytes`` (the most that a process receives, if there is one for each core),
    ``times`` by "P x T", ``alone`` (the times without messages), and whether all results are bitwise the same (``ok``).
    """
    for name, problem in (QUICK if quick else PROBLEMS).items():
        yield name, partial(_run, problem, quick)


def _divisions() -> list[tuple[int, int]]:
    """Return numbers of processes, by which the cores can be divided, and of the threads of each."""
    cores = len(os.sched_getaffinity(0))
    processes = [1]
    for p in range(2, cores + 1):
        if cores % p == 0 and (p >= 4 * processes[-1] or p == cores):
            processes.append(p)
    return [(p, cores // p) for p in processes]


def _run(problem: dict[str, Any], quick: bool, where: Backend) -> dict[str, Any]:
    row: dict[str, Any] = {"times": {}, "failed": {}, "columns": {}, "error": 0.0, "ok": True}
    options = {"repeats": 5, "warm_up": 0.1} if quick else {"repeats": 10, "warm_up": _WARM_UP}
    samples: dict[str, list[float]] = {}
    alone: dict[str, list[float]] = {}
    digests = set()
    for _ in range(1 if quick else _ROUNDS):
        for processes, threads in _divisions():
            column, found = f"{processes} x {threads}", _timed(processes, problem | {"threads": threads} | options)
            digests.add(found.pop("digest"))
            samples.setdefault(column, []).extend(found.pop("seconds"))
            alone.setdefault(column, []).extend(found.pop("alone"))
            row |= found
    row["columns"] = {column: {"timed_on": "cpu"} for column in samples}
    row["times"] = {column: median(seconds) for column, seconds in samples.items()}
    row["alone"] = {column: median(seconds) for column, seconds in alone.items()}
    row["ok"] = len(digests) == 1
    return row


def _timed(processes: int, problem: dict[str, Any]) -> dict[str, Any]:
    own = Path(sys.executable).parent
    launcher = shutil.which("mpiexec", path=f"{own}{os.pathsep}{os.environ['PATH']}")
    if launcher is None:
        raise FileNotFoundError("mpiexec is not installed: pip install mpich, or an MPI library of the system")
    command = [launcher, "-n", str(processes), sys.executable, "-m", "benchmarks.studies.scaling_process"]
    done = subprocess.run(
        [*command, json.dumps(problem)], capture_output=True, text=True, check=True, env=os.environ | _ENVIRONMENT
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


# ---- tables and the picture ---------------------------------------------------------------------------------------
def _tables(report: Row) -> Tables:
    names = list(dict.fromkeys(name for row in report["rows"] for name in row["times"]))
    yield "Time of a product, by processes x threads, and the rate relative to one process", table(report["rows"], {
        "matrix": "{name}", "rows": "{rows:,}",
        "halo": lambda row: f"{row['halo_nbytes'] / 1e3:,.0f} KB",
        **{name: partial(_cell, name=name) for name in names},
        "same bits": lambda row: "yes" if row["ok"] else "no",
    })  # fmt: skip
    yield "The same without messages: the rows and columns of each process alone", table(report["rows"], {
        "matrix": "{name}", **{name: partial(_cell, name=name, kind="alone") for name in names},
    })  # fmt: skip


def _cell(row: Row, name: str, kind: str = "times") -> str:
    return f"{time(row[kind][name])} ({columns.digits(_efficiency(row, name, kind))})"


def _efficiency(row: Row, name: str, kind: str = "times") -> float:
    """Return the rate of products relative to that of one process with all threads."""
    return float(next(iter(row["times"].values())) / row[kind][name])


def _draw(report: Row) -> Any:
    figure = new_figure(6, 3.6)
    axes = figure.subplots()
    for row in report["rows"]:
        processes = [int(name.split(" x ")[0]) for name in row["times"]]
        axes.plot(processes, [_efficiency(row, name) for name in row["times"]], "o-", label=row["name"])
    label(axes, "processes, on all cores", "rate relative to one process", line=1)
    axes.set_ylim(bottom=0)
    axes.legend(fontsize="small")
    return figure


SCALING = Experiment("scaling", __doc__, _rows, _tables, _draw, columns=Columns("D @ x"), only_cpu=True)
