"""What forecasts, reports and constructors ask of a matrix, before it is in a format."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

BLOCK = 8  # rows and columns of a block where nothing else is said
SYMMETRIES = {1: "symmetric", 2: "hermitian", 4: "skew-symmetric"}  # by the bits of src/cpp/core/symmetry.hpp


class Summary:
    """The shape of a matrix, the bytes of a value, how much it stores and where. What takes a pass is found when asked.

    Of entries what is stored counts, zeros among it; of diagonals what is not zero, for zeros are dropped on the way.

    Parameters
    ----------
    shape, itemsize
        As of the matrix in the new format.
    stored : int
        How many values it has at most.
    **found : functions
        Each finds the fact of its name, once: ``entries`` (by default they are as many as are stored), ``offsets``,
        ``fill``, ``row_lengths``, ``leading`` (within limits), ``blocks`` (of a size), ``slices`` (of a height, sorted
        in windows) and ``symmetry``.
    """

    def __init__(self, shape: tuple[int, int], itemsize: int, stored: int, **functions: Callable[..., Any]) -> None:
        self.shape, self.itemsize, self.stored = shape, itemsize, stored
        self._functions = functions
        self._cache: dict[tuple[Any, ...], Any] = {}  # facts that were asked for with arguments

    @cached_property
    def entries(self) -> int:
        """Count of entries."""
        return self._functions["entries"]() if "entries" in self._functions else self.stored

    @cached_property
    def offsets(self) -> np.ndarray:
        """Offsets of the diagonals on which something is stored, int64, ascending."""
        return self._functions["offsets"]()

    @cached_property
    def fill(self) -> np.ndarray:
        """Entries on each of these diagonals, int64."""
        return self._functions["fill"]()

    @cached_property
    def row_lengths(self) -> np.ndarray:
        """Lengths that rows have, ascending, and how many rows have each: int64, shape (k, 2)."""
        return self._functions["row_lengths"]()

    @property
    def longest_row(self) -> int:
        """Entries of the longest row."""
        return int(self.row_lengths[-1, 0]) if len(self.row_lengths) else 0

    @property
    def shortest_row(self) -> int:
        """Entries of the shortest row."""
        return int(self.row_lengths[0, 0]) if len(self.row_lengths) else 0

    def beyond(self, width: int) -> int:
        """Return how many entries the rows have beyond the first `width` of each."""
        lengths, rows = self.row_lengths.T
        return int(np.maximum(lengths - width, 0) @ rows)

    def leading(self, **limits: int) -> tuple[int, int]:
        """Return how many entries lead within these limits: of the row with most of them, and of all rows.

        The limits are ``entries`` of a row, the ``column`` that they lie before, and the ``reach``, how far the columns
        of a chunk lie apart; with ``lower`` only those below the diagonal lead (src/cpp/core/summary.hpp).
        """
        question = "leading", *sorted(limits.items())
        if question not in self._cache:
            self._cache[question] = self._functions["leading"](**limits)
        return self._cache[question]

    def blocks(self, size: int = BLOCK) -> int:
        """Return how many of the ``size x size`` blocks hold entries; the last ones are cut off by the edges."""
        return self._evaluated("blocks", size)

    def positions_in_slices(self, height: int, sigma: int = 1) -> int:
        """Return the places of slices of `height` rows, each padded to its longest row.

        Rows are sorted by descending length in windows of `sigma` rows before they are cut into slices.
        """
        return self._evaluated("slices", height, sigma)

    def _evaluated(self, *question: Any) -> Any:
        """Return the answer of a function, by its name and with arguments, which is asked once."""
        if question not in self._cache:
            name, *arguments = question
            self._cache[question] = self._functions[name](*arguments)
        return self._cache[question]

    @cached_property
    def symmetry(self) -> str | None:
        """``"symmetric"``, ``"hermitian"``, ``"skew-symmetric"`` or None: of the values, exactly; zeros do not count.

        The first that holds: real symmetric matrices are symmetric. What is no number is the same as nothing.
        """
        return self._functions["symmetry"]()

    @classmethod
    def empty(cls, shape: tuple[int, int], itemsize: int) -> Summary:
        """Return the summary of a matrix without entries."""
        rows = np.array([[0, shape[0]]] * bool(shape[0]), np.int64).reshape(-1, 2)
        nothing = np.zeros(0, np.int64)
        return cls(
            shape, itemsize, 0, offsets=lambda: nothing, fill=lambda: nothing, row_lengths=lambda: rows,
            leading=lambda **limits: (0, 0), blocks=lambda size: 0, slices=lambda height, sigma: 0,
            symmetry=lambda: "symmetric" if shape[0] == shape[1] else None,
        )  # fmt: skip

    def in_items(self, itemsize: int) -> Summary:
        """Return the same of values that take other bytes each."""
        return Summary(self.shape, itemsize, self.stored, **self._functions)

    def at_most(self) -> Summary:
        """Return the same with as many entries as there may be, which nobody has to count."""
        return Summary(self.shape, self.itemsize, self.stored)


def least_fill(itemsize: int) -> float:
    """Return how full diagonals have to be to take fewer bytes than csr, which adds a column to each nonzero."""
    return itemsize / (itemsize + 4)


def diagonal_length(shape: tuple[int, int], offset: int) -> int:
    """Return the length of a diagonal of a matrix of this shape (0 outside it)."""
    m, n = shape
    return max(0, min(m, n - offset) if offset >= 0 else min(m + offset, n))


def inside(shape: tuple[int, int], offsets: list[int]) -> np.ndarray:
    """Return those of the offsets whose diagonals lie in a matrix of this shape, ascending."""
    return np.array(sorted(k for k in offsets if diagonal_length(shape, k)), np.int64)
