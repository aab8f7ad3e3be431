"""Sets of rows or columns as sorted ranges, and partitions of rows among processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .._backends.arguments import integer


class Ranges:
    """A set of integers as disjoint half-open ranges ``[start, stop)``, ascending, no two of which touch.

    ``position`` numbers the elements of the set from 0 on, so a vector of the elements is a concatenation of the
    ranges. All arithmetic is in 64 bits.
    """

    def __init__(self, starts: Any, stops: Any) -> None:
        self.starts, self.stops = np.asarray(starts, np.int64), np.asarray(stops, np.int64)
        self.begin = np.concatenate(([0], np.cumsum(self.stops - self.starts)))

    @classmethod
    def union(cls, starts: Any, stops: Any) -> Ranges:
        """Return the union of ranges in any order, which may overlap, touch or be empty."""
        starts, stops = np.asarray(starts, np.int64), np.asarray(stops, np.int64)
        keep = starts < stops
        order = np.argsort(starts[keep], kind="stable")
        starts, stops = starts[keep][order], np.maximum.accumulate(stops[keep][order])
        first = np.ones(len(starts), bool)
        first[1:] = starts[1:] > stops[:-1]
        return cls(starts[first], stops[np.append(first[1:], True)[: len(stops)]])

    @classmethod
    def of(cls, ranges: Iterable[tuple[int, int]]) -> Ranges:
        """Return disjoint ranges as they are, ascending."""
        pairs = np.array(list(ranges), np.int64).reshape(-1, 2)
        return cls(pairs[:, 0], pairs[:, 1])

    @classmethod
    def all(cls, sets: Iterable[Ranges]) -> Ranges:
        """Return the union of sets."""
        sets = list(sets)
        none = np.zeros(0, np.int64)
        return cls.union(*(np.concatenate([none, *(getattr(s, a) for s in sets)]) for a in ("starts", "stops")))

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(self.begin[-1])

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(zip(self.starts.tolist(), self.stops.tolist(), strict=True))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ranges) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return " ".join(f"[{a}, {b})" for a, b in self) or "empty"

    def position(self, elements: Any) -> Any:
        """Return the positions of elements of the set."""
        elements = np.asarray(elements, np.int64)
        which = np.searchsorted(self.starts, elements, "right") - 1
        return self.begin[which] + elements - self.starts[which]

    def element(self, positions: Any) -> Any:
        """Return the elements at positions; the inverse of `position`."""
        positions = np.asarray(positions, np.int64)
        which = np.searchsorted(self.begin, positions, "right") - 1
        return self.starts[which] + positions - self.begin[which]

    def elements(self) -> np.ndarray:
        """Return all elements."""
        steps = np.ones(self.size, np.int64)
        if self.size:
            steps[self.begin[1:-1]] = self.starts[1:] - self.stops[:-1] + 1
            steps[0] = self.starts[0]
        return np.cumsum(steps)

    def positions(self, part: Ranges) -> Ranges:
        """Return the positions of a part of the set, as ranges, which may touch."""
        return Ranges(self.position(part.starts), self.position(part.stops - 1) + 1)

    def outline(self, most: int = 64) -> list[tuple[int, int]]:
        """Return the ranges, or one that contains them all if there are many."""
        return list(self) if len(self) <= most else [(int(self.starts[0]), int(self.stops[-1]))]

    def shifted(self, by: int) -> Ranges:
        """Return the set with `by` added to its elements."""
        return Ranges(self.starts + by, self.stops + by)

    def within(self, first: int, last: int) -> Ranges:
        """Return the part of the set in ``[first, last)``."""
        if first >= last:
            return Ranges([], [])
        low = int(np.searchsorted(self.stops, first, "right"))
        high = int(np.searchsorted(self.starts, last, "left"))
        return Ranges(np.maximum(self.starts[low:high], first), np.minimum(self.stops[low:high], last))

    def without(self, first: int, last: int) -> Ranges:
        """Return the part of the set outside of ``[first, last)``."""
        if first >= last:
            return self
        before, after = self.within(0, first), self.within(last, int(self.stops[-1]) if len(self) else last)
        return Ranges(np.append(before.starts, after.starts), np.append(before.stops, after.stops))

    def gaps(self, first: int, last: int) -> Ranges:
        """Return the elements of ``[first, last)`` that are not in the set."""
        inside = self.within(first, last)
        return Ranges.union(np.append(first, inside.stops), np.append(inside.starts, last))


def runs_of(elements: Any) -> Ranges:
    """Return ascending distinct integers as ranges."""
    elements = np.asarray(elements, np.int64)
    first = np.ones(len(elements), bool)
    first[1:] = elements[1:] != elements[:-1] + 1
    return Ranges(elements[first], elements[np.append(first[1:], True)[: len(first)]] + 1)


def covered(starts: Any, stops: Any) -> np.ndarray:
    """Return all integers of these ranges, ascending and once each."""
    return Ranges.union(starts, stops).elements()


class Partition:
    """Contiguous ranges of rows, one for each process: process p has the rows ``borders[p]`` to ``borders[p + 1]``."""

    def __init__(self, borders: Sequence[int]) -> None:
        self.borders = np.asarray(borders, np.int64)

    @classmethod
    def equal(cls, rows: int, processes: int) -> Partition:
        """Divide the rows equally; the first processes have one row more if there is a remainder."""
        each, more = divmod(rows, processes)
        return cls([each * p + min(p, more) for p in range(processes + 1)])

    @property
    def rows(self) -> int:
        return int(self.borders[-1])

    @property
    def processes(self) -> int:
        return len(self.borders) - 1

    def range(self, process: int) -> tuple[int, int]:
        return int(self.borders[process]), int(self.borders[process + 1])

    def count(self, process: int) -> int:
        first, last = self.range(process)
        return last - first

    def owner(self, row: int) -> int:
        return int(np.searchsorted(self.borders, row, "right")) - 1

    def by_owner(self, ranges: Ranges) -> list[tuple[int, Ranges]]:
        """Return the processes that have rows of a set, ascending, each with its part of the set."""
        first = np.searchsorted(self.borders, ranges.starts, "right") - 1
        last = np.searchsorted(self.borders, ranges.stops - 1, "right") - 1
        parts = ((int(p), ranges.within(*self.range(p))) for p in covered(first, last + 1))
        return [(p, part) for p, part in parts if part.size]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Partition) and np.array_equal(self.borders, other.borders)

    __hash__ = None  # type: ignore[assignment]


def checked_partition(row_ranges: Any, rows: int, processes: int, who: str) -> Partition:
    """Return the partition that a user specifies: None for equal ranges, or one pair (first, last) per process."""
    if row_ranges is None:
        return Partition.equal(rows, processes)
    try:
        given = [tuple(pair) for pair in row_ranges]
    except TypeError:
        raise TypeError(f"{who}: row_ranges is {row_ranges!r}, expected one pair (first, last) per process") from None
    pairs = [tuple(integer(i, f"{who}: row_ranges") for i in pair) for pair in given]
    if len(pairs) != processes:
        raise ValueError(f"{who}: row_ranges has {len(pairs)} ranges, expected {processes}, one for each process")
    for p, pair in enumerate(pairs):
        start = pairs[p - 1][1] if p else 0
        if len(pair) != 2 or pair[0] != start or pair[1] < pair[0] or pair[1] > rows:
            raise ValueError(
                f"{who}: row_ranges[{p}] is {pair}, expected (first, last) with first = {start} <= last <= {rows}"
            )
    if pairs[-1][1] != rows:
        raise ValueError(f"{who}: row_ranges end at row {pairs[-1][1]}, expected {rows}")
    return Partition([0, *(last for _, last in pairs)])


def checked_shape(shape: Any, who: str) -> tuple[int, int]:
    """Return the shape that a user specifies."""
    try:
        m, n = shape
    except (TypeError, ValueError):
        raise TypeError(f"{who}: shape is {shape!r}, expected two integers (m, n)") from None
    m, n = integer(m, f"{who}: shape"), integer(n, f"{who}: shape")
    if m < 0 or n < 0:
        raise ValueError(f"{who}: shape is {(m, n)}, expected two integers >= 0")
    return m, n
