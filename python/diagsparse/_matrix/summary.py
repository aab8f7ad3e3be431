"""Statistics of a matrix that forecasts, reports and constructors need before it is converted to a format."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

BLOCK = 8  # rows and columns of a block by default
SYMMETRIES = {1: "symmetric", 2: "hermitian", 4: "skew-symmetric"}  # by the bits of src/cpp/core/symmetry.hpp


class Summary:
    """Shape, item size and statistics of a matrix. Statistics that need a pass over the matrix are computed lazily.

    Explicit zeros count in the formats that store entries, but not in the diagonal formats, as conversions from those
    drop zeros.

    Parameters
    ----------
    shape, itemsize
        Of the matrix in the target format.
    stored : int
        An upper bound of the number of stored values.
    **functions : callable
        Each computes the statistic of its name, at most once for the same arguments: ``entries`` (by default `stored`),
        ``offsets``, ``fill``, ``colors``, ``row_lengths``, ``leading`` (within limits), ``blocks`` (of a size),
        ``slices`` (of a height, sorted in windows) and ``symmetry``.
    """

    def __init__(self, shape: tuple[int, int], itemsize: int, stored: int, **functions: Callable[..., Any]) -> None:
        self.shape, self.itemsize, self.stored = shape, itemsize, stored
        self._functions = functions
        self._cache: dict[tuple[Any, ...], Any] = {}  # statistics that have arguments

    @cached_property
    def entries(self) -> int:
        """Number of entries."""
        return self._functions["entries"]() if "entries" in self._functions else self.stored

    @cached_property
    def offsets(self) -> np.ndarray:
        """Offsets of the diagonals that have entries, int64, ascending."""
        return self._functions["offsets"]()

    @cached_property
    def mirrored_offsets(self) -> np.ndarray:
        """The same, and the offsets of their mirror images."""
        return np.union1d(self.offsets, -self.offsets)

    @cached_property
    def fill(self) -> np.ndarray:
        """Number of entries on each of these diagonals, int64."""
        return self._functions["fill"]()

    @cached_property
    def colors(self) -> np.ndarray:
        """Number of different values on each of these diagonals, int64; 0 if there are more than 256, or unknown."""
        return self._functions["colors"]() if "colors" in self._functions else np.zeros_like(self.fill)

    @cached_property
    def row_lengths(self) -> np.ndarray:
        """Distinct row lengths, ascending, and the number of rows of each: int64, shape (k, 2)."""
        return self._functions["row_lengths"]()

    @property
    def longest_row(self) -> int:
        """Number of entries of the longest row."""
        return int(self.row_lengths[-1, 0]) if len(self.row_lengths) else 0

    @property
    def shortest_row(self) -> int:
        """Number of entries of the shortest row."""
        return int(self.row_lengths[0, 0]) if len(self.row_lengths) else 0

    def beyond(self, width: int) -> int:
        """Return the number of entries beyond the first `width` of each row."""
        lengths, rows = self.row_lengths.T
        return int(np.maximum(lengths - width, 0) @ rows)

    def leading(self, **limits: int) -> tuple[int, int]:
        """Return the number of leading entries within these limits: the maximum of a row, and the total.

        The limits are the number of ``entries`` of a row, the ``column`` before which they are, and the ``reach``, the
        largest distance of columns in a chunk. With ``lower`` only entries below the diagonal are leading
        (src/cpp/core/summary.hpp).
        """
        key = "leading", *sorted(limits.items())
        if key not in self._cache:
            self._cache[key] = self._functions["leading"](**limits)
        return self._cache[key]

    def blocks(self, size: int = BLOCK) -> int:
        """Return the number of ``size x size`` blocks that have entries, including those cut off by the edges."""
        return self._evaluated("blocks", size)

    def positions_in_slices(self, height: int, sigma: int = 1) -> int:
        """Return the number of positions in slices of `height` rows, each padded to its longest row.

        Rows are sorted by descending length in windows of `sigma` rows before they are cut into slices.
        """
        return self._evaluated("slices", height, sigma)

    def _evaluated(self, *key: Any) -> Any:
        """Return the cached result of a function, by its name and arguments."""
        if key not in self._cache:
            name, *arguments = key
            self._cache[key] = self._functions[name](*arguments)
        return self._cache[key]

    @cached_property
    def symmetry(self) -> str | None:
        """``"symmetric"``, ``"hermitian"``, ``"skew-symmetric"`` or None, by exact comparison, ignoring explicit zeros.

        The first that holds, so that real symmetric matrices are symmetric. NaN differs from everything.
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
        """Return the same summary with another item size."""
        return Summary(self.shape, itemsize, self.stored, **self._functions)

    def at_most(self) -> Summary:
        """Return the summary whose number of entries is the upper bound `stored`, which needs no counting."""
        return Summary(self.shape, self.itemsize, self.stored)


def least_fill(itemsize: int) -> float:
    """Return the fill above which diagonals need fewer bytes than csr, which stores a column with each nonzero."""
    return itemsize / (itemsize + 4)


def has_full_diagonals(s: Summary) -> bool:
    """Whether the stored diagonals of a matrix without explicit zeros need fewer bytes than its nonzeros in csr."""
    (m, n), k = s.shape, s.offsets
    positions = int((np.minimum(m, n - k) + np.minimum(k, 0)).sum())
    return s.stored > least_fill(s.itemsize) * positions


def diagonal_length(shape: tuple[int, int], offset: int) -> int:
    """Return the length of a diagonal of a matrix of this shape, 0 outside of the matrix."""
    m, n = shape
    return max(0, min(m, n - offset) if offset >= 0 else min(m + offset, n))


def inside(shape: tuple[int, int], offsets: list[int]) -> np.ndarray:
    """Return the offsets of diagonals within a matrix of this shape, ascending."""
    return np.array(sorted(k for k in offsets if diagonal_length(shape, k)), np.int64)
