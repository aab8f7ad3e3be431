"""Which columns the rows of a matrix of diagonals need, and which rows need only those of their own process."""

from __future__ import annotations

from typing import Any

import numpy as np

from .ranges import Ranges


def needed_columns(offsets: Any, shape: tuple[int, int], first: int, last: int) -> Ranges:
    """Return the columns in which the rows ``[first, last)`` of a matrix with these offsets may have elements."""
    k = np.asarray(offsets, np.int64)
    return Ranges.union(np.maximum(first + k, 0), np.minimum(last + k, shape[1]))


def interior_rows(
    offsets: Any, shape: tuple[int, int], rows: tuple[int, int], own: tuple[int, int], others: Ranges | None = None
) -> tuple[int, int]:
    """Return the longest range of the rows that need only the columns `own`; an empty range if there is none.

    `others` are rows with elements outside of `own` that are on none of the diagonals.
    """
    (first, last), k = rows, np.asarray(offsets, np.int64)
    below = np.maximum(first, -k), np.minimum(last, own[0] - k)  # rows with a column before the own ones
    above = np.maximum(first, own[1] - k), np.minimum(last, shape[1] - k)
    starts, stops = [below[0], above[0]], [below[1], above[1]]
    if others is not None:
        starts, stops = [*starts, others.starts], [*stops, others.stops]
    free = Ranges.union(np.concatenate(starts), np.concatenate(stops)).gaps(first, last)
    if not len(free):
        return first, first
    which = int(np.argmax(free.stops - free.starts))  # the first of the longest ones
    return int(free.starts[which]), int(free.stops[which])


def boundary_columns(offsets: Any, shape: tuple[int, int], rows: tuple[int, int], interior: tuple[int, int]) -> Ranges:
    """Return the columns that the rows before and after the interior ones need."""
    parts = (rows[0], interior[0]), (interior[1], rows[1])
    return Ranges.all(needed_columns(offsets, shape, a, b) for a, b in parts if a < b)
