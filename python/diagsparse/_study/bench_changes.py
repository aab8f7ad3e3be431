"""The changes between two reports of a benchmark: rows that are slower, missing, or new."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .._show import columns, display
from . import bench_cases
from .changes import Change, Changes
from .timed_rows import DEFAULT, FASTEST, Key, Timed, timed_rows
from .titles import TITLES

LIMIT = 1.1  #: a row counts as slower if it takes more than this many times as long
SHORT = 1e-5  #: seconds; shorter calls are dominated by the host or by caches, unless they now take twice as long
CACHED = 1.1  #: fraction of the memory bandwidth above which the data is read from caches
CLOCK, NOTHING = "seconds", ""
_OPS = TITLES | {"matmul": "C = A B"}
_HEAD = ["", "", "format", "kernel", "then", "now", "of bandwidth", "vs peer", "change"]
_TOO_SHORT = f"Too short to judge: they took less than {SHORT * 1e6:.0f} us, and no peer took part in both runs"
_CHOSEN = {FASTEST, DEFAULT}  # rows in addition to that of the kernel itself
_OF_A_MACHINE = ("gpu", "cpu", "cores", "instruction_set")


@dataclass(frozen=True)
class BenchChange(Change):
    """One time of diagsparse in both reports; it is judged by `ratio_then` and `ratio_now`."""

    row: str = ""  #: case or matrix, with the number of threads
    judged_by: str = NOTHING  #: "bandwidth", a peer, "seconds", or "" if it is too short to judge
    of_bandwidth_then: float | None = None
    of_bandwidth_now: float | None = None
    peer: str = ""  #: the fastest peer in both reports
    vs_peer_then: float | None = None  #: seconds of the peer divided by these
    vs_peer_now: float | None = None

    @property
    def slower(self) -> float:
        """Slowdown since the older report; relative to a peer at most that of the seconds, since peers vary as well."""
        slowdown = self.ratio_then / self.ratio_now
        return min(slowdown, self.now / self.then) if self.peer and self.judged_by == self.peer else slowdown


@dataclass(frozen=True, repr=False)
class BenchChanges(Changes):
    """The times of diagsparse that two reports have in common, and the rows of only one of them."""

    failures: tuple[str, ...] = ()  #: rows that now fail, are wrong, or have no kernel of the same format any more
    busy: bool = False  #: whether other work kept the processors busy during one of the two runs

    @property
    def slower(self) -> list[Change]:
        """The rows beyond the limit that can be judged, the slowest first."""
        return [row for row in super().slower if _judged(row)]

    @property
    def longer(self) -> list[Change]:
        """The rows that are too short to judge, but whose seconds exceed the limit; the slowest first."""
        return [row for row in super().slower if not _judged(row)]

    @property
    def status(self) -> str:
        """The result of the comparison, in one line."""
        short = sum(not _judged(row) for row in self.rows)
        parts = [f"{len(self.slower)} of {len(self.rows)} rows are more than {self.limit:g} times as slow"]
        parts += [f"{short} are too short to judge, of which {len(self.longer)} take longer"] if short else []
        parts += [f"{len(self.failures)} failures"]
        return "; ".join(parts) + ("; the machine was busy, so measure again" if self.busy else "")

    @property
    def ok(self) -> bool:
        """Whether no row is slower than the limit allows, and nothing fails."""
        return not self.slower and not self.failures

    def to_dict(self) -> dict[str, Any]:
        """Return all as plain values, ready for JSON."""
        more = {"failures": list(self.failures), "busy": self.busy, "status": self.status}
        return super().to_dict() | more

    def __str__(self) -> str:
        lines: list[str] = []
        for title, rows in (([], self.slower), ([_TOO_SHORT], self.longer)):
            lines += [*title, *columns.columns([_HEAD, *map(self._cells, rows)], "<<<<>><<<")] if rows else []
        return "\n".join([*lines, *self._notes()])

    def _repr_html_(self) -> str:
        tables = [display.table(_HEAD, map(self._cells, self.slower))]
        if self.longer:
            tables += [display.lines([_TOO_SHORT]), display.table(_HEAD, map(self._cells, self.longer))]
        return display.page(repr(self), [], *tables, display.lines(self._notes()))

    def _cells(self, row: Any) -> list[str]:
        seconds = columns.seconds(row.then), columns.seconds(row.now)
        fractions = _both(row.of_bandwidth_then, row.of_bandwidth_now)
        peer = " ".join(filter(None, (_both(row.vs_peer_then, row.vs_peer_now), row.peer)))
        change = f"{columns.digits(row.slower)}x as slow, by {row.judged_by or CLOCK}"
        return [row.row, _OPS.get(row.op, row.op), row.format, row.kernel, *seconds, fractions, peer, change]

    def _notes(self) -> list[str]:
        notes = [f"Note: {self.warning}"] if self.warning else []
        notes += [f"failure: {what}" for what in self.failures]
        notes += [f"gone: {what}" for what in self.gone if what not in self.failures]
        notes += [f"new: {what}" for what in self.new]
        return [*notes, self.status]


def _judged(row: Any) -> bool:
    return bool(row.judged_by != NOTHING)


def _both(then: float | None, now: float | None) -> str:
    return "" if then is None or now is None else f"{columns.digits(then)} -> {columns.digits(now)}"


def bench_changes(
    new: dict[str, Any],
    old: dict[str, Any],
    limit: float = LIMIT,
    timed: Callable[[dict[str, Any]], Iterator[Timed]] = timed_rows,
) -> BenchChanges:
    """Return the changes between two reports of the same benchmark on the same kind of machine.

    A row is judged relative to the bandwidth that was measured in the same run, unless it is not limited by the memory:
    small cases, calls of less than 10 us, and rows that are faster than the memory. These rows, and experiments without
    a measured bandwidth, are judged by the fastest peer in both reports: they are slower if they take longer both
    relative to the peer and in seconds. Without such a peer the seconds are compared, but calls of less than 10 us are
    too short to be judged by them, unless they now take 20 us. They count neither as slower nor as equal: `longer`
    contains those whose seconds exceed the limit.

    Parameters
    ----------
    new, old : dict
        Reports of the same benchmark.
    limit : float
        A row counts as slower if it takes more than this many times as long.
    timed : callable
        Yields the times in a report; by default in a report of cases.

    Raises
    ------
    ValueError
        If the reports are of different benchmarks, dtypes, sizes or machines.
    """
    check_comparable(new, old)
    then = {one.key: one for one in timed(_same_selection(new, old)) if one.seconds and one.ok}
    now = {one.key: one for one in timed(new)}
    right = {key: one for key, one in now.items() if one.seconds and one.ok}
    both = [key for key in right if key in then and not _repeats_a_kernel(key, then, now)]
    rows = [_change(then[key], now[key]) for key in both]
    kernels, computed = [key for key in then if key[3] not in _CHOSEN], {key[:3] for key in right}
    gone = [_words(key) for key in kernels if key not in now]
    failures = [f"{_words(key)} (fails or is wrong)" for key in kernels if key in now and key not in right]
    failures += [_words(key) for key in kernels if key not in now and key[:3] not in computed]
    added = [_words(key) for key in right if key not in then and key[3] not in _CHOSEN]
    if not both:
        failures.append("nothing to compare: no row of the older report belongs to what was measured now")
    notes, busy = "; ".join(_notes(new, old, rows)), any(bool(report.get("warning")) for report in (new, old))
    return BenchChanges(new.get("experiment", "cases"), rows, gone, added, limit, notes, tuple(failures), busy)


def check_comparable(new: dict[str, Any], old: dict[str, Any]) -> None:
    """Raise ValueError unless two reports are of the same benchmark on the same kind of machine."""
    for what, one, other in (
        ("benchmark", new.get("experiment", "cases"), old.get("experiment", "cases")),
        ("device", new.get("device", "cpu"), old.get("device", "cpu")),
        ("values", new.get("dtype", ""), old.get("dtype", "")),
        ("sizes", "--quick" if new["quick"] else "in full", "--quick" if old["quick"] else "in full"),
        ("machine", _machine(new), _machine(old)),
    ):
        if one != other:
            because = "; ratios carry over only between machines of one kind" if what == "machine" else ""
            raise ValueError(f"bench --since: the {what} was {other} then, and is {one} now{because}")


def _machine(report: dict[str, Any]) -> str:
    hardware = report["hardware"]
    fields = _OF_A_MACHINE[:1] if report.get("device") == "cuda" else _OF_A_MACHINE[1:]
    return ", ".join(f"{hardware[name]}{' cores' * (name == 'cores')}" for name in fields)


def _same_selection(new: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    """Return the older report, restricted to the cases that the newer run selected and completed."""
    rows = old["rows"]
    if "experiment" not in old:
        threads = {row.get("threads") for row in new["rows"]}
        rows = [row for row in rows if bench_cases.is_named(new.get("name"), row["group"], row["case"])]
        rows = [row for row in rows if row.get("threads") in threads]
    if new.get("interrupted"):
        done = set(map(_case, new["rows"]))
        rows = [row for row in rows if _case(row) in done]
    return old | {"rows": rows}


def _case(row: dict[str, Any]) -> str:
    return row.get("case") or row["name"]


def _change(then: Timed, now: Timed) -> BenchChange:
    assert then.seconds and now.seconds
    common = then.peers.keys() & now.peers.keys()
    peer = min(common, key=lambda name: then.peers[name], default="")
    vs_peer = (then.peers[peer] / then.seconds, now.peers[peer] / now.seconds) if peer else None
    short = then.seconds < SHORT and now.seconds < 2 * SHORT
    cached = max(then.fraction or 0, now.fraction or 0) > CACHED
    judged_by, ratios = NOTHING if short else CLOCK, (1 / then.seconds, 1 / now.seconds)
    if then.bandwidth and now.bandwidth and not (short or cached):
        judged_by, ratios = "bandwidth", (ratios[0] / then.bandwidth, ratios[1] / now.bandwidth)
    elif vs_peer:
        judged_by, ratios = peer, vs_peer
    elif then.overall and now.overall and not short:
        judged_by, ratios = "bandwidth", (ratios[0] / then.overall, ratios[1] / now.overall)
    kernel = now.kernel or " -> ".join(dict.fromkeys(filter(None, (then.ran, now.ran))))
    return BenchChange(
        now.op, now.format, kernel, then.seconds, now.seconds, *ratios, now.ok, now.row, judged_by, then.fraction,
        now.fraction, peer, *(vs_peer or (None, None)),
    )  # fmt: skip


def _repeats_a_kernel(key: Key, *reports: dict[Key, Timed]) -> bool:
    """Return whether the row of a fastest or default kernel repeats the row of the same kernel in all reports."""
    if key[3] not in _CHOSEN:
        return False
    named = [
        {one.kernel for one in report.values() if one.key[:3] == key[:3] and one.seconds == report[key].seconds}
        for report in reports
    ]
    return bool(set.intersection(*named) - _CHOSEN)


def _notes(new: dict[str, Any], old: dict[str, Any], rows: list[BenchChange]) -> Iterator[str]:
    yield from filter(None, (f"{when}: {report.get('warning')}" * bool(report.get("warning"))
                             for when, report in (("then", old), ("now", new))))  # fmt: skip
    if new.get("interrupted"):
        yield f"interrupted, {new['left']} steps left out"
    if by_clock := sum(row.judged_by == CLOCK for row in rows):
        yield f"{by_clock} rows have neither a bandwidth nor a peer in both runs: their seconds are compared"


def _words(key: Key) -> str:
    row, op, format, kernel = key
    return f"{row}: {' '.join(filter(None, (format, kernel, _OPS.get(op, op))))}"
