"""The command `diagsparse bench`, and the common steps of all benchmark commands: run, show, save, compare."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import Any

import click

from .._backends.backend import get_backend
from .._backends.types import VALUE_TYPES
from .._show.terminal import Terminal, json_writer
from . import bench_summary, steps
from .bench_changes import LIMIT, bench_changes, check_comparable
from .bench_summary import Pair
from .command_line import INTERRUPTED, common
from .timed_rows import Timed, timed_rows

Report = dict[str, Any]


@dataclass(frozen=True)
class Benchmark:
    """The functions that run a benchmark and interpret its reports."""

    run: Callable[..., Report]  #: has the keywords `device`, `quick` and `progress`
    text: Callable[[Report], str]  #: returns tables for a terminal
    markdown: Callable[[Report], str]  #: returns tables for the docs
    pairs: Callable[[Report], Iterator[Pair]]  #: yields the comparisons of the summary
    plot: Callable[[Report, Any], Any]  #: saves a picture
    timed: Callable[[Report], Iterator[Timed]] = timed_rows  #: yields the times by which two reports are compared


def cases_on(device: str, name: str | None = None, **options: Any) -> Benchmark:
    """Return the benchmark of the cases with this name on a device."""
    from .. import plot
    from . import bench, bench_tables, plot_cuda

    picture = (plot if device == "cpu" else plot_cuda).plot_bench
    run = partial(bench.run, name, **options)
    return Benchmark(run, bench_tables.text, bench_tables.markdown, bench_tables.pairs, picture)


def systems_on(name: str, budget: float | None = None) -> Benchmark:
    """Return the benchmark of the systems with this name."""
    from . import bench_solve, bench_solve_tables

    run = partial(bench_solve.run, name, budget=budget)
    tables = bench_solve_tables
    return Benchmark(run, tables.text, tables.markdown, tables.pairs, tables.plot, tables.timed)


# ---- all benchmarks -----------------------------------------------------------------------------------------------
def benchmark_command(command: Callable[..., bool | None]) -> Callable[..., None]:
    """Add the common options of benchmarks to a command, and exit with 1 if a result is wrong or a row is slower."""

    @click.option("--quick", is_flag=True, help="Small sizes, a few seconds: to see that it works.")
    @click.option(
        "--table", type=click.Path(path_type=Path), help="Print the tables of a JSON file as Markdown instead."
    )
    @click.option(
        "--since", type=click.Path(path_type=Path), help="JSON file of an earlier run: which rows got slower."
    )
    @click.option(
        "--limit", type=click.FloatRange(min=1), help=f"Times as slow that fail with --since. Default: {LIMIT}."
    )
    @common
    @wraps(command)
    def run(terminal: Terminal, table: Path | None, since: Path | None, limit: float | None, **options: Any) -> Any:
        if limit is not None and since is None:
            raise click.UsageError("--limit says what fails with --since FILE")
        return command(Invocation(terminal, table, since, limit or LIMIT), **options)

    return run


@dataclass(frozen=True)
class Invocation:
    """The common options with which a benchmark command was called."""

    terminal: Terminal
    table: Path | None
    since: Path | None
    limit: float

    def carry_out(
        self,
        of: Callable[[str], Benchmark],
        *,
        quick: bool,
        experiment: str | None = None,
        stem: str = "",
        **about: Any,
    ) -> bool | None:
        """Run a benchmark, show and save its report, or show the report in ``--table``.

        Parameters
        ----------
        of : callable
            Returns the benchmark for the device of a report.
        quick : bool
            Use small sizes.
        experiment : str, optional
            Name of the experiment; by default the report is of cases.
        stem : str
            Last part of the names of the files.
        **about
            More fields of the report that have to agree in a comparison with another report.

        Returns
        -------
        bool or None
            Whether all results are correct, and no row is slower than the limit allows. None if nothing was compared.
        """
        before = None if self.since is None else report_in(self.since, experiment)  # the file may be overwritten
        terminal = self.terminal
        if self.table is not None:
            report = report_in(self.table, experiment)
            benchmark = of(report.get("device", "cpu"))
            if before is None:
                terminal.show(benchmark.markdown(report), requested=True)
                return None
            changes = self._changes(benchmark, report, before)
            terminal.emit(changes)
            return bool(changes["ok"])
        if before is not None:
            about |= {"experiment": experiment} if experiment else {}
            check_comparable(steps.frame(get_backend(terminal.device), quick) | about, before)
        benchmark = of(terminal.device)
        with terminal.progress() as progress:
            report = benchmark.run(device=terminal.device, quick=quick, progress=progress)
        report["summary"] = bench_summary.summarize(report, benchmark.pairs)
        terminal.show(f"{benchmark.text(report)}\n\n{bench_summary.text(report['summary'])}\n")
        values, ok = report, bool(report["ok"])
        if before is not None:
            values = report | {"changes": self._changes(benchmark, report, before)}
            ok = ok and values["changes"]["ok"]
        stem = "-".join(filter(None, ["diagsparse-bench", *["cuda"] * (terminal.device != "cpu"), stem]))
        terminal.save(
            values, {f"{stem}.json": json_writer(report), f"{stem}.png": lambda path: benchmark.plot(report, path)}
        )
        if report["interrupted"]:
            click.get_current_context().exit(INTERRUPTED)
        return ok

    def _changes(self, benchmark: Benchmark, report: Report, before: Report) -> Report:
        """Show the changes since another report, and return them as plain values."""
        changed = bench_changes(report, before, self.limit, benchmark.timed)
        self.terminal.show(f"Since {self.since}\n{changed}", requested=True)
        return changed.to_dict()


def report_in(path: Path, experiment: str | None = None) -> Report:
    """Return the report of cases, or of an experiment, in a file, or raise ValueError."""
    try:
        report = json.loads(path.read_text())
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: no JSON: {error}") from None
    fields = ("rows", "hardware", "quick")
    if not isinstance(report, dict) or not set(fields) <= set(report):
        raise ValueError(f"{path}: no report of a benchmark, which has {', '.join(fields)}")
    if (named := report.get("experiment")) != experiment:
        raise ValueError(f"{path}: a report of {named or 'cases'}, expected one of {experiment or 'cases'}")
    return report


# ---- the command --------------------------------------------------------------------------------------------------
@click.command("bench")
@click.argument("name", required=False)
@click.option("--dtype", type=click.Choice([t.name for t in VALUE_TYPES]), default="float64", help="Of all values.")
@click.option(
    "--budget", type=click.FloatRange(min=0, min_open=True), help="Seconds of timing per case and number of threads."
)
@benchmark_command
def bench(invocation: Invocation, name: str | None, quick: bool, dtype: str, budget: float | None) -> bool | None:
    """Time the kernels against SciPy and MKL, on one thread and on all, and save a JSON file and a picture.

    After Ctrl-C, the completed rows are summarized and saved.

    With --device cuda: against cuSPARSE and CuPy. NAME is a group of cases (spmv, stencil, spins, spgemm, small; on a
    GPU spmv, spins, spmm, narrow, packed, chain, spgemm, syrk, random, small) or how their names start; by default all
    run.

    "diagsparse bench solve" times systems instead of products: bands, batches and grids, against SciPy and PyAMG, with
    --device cuda against cuDSS and CuPy. Their names start with "solve", too.

    With --since, the exit status is 1 if a row takes more than --limit times as long as before, relative to the
    bandwidth or a peer in the same run. Rows of less than 10 us without a peer are too short to judge; those that take
    longer are listed separately. With --table and --since, two files are compared, and nothing is run.
    """
    device = invocation.terminal.device
    if name is not None and name.startswith("solve"):
        if dtype != "float64":
            raise ValueError(f"bench: --dtype {dtype}, but systems are solved in float64")
        return invocation.carry_out(
            lambda on: systems_on(name, budget), quick=quick, experiment="solve", stem=name, name=name
        )
    if budget is not None and device != "cpu":
        raise ValueError(f"bench: --budget {budget:g}, but --device {device} takes as long as its samples; expected no"
                         " --budget")  # fmt: skip
    options = {"dtype": dtype} | ({"budget": budget} if budget is not None else {})
    return invocation.carry_out(lambda on: cases_on(on, name, **options), quick=quick, stem=name or "", dtype=dtype)
