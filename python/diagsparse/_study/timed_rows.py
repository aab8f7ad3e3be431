"""The timed rows of ours in a report of `diagsparse bench`, whatever made it, each with what its time is judged by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from .bench_summary import PEERS, Columns
from .titles import is_cusparse

FASTEST, DEFAULT = "fastest", "default"  #: in the place of a kernel: the fastest of a format, and what a rule chooses
_ON_HOST = ("SciPy", "MKL", "QuTiP")  # peers that never run on a GPU
_LIBRARIES = {"scipy": "SciPy", "mkl": "MKL", "cupy": "CuPy", "diagsparse": "cuSPARSE"}
_IDENTITY = ("source", "what", "matrix", "order", "sites", "n", "a", "b", "diagonals", "dtype", "threads", "op")

Key = tuple[str, str, str, str]
Split = Callable[[str], tuple[str, str]]


@dataclass(frozen=True)
class Timed:
    """One time of ours in a report."""

    row: str  #: case or matrix, with the number of threads
    op: str
    format: str  #: or the column of an experiment
    kernel: str
    seconds: float | None  #: None where it failed
    ok: bool
    ran: str = ""  #: the kernel that ran in a column of an experiment, where the report names it
    fraction: float | None = None  #: of the bandwidth, where the bytes that have to be moved are known
    bandwidth: float | None = None  #: that was measured for this row
    overall: float | None = None  #: bandwidth that was measured once for the whole report
    peers: Mapping[str, float] = field(default_factory=dict)  #: seconds of others for the same

    @property
    def key(self) -> Key:
        """What makes it the same in another report."""
        return self.row, self.op, self.format, self.kernel


def timed_rows(report: dict[str, Any], split: Split | None = None) -> Iterator[Timed]:
    """Yield all times of ours; `split` returns the operation of a column of an experiment, and who computes it."""
    for row in report["rows"] if "experiment" in report else ():
        yield from _of_columns(report, row, split or (lambda column: ("", column))) if "times" in row else _of_call(row)
    if "experiment" not in report:
        for _, rows in groupby(report["rows"], lambda row: (row["case"], row.get("threads"))):
            yield from _of_case(report, list(rows))


def key_of(row: Mapping[str, Any]) -> str:
    """Return what makes a row of an experiment the same in another report, in words."""
    return row.get("key") or identity(row)


def identity(row: Mapping[str, Any]) -> str:
    """Return the key of a row by its fields. Reports without a ``key`` were written before rows had one."""
    fields = [name for name in _IDENTITY if row.get(name) is not None]
    named = [] if {"source", "what", "matrix"} & set(fields) else ["name"]
    return ", ".join(f"{name} {row[name]}" if isinstance(row[name], int) else str(row[name]) for name in named + fields)


def splitter(pairs: Any) -> Split | None:
    """Return how an experiment splits its columns, by what it gives to the summary."""
    return pairs.split if isinstance(pairs, Columns) else None


# ---- the cases of both devices --------------------------------------------------------------------------------------
def _of_case(report: dict[str, Any], rows: list[dict[str, Any]]) -> Iterator[Timed]:
    """Yield the rows of one case: every kernel of ours, and of each format the default kernel and the fastest one."""
    first = rows[0]
    name = first["case"] + (f", {count} thread{'s' * (count > 1)}" if (count := first.get("threads")) else "")
    peers = {
        f"{_LIBRARIES.get(row['library'], row['library'])} {row['format']} {row['kernel']}".rstrip(): row["seconds"]
        for row in rows
        if not _ours(row) and row["seconds"] and row["ok"]
    }
    small = first["group"] == "small"  # the cost of a call, not the memory's
    timed = [
        Timed(
            name, row["op"], row["format"], kernel, row["seconds"], row["ok"], "", None if small else row["fraction"],
            None if small else row.get("read_bandwidth") or report.get("copy_bandwidth"), None, peers,
        )
        for row in rows
        if _ours(row)
        for kernel in [row["kernel"], *[DEFAULT] * row.get("default", False)]
    ]  # fmt: skip
    yield from timed
    for format in dict.fromkeys(one.format for one in timed):
        right = [one for one in timed if one.format == format and one.seconds and one.ok]
        best = min(right, key=lambda one: one.seconds or 0.0, default=None)
        if best:
            yield Timed(**{**vars(best), "kernel": FASTEST})


def _ours(row: dict[str, Any]) -> bool:
    return row["library"] == "diagsparse" and not is_cusparse(row["kernel"])


# ---- experiments ----------------------------------------------------------------------------------------------------
def _of_columns(report: dict[str, Any], row: dict[str, Any], split: Split) -> Iterator[Timed]:
    columns = [(column, *split(column), seconds) for column, seconds in row["times"].items()]
    for column, op, name, seconds in columns:
        if name.startswith(PEERS):
            continue
        peers = {peer: t for _, other, peer, t in columns if other == op and t and peer.startswith(PEERS)}
        about = row.get("columns", {}).get(column, {})
        by_host = report.get("device") == "cuda" and (
            about["timed_on"] == "cpu" if about else any(peer.startswith(_ON_HOST) for peer in peers)
        )
        bandwidth = None if by_host else row.get("bandwidth") or row.get("dense_rate")
        overall = None if by_host else report.get("bandwidth")
        ran = about.get("kernel", "")
        yield Timed(key_of(row), op, name, "", seconds, bool(seconds), ran, None, bandwidth, overall, peers)


def _of_call(row: dict[str, Any]) -> Iterator[Timed]:
    peers = {"SciPy": row["scipy"]} if row.get("scipy") else {}
    yield Timed(key_of(row), "", row.get("format", ""), "", row["seconds"], row["ok"], peers=peers)
