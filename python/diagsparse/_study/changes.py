"""The changes between two comparisons of the same matrix."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .._show import columns, display
from .titles import PEERS, TITLES

LIMIT = 1.25  #: a row counts as slower if it takes this many times as long as before, relative to SciPy's csr
_SAME = ("shape", "dtype", "nnz", "device", "threads")  # what two comparisons have to have in common
_HEAD = ["", "format", "kernel", "then", "now", "vs SciPy csr then", "now", "change"]


@dataclass(frozen=True)
class Change:
    """One operation in one format by one kernel, in both comparisons."""

    op: str
    format: str
    kernel: str
    then: float  #: seconds
    now: float
    ratio_then: float  #: SciPy csr's seconds over these, in the same run
    ratio_now: float
    ok: bool  #: whether the newer result is correct

    @property
    def slower(self) -> float:
        """How many times as long as before, relative to SciPy's csr, so that the speed of the machine cancels."""
        return self.ratio_then / self.ratio_now


@dataclass(frozen=True, repr=False)
class Changes:
    """The rows that two comparisons have in common, and those that only one of them has."""

    name: str
    rows: Sequence[Change]
    gone: list[str]  #: rows of the older comparison only
    new: list[str]  #: rows of the newer comparison only
    limit: float
    warning: str  #: why the times of the newer one may mislead

    @property
    def slower(self) -> list[Change]:
        """The rows beyond the limit, the slowest first."""
        return sorted((row for row in self.rows if row.slower > self.limit), key=lambda row: -row.slower)

    @property
    def ok(self) -> bool:
        """Whether all results are correct, no row is slower than the limit allows, and none is missing."""
        return not self.slower and not self.gone and all(row.ok for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return all as plain values, ready for JSON."""
        rows = [asdict(row) | {"slower": row.slower} for row in self.rows]
        text = {"gone": self.gone, "new": self.new, "limit": self.limit, "warning": self.warning, "ok": self.ok}
        return {"name": self.name, "rows": rows, **text}

    def __repr__(self) -> str:
        return f"<changes of {self.name}: {len(self.rows)} rows, {len(self.slower)} slower than {self.limit}x>"

    def __str__(self) -> str:
        return "\n".join([*columns.columns([_HEAD, *map(self._cells, self._sorted())], "<<<>>>><"), *self._notes()])

    def _repr_html_(self) -> str:
        table = display.table(_HEAD, map(self._cells, self._sorted()))
        return display.page(repr(self), [], table, display.lines(self._notes()))

    def _sorted(self) -> list[Change]:
        return sorted(self.rows, key=lambda row: (list(TITLES).index(row.op), -row.slower))

    def _cells(self, row: Change) -> list[str]:
        far = row.slower > self.limit or row.slower < 1 / self.limit
        times, word = (row.slower, "slow") if row.slower > 1 else (1 / row.slower, "fast")
        change = f"{columns.digits(times)}x as {word}"
        text = (change if far else "as before") + ("" if row.ok else "   FAILED")
        seconds = columns.seconds(row.then), columns.seconds(row.now)
        ratios = f"{columns.digits(row.ratio_then)}x", f"{columns.digits(row.ratio_now)}x"
        return [TITLES[row.op], row.format, row.kernel, *seconds, *ratios, text]

    def _notes(self) -> list[str]:
        notes = [f"Note: {self.warning}"] if self.warning else []
        notes += [f"gone: {', '.join(self.gone)}"] if self.gone else []
        notes += [f"new: {', '.join(self.new)}"] if self.new else []
        worst = self.slower[:1]
        count = f"{len(self.slower)} of {len(self.rows)} rows are more than {self.limit:g} times as slow"
        return [*notes, f"{count}; the worst: {worst[0].format} {worst[0].kernel}" if worst else "No row is slower."]


def changes(new: Any, old: Any, limit: float) -> Changes:
    """Return what changed; `old` is a comparison, the result of its `to_dict`, or a file written by `save`."""
    if not limit >= 1:
        raise ValueError(f"since: limit={limit}: expected 1 or more")
    if not isinstance(old, Mapping | str | Path):
        if not hasattr(old, "to_dict"):
            raise TypeError(f"since: old is {type(old).__name__}, expected a comparison, its to_dict(), or a file")
        old = old.to_dict()
    before = old if isinstance(old, Mapping) else saved(Path(old))
    now = new.to_dict()
    if differing := [field for field in _SAME if before.get(field) != now[field]]:
        text = ", ".join(f"{field} {before.get(field)} then, {now[field]} now" for field in differing)
        raise ValueError(f"since: the comparisons differ in: {text}")
    then, here = (dict(_ours(one["rows"])) for one in (before, now))
    rows = [
        Change(*key, then[key]["seconds"], row["seconds"], then[key]["ratio"], row["ratio"], row["ok"])
        for key, row in here.items()
        if key in then
    ]
    gone, added = (
        [f"{format} {kernel} ({TITLES[op]})" for op, format, kernel in one if (op, format, kernel) not in other]
        for one, other in ((then, here), (here, then))
    )
    return Changes(new.name, rows, gone, added, limit, new.warning)


def _ours(rows: list[dict[str, Any]]) -> Iterator[tuple[tuple[str, str, str], dict[str, Any]]]:
    return (((row["op"], row["format"], row["kernel"]), row) for row in rows if row["format"] not in PEERS)


def saved(path: Path) -> dict[str, Any]:
    """Return the plain values of a comparison from a file written by `save`."""
    try:
        read = json.loads(path.read_text())
    except ValueError as error:
        raise ValueError(f"{path}: not a JSON file: {error}") from None
    if not isinstance(read, dict) or not {"rows", *_SAME} <= set(read):
        raise ValueError(f"{path}: expected a comparison written by `save`")
    return read
