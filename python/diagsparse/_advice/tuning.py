"""Measured times of the layouts that the model ranks first."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from operator import matmul
from typing import Any

from .._backends import memory
from .._backends.backend import CPU
from .._matrix.sparse_array import SparseArray
from .._study import gpu_clock
from .._study.exactness import vector
from .candidate import Candidate
from .candidates import Candidates
from .variants import ordering

_MOST = 6  # largest number of layouts that are measured
_PROMISING = 1.6  # predicted total time of these layouts relative to the first one, at most
_TOO_SLOW = 30  # predicted time of a product relative to the first layout from which the current one is not measured
_BUDGET = 0.05  # seconds of measurement per layout
_SAMPLES = 15  # measurements of a call on a GPU


def tuned(
    ranked: list[Candidate], current: Candidate, candidates: Candidates, products: int, limit: int | None
) -> list[Candidate]:
    """Return the layouts with measured times and conversions, including `current`; the others are omitted.

    All measured layouts are held in memory at the same time, as many as fit, so that they can be timed alternately.
    """
    csr, op = candidates.csr, candidates.op
    most = _PROMISING * ranked[0].total_seconds(products)
    others = [one for one in ranked if one is not current and one.total_seconds(products) <= most]
    built: dict[Candidate, tuple[Callable[[], Any], float]] = {}
    occupied = csr.nbytes
    slow = current.seconds > _TOO_SLOW * ranked[0].seconds  # no need to measure it
    for one in (current, *others[:_MOST]):
        if one is current and slow:
            continue
        occupied += one.nbytes
        if one is not current and not memory.fits(occupied, limit, csr._backend):
            break
        start = time.perf_counter()
        try:
            matrix = one.build(csr)
        except MemoryError:  # the system has less free memory than it reported
            continue
        if csr._backend is not CPU:
            csr._core.synchronize(csr._backend.index)
        before = candidates.seconds_to_csr + (ordering(csr) if one.order else 0.0)
        conversion = 0.0 if one.matrix is not None else before + time.perf_counter() - start
        built[one] = _call(matrix, csr, op), conversion
    seconds = _seconds({one: call for one, (call, _) in built.items()}, candidates)
    measured = [replace(one, measured=seconds[one], conversion=conversion) for one, (_, conversion) in built.items()]
    return [current, *measured] if slow else measured


def _call(matrix: Any, csr: SparseArray, op: str) -> Callable[[], Any]:
    if op == "matmul":
        return partial(matmul, matrix, matrix)
    x = vector(csr.shape[1], csr.dtype)
    return partial(matmul, matrix, x if csr._backend is CPU else csr._core.from_host(x, csr._backend.index))


def _seconds(calls: dict[Candidate, Callable[[], Any]], candidates: Candidates) -> dict[Candidate, float]:
    names = {str(i): one for i, one in enumerate(calls)}
    times = gpu_clock.time_all(
        {i: calls[one] for i, one in names.items()}, candidates.csr._backend, budget=_BUDGET * len(calls),
        samples=_SAMPLES, reuse=candidates.machine.reuse,
    )  # fmt: skip
    return {names[i]: time.median for i, time in times.items()}
