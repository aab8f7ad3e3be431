"""The times of diagsparse in a report, with the quantities by which they are judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from .titles import is_cusparse, library

FASTEST, DEFAULT = "fastest", "default"  #: instead of the name of a kernel of a format

Key = tuple[str, str, str, str]


@dataclass(frozen=True)
class Timed:
    """One time of diagsparse in a report."""

    row: str  #: case or matrix, with the number of threads
    op: str
    format: str  #: or the column of an experiment
    kernel: str
    seconds: float | None  #: None if it failed
    ok: bool
    ran: str = ""  #: the kernel that ran in a column of an experiment, if the report names it
    fraction: float | None = None  #: of the bandwidth, if the least number of moved bytes is known
    bandwidth: float | None = None  #: measured for this row
    overall: float | None = None  #: bandwidth measured once for the entire report
    peers: Mapping[str, float] = field(default_factory=dict)  #: seconds of other libraries for the same product

    @property
    def key(self) -> Key:
        """The fields that identify the time in another report."""
        return self.row, self.op, self.format, self.kernel


def timed_rows(report: dict[str, Any]) -> Iterator[Timed]:
    """Yield all times of diagsparse in a report of cases."""
    for _, rows in groupby(report["rows"], lambda row: (row["case"], row.get("threads"))):
        yield from _of_case(report, list(rows))


def _of_case(report: dict[str, Any], rows: list[dict[str, Any]]) -> Iterator[Timed]:
    """Yield the times of one case: of all kernels, and of the default and the fastest kernel of each format."""
    first = rows[0]
    name = first["case"] + (f", {count} thread{'s' * (count > 1)}" if (count := first.get("threads")) else "")
    peers = {
        f"{'cuSPARSE ' * is_cusparse(row['kernel'])}{library(row)} {row['kernel']}".rstrip(): row["seconds"]
        for row in rows
        if not is_ours(row) and row["seconds"] and row["ok"]
    }
    small = first["group"] == "small"  # limited by the call overhead, not by the memory
    timed = [
        Timed(
            name, row["op"], row["format"], kernel, row["seconds"], row["ok"], "", None if small else row["fraction"],
            None if small else row.get("read_bandwidth") or report.get("copy_bandwidth"), None, peers,
        )
        for row in rows
        if is_ours(row)
        for kernel in [row["kernel"], *[DEFAULT] * row.get("default", False)]
    ]  # fmt: skip
    yield from timed
    for format in dict.fromkeys(one.format for one in timed):
        right = [one for one in timed if one.format == format and one.seconds and one.ok]
        best = min(right, key=lambda one: one.seconds or 0.0, default=None)
        if best:
            yield Timed(**{**vars(best), "kernel": FASTEST})


def is_ours(row: dict[str, Any]) -> bool:
    """Return whether a row was computed by a kernel of diagsparse itself, not by cuSPARSE or another library."""
    return row["library"] == "diagsparse" and not is_cusparse(row["kernel"])
