"""The columns of the rows of an experiment: their operations and libraries, their comparisons, and their times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from diagsparse._study.bench_summary import Pair
from diagsparse._study.timed_rows import Timed

PEERS = ("SciPy", "NumPy", "MKL", "QuTiP", "cuSPARSE", "CuPy", "nvmath", "PyTorch")  #: prefixes of their columns


@dataclass(frozen=True)
class Columns:
    """The meaning of column names: the fastest of `ours` is compared with every peer of the same operation."""

    operation: str = ""  #: of columns whose names have none of the `endings`
    ours: tuple[str, ...] = ()
    endings: Mapping[str, str] = field(default_factory=dict)  #: operations, by the ends of column names
    aliases: Mapping[str, str] = field(default_factory=dict)  #: complete names for abbreviated ones

    def split(self, column: str) -> tuple[str, str]:
        """Return the operation of a column, and the name of its format or library."""
        column = self.aliases.get(column, column)
        end = next((end for end in self.endings if column.endswith(end)), "")
        return self.endings.get(end, self.operation), column.removesuffix(end)

    def times(self, row: Mapping[str, Any]) -> dict[str, dict[str, float]]:
        """Return the seconds of a row by operation and name, without failed columns."""
        by_operation: dict[str, dict[str, float]] = {}
        for column, seconds in row["times"].items():
            operation, name = self.split(column)
            if seconds:
                by_operation.setdefault(operation, {})[name] = seconds
        return by_operation

    def pairs(self, report: dict[str, Any]) -> Iterator[Pair]:
        """Yield the comparison of the fastest of `ours` with every peer, row by row."""
        for row in report["rows"]:
            for operation, times in self.times(row).items():
                ours = min((name for name in self.ours if name in times), key=times.__getitem__, default="")
                for peer in times:
                    if ours and peer.startswith(PEERS):
                        yield Pair(operation, row["name"], ours, peer, times[peer] / times[ours])

    def timed(self, report: dict[str, Any]) -> Iterator[Timed]:
        """Yield the times of diagsparse, with a bandwidth only if they were measured on the device of the report."""
        device = report.get("device", "cpu")
        for row in report["rows"]:
            times = self.times(row)
            for column, seconds in row["times"].items():
                operation, name = self.split(column)
                if name.startswith(PEERS):
                    continue
                peers = {peer: t for peer, t in times.get(operation, {}).items() if peer.startswith(PEERS)}
                about = row.get("columns", {}).get(column, {})
                on_host = about.get("timed_on", device) != device
                bandwidth = None if on_host else row.get("bandwidth") or row.get("dense_rate")
                yield Timed(
                    row["name"], operation, name, "", seconds, bool(seconds), about.get("kernel", ""), None, bandwidth,
                    None if on_host else report.get("bandwidth"), peers,
                )  # fmt: skip
