"""The GPU benchmark: all kernels of diagsparse, cuSPARSE, CuPy and nvmath, timed by events and checked.

All contenders of a case use the same values and preallocated memory (`plan(..., out=)`), one after another in one
process. Times are compared with the bandwidth of a device-to-device copy in the same run (bytes read plus written).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from .._backends.backend import Backend, get_backend
from ..measure import Progress
from . import bench_cases, bench_problem, gpu_peers, steps
from .bench_cuda_cases import CASES, Case
from .bench_problem import Problem
from .comparison import finite
from .gpu_clock import copy_bandwidth, time_calls
from .titles import is_cusparse

_MOST_WORK = {
    "sequential": 1 << 20,
    "terms": 2**31 - 1,
}  # multiply-adds: one uses one thread, one lists all


def cases(name: str | None = None) -> list[Case]:
    """Return the cases of a group, or those whose names start with `name`; all by default."""
    return bench_cases.chosen(CASES, name, " on a GPU")


def run(
    name: str | None = None,
    *,
    dtype: Any = np.float64,
    device: str = "cuda",
    quick: bool = False,
    samples: int = 15,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Run the benchmark on a GPU and return its report as plain values.

    Parameters
    ----------
    name : str, optional
        A group ("spmv", "spmm", "narrow", "packed", "chain", "spgemm", "syrk", "random", "small"), or a prefix of the
        names of cases.
    dtype : dtype
        The dtype of all values.
    device : str
        ``"cuda"``, ``"cuda:1"``, ...
    quick : bool
        Use small sizes, as a test; the times are not meaningful.
    samples : int
        Number of timings of each contender; the median is reported.
    progress : callable, optional
        Is called with the fraction that is done, and a description of the current step.

    Returns
    -------
    dict
        ``device``, ``hardware``, ``versions``, ``date``, ``dtype``, ``quick``, ``warning`` (of a busy host), ``ok``,
        ``copy_bandwidth``, ``interrupted`` (by Ctrl-C, with the number of cases ``left``) and ``rows``: a dict for each
        case and contender, with the error of those that failed.
    """
    chosen, where = cases(name), get_backend(device)
    speed, scale = copy_bandwidth(where, 1 << 24 if quick else 1 << 32), 0.02 if quick else 1.0

    def rows_of(case: Case, report: Progress) -> Iterator[dict[str, Any]]:
        yield from _run_case(case, np.dtype(dtype), scale, where, samples, speed, report)
        where.core.trim(where.index)

    report = steps.report([(case.name, partial(rows_of, case)) for case in chosen], where, quick, progress)
    ours = [row for row in report["rows"] if row["library"] == "diagsparse" and not is_cusparse(row["kernel"])]
    ok, named = all(row["ok"] for row in ours), {"name": name, "dtype": np.dtype(dtype).name}
    return named | {"copy_bandwidth": speed, "ok": ok} | report


# ---- a case -------------------------------------------------------------------------------------------------------
def _run_case(
    case: Case, dtype: np.dtype, scale: float, where: Backend, samples: int, speed: float, report: Progress
) -> list[dict[str, Any]]:
    """Return the row of every contender."""
    report(0.0, f"{case.name}: make")
    problem = bench_problem.of_case(case, dtype, scale, where)
    plain = bench_problem.counterpart(case, problem)
    fields = {"case": case.name, "group": case.group, "op": case.op, "what": case.what, "shape": list(problem.A.shape),
              "diagonals": len(problem.A.offsets), "work": problem.work(), "counterpart": case.counterpart}  # fmt: skip
    rows: list[dict[str, Any]] = []
    contenders = list(_contenders(case, problem, where))
    for i, contender in enumerate(contenders):
        report(i / len(contenders), f"{case.name}: {' '.join(contender[:3])}")
        library, format, kernel, _ = contender
        default = library == "diagsparse" and kernel == problem.default_kernel(format)
        if row := _row(contender, problem, plain, case, where, samples):
            rows.append(fields | row | {"default": default})
    floor = next((row["floor_nbytes"] for row in rows if row["floor_nbytes"]), 0)
    theirs = min((row["seconds"] for row in rows if is_cusparse(row["kernel"]) and row["ok"]), default=None)
    for row in rows:
        own, other = row["seconds"], row["counterpart_seconds"]
        row["floor_nbytes"] = floor
        row["fraction"] = floor / own / speed if own and floor else None
        row["vs_cusparse"] = theirs / own if own and theirs else None
        row["vs_counterpart"] = other / own if own and other else None
    return rows


def _row(
    contender: gpu_peers.Contender, problem: Problem, plain: Problem | None, case: Case, where: Backend, samples: int
) -> dict[str, Any] | None:
    """Return the result of one contender; for diagsparse also the time of the same kernel for the counterpart.

    Return None if another kernel of diagsparse would run instead: that kernel has its own row.
    """
    library, format, kernel, prepare = contender
    row: dict[str, Any] = {"library": library, "format": format, "kernel": kernel, "ok": False, "floor_nbytes": 0}
    row |= dict.fromkeys(("seconds", "best", "error", "failed", "counterpart_seconds"))
    try:
        call = prepare()
        if bench_problem.kernel_of(call, kernel) != kernel:
            return None
        result = call()
        if format == "dia" and library == "diagsparse":
            row["floor_nbytes"] = problem.floor(result)
        row["error"] = finite(error := problem.error(result))
        seconds = time_calls(call, where, samples)
        row |= {"seconds": median(seconds), "best": min(seconds)}
        if plain and library == "diagsparse":
            call = plain.call(format, "" if case.power else kernel)
            error = max(error, plain.error(call()))
            row["counterpart_seconds"] = case.times * median(time_calls(call, where, samples))
        row["ok"] = error <= 1
    except Exception as failure:  # limits of a peer are part of the comparison
        row["failed"] = f"{type(failure).__name__}: {failure}"[:300]
    return row


def _contenders(case: Case, problem: Problem, where: Backend) -> Iterator[gpu_peers.Contender]:
    """Yield all kernels of diagsparse for a case, then the other libraries."""
    op = {"power": "chain", "syrk": "matmul"}.get(case.op, case.op)
    work = problem.A.nnz * (len(problem.right.offsets) if op == "matmul" else 1)
    for format in case.formats:
        if format == "cdm" and problem.A.shape[0] != problem.A.shape[1]:
            continue
        for kernel in where.core.kernels(format)[op]:
            if work > _MOST_WORK.get(kernel, work):
                continue
            if is_cusparse(kernel) and case.values:  # cuSPARSE needs the same dtype for A and x
                continue
            yield "diagsparse", format, kernel, partial(problem.call, format, kernel)
    yield from gpu_peers.contenders(case.op, case.columns, problem.operands)
