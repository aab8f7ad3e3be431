"""What the tables of the papers' experiments share."""

from __future__ import annotations

from typing import Any

from . import bench_cuda_tables


def machine(report: dict[str, Any]) -> str:
    """Return a line: the hardware, versions, what was run, and the day."""
    parts = [report["hardware"]["cpu"]]
    if report["device"] == "cuda":
        parts = [bench_cuda_tables.devices(report), *parts]
    size = ", small sizes (--quick)" if report["quick"] else ""
    left = report.get("left", 0)
    ended = [f"ended after {len(report['rows'])} of {len(report['rows']) + left} rows"] if left else []
    return "; ".join([*parts, f"SciPy {report['versions']['scipy']}", f"float64{size}", *ended, report["date"]])


def as_markdown(head: list[str], cells: list[list[str]]) -> str:
    """Return a table whose columns but the first are numbers."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] + ["---:"] * (len(head) - 1), *cells))
