"""The CPU benchmark: products of gallery matrices in diagsparse, SciPy and MKL, timed alternately and checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .. import measure
from .._backends.backend import CPU, get_num_threads
from .._matrix.construct import array
from .._matrix.registry import FORMATS
from .._products.products import plan_matmul
from ..measure import Contender, Progress, portion
from . import bench_cases, exactness, peers, steps
from .bench_cases import BaseCase, band, random, stencil
from .comparison import finite

PEERS = ("scipy dia", "scipy csr", "mkl csr")


@dataclass(frozen=True)
class Case(BaseCase):
    """A case of the CPU benchmark."""

    kernels: tuple[str, ...] = ()  #: of hm, in addition to the default
    read: bool = True  #: whether memory bandwidth matters


CASES = (
    *(
        Case(f"band-{d}", "spmv", "matvec", "band", band(10**6, d))
        for d in (5, 11, 41)
    ),
    Case("stencil-5", "stencil", "matvec", "5-point stencil", stencil(5, 1000, 1000)),
    Case("stencil-9", "stencil", "matvec", "9-point stencil", stencil(9, 1000, 1000)),
    Case("stencil-7", "stencil", "matvec", "7-point stencil", stencil(7, 100, 100, 100)),
    Case("stencil-27", "stencil", "matvec", "27-point stencil", stencil(27, 60, 60, 60)),
    Case("band-41-squared", "spgemm", "matmul", "bands", band(60_000, 41)),
    Case("band-11-squared", "spgemm", "matmul", "bands", band(250_000, 11)),
    Case("random-200", "spgemm", "matmul", "random diagonals", random(10_000, 200), formats=("hm",)),
    Case(
        "random-109-35", "spgemm", "matmul", "random diagonals", random(10_000, 109), random(10_000, 35),
        formats=("hm",), kernels=("sequential",),
    ),
    Case("small-vector", "small", "matvec", "band", band(50, 5), read=False),
    Case("small-product", "small", "matmul", "band", band(50, 5), read=False),
)  # fmt: skip


def cases(name: str | None = None) -> list[Case]:
    """Return the cases of a group, or those whose names start with `name`; all by default."""
    return bench_cases.chosen(CASES, name)


def run(
    name: str | None = None,
    *,
    dtype: Any = np.float64,
    quick: bool = False,
    threads: Sequence[int] | None = None,
    budget: float | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Run the benchmark and return its report as plain values.

    Parameters
    ----------
    name : str, optional
        A group ("spmv", "stencil", "spgemm", "small"), or a prefix of the names of cases.
    dtype : dtype
        The dtype of all values.
    quick : bool
        Use small sizes, as a test; the times are not meaningful.
    threads : list of int, optional
        Numbers of threads; by default 1 and the current number.
    budget : float, optional
        Seconds of timing for each case and number of threads.
    progress : callable, optional
        Is called with the fraction that is done, and a description of the current step.

    Returns
    -------
    dict
        ``hardware``, ``versions``, ``date``, ``dtype``, ``quick``, ``ok``, ``interrupted`` (by Ctrl-C, with the number
        of cases ``left``) and ``rows``: a dict for each case, number of threads and contender.

    Raises
    ------
    ValueError
        If no case has this name.
    """
    chosen = cases(name)
    counts = sorted(set(threads or (1, get_num_threads())))
    budget = (0.02 if quick else 2.0) if budget is None else budget
    stream = measure.reader(1 << 24 if quick else 1 << 29) if any(case.read for case in chosen) else None
    scale = 0.02 if quick else 1.0
    some = [(case.name, partial(_run_case, case, np.dtype(dtype), scale, counts, budget, stream)) for case in chosen]
    report = steps.report(some, CPU, quick, progress)
    ok = all(row["ok"] for row in report["rows"])
    return {"name": name, "dtype": np.dtype(dtype).name, "ok": ok} | report


def _run_case(
    case: Case, dtype: np.dtype, scale: float, counts: list[int], budget: float, stream: Any, report: Progress
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a case: every contender at every number of threads."""
    report(0.0, f"{case.name}: make")
    A = case.make(scale, 0, dtype)
    right = (
        (case.make_right or case.make)(scale, 1, dtype) if case.op == "matmul" else exactness.vector(A.shape[1], dtype)
    )
    contenders = list(_contenders(case, A, right))

    def named(share: float, what: str) -> None:
        report(share, f"{case.name}: {what}")

    check = (exactness.MatvecCheck if case.op == "matvec" else exactness.MatmulCheck)(A, right)
    outcomes = measure.run_once(contenders, check, portion(named, 0.0, 0.3))
    calls = {c.name: c.call for c in contenders}
    if case.read:
        smallest = min(outcome.floor_nbytes for outcome in outcomes.values())
        calls |= {"stream": stream, "same": measure.reader(smallest)}
    fields = {"case": case.name, "group": case.group, "op": case.op, "what": case.what, "shape": list(A.shape)}
    for i, count in enumerate(counts):
        times = _time(calls, count, budget, portion(named, 0.3 + 0.7 * i / len(counts), 0.7 / len(counts)))
        for c in contenders:
            error = outcomes[c.name].error
            yield {
                **fields, "diagonals": len(A.offsets), "threads": count,
                "library": c.library, "format": c.format, "kernel": c.kernel,
                **_figures(times, c.name, calls, outcomes[c.name].floor_nbytes),
                "error": finite(error), "ok": error <= 1,
            }  # fmt: skip


def _time(calls: dict[str, Any], threads: int, budget: float, report: Progress) -> dict[str, measure.Timing]:
    mkl = peers.mkl()
    with measure.using_threads(threads):
        if mkl:
            mkl.mkl_set_num_threads(threads)
        return measure.time_calls(calls, budget=budget, pause=peers.MKL_SLEEPS if mkl else 0.0, progress=report)


def _figures(times: dict[str, measure.Timing], name: str, calls: dict[str, Any], floor: int) -> dict[str, Any]:
    """Return the times of one contender, the fraction of the read bandwidth that it reaches, and ratios to peers."""
    own = times[name]
    figures: dict[str, Any] = {"seconds": own.median, "best": own.best, "samples": own.samples, "floor_nbytes": floor}
    for read, suffix in (("stream", ""), ("same", "_same_size")):
        speed = calls[read].args[0].nbytes / times[read].median if read in times else None
        figures[f"read_bandwidth{suffix}"] = speed
        figures[f"fraction{suffix}"] = floor / own.median / speed if speed else None
    for peer in PEERS:
        figures[f"vs_{peer.replace(' ', '_')}"] = times[peer].median / own.median if peer in times else None
    return figures


def _contenders(case: Case, A: Any, right: Any) -> Iterator[Contender]:
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
