"""The command `diagsparse bench`: all cases, or an experiment by its name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from .._places.types import VALUE_TYPES
from .._show.terminal import Terminal, json_writer
from .command_line import INTERRUPTED, common

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
@common
def bench(
    terminal: Terminal, name: str | None, quick: bool, dtype: str, budget: float | None, table: Path | None
) -> bool | None:
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
    """
    from .. import plot
    from . import bench_cuda, bench_summary, plot_cuda
    from .bench import run

    if table is not None:
        report = _report_in(table)
        terminal.show(_tables(report).markdown(report), asked=True)
        return None
    experiment = experiments().get(name or "")
    if experiment and dtype != "float64":
        raise ValueError(f"bench: --dtype {dtype}, but {name} are experiments in float64")
    if name in ON_CPU and terminal.device != "cpu":
        raise ValueError(f"bench: --device {terminal.device}, but {name} runs on the cpu")
    if budget is not None and (experiment or terminal.device != "cpu"):
        what = name if experiment else f"--device {terminal.device}"
        raise ValueError(f"bench: --budget {budget:g}, but {what} takes as long as its samples; expected no --budget")
    options: dict[str, Any] = {"quick": quick}
    with terminal.progress() as progress:
        if experiment:
            where = {} if name in ON_CPU else {"device": terminal.device}
            report = experiment.run(**where, progress=progress, **options)
            plot_bench = experiment.plot_bench
        elif terminal.device == "cpu":
            report = run(name, dtype=dtype, budget=budget, progress=progress, **options)
            plot_bench = plot.plot_bench
        else:
            report = bench_cuda.run(name, dtype=dtype, device=terminal.device, progress=progress, **options)
            plot_bench = plot_cuda.plot_bench
    tables = _tables(report)
    report["summary"] = bench_summary.summarize(report, tables.pairs)
    terminal.show(f"{tables.text(report)}\n\n{bench_summary.text(report['summary'])}\n")
    stem = "-".join(filter(None, ["diagsparse-bench", *["cuda"] * (terminal.device != "cpu"), name]))
    terminal.save(report, {f"{stem}.json": json_writer(report), f"{stem}.png": lambda path: plot_bench(report, path)})
    if report["interrupted"]:
        click.get_current_context().exit(INTERRUPTED)
    return bool(report["ok"])


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
    if not isinstance(report, dict) or not isinstance(report.get("rows"), list) or named not in {None, *experiments()}:
        raise ValueError(f"{path}: no report of `diagsparse bench`, which has rows")
    return report


def _tables(report: dict[str, Any]) -> Any:
    """Return the module that turns this report into tables."""
    from . import bench_cuda_tables, bench_tables

    if "experiment" in report:
        return experiments()[report["experiment"]]
    return bench_cuda_tables if report.get("device") == "cuda" else bench_tables
