"""The summary of a benchmark: for each operation the mean speedup over each peer, the best and worst row, failures.

Each kind of report has a function `pairs` that yields the comparisons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from statistics import geometric_mean
from typing import Any

from .._show import columns
from .steps import ended

_SHOWN = 4  # largest number of failures that are listed


@dataclass(frozen=True)
class Pair:
    """The comparison of a time of diagsparse with that of a peer, in one row of a report."""

    operation: str
    row: str
    ours: str
    peer: str
    ratio: float  #: time of the peer divided by that of diagsparse


Pairs = Callable[[dict[str, Any]], Iterator[Pair]]


def summarize(report: dict[str, Any], pairs: Pairs) -> dict[str, Any]:
    """Return the summary of a report as plain values.

    ``operations``: for each its name, ``ours`` (the formats of diagsparse), ``means`` (peer: geometric mean of the
    speedups), ``rows`` (their number), and the ``best`` and ``worst`` row relative to any peer. ``failed``:
    descriptions of failures and wrong results. ``interrupted`` and ``left``: as in the report.
    """
    by_operation: dict[str, list[Pair]] = {}
    for pair in pairs(report):
        by_operation.setdefault(pair.operation, []).append(pair)
    return {
        "operations": [_operation(name, some) for name, some in by_operation.items()],
        "failed": list(_failures(report)),
        "interrupted": report["interrupted"],
        "left": report["left"],
    }


def _operation(name: str, pairs: list[Pair]) -> dict[str, Any]:
    ratios: dict[str, list[float]] = {}
    for pair in pairs:
        ratios.setdefault(pair.peer, []).append(pair.ratio)
    ends = {"best": max(pairs, key=lambda pair: pair.ratio), "worst": min(pairs, key=lambda pair: pair.ratio)}
    return {
        "operation": name,
        "ours": list(dict.fromkeys(pair.ours for pair in pairs)),
        "rows": len({pair.row for pair in pairs}),
        "means": {peer: geometric_mean(some) for peer, some in ratios.items()},
        **{end: {key: asdict(pair)[key] for key in ("row", "ours", "peer", "ratio")} for end, pair in ends.items()},
    }


def _failures(report: dict[str, Any]) -> Iterator[str]:
    """Yield descriptions of failures and wrong results, of diagsparse and of peers."""
    for row in report["rows"]:
        failed = row.get("failed")
        if isinstance(failed, dict):
            yield from (f"{column}, {row['name']}: {why}" for column, why in failed.items())
        elif failed or not row.get("ok", True):
            name = ", ".join(str(row[key]) for key in ("case", "what", "library", "format", "kernel") if row.get(key))
            yield f"{name}: {failed or 'wrong result'}"


def text(summary: dict[str, Any]) -> str:
    """Return the summary as a few lines for a terminal."""
    lines = ["Summary: how many times as fast as each peer, geometric means over the rows"]
    if summary["operations"]:
        cells = columns.table(summary["operations"], {
            "": "{operation}", "ours": _ours, "rows": "{rows}", **_means(summary),
            **{end: partial(_end, end) for end in ("best", "worst")},
        })  # fmt: skip
        lines += columns.columns(cells, "<<>" + ">" * (len(cells[0]) - 5) + "<<")
    else:
        lines.append("no time of diagsparse can be compared with that of a peer")
    failed = summary["failed"]
    lines.append(f"failed or wrong: {len(failed) or 'nothing'}")
    lines += [f"  {what[:110]}" for what in failed[:_SHOWN]]
    lines += [f"  and {len(failed) - _SHOWN} more"] * (len(failed) > _SHOWN)
    if summary["interrupted"]:
        lines += ended(summary)
    return "\n".join(lines)


def markdown(summary: dict[str, Any]) -> str:
    """Return the means as a table for the docs."""
    cells = columns.table(summary["operations"], {
        "operation": "{operation}", "rows": "{rows}", **_means(summary, "over "),
        **{f"{end} row": partial(_end, end) for end in ("best", "worst")},
    })  # fmt: skip
    return columns.markdown(cells, "<>" + ">" * (len(cells[0]) - 4) + "<<")


def _means(summary: dict[str, Any], before: str = "") -> columns.Columns:
    """Return columns with the mean speedup over each peer."""
    peers = dict.fromkeys(peer for one in summary["operations"] for peer in one["means"])
    return {f"{before}{peer}": partial(_mean, peer) for peer in peers}


def _mean(peer: str, operation: dict[str, Any]) -> str:
    return columns.times(operation["means"].get(peer))


def _ours(operation: dict[str, Any]) -> str:
    ours = operation["ours"]
    return ", ".join(ours) if len(ours) < 4 else f"best of {len(ours)}"


def _end(end: str, operation: dict[str, Any]) -> str:
    pair = operation[end]
    return f"{columns.digits(pair['ratio'])}x {pair['peer']}: {pair['row']}"
