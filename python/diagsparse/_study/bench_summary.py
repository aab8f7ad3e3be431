"""The end of every benchmark: per operation, how many times as fast as each peer, the best and the worst row, failures.

A report's module says what is compared, `pairs`; all else is here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from statistics import geometric_mean
from typing import Any

from .._show import columns
from .steps import ended

PEERS = ("SciPy", "MKL", "QuTiP", "cuSPARSE", "CuPy", "nvmath")  #: libraries, as the names of their columns begin
_SHOWN = 4  # failures that are named


@dataclass(frozen=True)
class Pair:
    """One time of ours beside a peer's, in one row of a report."""

    operation: str
    row: str
    ours: str
    peer: str
    ratio: float  #: the peer's time over ours


Pairs = Callable[[dict[str, Any]], Iterator[Pair]]


@dataclass(frozen=True)
class Columns:
    """The pairs of reports whose rows have columns: the fastest of `ours` beside every peer."""

    operation: str  #: of a column whose name has none of the `endings`
    ours: tuple[str, ...]
    endings: Mapping[str, str]  #: of a column's name: its operation

    def split(self, column: str) -> tuple[str, str]:
        """Return the operation of a column, and the name of who computes it."""
        end = next((end for end in self.endings if column.endswith(end)), "")
        return self.endings.get(end, self.operation), column.removesuffix(end)

    def times(self, row: Mapping[str, Any]) -> dict[str, dict[str, float]]:
        """Return the seconds of a row by operation and name, without columns that failed."""
        by_operation: dict[str, dict[str, float]] = {}
        for column, seconds in row["times"].items():
            operation, name = self.split(column)
            if seconds:
                by_operation.setdefault(operation, {})[name] = seconds
        return by_operation

    def __call__(self, report: dict[str, Any]) -> Iterator[Pair]:
        for row in report["rows"]:
            for operation, times in self.times(row).items():
                ours = min((name for name in self.ours if name in times), key=times.__getitem__, default="")
                for peer in times:
                    if ours and peer.startswith(PEERS):
                        yield Pair(operation, row["name"], ours, peer, times[peer] / times[ours])


def by_columns(operation: str, ours: Iterable[str], endings: Mapping[str, str] | None = None) -> Columns:
    """Return the pairs of reports whose rows have columns: the fastest of `ours` beside every peer.

    `operation` is what a column does, unless its name has one of the `endings`, which say what else it does.
    """
    return Columns(operation, tuple(ours), endings or {})


def summarize(report: dict[str, Any], pairs: Pairs) -> dict[str, Any]:
    """Return the summary of a report as plain values.

    ``operations``: for each its name, ``ours`` (what of ours took part), ``means`` (peer: the geometric mean of how
    many times as fast ours is), ``rows`` (how many), and the ``best`` and ``worst`` row beside any peer. ``failed``:
    what failed or was wrong, in words. ``interrupted`` and ``left`` as in the report.
    """
    found: dict[str, list[Pair]] = {}
    for pair in pairs(report):
        found.setdefault(pair.operation, []).append(pair)
    return {
        "operations": [_operation(name, some) for name, some in found.items()],
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
    """Yield in words what failed or gave a wrong result, of ours and of peers."""
    for row in report["rows"]:
        failed = row.get("failed")
        if isinstance(failed, dict):
            yield from (f"{column}, {row['name']}: {why}" for column, why in failed.items())
        elif failed or not row.get("ok", True):
            name = ", ".join(str(row[key]) for key in ("case", "what", "library", "format", "kernel") if row.get(key))
            yield f"{name}: {failed or 'wrong result'}"


def text(summary: dict[str, Any]) -> str:
    """Return the summary as a few lines for a terminal."""
    operations, failed = summary["operations"], summary["failed"]
    peers = list(dict.fromkeys(peer for one in operations for peer in one["means"]))
    lines = ["Summary: how many times as fast as each peer, geometric means over the rows"]
    if operations:
        cells = [["", "ours", "rows", *peers, "best", "worst"]]
        for one in operations:
            means = [f"{columns.digits(one['means'][p])}x" if p in one["means"] else "" for p in peers]
            cells.append([
                one["operation"], _named(one["ours"]), str(one["rows"]), *means, _end(one["best"]), _end(one["worst"]),
            ])  # fmt: skip
        lines += columns.columns(cells, "<<>" + ">" * len(peers) + "<<")
    else:
        lines.append("no row of ours stands beside a peer's")
    lines.append(f"failed or wrong: {len(failed) or 'nothing'}")
    lines += [f"  {what[:110]}" for what in failed[:_SHOWN]]
    lines += [f"  and {len(failed) - _SHOWN} more"] * (len(failed) > _SHOWN)
    if summary["interrupted"]:
        lines += ended(summary)
    return "\n".join(lines)


def markdown(summary: dict[str, Any]) -> str:
    """Return the means as a table for the docs."""
    operations = summary["operations"]
    peers = list(dict.fromkeys(peer for one in operations for peer in one["means"]))
    lines = [["operation", "rows", *(f"over {peer}" for peer in peers), "best row", "worst row"]]
    lines.append(["---", *["---:"] * (1 + len(peers)), "---", "---"])
    for one in operations:
        means = [f"{columns.digits(one['means'][peer])}x" if peer in one["means"] else "" for peer in peers]
        lines.append([one["operation"], str(one["rows"]), *means, _end(one["best"]), _end(one["worst"])])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _named(ours: list[str]) -> str:
    return ", ".join(ours) if len(ours) < 4 else f"best of {len(ours)}"


def _end(pair: dict[str, Any]) -> str:
    return f"{columns.digits(pair['ratio'])}x {pair['peer']}: {pair['row']}"
