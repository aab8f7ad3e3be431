"""The benchmark on both devices: products of gallery matrices in diagsparse and other libraries, timed and checked.

On a CPU, all contenders are calls of ``A @ x`` or ``A @ B`` and timed alternately, together with reads of memory. On a
GPU, all kernels of diagsparse, cuSPARSE, CuPy and nvmath use the same values and preallocated memory
(``plan(..., out=)``). Events time them one after another, and a device-to-device copy (bytes read plus written).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from .. import measure
from .._backends.backend import CPU, Backend, get_backend, get_num_threads
from .._matrix.construct import array
from .._matrix.registry import FORMATS
from .._products.products import plan_matmul
from ..measure import Contender, Progress, portion
from . import bench_problem, exactness, peers, steps
from .bench_cases import Case, cases
from .bench_problem import Problem
from .comparison import finite
from .gpu_clock import copy_bandwidth, time_calls
from .timed_rows import is_ours
from .titles import is_cusparse

PEERS = ("scipy dia", "scipy csr", "mkl csr")
_MOST_WORK = {"sequential": 1 << 20, "terms": 2**31 - 1}  # multiply-adds: one uses one thread, one lists all

Row = dict[str, Any]


def run(
    name: str | None = None,
    *,
    dtype: Any = np.float64,
    device: str = "cpu",
    quick: bool = False,
    threads: Sequence[int] | None = None,
    budget: float | None = None,
    samples: int = 15,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Run the benchmark and return its report as plain values.

    Parameters
    ----------
    name : str, optional
        A group ("spmv", "stencil", "spins", "spgemm", "small"; on a GPU "spmv", "spins", "spmm", "narrow", "packed",
        "chain", "spgemm", "syrk", "random", "small"), or a prefix of the names of cases.
    dtype : dtype
        The dtype of all values.
    device : str
        ``"cpu"``, ``"cuda"``, ``"cuda:1"``, ...
    quick : bool
        Use small sizes, as a test; the times are not meaningful.
    threads : list of int, optional
        Numbers of threads on a CPU; by default 1 and the current number.
    budget : float, optional
        Seconds of timing for each case and number of threads on a CPU.
    samples : int
        Number of timings of each contender on a GPU; the median is reported.
    progress : callable, optional
        Is called with the fraction that is done, and a description of the current step.

    Returns
    -------
    dict
        ``device``, ``hardware``, ``versions``, ``date``, ``dtype``, ``quick``, ``warning`` (of a busy machine), ``ok``,
        on a GPU ``copy_bandwidth``, ``interrupted`` (by Ctrl-C, with the number of cases ``left``) and ``rows``: a dict
        for each case, contender and number of threads, on a GPU with the error of those that failed.

    Raises
    ------
    ValueError
        If no case has this name.
    """
    where = get_backend(device)
    chosen = cases(name, where.name.partition(":")[0])
    dtype, scale, speed = np.dtype(dtype), 0.02 if quick else 1.0, {}
    rows_of: Callable[[Case, Progress], Iterator[Row]]
    if where is CPU:
        counts = sorted(set(threads or (1, get_num_threads())))
        stream = measure.reader(1 << 24 if quick else 1 << 29) if any(case.read for case in chosen) else None
        budget = (0.02 if quick else 2.0) if budget is None else budget
        rows_of = partial(rows_on_cpu, dtype, scale, counts, budget, stream)
    else:
        speed = {"copy_bandwidth": copy_bandwidth(where, 1 << 24 if quick else 1 << 32)}
        rows_of = partial(rows_on_gpu, dtype, scale, where, samples, speed["copy_bandwidth"])
    report = steps.report([(case.name, partial(rows_of, case)) for case in chosen], where, quick, progress)
    ok = all(row["ok"] for row in report["rows"] if where is CPU or is_ours(row))
    return {"name": name, "dtype": dtype.name, **speed, "ok": ok} | report


def _fields(case: Case, A: Any) -> Row:
    """Return the fields that all rows of a case have in common."""
    named = {"case": case.name, "group": case.group, "op": case.op, "what": case.what}
    return named | {"shape": list(A.shape), "diagonals": len(A.offsets)}


# ---- on a CPU -----------------------------------------------------------------------------------------------------
def rows_on_cpu(
    dtype: np.dtype, scale: float, counts: list[int], budget: float, stream: Any, case: Case, report: Progress
) -> Iterator[Row]:
    """Yield the rows of a case: every contender at every number of threads."""
    report(0.0, f"{case.name}: make")
    vector, A = case.op == "matvec", case.make(scale, 0, dtype)
    right = exactness.vector(A.shape[1], dtype) if vector else (case.make_right or case.make)(scale, 1, dtype)
    contenders = list(_cpu_contenders(case, A, right))

    def named(share: float, what: str) -> None:
        report(share, f"{case.name}: {what}")

    check = (exactness.MatvecCheck if vector else exactness.MatmulCheck)(A, right)
    outcomes = measure.run_once(contenders, check, portion(named, 0.0, 0.3))
    calls = {c.name: c.call for c in contenders}
    if case.read:
        smallest = min(outcome.floor_nbytes for outcome in outcomes.values())
        calls |= {"stream": stream, "same": measure.reader(smallest)}
    for i, count in enumerate(counts):
        times = _time(calls, count, budget, portion(named, 0.3 + 0.7 * i / len(counts), 0.7 / len(counts)))
        for c in contenders:
            error = outcomes[c.name].error
            yield {
                **_fields(case, A), "threads": count, "library": c.library, "format": c.format, "kernel": c.kernel,
                **_figures(times, c.name, calls, outcomes[c.name].floor_nbytes), "error": finite(error),
                "ok": error <= 1,
            }  # fmt: skip


