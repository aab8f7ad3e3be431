"""Tables of all experiments: a column is a header and a value, and the rows are those of a report."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from diagsparse._show import columns
from diagsparse._show.columns import Columns, table
from diagsparse._study.bench_tables import devices
from diagsparse._study.steps import ended

__all__ = ["Columns", "table"]  # for the experiments

Row = dict[str, Any]
Tables = Iterable[tuple[str, list[list[str]]]]  #: titles, if any, and rows of cells, the header first


# ---- rows and columns -----------------------------------------------------------------------------------------------
def select(report: Row, **fields: Any) -> list[Row]:
    """Return the rows with these fields."""
    return [row for row in report["rows"] if all(row.get(name) == value for name, value in fields.items())]


def distinct(rows: Iterable[Row], *fields: str) -> list[tuple[Any, ...]]:
    """Return the different values of some fields, in the order of the rows."""
    return list(dict.fromkeys(tuple(row[field] for field in fields) for row in rows))


def timed(rows: Iterable[Row], names: Iterable[str] | None = None, end: str = "") -> list[str]:
    """Return which of `names` followed by `end`, by default of all columns, have times, without `end`."""
    present = dict.fromkeys(name.removesuffix(end) for row in rows for name in row["times"] if name.endswith(end))
    return list(present) if names is None else [name for name in names if name in present]


# ---- values ---------------------------------------------------------------------------------------------------------
def seconds(row: Row, name: str) -> str:
    """Return the time of a column: "" if the row has none, ``fails`` if it failed."""
    if name not in row["times"]:
        return ""
    return time(t) if (t := row["times"][name]) else "fails"


def times(names: Iterable[str], end: str = "") -> Columns:
    """Return columns with the times of `names`, followed by `end` in the report."""
    return {name: partial(seconds, name=name + end) for name in names}


def time(t: float | None) -> str:
    """Return a time in seconds as text; "" for None."""
    return columns.seconds(t) if t else ""


def milliseconds(ms: float | None) -> str:
    """Return a time in milliseconds as text; "" for None."""
    return time(ms and ms / 1e3)


def with_printed(ours: str, printed: Any) -> str:
    """Return our result, and that of a paper in brackets, if there is one."""
    return ours if printed is None else f"{ours} ({printed})"


def fastest(row: Row, columns: str | Iterable[str]) -> float | None:
    """Return the seconds of one column, or of the fastest of several; None if the row has none of them."""
    names = (columns,) if isinstance(columns, str) else columns
    return min((t for name in names if (t := row["times"].get(name))), default=None)


def speedup(row: Row, ours: str | Iterable[str], theirs: str | Iterable[str]) -> float | None:
    """Return the time of the fastest of `theirs` divided by that of `ours`; None if a time is missing."""
    mine, other = fastest(row, ours), fastest(row, theirs)
    return other / mine if mine and other else None


def faster(row: Row, ours: str | Iterable[str], theirs: str | Iterable[str]) -> str:
    """Return the speedup as text."""
    return columns.times(speedup(row, ours, theirs))


def with_fraction(time: float, moved: int, bandwidth: float) -> str:
    """Return a time, and the fraction of the bandwidth at which `moved` bytes are moved in this time."""
    return f"{columns.seconds(time)}, {columns.digits(moved / time / bandwidth)}"


# ---- reports --------------------------------------------------------------------------------------------------------
def machine(report: Row, dtypes: str = "float64") -> str:
    """Return a line: the hardware, versions, dtypes, the date, and whether other work disturbed the run."""
    gpu = [devices(report)] if report["device"] == "cuda" else []
    size = ", small sizes (--quick)" if report["quick"] else ""
    parts = [*gpu, report["hardware"]["cpu"], f"SciPy {report['versions']['scipy']}", f"{dtypes}{size}"]
    return "; ".join([*parts, *run_of(report)])


def run_of(report: Row) -> list[str]:
    """Return whether a run was interrupted, its date, and whether other work disturbed it."""
    return [*ended(report), report["date"], *filter(None, [report.get("warning")])]


def bandwidth(report: Row) -> str:
    """Return with what the fractions of a report are compared."""
    return "a copy" if report["device"] == "cuda" else "the read bandwidth"


def as_text(head: str, tables: Tables) -> str:
    """Return a headline and tables as text for a terminal."""
    parts = [head]
    for title, cells in tables:
        lines = columns.columns(cells, "<" + ">" * (len(cells[0]) - 1))
        parts.append("\n".join([title, *lines] if title else lines))
    return "\n\n".join(parts)


def as_section(head: str, tables: Tables) -> str:
    """Return the same as Markdown for the docs, without tables that have no rows."""
    parts = [f"{head}."]
    for title, cells in tables:
        if len(cells) > 1:
            parts += [f"{title}:"] * bool(title) + [columns.markdown(cells)]
    return "\n\n".join(parts) + "\n"
