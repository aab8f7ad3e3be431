"""What runs of the papers' experiments share: the frame of a report, and a column of a row, checked and timed."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import lru_cache, partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from .. import measure
from .._matrix.sparse_array import SparseArray
from .._places.backend import CPU, Place, get_num_threads, place
from .._products.matvec_plan import MatvecPlan
from .._products.plans import MatmulPlan
from .._products.products import plan_matmul, plan_matvec
from ..measure import Progress
from . import gpu_clock, gpu_peers, peers, steps
from .comparison import finite
from .timed_rows import identity

Prepared = tuple[Callable[[], Any], Any]
"""A call into ready memory, and its result."""


@dataclass(frozen=True)
class Clock:
    """Times calls: within a budget of seconds on the CPU, a number of samples on a GPU.

    A call that alone takes four budgets is timed once. What prepared it has called it before. On the CPU it has as many
    threads as are set, or `threads`.
    """

    where: Place
    budget: float = 0.3
    samples: int = 15
    threads: int | None = None

    def __call__(self, call: Callable[[], Any]) -> float:
        if self.where is not CPU:
            return median(gpu_clock.time_calls(call, self.where, self.samples))
        with measure.using_threads(self.threads or get_num_threads()):
            start = perf_counter()
            call()
            once = perf_counter() - start
            return once if once > 4 * self.budget else measure.time_call(call, budget=self.budget).median

    @property
    def device(self) -> str:
        """``"cpu"`` or ``"cuda"``."""
        return self.where.name.partition(":")[0]


Contender = tuple[str, Callable[[], Prepared], Clock]
"""A column, what prepares its call, and what times the call."""


def made_once() -> Callable[[Any, float], Any]:
    """Return ``make(matrix, scale)`` of an experiment, which keeps its last one: the next row is often of the same."""
    return lru_cache(maxsize=1)(lambda matrix, scale: matrix.make(scale))


def run(
    name: str,
    rows: Iterable[tuple[str, Callable[[Place], dict[str, Any]]]],
    *,
    device: str,
    quick: bool,
    progress: Progress | None,
) -> dict[str, Any]:
    """Run what makes the rows of an experiment, each with its name, and return the report.

    Ctrl-C ends it after the first row, and what is done is reported; ``left`` counts the other rows. ``warning`` says
    whether other work kept the processors busy. The ``key`` of a row is the same in another report.
    """
    where, crowd = place(device), measure.Crowd()
    made = steps.run([(what, partial(_named, what, row, where)) for what, row in rows], progress)
    return {
        "experiment": name,
        "device": device.partition(":")[0],
        "warning": crowd.warning(),
        "hardware": peers.hardware() | (gpu_peers.hardware(where) if where is not CPU else {}),
        "versions": peers.versions() | (gpu_peers.versions(where) if where is not CPU else {}),
        "date": date.today().isoformat(),
        "quick": quick,
        "bandwidth": gpu_clock.bandwidth(where, 1 << 24 if quick else 1 << 32),
        "ok": all(_may_fail(column, why) for row in made["rows"] for column, why in row["failed"].items()),
        **made,
    }


def _named(
    what: str, make: Callable[[Place], dict[str, Any]], where: Place, report: Progress
) -> Iterator[dict[str, Any]]:
    row = {"name": what, **make(where)}
    yield {"key": identity(row), **row}
    if where is not CPU:
        where.core.trim(where.index)


def _may_fail(column: str, why: str) -> bool:
    """Return whether that is part of the comparison: cuSPARSE's limits, and what does not fit the memory."""
    return column.startswith(("cuSPARSE", "CuPy")) or why.startswith("MemoryError")


def fill(row: dict[str, Any], contenders: Iterable[Contender], check: Callable[[Any], float]) -> None:
    """Add to `row` the ``times`` of columns in seconds, or why they ``failed``, and the largest ``error``.

    ``columns`` has for each the device that it is ``timed_on``, and the ``kernel`` of ours that runs, where that is
    known.
    """
    for field, nothing in (("times", {}), ("failed", {}), ("columns", {}), ("error", 0.0)):
        row.setdefault(field, nothing)
    for name, prepare, seconds in contenders:
        row["columns"][name] = {"timed_on": seconds.device}
        try:
            call, result = prepare()
            row["columns"][name] |= ran_by(call)
            error = check(result)
            if error > 1:
                raise ArithmeticError(f"wrong: {error:.3g} times the error bound")
            row["error"] = max(row["error"], finite(error) or 0.0)
            row["times"][name] = seconds(call)
        except Exception as failure:  # what a peer cannot do is part of the comparison
            row["times"][name] = None
            row["failed"][name] = f"{type(failure).__name__}: {failure}"[:300]


def ran_by(call: Callable[[], Any]) -> dict[str, str]:
    """Return the ``kernel`` of ours that a call runs, as "format operation kernel"; nothing where that is not known."""
    of, options = getattr(call, "func", None), getattr(call, "keywords", {})
    if isinstance(of, MatmulPlan):
        return {"kernel": f"{of._work} matmul {of.kernel}"}  # of the format that the operands are multiplied in
    if isinstance(of, MatvecPlan):
        return {"kernel": f"{of.matrix.format} matvec {of.kernel}"}
    owner = getattr(of, "__self__", None)
    if isinstance(owner, SparseArray) and options.get("kernel"):
        return {"kernel": f"{owner.format} {getattr(of, '__name__', '')} {options['kernel']}"}
    return {}


def planned_square(A: SparseArray, kernel: str = "", triangle: str | None = None) -> Prepared:
    """Return a planned ``A A``, or a triangle of it, into the matrix that it made, and that matrix."""
    return planned(plan_matmul(A, A, kernel=kernel or None, triangle=triangle))


def planned(plan: Any) -> Prepared:
    """Return a planned product, into the matrix that it made, and that matrix."""
    C = plan()
    return partial(plan, out=C), C


def square(A: Any, kernel: str = "") -> Prepared:
    """Return ``A A`` with all that it takes, of any library's matrix, and its result."""
    call = partial(A.matmul, A, kernel=kernel) if kernel else partial(operator.matmul, A, A)
    return call, call()


def planned_matvec(A: SparseArray, x: Any, kernel: str = "") -> Prepared:
    """Return a planned ``A x`` into the vector that it made, and that vector."""
    plan = plan_matvec(A, kernel=kernel or None)
    y = plan(x)
    return partial(plan, x, out=y), y


def there(x: np.ndarray, where: Place) -> Any:
    """Return a vector in the memory of a place."""
    return x if where is CPU else where.core.from_host(x, where.index)


def matrix_files() -> dict[str, Path]:
    """Return the files of the folder DIAGSPARSE_MATRICES by the names of their matrices; none without it."""
    folder = os.environ.get("DIAGSPARSE_MATRICES")
    return {path.name.partition(".")[0]: path for path in sorted(Path(folder).glob("*.mtx*"))} if folder else {}
