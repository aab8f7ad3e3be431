"""Reports of ``diagsparse bench solve``: text for a terminal, Markdown for the docs, comparisons, and a picture."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from textwrap import shorten
from typing import Any

from .._show import columns
from .._show.columns import Columns, table
from ..plot import set_up_cases
from .bench_summary import Pair
from .bench_tables import devices
from .figures import BLUE, GREEN, GREY, ORANGE, PURPLE, new_figure, save, styled
from .steps import ended
from .timed_rows import Timed
from .titles import release

Row = dict[str, Any]
_COLORS = {"diagsparse": (BLUE, "o"), "SciPy": (GREY, "s"), "PyAMG": (GREEN, "^"), "cuDSS": (ORANGE, "D"),
           "cuSPARSE": (ORANGE, "s"), "CuPy": (PURPLE, "v")}  # fmt: skip


def text(report: Row) -> str:
    """Return a table for each case, with the fastest contender first and failures last."""
    blocks = [machine(report)]
    for rows in _cases(report):
        worked = sorted((row for row in rows if row["seconds"]), key=lambda row: row["seconds"])
        cells = table(worked, {"": "{library}", "method": "{method}", **_VALUES})
        lines = columns.columns(cells, "<<" + ">" * (len(cells[0]) - 2))
        failed = (f"{row['library']} {row['method']} - {row['failed']}" for row in rows if row["failed"])
        failures = [shorten(line, 100, placeholder=" ...") for line in failed]
        blocks.append("\n".join([f"{rows[0]['case']}   {_matrix(rows[0])}", *lines, *failures]))
    return "\n\n".join(blocks)


def markdown(report: Row) -> str:
    """Return the machine, and a Markdown table with a line for each case and contender."""
    rows = [row for rows in _cases(report) for row in sorted(rows, key=lambda row: row["seconds"] or 1e9)]
    cells = table(rows, {"matrix": _matrix, "library": "{library}", "method": "{method}", **_VALUES})
    return f"{machine(report)}.\n\n{columns.markdown(cells, '<<<' + '>' * (len(cells[0]) - 3))}\n"


def machine(report: Row) -> str:
    """Return a line: processor or GPU, versions, date."""
    h, v = report["hardware"], report["versions"]
    if report["device"] == "cuda":
        first = devices(report)
    else:
        named = [f"{name} {v[key]}" for key, name in (("scipy", "SciPy"), ("pyamg", "PyAMG")) if v.get(key)]
        threads = f"{report['threads']} threads"
        first = f"{h['cpu']}, {h['cores']} cores, {threads}; {', '.join([release(v), *named])}"
    small = ["small sizes (--quick)"] * report["quick"]
    return "; ".join([first, *small, *ended(report), report["date"], *filter(None, [report.get("warning")])])


def pairs(report: Row) -> Iterator[Pair]:
    """Yield the fastest contender of diagsparse compared with every other one, by the time of set-up and solution."""
    for rows in _cases(report):
        worked = [row for row in rows if row["ok"]]
        best = min(
            (row for row in worked if row["library"] == "diagsparse"), key=lambda row: row["seconds"], default=None
        )
        for row in worked if best else ():
            if best and row["library"] != "diagsparse":
                peer = f"{row['library']} {row['method']}"
                yield Pair("A x = b", row["case"], best["method"], peer, row["seconds"] / best["seconds"])


def timed(report: Row) -> Iterator[Timed]:
    """Yield the times of diagsparse, for comparisons of two reports."""
    for rows in _cases(report):
        for part in ("setup", "solution"):
            peers = {f"{row['library']} {row['method']}": row[part] for row in rows
                     if row["library"] != "diagsparse" and row["ok"] and row[part]}  # fmt: skip
            for row in rows:
                if row["library"] == "diagsparse":
                    yield Timed(row["case"], part, "", row["method"], row[part], row["ok"], peers=peers)


def plot(report: Row, path: str | Path) -> Path:
    """Save a picture of the times of set-up and solution."""
    names = list(dict.fromkeys(row["case"] for row in report["rows"]))
    with styled():
        figure = new_figure(7, 1.5 + 0.3 * len(names))
        axes = figure.subplots()
        for library, (color, marker) in _COLORS.items():
            mine = [row for row in report["rows"] if row["library"] == library and row["ok"]]
            if mine:
                times, positions = [1e3 * row["seconds"] for row in mine], [-names.index(row["case"]) for row in mine]
                axes.plot(times, positions, marker, color=color, label=library, ms=6, alpha=0.85)
        set_up_cases(axes, names, "set-up and solution (ms)")
        if axes.lines:
            axes.legend(loc="best")
        return save(figure, path)


def _cases(report: Row) -> Iterator[list[Row]]:
    for _, rows in groupby(report["rows"], lambda row: row["case"]):
        yield list(rows)


def _matrix(row: Row) -> str:
    count = f"{row['members']} of " if row["members"] else ""
    return f"{row['what']}, {count}n = {row['shape'][0]}, {row['diagonals']} diagonals"


def _seconds(key: str) -> Any:
    return lambda row: columns.seconds(row[key]) if row[key] else ""


def _number(key: str) -> Any:
    return lambda row: "" if row[key] is None else f"{row[key]:.1e}"


def _verdict(row: Row) -> str:
    return "" if row["ok"] else "fails" if row["failed"] else "wrong"


_VALUES: Columns = {
    "set-up": _seconds("setup"), "solution": _seconds("solution"), "together": _seconds("seconds"),
    "residual": _number("residual"), "backward error": _number("backward"), "verdict": _verdict,
}  # fmt: skip
