"""The command `diagsparse bench`: all cases, or an experiment by its name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from .._places.backend import CPU, place
from .._places.types import VALUE_TYPES
from .._show.terminal import Terminal, json_writer
from . import bench_summary, gpu_peers, peers
from .bench_changes import LIMIT, BenchChanges, bench_changes, check_comparable
from .command_line import INTERRUPTED, common
from .timed_rows import splitter

ON_CPU = ("small-work", "beside-blas", "block-sizes")  #: experiments that no other device runs


class _Bench(click.Command):
    """A command whose help is that of an experiment where one is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["given"] = list(args)
        return super().parse_args(ctx, args)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        named = [module for name, module in experiments().items() if name in ctx.meta["given"]]
        if not named:
            return super().format_help_text(ctx, formatter)
        for paragraph in (named[0].__doc__ or "").replace("`", "").strip().split("\n\n"):
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(paragraph)
        return None


@click.command("bench", cls=_Bench)
@click.argument("name", required=False)
@click.option("--quick", is_flag=True, help="Small sizes, a few seconds: to see that it works.")
@click.option("--dtype", type=click.Choice([t.name for t in VALUE_TYPES]), default="float64", help="Of all values.")
@click.option(
    "--budget", type=click.FloatRange(min=0, min_open=True), help="Seconds of timing per case and number of threads."
)
@click.option("--table", type=click.Path(path_type=Path), help="Print the tables of a JSON file as Markdown instead.")
@click.option("--since", type=click.Path(path_type=Path), help="JSON file of an earlier run: which rows got slower.")
@click.option("--limit", type=click.FloatRange(min=1), help=f"Times as slow that fail with --since. Default: {LIMIT}.")
@common
def bench(
    terminal: Terminal, name: str | None, quick: bool, dtype: str, budget: float | None, table: Path | None,
    since: Path | None, limit: float | None,
) -> bool | None:  # fmt: skip
    """Time the kernels against SciPy and MKL, on one thread and on all, and save a JSON file and a picture.

    Ctrl-C ends it: what is done is summed up and saved all the same.

    With --device cuda: against cuSPARSE and CuPy. NAME is a group of cases (spmv, stencil, spgemm, small; on a GPU
    spmv, spmm, narrow, packed, chain, spgemm, syrk, random, small) or how their names start; by default all run. The
    name tables-000 runs the experiments of the paper that HM and CDM come from instead, tables-002 those of the paper
    that qband comes from (in float32 too), tables-003 those of the one that ellcsr comes from, tables-004 those of the
    thesis that bmsparse comes from (in float32 too), row-formats all formats that store rows, hamiltonians
    operators of quantum physics, wide bands of up to 801 diagonals and dense matrices beside a dense product, advice
    what `recommend` names beside what is fastest,
    small-work (on the CPU) small calls, plans and every element-wise operation beside SciPy's, beside-blas (on the CPU)
    threads beside those of a BLAS, block-sizes (on the CPU) counts blocks of other sizes than bmsparse has. With --help
    after a name, what it measures and on which matrices.

    With --since the exit status is 1 where a row takes more than --limit times as long as before, beside the bandwidth
    or a peer of its own run. Rows of less than 10 us without a peer are too short to judge: those that take longer are
    listed apart. With --table and --since two files are compared, and nothing is run.
    """
    if limit is not None and since is None:
        raise click.UsageError("--limit says what fails with --since FILE")
    before = None if since is None else _report_in(since)  # now, for it may be written over
    if table is not None:
        return _shown(terminal, _report_in(table), before, since, limit)
    experiment = experiments().get(name or "")
    if experiment and dtype != "float64":
        raise ValueError(f"bench: --dtype {dtype}, but {name} are experiments in float64")
    if name in ON_CPU and terminal.device != "cpu":
        raise ValueError(f"bench: --device {terminal.device}, but {name} runs on the cpu")
    if budget is not None and (experiment or terminal.device != "cpu"):
        what = name if experiment else f"--device {terminal.device}"
        raise ValueError(f"bench: --budget {budget:g}, but {what} takes as long as its samples; expected no --budget")
    if before is not None:
        check_comparable(_to_be_run(terminal.device, name if experiment else None, dtype, quick), before)
    report, plot_bench = _run(terminal, name, quick, dtype, budget)
    tables = tables_of(report)
    report["summary"] = bench_summary.summarize(report, tables.pairs)
    terminal.show(f"{tables.text(report)}\n\n{bench_summary.text(report['summary'])}\n")
    values, ok = report, bool(report["ok"])
    if before is not None:
        changed = _changes(report, before, limit)
        terminal.show(f"Since {since}\n{changed}\n", asked=True)
        values, ok = report | {"changes": changed.to_dict()}, ok and changed.ok
    stem = "-".join(filter(None, ["diagsparse-bench", *["cuda"] * (terminal.device != "cpu"), name]))
    terminal.save(values, {f"{stem}.json": json_writer(report), f"{stem}.png": lambda path: plot_bench(report, path)})
    if report["interrupted"]:
        click.get_current_context().exit(INTERRUPTED)
    return ok