def _time(calls: dict[str, Any], threads: int, budget: float, report: Progress) -> dict[str, measure.Timing]:
    mkl = peers.mkl()
    with measure.using_threads(threads):
        if mkl:
            mkl.mkl_set_num_threads(threads)
        return measure.time_calls(calls, budget=budget, pause=peers.MKL_SLEEPS if mkl else 0.0, progress=report)


def _figures(times: dict[str, measure.Timing], name: str, calls: dict[str, Any], floor: int) -> Row:
    """Return the times of one contender, the fraction of the read bandwidth that it reaches, and ratios to peers."""
    own = times[name]
    figures: Row = {"seconds": own.median, "best": own.best, "samples": own.samples, "floor_nbytes": floor}
    for read, suffix in (("stream", ""), ("same", "_same_size")):
        speed = calls[read].args[0].nbytes / times[read].median if read in times else None
        figures[f"read_bandwidth{suffix}"] = speed
        figures[f"fraction{suffix}"] = floor / own.median / speed if speed else None
    for peer in PEERS:
        figures[f"vs_{peer.replace(' ', '_')}"] = times[peer].median / own.median if peer in times else None
    return figures


def _cpu_contenders(case: Case, A: Any, right: Any) -> Iterator[Contender]:
    """Yield all ways to compute the product of a case, with the same call, ``A @ x`` or ``A @ B``, for all."""
    vector = case.op == "matvec"
    for format in case.formats or FORMATS:
        left = array(A, format)
        if not left.kernels(case.op):
            continue
        other = right if vector else array(right, format)
        yield measure.by_operator("diagsparse", left, other)
        if format == "hm":
            yield from (measure.by_kernel(left, other, kernel) for kernel in case.kernels)
        if format == "hm" and not vector:
            plan = plan_matmul(left, other)
            yield Contender("diagsparse", format, "planned, out=", partial(plan, out=plan()), (left, other))
    csr = measure.csr32(A)
    other = right if vector else measure.csr32(right)
    yield measure.by_operator("scipy", A, right)
    yield measure.by_operator("scipy", csr, other)
    yield from peers.by_mkl(csr, other)


# ---- on a GPU -----------------------------------------------------------------------------------------------------
def rows_on_gpu(
    dtype: np.dtype, scale: float, where: Backend, samples: int, speed: float, case: Case, report: Progress
) -> Iterator[Row]:
    """Yield the rows of a case: every contender."""
    report(0.0, f"{case.name}: make")
    problem = bench_problem.of_case(case, dtype, scale, where)
    plain = bench_problem.counterpart(case, problem)
    fields = _fields(case, problem.A) | {"work": problem.work(), "counterpart": case.counterpart}
    rows: list[Row] = []
    contenders = list(_gpu_contenders(case, problem, where))
    for i, contender in enumerate(contenders):
        report(i / len(contenders), f"{case.name}: {' '.join(contender[:3])}")
        library, format, kernel, _ = contender
        default = library == "diagsparse" and kernel == problem.default_kernel(format)
        if row := _gpu_row(contender, problem, plain, case, where, samples):
            rows.append(fields | row | {"default": default})
    floor = next((row["floor_nbytes"] for row in rows if row["floor_nbytes"]), 0)
    theirs = min((row["seconds"] for row in rows if is_cusparse(row["kernel"]) and row["ok"]), default=None)
    for row in rows:
        own, other = row["seconds"], row["counterpart_seconds"]
        row["floor_nbytes"] = floor
        row["fraction"] = floor / own / speed if own and floor else None
        row["vs_cusparse"] = theirs / own if own and theirs else None
        row["vs_counterpart"] = other / own if own and other else None
    yield from rows
    where.core.trim(where.index)


def _gpu_row(
    contender: peers.GpuContender, problem: Problem, plain: Problem | None, case: Case, where: Backend, samples: int
) -> Row | None:
    """Return the result of one contender; for diagsparse also the time of the same kernel for the counterpart.

    Return None if another kernel of diagsparse would run instead: that kernel has its own row.
    """
    library, format, kernel, prepare = contender
    row: Row = {"library": library, "format": format, "kernel": kernel, "ok": False, "floor_nbytes": 0}
    row |= dict.fromkeys(("seconds", "best", "error", "failed", "counterpart_seconds"))
    try:
        call = prepare()
        if bench_problem.kernel_of(call, kernel) != kernel:
            return None
        result = call()
        if format == case.formats[0] and library == "diagsparse":
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


def _gpu_contenders(case: Case, problem: Problem, where: Backend) -> Iterator[peers.GpuContender]:
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
    yield from peers.on_gpu(case.op, case.columns, problem.operands)
