"""A product with the seconds of its stages: `A.matmul(B, profile=True)`."""

from __future__ import annotations

import time
from typing import Any

from .._backends.backend import CPU
from .._backends.types import product_dtypes
from .._matrix.sparse_array import SparseArray
from .plans import MatmulPlan


def profiled(
    a: SparseArray, b: SparseArray, out: SparseArray | None, **options: Any
) -> tuple[SparseArray, dict[str, float]]:
    """Return the product, and the seconds of its stages: planning, arithmetic and conversion."""
    last = clock(a)
    seconds: dict[str, float] = {}

    def on_stage(stage: str) -> None:
        nonlocal last
        before, last = last, clock(a)
        seconds[stage] = last - before

    plan = MatmulPlan(a, b, **options, out=out, on_stage=on_stage)
    on_stage("plan")
    stages = plan._plan.stages
    if not plan._native:
        result = plan(out=out)
        on_stage("multiply")
        return result, seconds
    left, right = plan._a, plan._b
    right = right.astype(product_dtypes(left._dtype, right._dtype)[0], copy=False)
    if out is None:
        out = SparseArray._wrap(plan._plan.result(plan.dtype.name))
        on_stage("allocate")
    plan._check_out(out)
    for number, stage in enumerate(stages):
        plan._plan.run_stage(number, left._matrix, right._matrix, out._matrix)
        on_stage(stage)
    return out, seconds


def clock(a: SparseArray) -> float:
    """Return the time, after all work on the device of the matrix has finished."""
    if a._backend is not CPU:
        a._core.synchronize(a._backend.index)
    return time.perf_counter()