def _run(terminal: Terminal, name: str | None, quick: bool, dtype: str, budget: float | None) -> tuple[Any, Any]:
    """Run the experiment of this name, or cases; return the report, and what draws it."""
    from .. import plot
    from . import bench, bench_cuda, plot_cuda

    with terminal.progress() as progress:
        options: dict[str, Any] = {"quick": quick, "progress": progress}
        if experiment := experiments().get(name or ""):
            where = {} if name in ON_CPU else {"device": terminal.device}
            return experiment.run(**where, **options), experiment.plot_bench
        if terminal.device == "cpu":
            return bench.run(name, dtype=dtype, budget=budget, **options), plot.plot_bench
        return bench_cuda.run(name, dtype=dtype, device=terminal.device, **options), plot_cuda.plot_bench


# ---- what changed ---------------------------------------------------------------------------------------------------
def _shown(
    terminal: Terminal, report: dict[str, Any], before: dict[str, Any] | None, since: Path | None, limit: float | None
) -> bool | None:
    """Show the tables of a report, or what changed since another one, and whether nothing got slower or fails."""
    if before is None:
        terminal.show(tables_of(report).markdown(report), asked=True)
        return None
    changed = _changes(report, before, limit)
    terminal.show(f"Since {since}\n{changed}", asked=True)
    terminal.emit(changed.to_dict())
    return changed.ok


def _changes(report: dict[str, Any], before: dict[str, Any], limit: float | None) -> BenchChanges:
    return bench_changes(report, before, limit or LIMIT, splitter(tables_of(report).pairs))


def _to_be_run(device: str, experiment: str | None, dtype: str, quick: bool) -> dict[str, Any]:
    """Return what a report will say about itself, as far as it decides with which others it can be compared."""
    where = place(device)
    hardware = peers.hardware() | (gpu_peers.hardware(where) if where is not CPU else {})
    named = {"experiment": experiment} if experiment else {"dtype": dtype}
    return named | {"device": device.partition(":")[0], "hardware": hardware, "quick": quick}


# ---- reports --------------------------------------------------------------------------------------------------------
def experiments() -> dict[str, Any]:
    """Return the modules of the experiments, by the names under which they run."""
    from . import (
        advised,
        beside_blas,
        block_sizes,
        hamiltonians,
        paper_000,
        paper_002,
        paper_003,
        paper_004,
        row_formats,
        small_work,
        wide,
    )  # fmt: skip

    modules = (
        paper_000, paper_002, paper_003, paper_004, row_formats, hamiltonians, wide, advised, small_work, beside_blas,
        block_sizes,
    )  # fmt: skip
    return {module.NAME: module for module in modules}


def _report_in(path: Path) -> dict[str, Any]:
    """Return the report that a file holds, or say that it holds none."""
    try:
        report = json.loads(path.read_text())
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: no JSON: {error}") from None
    named = report.get("experiment") if isinstance(report, dict) else None
    fields = ("rows", "hardware", "quick")
    if not isinstance(report, dict) or not set(fields) <= set(report) or named not in {None, *experiments()}:
        raise ValueError(f"{path}: no report of `diagsparse bench`, which has {', '.join(fields)}")
    return report


def tables_of(report: dict[str, Any]) -> Any:
    """Return the module that turns this report into tables."""
    from . import bench_cuda_tables, bench_tables

    if "experiment" in report:
        return experiments()[report["experiment"]]
    return bench_cuda_tables if report.get("device") == "cuda" else bench_tables
