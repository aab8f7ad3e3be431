"""What forecasts, reports and constructors ask of a matrix, before it is in a format."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np


class Summary:
    """The shape of a matrix, the bytes of a value, how much it stores and where. What takes a pass is found when asked.

    Parameters
    ----------
    shape, itemsize
        As of the matrix in the new format.
    stored : int
        How many values it has at most.
    entries : function, optional
        Counts those that a format entry by entry would keep; by default they are as many.
    offsets : function, optional
        Finds the offsets of the diagonals on which something is stored, ascending.
    row_lengths : function, optional
        Finds the lengths that rows have, ascending, and how many rows have each.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        itemsize: int,
        stored: int,
        entries: Callable[[], int] | None = None,
        offsets: Callable[[], np.ndarray] | None = None,
        row_lengths: Callable[[], np.ndarray] | None = None,
    ) -> None:
        self.shape, self.itemsize, self.stored = shape, itemsize, stored
        self._entries, self._offsets, self._row_lengths = entries, offsets, row_lengths

    @cached_property
    def entries(self) -> int:
        """Count of entries, of diagonals what is not zero: zeros are dropped on the way."""
        return self.stored if self._entries is None else self._entries()

    @cached_property
    def offsets(self) -> np.ndarray:
        """Offsets of the occupied diagonals, int64, ascending."""
        assert self._offsets is not None
        return self._offsets()

    @cached_property
    def row_lengths(self) -> np.ndarray:
        """Lengths that rows have, ascending, and how many rows have each: int64, shape (k, 2)."""
        assert self._row_lengths is not None
        return self._row_lengths()

    @property
    def longest_row(self) -> int:
        """Entries of the longest row."""
        return int(self.row_lengths[-1, 0]) if len(self.row_lengths) else 0

    def at_most(self) -> Summary:
        """Return the same with as many entries as there may be, which nobody has to count."""
        return Summary(self.shape, self.itemsize, self.stored, None, self._offsets, self._row_lengths)


def diagonal_length(shape: tuple[int, int], offset: int) -> int:
    """Return the length of a diagonal of a matrix of this shape (0 outside it)."""
    m, n = shape
    return max(0, min(m, n - offset) if offset >= 0 else min(m + offset, n))


def inside(shape: tuple[int, int], offsets: list[int]) -> np.ndarray:
    """Return those of the offsets whose diagonals lie in a matrix of this shape, ascending."""
    return np.array(sorted(k for k in offsets if diagonal_length(shape, k)), np.int64)
