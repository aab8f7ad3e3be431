"""Reports of the GPU benchmark as text for a terminal and as Markdown for the docs, from the same JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from math import inf
from textwrap import shorten
from typing import Any

from .._backends.memory import human
from .._show import columns
from .bench_summary import Pair
from .steps import ended
from .titles import TITLES, is_cusparse, release

_OPS = TITLES | {"matmul": "C = A B", "syrk": "C = A A^T, lower", "power": "y = A^k x"}
_FORMATS = ("dia", "hm", "cdm")
_PEERS = {"cupy": "CuPy"}


def text(report: dict[str, Any]) -> str:
    """Return a table for each case, with the fastest rows first and failures last."""
    blocks = [machine(report)]
    for rows in _cases(report):
        first = rows[0]
        title = f"{first['case']}   {_OPS[first['op']]}   {first['what']}, {first['diagonals']} diagonals"
        counterpart = [name] if (name := first.get("counterpart")) else []
        cells = [["", "kernel", "time", "vs cuSPARSE", "of copy", *counterpart, "error / bound"]]
        failed = [row for row in rows if row["failed"]]
        for row in sorted((row for row in rows if not row["failed"]), key=lambda row: row["seconds"]):
            cells.append(
                [_name(row), row["kernel"], _seconds(row), columns.times(row["vs_cusparse"]), _of_copy(row)]
                + [_counterpart(row)] * len(counterpart)
                + [columns.error(row["error"]) + "  FAILED" * (not row["ok"])]
            )
        lines = [title, *columns.columns(cells, "<<>>>" + ">" * len(counterpart) + ">")]
        lines += [shorten(f"{_name(row)} {row['kernel']} - {row['failed']}", 100, placeholder=" ...") for row in failed]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def markdown(report: dict[str, Any]) -> str:
    """Return Markdown: the summary, then a line for each case and kernel."""
    compared = _has_counterparts(report)
    head = [
        "operation",
        "matrix",
        "format",
        "kernel",
        "time",
        "vs cuSPARSE",
        "of copy",
        *["counterpart"] * compared,
    ]
    lines = [head]
    for rows in _cases(report):
        for row in sorted(rows, key=lambda row: row["seconds"] or 1e9):
            cells = [
                *_product(row),
                _name(row),
                row["kernel"],
                _outcome(row),
                columns.times(row["vs_cusparse"]),
                _of_copy(row),
            ]
            lines.append(cells + [_named_counterpart(row)] * compared)
    return f"{summary(report)}\n\n{columns.markdown(lines, '<<<<>>>' + '>' * compared)}\n"


def pairs(report: dict[str, Any]) -> Iterator[Pair]:
    """Yield the fastest diagonal format and the fastest row of each peer, case by case."""
    for rows in _cases(report):
        right = [row for row in rows if row["ok"]]
        ours = min(filter(None, (_fastest(rows, format) for format in _FORMATS)), key=_time, default=None)
        peers: dict[str, float] = {}
        for row in sorted(right, key=_time, reverse=True):  # the fastest one is the last one
            if is_cusparse(row["kernel"]):
                peers["cuSPARSE"] = row["seconds"]
            elif row["library"] != "diagsparse":
                peers[f"{_PEERS.get(row['library'], row['library'])} {row['format']}"] = row["seconds"]
        for peer, seconds in peers.items() if ours else ():
            if ours:
                yield Pair(_OPS[ours["op"]], ours["case"], ours["format"], peer, seconds / ours["seconds"])


def summary(report: dict[str, Any]) -> str:
    """Return a Markdown table: the best kernel of each diagonal format, cuSPARSE, CuPy and nvmath."""
    compared = _has_counterparts(report)
    others: dict[str, Callable[[dict[str, Any]], bool]] = {
        "cuSPARSE": lambda row: is_cusparse(row["kernel"]),  # its fastest
        "CuPy csr": lambda row: (row["library"], row["format"]) == ("cupy", "csr"),
    }
    if any(row["library"] == "nvmath" for row in report["rows"]):
        others["nvmath dia"] = lambda row: row["library"] == "nvmath"
    head = [
        "operation",
        "matrix",
        *_FORMATS,
        *others,
        "best vs cuSPARSE",
        "of copy",
        *["counterpart"] * compared,
    ]
    lines = [head]
    for rows in _cases(report):
        fastest = [_fastest(rows, format) for format in _FORMATS]
        best = min((row for row in fastest if row), key=_time, default=None)
        theirs = [
            min(filter(fits, rows), key=lambda row: row["seconds"] if row["ok"] else inf, default=None)
            for fits in others.values()
        ]
        cells = [*_product(rows[0]), *map(_seconds, fastest), *(_outcome(row) if row else "" for row in theirs)]
        cells += [columns.times(best["vs_cusparse"]), _of_copy(best)] if best else ["", ""]
        lines.append(cells + [_named_counterpart(best) if best else ""] * compared)
    return f"{machine(report)}.\n\n{columns.markdown(lines, '<<' + '>' * (len(head) - 2))}"


def machine(report: dict[str, Any]) -> str:
    """Return a line: GPU, versions, precision, copy bandwidth, date."""
    return "; ".join(
        [
            devices(report),
            report["dtype"] + ", small sizes (--quick)" * report["quick"],
            f"copy {report['copy_bandwidth'] / 1e12:.2f} TB/s",
            *ended(report),
            report["date"],
            *filter(None, [report.get("warning")]),
        ]
    )


def devices(report: dict[str, Any]) -> str:
    """Return the GPU and the versions of the libraries."""
    h, v = report["hardware"], report["versions"]
    names = {"cuda runtime": "CUDA", "cusparse": "cuSPARSE", "cupy": "CuPy", "nvmath": "nvmath"}
    versions = ", ".join([release(v), *(f"{names[name]} {v[name]}" for name in names if v.get(name))])
    return f"{h['gpu']}, {human(h['memory_nbytes'])}; {versions}"


def _cases(report: dict[str, Any]) -> Iterator[list[dict[str, Any]]]:
    for _, rows in groupby(report["rows"], lambda row: row["case"]):
        yield list(rows)


def _fastest(rows: list[dict[str, Any]], format: str) -> dict[str, Any] | None:
    """Return the row of the fastest kernel of a format with a correct result."""
    mine = [row for row in rows if row["library"] == "diagsparse" and row["format"] == format and row["ok"]]
    return min(mine, key=_time, default=None)


def _time(row: dict[str, Any]) -> float:
    return row["seconds"]


def _seconds(row: dict[str, Any] | None) -> str:
    return columns.seconds(row["seconds"]) if row and row["seconds"] else ""


def _outcome(row: dict[str, Any]) -> str:
    return _seconds(row) if row["ok"] else "fails" if row["failed"] else "wrong result"


def _of_copy(row: dict[str, Any]) -> str:
    """Return the speed relative to a copy, for kernels of diagsparse."""
    ours = row["library"] == "diagsparse" and not is_cusparse(row["kernel"])
    return columns.digits(row["fraction"]) if ours and row["fraction"] else ""


def _has_counterparts(report: dict[str, Any]) -> bool:
    return any(row.get("counterpart") for row in report["rows"])


def _counterpart(row: dict[str, Any]) -> str:
    """Return the time of the counterpart by the same kernel, and its ratio to the time of the row."""
    seconds = row.get("counterpart_seconds")
    return f"{columns.seconds(seconds)}, {columns.times(row['vs_counterpart'])}" if seconds else ""


def _named_counterpart(row: dict[str, Any]) -> str:
    return f"{row['counterpart']}: {_counterpart(row)}" if row.get("counterpart_seconds") else ""


def _name(row: dict[str, Any]) -> str:
    return row["format"] if row["library"] == "diagsparse" else f"{row['library']} {row['format']}"


def _product(row: dict[str, Any]) -> list[str]:
    return [_OPS[row["op"]], f"{row['what']}, {row['diagonals']} diagonals"]
