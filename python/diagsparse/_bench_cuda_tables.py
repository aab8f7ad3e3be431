"""The GPU benchmark's report as text for a terminal and as Markdown for the docs; both read the same JSON."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from . import _text
from ._comparison import TITLES
from ._memory import human

_OPS = TITLES | {"matmul": "C = A B"}


def text(report: dict[str, Any]) -> str:
    """Return a table for each case, the fastest first and what failed last."""
    blocks = [machine(report)]
    for rows in _cases(report):
        first = rows[0]
        title = f"{first['case']}   {_OPS[first['op']]}   {first['what']}, {first['diagonals']} diagonals"
        cells = [["", "kernel", "time", "vs cuSPARSE", "of copy", "error / bound"]]
        for row in sorted(rows, key=lambda row: row["seconds"] or 1e9):
            ours = row["library"] == "diagsparse" and row["kernel"] != "cusparse"
            result = row["failed"] or _text.error(row["error"]) + ("" if row["ok"] else "  FAILED")
            cells.append(
                [
                    f"{'' if row['library'] == 'diagsparse' else row['library'] + ' '}{row['format']}",
                    row["kernel"],
                    _seconds(row),
                    _text.digits(row["vs_cusparse"]) + "x" if row["vs_cusparse"] else "",
                    _text.digits(row["fraction"]) if row["fraction"] and ours else "",
                    result,
                ]
            )
        blocks.append("\n".join([title, *_text.columns(cells, "<<>>>>")]))
    return "\n\n".join(blocks)


def markdown(report: dict[str, Any]) -> str:
    """Return Markdown: the summary, then a line for each case and kernel."""
    lines = [
        "| operation | matrix | format | kernel | time | vs cuSPARSE | of copy |",
        "|---|---|---|---|---:|---:|---:|",
    ]
    for rows in _cases(report):
        for row in sorted(rows, key=lambda row: row["seconds"] or 1e9):
            name = row["format"] if row["library"] == "diagsparse" else f"{row['library']} {row['format']}"
            share = row["fraction"] if row["library"] == "diagsparse" and row["kernel"] != "cusparse" else None
            lines.append(
                f"| {_OPS[row['op']]} | {row['what']}, {row['diagonals']} diagonals | {name} | {row['kernel']} | "
                f"{_outcome(row)} | {_ratio(row['vs_cusparse'])} | {_text.digits(share) if share else ''} |"
            )
    return summary(report) + "\n\n" + "\n".join(lines) + "\n"


def summary(report: dict[str, Any]) -> str:
    """Return one Markdown table: the best kernel of each diagonal format beside cuSPARSE and CuPy."""
    formats = ("dia", "hm", "cdm")
    lines = [
        "| operation | matrix | " + " | ".join(formats) + " | cuSPARSE | CuPy csr | best vs cuSPARSE | of copy |",
        "|---|---|" + "---:|" * (len(formats) + 4),
    ]
    for rows in _cases(report):
        first = rows[0]
        ours = [best for f in formats if (best := _fastest(rows, f)) is not None]
        best = min(ours, key=lambda row: row["seconds"], default=None)
        theirs = next((row for row in rows if row["kernel"] == "cusparse"), None)
        cupy = next((row for row in rows if row["library"] == "cupy" and row["format"] == "csr"), None)
        times = [_seconds(_fastest(rows, f)) for f in formats] + [
            "" if row is None else _outcome(row) for row in (theirs, cupy)
        ]
        tail = [_ratio(best["vs_cusparse"]), _text.digits(best["fraction"])] if best else ["", ""]
        matrix = f"{first['what']}, {first['diagonals']} diagonals"
        lines.append("| " + " | ".join([_OPS[first["op"]], matrix, *times, *tail]) + " |")
    return f"{machine(report)}.\n\n" + "\n".join(lines)


def machine(report: dict[str, Any]) -> str:
    """Return one line: GPU, versions, precision, copy bandwidth, date."""
    return "; ".join(
        [
            devices(report),
            report["dtype"] + ", small sizes (--quick)" * report["quick"],
            f"copy {report['copy_bandwidth'] / 1e12:.2f} TB/s",
            report["date"],
        ]
    )


def devices(report: dict[str, Any]) -> str:
    """Return the GPU and the versions of what runs on it."""
    h, v = report["hardware"], report["versions"]
    names = {"diagsparse": "diagsparse", "cuda runtime": "CUDA", "cusparse": "cuSPARSE", "cupy": "CuPy"}
    versions = ", ".join(f"{names[name]} {v[name]}" for name in names if v[name])
    return f"{h['gpu']}, {human(h['memory_nbytes'])}; {versions}"


def _cases(report: dict[str, Any]) -> Iterator[list[dict[str, Any]]]:
    for _, rows in groupby(report["rows"], lambda row: row["case"]):
        yield list(rows)


def _fastest(rows: list[dict[str, Any]], format: str) -> dict[str, Any] | None:
    """Return the row of a format's fastest kernel that gave the right result."""
    mine = [row for row in rows if row["library"] == "diagsparse" and row["format"] == format and row["ok"]]
    return min(mine, key=lambda row: row["seconds"], default=None)


def _seconds(row: dict[str, Any] | None) -> str:
    return _text.seconds(row["seconds"]) if row and row["seconds"] else ""


def _outcome(row: dict[str, Any]) -> str:
    return _seconds(row) if row["ok"] else "fails" if row["failed"] else "wrong result"


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{_text.digits(value)}x"
