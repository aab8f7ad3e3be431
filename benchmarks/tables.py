"""Functions for the tables of all experiments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from diagsparse._show import columns
from diagsparse._study import bench_cuda_tables
from diagsparse._study.steps import ended

Row = dict[str, Any]
Tables = Iterable[tuple[str, Iterable[list[str]]]]  #: titles, if any, and rows of cells, the header first


def machine(report: dict[str, Any], dtypes: str = "float64") -> str:
    """Return a line: the hardware, versions, dtypes, the date, and whether other work disturbed the run."""
    parts = [report["hardware"]["cpu"]]
    if report["device"] == "cuda":
        parts = [bench_cuda_tables.devices(report), *parts]
    size = ", small sizes (--quick)" if report["quick"] else ""
    tail = [f"SciPy {report['versions']['scipy']}", f"{dtypes}{size}", *ended(report), report["date"]]
    tail += filter(None, [report.get("warning")])
    return "; ".join([*parts, *tail])


def seconds(row: Row, name: str) -> str:
    """Return the time of a column: "" if the row has none, ``fails`` if it failed."""
    if name not in row["times"]:
        return ""
    return columns.seconds(t) if (t := row["times"][name]) else "fails"


def fastest(row: Row, columns: str | Iterable[str]) -> float | None:
    """Return the seconds of one column, or of the fastest of several; None if the row has none of them."""
    names = (columns,) if isinstance(columns, str) else columns
    return min((t for name in names if (t := row["times"].get(name))), default=None)


def speedup(row: Row, ours: str | Iterable[str], theirs: str | Iterable[str]) -> float | None:
    """Return the time of the fastest of `theirs` divided by that of `ours`; None if a time is missing."""
    mine, other = fastest(row, ours), fastest(row, theirs)
    return other / mine if mine and other else None


def with_fraction(time: float, moved: int, bandwidth: float) -> str:
    """Return a time, and the fraction of the bandwidth at which `moved` bytes are moved in this time."""
    return f"{columns.seconds(time)}, {columns.digits(moved / time / bandwidth)}"


def as_text(head: str, tables: Tables) -> str:
    """Return a headline and tables as text for a terminal."""
    parts = [head]
    for title, rows in tables:
        cells = list(rows)
        lines = columns.columns(cells, "<" + ">" * (len(cells[0]) - 1))
        parts.append("\n".join([title, *lines] if title else lines))
    return "\n\n".join(parts)


def as_section(head: str, tables: Tables) -> str:
    """Return the same as Markdown for the docs, without tables that have no rows."""
    parts = [f"{head}."]
    for title, rows in tables:
        if len(cells := list(rows)) > 1:
            parts += [f"{title}:"] * bool(title) + [columns.markdown(cells)]
    return "\n\n".join(parts) + "\n"
