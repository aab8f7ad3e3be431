"""The commands: `diagsparse demo`, `compare`, `info`, `convert`, `bench`, `config`.

Exit status: 0 when all checks held, 1 when one failed, 2 for bad usage and for input that cannot be used, 130 after
Ctrl-C.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click

from .. import gallery
from .._matrix.registry import FORMATS
from .._places.memory import human
from .._places.types import VALUE_TYPES
from .._products.suits import suits
from .._show import columns
from .._show.config import config
from .._show.terminal import Terminal, json_writer
from .._version import __version__
from ..compare import compare
from ..io import read_floats, write
from ..structure import analyze
from .changes import LIMIT, saved
from .command_line import INTERRUPTED, Group, budget, common, max_bytes
from .comparison import Comparison
from .titles import PEERS, TITLES


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="diagsparse")
def main() -> None:
    """Sparse matrices stored by diagonals, multiplied at memory speed."""


# ---- comparing ----------------------------------------------------------------------------------------------------
@main.command("compare")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--format", "formats", multiple=True, help=f"One of {', '.join(FORMATS)}; again for more. Default: all.")
@click.option("--op", "ops", multiple=True, type=click.Choice(list(TITLES)), help="Operation. Default: both.")
@click.option("--kernel", "kernels", multiple=True, help="Kernel by name, or all. Default: each format's default.")
@click.option("--against", multiple=True, type=click.Choice(PEERS), help="Who stands beside; again for more.")
@click.option("--since", type=click.Path(path_type=Path), help="JSON file of an earlier comparison: tell what changed.")
@click.option("--limit", type=click.FloatRange(min=1), help=f"Times as slow that fail with --since. Default: {LIMIT}.")
@max_bytes
@budget
@common
def compare_command(
    terminal: Terminal,
    file: Path,
    formats: tuple[str, ...],
    ops: tuple[str, ...],
    kernels: tuple[str, ...],
    against: tuple[str, ...],
    since: Path | None,
    limit: float | None,
    max_bytes: int | None,
    budget: float,
) -> bool:
    """Multiply the matrix in FILE (.mtx, .mtx.gz, .npz) in every format, check and time it against SciPy.

    With --since the exit status is 1 where a result is wrong, a row is gone, or one takes more than --limit times as
    long as before beside SciPy's csr.
    """
    if limit is not None and since is None:
        raise click.UsageError("--limit says what fails with --since FILE")
    before = None if since is None else saved(since)  # now, for it may be written over
    with terminal.progress() as report:
        result = compare(
            file,
            formats=formats or None,
            ops=ops or tuple(TITLES),
            kernels="all" if "all" in kernels else kernels or None,
            against=against or None,
            max_bytes=max_bytes,
            budget=budget,
            device=terminal.device,
            progress=report,
        )
    terminal.show(str(result))
    values, ok = result.to_dict(), result.ok
    if before is not None:
        changed = result.since(before, limit=limit or LIMIT)
        terminal.show(f"\nSince {since}\n{changed}", asked=True)
        values, ok = values | {"changes": changed.to_dict()}, ok and changed.ok
    terminal.save(
        values,
        {
            f"{result.name}-compare.json": result.save,
            f"{result.name}-compare.png": result.plot,
            f"{result.name}-roofline.png": partial(result.plot, kind="roofline"),
        },
    )
    return ok


@main.command()
@budget
@common
def demo(terminal: Terminal, budget: float) -> bool:
    """Build two matrices, a finite-difference stencil and a band, and compare the formats on them."""
    from ..plot import plot_comparisons

    matrices = {
        "stencil-5": gallery.stencil(5, (600, 600)),
        "band-41": gallery.banded(60_000, 20, 20, seed=0),
    }
    results: list[Comparison] = []
    for name, A in matrices.items():
        terminal.show(analyze(A).describe(name) + "\n")
        with terminal.progress() as report:
            results.append(compare(A, budget=budget, device=terminal.device, progress=report, name=name))
        terminal.show(f"{results[-1]}\n")
    values = {"comparisons": [result.to_dict() for result in results], "ok": all(result.ok for result in results)}
    terminal.save(
        values,
        {
            "diagsparse-demo.json": json_writer(values),
            "diagsparse-demo.png": lambda path: plot_comparisons(results, path),
        },
    )
    return bool(values["ok"])


ON_CPU = ("small-work", "beside-blas")  #: experiments that no other device runs


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


@main.command(cls=_Bench)
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
    operators of quantum physics, wide bands of up to 801 diagonals and dense matrices beside a dense product,
    small-work (on the CPU) small calls, plans and every element-wise operation beside SciPy's, beside-blas (on the CPU)
    threads beside those of a BLAS. With --help after a name, what it measures and on which matrices.
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
        raise ValueError(f"bench: --device {terminal.device}, but {name} is timed beside SciPy, on the cpu")
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
    from . import beside_blas, hamiltonians, paper_000, paper_002, paper_003, paper_004, row_formats, small_work, wide

    modules = (paper_000, paper_002, paper_003, paper_004, row_formats, hamiltonians, wide, small_work, beside_blas)
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


# ---- files --------------------------------------------------------------------------------------------------------
@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@max_bytes
@common
def info(terminal: Terminal, file: Path, max_bytes: int | None) -> None:
    """Report the structure of the matrix in FILE, what it would take in every format, and which ones suit y = A x.

    A format suits where a product moves the fewest bytes, counted by how the format is read, or up to 10 % more.
    """
    A = read_floats(file, max_bytes=max_bytes)
    structure, told = analyze(A), suits(A)
    csr = max(1, next(one.nbytes for one in told if one.format == "csr") or 1)
    rows = [["format", "bytes", "of csr", "suits y = A x on a CPU"]]
    for one in told:
        cells = ["-", "-"] if one.nbytes is None else [human(one.nbytes), columns.digits(one.nbytes / csr)]
        rows.append([one.format, *cells, one.why])
    name = file.name.split(".")[0]
    terminal.show("\n".join([structure.describe(name), *columns.columns(rows, "<>><")]), asked=True)
    terminal.emit({"name": name, **structure.to_dict(), "suits": {one.format: asdict(one) for one in told}})


@main.command()
@click.argument("source", metavar="IN", type=click.Path(path_type=Path))
@click.argument("target", metavar="OUT", type=click.Path(path_type=Path))
@click.option("--format", help=f"One of {', '.join(FORMATS)}. Default: as in the file.")
@max_bytes
@common
def convert(terminal: Terminal, source: Path, target: Path, format: str | None, max_bytes: int | None) -> None:
    """Read a matrix from IN and write it to OUT (.mtx, .mtx.gz, .npz), in another format where asked."""
    A = read_floats(source, format=format, max_bytes=max_bytes)
    path = target if target.is_absolute() else terminal.path(str(target))
    write(path, A)
    text = f"{A.shape[0]} x {A.shape[1]} {A.dtype}, {A.nnz} stored; Matrix Market keeps no format"
    terminal.show(f"Wrote {path}: {A!r}" if path.suffix == ".npz" else f"Wrote {path}: {text}")
    terminal.emit({"saved": [str(path)], "format": A.format, "shape": list(A.shape), "nnz": A.nnz, "nbytes": A.nbytes})


@main.command("config")
@common
def config_command(terminal: Terminal) -> None:
    """Print versions, the instruction set in use, threads and devices."""
    entries = config()
    terminal.show("\n".join(columns.columns([[name, value] for name, value in entries.items()], "<<")), asked=True)
    terminal.emit(dict(entries))
