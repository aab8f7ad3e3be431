"""Experiments: the functions that yield their rows and interpret their reports, and the timing of columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from diagsparse import get_num_threads, measure
from diagsparse._backends.backend import CPU, Backend, get_backend
from diagsparse._matrix.sparse_array import SparseArray
from diagsparse._products.matvec_plan import MatvecPlan
from diagsparse._products.plans import MatmulPlan
from diagsparse._study import gpu_clock, peers, steps
from diagsparse._study.bench_command import Benchmark
from diagsparse._study.bench_summary import Pair
from diagsparse._study.comparison import finite
from diagsparse._study.figures import save, styled
from diagsparse._study.timed_rows import Timed
from diagsparse.measure import Progress

from . import prepare
from .prepare import Prepared
from .tables import Row, Tables, as_section, as_text, machine
from .timed_columns import Columns

Report = dict[str, Any]
NamedRow = tuple[str, Callable[[Backend], Row]]
"""The name of a row, which identifies it in other reports, and a function that returns it for a device."""


@dataclass(frozen=True)
class Experiment:
    """An experiment, which is a command of `python -m benchmarks`."""

    name: str
    about: str | None  #: description: what is measured, for which matrices, and how long it takes
    rows: Callable[[Backend, bool], Iterable[NamedRow]]  #: yields the rows for a device, of small matrices if quick
    tables: Callable[[Report], Tables]
    draw: Callable[[Report], Any]  #: returns a picture as a matplotlib figure
    head: Callable[[Report], str] = machine  #: returns the line about the machine
    columns: Columns = field(default_factory=Columns)
    pairs: Callable[[Report], Iterator[Pair]] | None = None  #: yields the comparisons of the summary, if not `columns`
    timed: Callable[[Report], Iterator[Timed]] | None = None  #: yields the times of a report, if not `columns`
    only_cpu: bool = False
    add: Callable[[Report], None] = lambda report: None  #: adds fields to a report

    def run(self, *, device: str = "cpu", quick: bool = False, progress: Progress | None = None) -> Report:
        """Run the experiment and return a report as plain values.

        After Ctrl-C, the completed rows are reported, if there are any.

        Parameters
        ----------
        device : str
            ``"cpu"``, ``"cuda"``, ``"cuda:1"``, ...
        quick : bool
            Use small matrices, as a test; the times are not meaningful.
        progress : callable, optional
            Is called with the fraction that is done, and a description of the current step.

        Returns
        -------
        dict
            ``experiment``, ``device``, ``hardware``, ``versions``, ``date``, ``quick``, ``bandwidth`` (bytes per second
            of reads on the CPU, of copies on a GPU), ``warning`` (if other work kept the processors busy), ``ok``,
            ``interrupted`` with the number of rows that are ``left``, and ``rows``: dicts with a ``name``.

        Raises
        ------
        ValueError
            If the experiment does not support the device.
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
        """Return the tables of a report as text for a terminal."""
        return as_text(self.head(report), self.tables(report))

    def markdown(self, report: Report) -> str:
        """Return the tables of a report as Markdown for the docs."""
        return as_section(self.head(report), self.tables(report))

    def plot(self, report: Report, path: str | Path) -> Path:
        """Save a picture of a report, and return its path."""
        with styled():
            return save(self.draw(report), path)

    @property
    def benchmark(self) -> Benchmark:
        """The benchmark that the command runs."""
        pairs, timed = self.pairs or self.columns.pairs, self.timed or self.columns.timed
        return Benchmark(self.run, self.text, self.markdown, pairs, self.plot, timed)


def _row(name: str, make: Callable[[Backend], Row], where: Backend, report: Progress) -> Iterator[Row]:
    yield {"name": name, **make(where)}
    if where is not CPU:
        where.core.trim(where.index)


def _is_right(row: Row) -> bool:
    """Return whether a row has no wrong results, and failures only by limits of other libraries or the memory."""
    return row.get("ok", True) and all(
        column.startswith(("cuSPARSE", "CuPy", "PyTorch")) or why.startswith("MemoryError")
        for column, why in row.get("failed", {}).items()
    )


# ---- a row ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Clock:
    """Times calls: within a budget of seconds on the CPU, and with a number of samples on a GPU.

    A call that takes more than four budgets is timed once, after a first call during its preparation. On the CPU, calls
    use the current number of threads, or `threads`.
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
"""A column, a function that prepares its call, and the clock that times the call."""


def cached_maker() -> Callable[[Any, float], Any]:
    """Return ``make(matrix, scale)`` with a cache for the last matrix, which consecutive rows often share."""
    return lru_cache(maxsize=1)(lambda matrix, scale: matrix.make(scale))


def fill(row: dict[str, Any], contenders: Iterable[Contender], check: Callable[[Any], float]) -> None:
    """Add to `row` the ``times`` of columns in seconds, or why they ``failed``, and the largest ``error``.

    ``columns`` contains for each column the device that it is ``timed_on``, and the ``kernel`` of diagsparse, if known.
    """
    for empty, nothing in (("times", {}), ("failed", {}), ("columns", {}), ("error", 0.0)):
        row.setdefault(empty, nothing)
    for name, build, clock in contenders:
        row["columns"][name] = {"timed_on": clock.device}
        try:
            call, result = build()
            row["columns"][name] |= kernel_of(call)
            error = check(result)
            if error > 1:
                raise ArithmeticError(f"wrong: {error:.3g} times the error bound")
            row["error"] = max(row["error"], finite(error) or 0.0)
            row["times"][name] = clock(call)
        except Exception as failure:  # limits of a peer are part of the comparison
            row["times"][name] = None
            row["failed"][name] = f"{type(failure).__name__}: {failure}"[:300]


def kernel_of(call: Callable[[], Any]) -> dict[str, str]:
    """Return the ``kernel`` of diagsparse that a call runs, as "format operation kernel"; an empty dict if unknown."""
    of, options = getattr(call, "func", None), getattr(call, "keywords", {})
    if isinstance(of, MatmulPlan):
        return {"kernel": f"{of._work} matmul {of.kernel}"}  # the format in which the operands are multiplied
    if isinstance(of, MatvecPlan):
        return {"kernel": f"{of.matrix.format} matvec {of.kernel}"}
    owner = getattr(of, "__self__", None)
    if isinstance(owner, SparseArray) and options.get("kernel"):
        return {"kernel": f"{owner.format} {getattr(of, '__name__', '')} {options['kernel']}"}
    return {}


def gpu_squares(csr: SparseArray, clock: Clock, cusparse: str = "cuSPARSE csr") -> Iterator[Contender]:
    """Yield A A by cuSPARSE, planned, and by CuPy, in the memory of our csr on a GPU."""
    yield cusparse, partial(prepare.planned_square, csr, "cusparse"), clock
    if peers.cupy() is not None:
        yield "CuPy csr", lambda: prepare.square(csr.to_cupy("csr")), clock


def matrix_files() -> dict[str, Path]:
    """Return the files in the folder DIAGSPARSE_MATRICES, if it is set, by the names of their matrices."""
    folder = os.environ.get("DIAGSPARSE_MATRICES")
    return {path.name.partition(".")[0]: path for path in sorted(Path(folder).glob("*.mtx*"))} if folder else {}
