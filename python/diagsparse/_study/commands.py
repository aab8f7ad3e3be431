"""The commands: `diagsparse demo`, `compare`, `info`, `recommend`, `convert`, `bench`, `config`.

Exit status: 0 if all checks passed, 1 if one failed, 2 for wrong usage or input that cannot be used, 130 after Ctrl-C.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from .. import gallery
from .._advice.arguments import OPS
from .._backends.memory import human
from .._matrix.registry import FORMATS
from .._show import columns
from .._show.config import config
from .._show.terminal import Terminal, json_writer
from .._version import __version__
from ..advice import recommend
from ..compare import compare
from ..io import read_floats, write
from ..structure import Structure, analyze
from .bench_command import bench
from .changes import LIMIT, saved
from .command_line import Group, budget, common, max_bytes
from .comparison import Comparison
from .titles import PEERS, TITLES, matrix_name


@click.group("diagsparse", cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="diagsparse")
def main() -> None:
    """Compare, convert and benchmark sparse matrices that are stored by their structure."""


main.add_command(bench)


# ---- comparing ----------------------------------------------------------------------------------------------------
@main.command("compare")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--format", "formats", multiple=True, help=f"One of {', '.join(FORMATS)}; can be repeated. Default: all.")
@click.option(
    "--op", "ops", multiple=True, type=click.Choice(list(TITLES)), help="Operation; can be repeated. Default: both."
)
@click.option(
    "--kernel",
    "kernels",
    multiple=True,
    help="Name of a kernel, or all; can be repeated. Default: the default kernel of each format.",
)
@click.option(
    "--against",
    multiple=True,
    type=click.Choice(PEERS),
    help="Library to compare with; can be repeated. Default: scipy, and on a GPU cusparse.",
)
@click.option(
    "--since",
    type=click.Path(path_type=Path),
    help="JSON file of an earlier comparison; shows what changed since then.",
)
@click.option(
    "--limit",
    type=click.FloatRange(min=1),
    help=f"With --since, a row fails if it is this many times as slow. Default: {LIMIT}.",
)
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
    """Multiply the matrix in FILE (.mtx, .mtx.gz, .npz) in every format, check the results, and time them.

    The results are checked against SciPy's. The last line is the recommendation of "diagsparse recommend", which does
    not depend on the measured times.

    With --since, the exit status is 1 if a result is wrong, if a row is missing, or if a row takes more than --limit
    times as long as before, relative to SciPy's csr.
    """
    if limit is not None and since is None:
        raise click.UsageError("--limit needs --since FILE")
    before = None if since is None else saved(since)  # now, because it may be overwritten
    A = read_floats(file)
    with terminal.progress() as report:
        result = compare(
            A,
            formats=formats or None,
            ops=ops or tuple(TITLES),
            kernels="all" if "all" in kernels else kernels or None,
            against=against or None,
            max_bytes=max_bytes,
            budget=budget,
            device=terminal.device,
            progress=report,
            name=matrix_name(file),
        )
    advice = recommend(A, device=terminal.device, max_bytes=max_bytes)
    terminal.show(f"{result}\n{advice.advice}")
    values, ok = result.to_dict() | {"advice": advice.to_dict()}, result.ok
    if before is not None:
        changed = result.since(before, limit=limit or LIMIT)
        terminal.show(f"\nSince {since}\n{changed}", requested=True)
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
    """Build a finite-difference stencil and a banded matrix, and compare all formats for them."""
    from ..plot import plot_comparisons

    matrices = {"stencil-5": gallery.stencil(5, (600, 600)), "band-41": gallery.banded(60_000, 20, 20, seed=0)}
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


# ---- files --------------------------------------------------------------------------------------------------------
@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@max_bytes
@common
def info(terminal: Terminal, file: Path, max_bytes: int | None) -> None:
    """Report the structure of the matrix in FILE, its bytes in every format, and the best format for y = A x."""
    A = read_floats(file, max_bytes=max_bytes)
    structure, advice = analyze(A), recommend(A, max_bytes=max_bytes)
    csr = max(1, structure.nbytes["csr"] or 1)
    sizes = sorted((nbytes is None, nbytes or 0, name) for name, nbytes in structure.nbytes.items())
    rows = [["format", "bytes", "relative to csr"]]
    rows += [[name, *(["-", "-"] if none else [human(n), columns.digits(n / csr)])] for none, n, name in sizes]
    name = matrix_name(file)
    others = columns.columns(_others(structure, csr), "<<>>><")
    lines = [structure.describe(name), *columns.columns(rows, "<>>"), *others, advice.advice]
    terminal.show("\n".join(lines), requested=True)
    terminal.emit({"name": name, **structure.to_dict(), "advice": advice.to_dict()})


def _others(structure: Structure, csr: int) -> list[list[str]]:
    """Return a table of formats that are not implemented: what they would store, and for which matrices they suit."""
    rows = [["not implemented", "layout", "values", "bytes", "relative to csr", "suitable for"]]
    for name, one in structure.other_formats.items():
        if one is not None:
            sizes = human(one.nbytes), columns.digits(one.nbytes / csr)
            rows.append([name, one.layout, str(one.stored), *sizes, one.suitable_for])
    return rows


@main.command("recommend")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--op", type=click.Choice([*OPS, "solve"]), default=OPS[0], help="Operation. Default: y = A x.")
@click.option(
    "--products",
    type=click.IntRange(min=1),
    default=1000,
    help="Number of products that will be computed. Default: 1000.",
)
@click.option("--format", "formats", multiple=True, help=f"One of {', '.join(FORMATS)}; can be repeated. Default: all.")
@click.option("--no-reuse", is_flag=True, help="Other data is read between two products.")
@click.option("--tune", is_flag=True, help="Build and measure the layouts with the shortest predicted times.")
@click.option("--narrow", is_flag=True, help="Also consider values with fewer bytes, if this rounds none of them.")
@click.option("--reorder", is_flag=True, help="Also consider the reverse Cuthill-McKee order.")
@max_bytes
@common
def recommend_command(
    terminal: Terminal, file: Path, op: str, products: int, no_reuse: bool, formats: tuple[str, ...], tune: bool,
    narrow: bool, reorder: bool, max_bytes: int | None,
) -> None:  # fmt: skip
    """Recommend the format and options in which products with the matrix in FILE should be fastest.

    With --op solve: the method to solve systems with the matrix, without the options for products.
    """
    advice = recommend(
        read_floats(file, max_bytes=max_bytes), op, device=terminal.device, products=products, reuse=not no_reuse,
        formats=formats or None, tune=tune, narrow=narrow, reorder=reorder, max_bytes=max_bytes,
    )  # fmt: skip
    terminal.show(str(advice), requested=True)
    terminal.emit(advice.to_dict())


@main.command()
@click.argument("source", metavar="IN", type=click.Path(path_type=Path))
@click.argument("target", metavar="OUT", type=click.Path(path_type=Path))
@click.option("--format", help=f"One of {', '.join(FORMATS)}. Default: that of the file.")
@max_bytes
@common
def convert(terminal: Terminal, source: Path, target: Path, format: str | None, max_bytes: int | None) -> None:
    """Read a matrix from IN and write it to OUT (.mtx, .mtx.gz, .npz), optionally in another format."""
    A = read_floats(source, format=format, max_bytes=max_bytes)
    path = target if target.is_absolute() else terminal.path(str(target))
    write(path, A)
    text = f"{A.shape[0]} x {A.shape[1]} {A.dtype}, {A.nnz} stored; Matrix Market files do not record the format"
    terminal.show(f"Wrote {path}: {A!r}" if path.suffix == ".npz" else f"Wrote {path}: {text}")
    terminal.emit({"saved": [str(path)], "format": A.format, "shape": list(A.shape), "nnz": A.nnz, "nbytes": A.nbytes})


@main.command("config")
@common
def config_command(terminal: Terminal) -> None:
    """Print versions, the instruction set in use, the number of threads, and the devices."""
    entries = config()
    terminal.show("\n".join(columns.columns([[name, value] for name, value in entries.items()], "<<")), requested=True)
    terminal.emit(dict(entries))
