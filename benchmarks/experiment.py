"""An experiment: what makes its rows, and how reports of them are read; columns of a row, checked and timed."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from diagsparse import get_num_threads, measure, plan_matmul, plan_matvec
from diagsparse._backends.backend import CPU, Backend, get_backend
from diagsparse._matrix.sparse_array import SparseArray
from diagsparse._products.matvec_plan import MatvecPlan
from diagsparse._products.plans import MatmulPlan
from diagsparse._study import gpu_clock, steps
from diagsparse._study.bench_command import Benchmark
from diagsparse._study.bench_summary import Pair
from diagsparse._study.comparison import finite
from diagsparse._study.figures import save, styled
from diagsparse._study.timed_rows import Timed
from diagsparse.measure import Progress

from .tables import Tables, as_section, as_text, machine
from .timed_columns import Columns

Report = dict[str, Any]
Row = dict[str, Any]
NamedRow = tuple[str, Callable[[Backend], Row]]
"""The name of a row, by which it is found in another report, and what makes it on a device."""


def _add_nothing(report: Report) -> None:
    """Add nothing."""


@dataclass(frozen=True)
class Experiment:
    """A command of `python -m benchmarks`, whose modules say what is measured and how it is shown."""

    name: str
    about: str | None  #: what it measures, on which matrices, and how long it takes
    rows: Callable[[Backend, bool], Iterable[NamedRow]]  #: for a device; of small matrices where it is to be quick
    tables: Callable[[Report], Tables]
    draw: Callable[[Report], Any]  #: a picture, as a figure of matplotlib
    head: Callable[[Report], str] = machine  #: the line about the machine
    columns: Columns = field(default_factory=Columns)
    pairs: Callable[[Report], Iterator[Pair]] | None = None  #: what the summary compares, if not columns
    timed: Callable[[Report], Iterator[Timed]] | None = None  #: what two reports are compared by, if not columns
    only_cpu: bool = False
    add: Callable[[Report], None] = _add_nothing  #: adds to a report what only this experiment has

    def run(self, *, device: str = "cpu", quick: bool = False, progress: Progress | None = None) -> Report:
        """Run the experiment and return a report as plain values.

        Ctrl-C ends it after the first row, and what is done is reported.

        Parameters
        ----------
        device : str
            ``"cpu"``, ``"cuda"``, ``"cuda:1"``, ...
        quick : bool
            Small matrices, to see that it works; the figures mean little.
        progress : callable, optional
            Receives the share that is done, and what is being done.

        Returns
        -------
        dict
            ``experiment``, ``device``, ``hardware``, ``versions``, ``date``, ``quick``, ``bandwidth`` (bytes a second
            that are read, on a GPU copied), ``warning`` (whether other work kept the processors busy), ``ok``,
            ``interrupted`` with the number of rows that are ``left``, and ``rows``: dicts with their ``name``.

        Raises
        ------
        ValueError
            For a device on which the experiment does not run.
        """
        if self.only_cpu and device != "cpu":
            raise ValueError(f"{self.name}: --device {device}, but it runs on the cpu")
        where = get_backend(device)
        to_do = [(name, partial(_row, name, make, where)) for name, make in self.rows(where, quick)]
        report = {"experiment": self.name} | steps.report(to_do, where, quick, progress)
        report["bandwidth"] = gpu_clock.bandwidth(where, 1 << 24 if quick else 1 << 32)
        report["ok"] = all(map(_is_right, report["rows"]))
        self.add(report)
        return report

    def text(self, report: Report) -> str:
        """Return a report as tables for a terminal."""
        return as_text(self.head(report), self.tables(report))

    def markdown(self, report: Report) -> str:
        """Return a report as Markdown for the docs."""
        return as_section(self.head(report), self.tables(report))

    def plot(self, report: Report, path: str | Path) -> Path:
        """Save a picture of a report, and return where."""
        with styled():
            return save(self.draw(report), path)

    @property
    def benchmark(self) -> Benchmark:
        """What its command runs."""
        pairs, timed = self.pairs or self.columns.pairs, self.timed or self.columns.timed
        return Benchmark(self.run, self.text, self.markdown, pairs, self.plot, timed)


def _row(name: str, make: Callable[[Backend], Row], where: Backend, report: Progress) -> Iterator[Row]:
    yield {"name": name, **make(where)}
    if where is not CPU:
        where.core.trim(where.index)


def _is_right(row: Row) -> bool:
    """Whether nothing is wrong, and what failed is part of the comparison: cuSPARSE's limits, what does not fit."""
    return row.get("ok", True) and all(
        column.startswith(("cuSPARSE", "CuPy")) or why.startswith("MemoryError")
        for column, why in row.get("failed", {}).items()
    )


# ---- a row ----------------------------------------------------------------------------------------------------------
Prepared = tuple[Callable[[], Any], Any]
"""A call into ready memory, and its result."""


@dataclass(frozen=True)
class Clock:
    """Times calls: within a budget of seconds on the CPU, a number of samples on a GPU.

    A call that alone takes four budgets is timed once. What prepared it has called it before. On the CPU it has as many
    threads as are set, or `threads`.
    """

    where: Backend
    budget: float = 0.3
    samples: int = 15
    threads: int | None = None

    def __call__(self, call: Callable[[], Any]) -> float:
        """Return the seconds of a call."""
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


def fill(row: dict[str, Any], contenders: Iterable[Contender], check: Callable[[Any], float]) -> None:
    """Add to `row` the ``times`` of columns in seconds, or why they ``failed``, and the largest ``error``.

    ``columns`` has for each the device that it is ``timed_on``, and the ``kernel`` of ours that runs, where that is
    known.
    """
    for empty, nothing in (("times", {}), ("failed", {}), ("columns", {}), ("error", 0.0)):
        row.setdefault(empty, nothing)
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


def called(function: Callable[..., Any], *args: Any, **options: Any) -> Prepared:
    """Return a call of a function, with all that it takes, and its result."""
    call = partial(function, *args, **options)
    return call, call()


def square(A: Any, kernel: str = "") -> Prepared:
    """Return ``A A`` of any library's matrix, with all that it takes, and its result."""
    return called(A.matmul, A, kernel=kernel) if kernel else called(operator.matmul, A, A)


def planned_matvec(A: SparseArray, x: Any, kernel: str = "") -> Prepared:
    """Return a planned ``A x`` into the vector that it made, and that vector."""
    plan = plan_matvec(A, kernel=kernel or None)
    y = plan(x)
    return partial(plan, x, out=y), y


def there(x: np.ndarray, where: Backend) -> Any:
    """Return a vector in the memory of a place."""
    return x if where is CPU else where.core.from_host(x, where.index)


def matrix_files() -> dict[str, Path]:
    """Return the files of the folder DIAGSPARSE_MATRICES by the names of their matrices; none without it."""
    folder = os.environ.get("DIAGSPARSE_MATRICES")
    return {path.name.partition(".")[0]: path for path in sorted(Path(folder).glob("*.mtx*"))} if folder else {}
