"""The rows that a function of the gallery builds: all of a matrix, or those of one process."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arguments import Rows


@dataclass(frozen=True)
class RowRange:
    """The rows first, ..., last - 1 of a matrix. `part` is whether the user asked for them, instead of for all rows."""

    first: int
    last: int
    columns: int
    part: bool

    @property
    def shape(self) -> tuple[int, int]:
        return self.last - self.first, self.columns

    def meets(self, offsets: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which diagonals have elements in these rows."""
        return (self.first < self.last) & (offsets > -self.last) & (offsets < self.columns - self.first)

    def extent(self, offset: int) -> slice:
        """Return which of these rows have an element on a diagonal."""
        start = max(0, -offset - self.first)
        return slice(start, max(start, min(self.shape[0], self.columns - offset - self.first)))

    def boxes(self, grid: Sequence[int]) -> Iterator[Box]:
        """Split these rows into boxes of a grid, whose points in C order are the rows of the whole matrix.

        In a box, the first coordinates are fixed, the next one has a range, and all others take every value. The whole
        matrix is a single box, and any other rows are at most two boxes for each axis.
        """
        sizes = (1, *grid)  # the first coordinate is always 0, so that the whole grid has a stride, too
        strides = [prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
        row = self.first
        while row < self.last:
            axis = next(a for a, stride in enumerate(strides) if row % stride == 0 and row + stride <= self.last)
            point = [row // stride % size for stride, size in zip(strides, sizes, strict=True)]
            count = min(sizes[axis] - point[axis], (self.last - row) // strides[axis])
            ranges = [range(at, at + 1) for at in point[:axis]]
            ranges += [range(point[axis], point[axis] + count), *map(range, sizes[axis + 1 :])]
            stop = row + count * strides[axis]
            yield Box(slice(row - self.first, stop - self.first), tuple(ranges[1:]), max(axis - 1, 0))
            row = stop


@dataclass(frozen=True)
class Box:
    """Rows that are a box of a grid.

    `rows` are their positions among the rows that are built, `ranges` those of the coordinates. An array of values in
    the box has no axes for the first `fixed` coordinates.
    """

    rows: slice
    ranges: tuple[range, ...]
    fixed: int

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(map(len, self.ranges[self.fixed :]))

    @property
    def coordinates(self) -> list[NDArray[np.int64]]:
        """The coordinates of the rows, arrays that broadcast to the shape of the box."""
        last = len(self.ranges) - 1
        return [
            np.arange(r.start, r.stop).reshape((-1,) + (1,) * (last - max(axis, self.fixed)))
            for axis, r in enumerate(self.ranges)
        ]

    def part(self, wanted: dict[int, range]) -> tuple[slice, ...] | None:
        """Return the index of the rows whose coordinates on some axes are within ranges, None if there are none."""
        index = [slice(None)] * (len(self.ranges) - self.fixed)
        for axis, among in wanted.items():
            own = self.ranges[axis]
            start, stop = max(own.start, among.start), min(own.stop, among.stop)
            if start >= stop:
                return None
            if axis >= self.fixed:
                index[axis - self.fixed] = slice(start - own.start, stop - own.start)
        return tuple(index)


def row_range(rows: Rows, shape: tuple[int, int]) -> RowRange:
    """Return the rows that an argument `rows` selects from a matrix of this shape; raise an error if it is invalid."""
    if rows is None:
        return RowRange(0, *shape, False)
    try:
        first, last = map(operator.index, rows)
    except (TypeError, ValueError):
        raise TypeError(f"rows is {rows!r}, expected two whole numbers (first, last)") from None
    if not 0 <= first <= last <= shape[0]:
        raise ValueError(f"rows is ({first}, {last}), expected 0 <= first <= last <= {shape[0]}")
    return RowRange(first, last, shape[1], True)
