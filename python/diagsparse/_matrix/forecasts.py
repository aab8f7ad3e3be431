"""What a matrix will take in a format, and beside it while it is made: the answers of one that only converts.

All that is asked of a matrix for it is in its `Summary`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._places import memory
from .._places.backend import CPU, Place
from .._places.types import widened
from .registry import COMMON, FORMATS
from .summary import Summary, diagonal_length

if TYPE_CHECKING:
    from .base import SparseArray


class Forecasts:
    """The part of `Family` that speaks of bytes."""

    @classmethod
    def _forecast(cls, s: Summary, **options: int) -> int:
        """Return the bytes of a matrix in this format, with these options of its layout."""
        raise NotImplementedError

    def _forecast_of_copy(self: SparseArray, s: Summary) -> int:
        """Return the bytes of this transposed view laid out anew, in its own format; `s` has its own type."""
        return type(self)._forecast(s, **self._kept())

    def _forecast_as(self: SparseArray, cls: type[SparseArray], s: Summary) -> int:
        """Return the bytes of this matrix converted to another format; `s` has the type that arithmetic is done in."""
        return cls._forecast(s)

    @classmethod
    def _count(cls, s: Summary) -> int:
        """Return how many values it would store."""
        return s.entries

    @classmethod
    def _from_csr_beside(cls, s: Summary, place: Place, **options: int) -> int:
        """Return the bytes that are needed beside the result while it is made of a csr matrix."""
        return 0

    def _to_csr_beside(self: SparseArray, s: Summary) -> int:
        """Return the bytes that are needed beside the result while a csr matrix is made of this one."""
        # The rows of a view are made first as they lie, and then turned or conjugated.
        common = FORMATS[COMMON]
        return common._forecast(s) + common._from_csr_beside(s, self._place) if self._op else 0

    @classmethod
    def _beside(cls, s: Summary, a: SparseArray, **options: int) -> int:
        """Return the bytes that are needed beside the result while `a`, of another format, becomes it: through csr."""
        common = FORMATS[COMMON]
        if cls is common:
            return a._to_csr_beside(s)
        back = cls._from_csr_beside(s, a._place, **options)
        if a._format == COMMON:  # of whose conjugate a copy is made
            return back + a.nbytes if a._op else back
        return common._forecast(s) + max(a._to_csr_beside(s) - cls._forecast(s, **options), back)

    @classmethod
    def _peak_from_scipy(cls, a: Any, ours: SparseArray, s: Summary) -> int:
        """Return the bytes that are needed to make this of a SciPy array of any format but dia, as csr `ours`."""
        there = cls._forecast(s) + cls._beside(s, ours) + cls._held(a, ours)
        return max(FORMATS[COMMON]._peak_from_scipy(a, ours, s), there)

    @staticmethod
    def _held(a: Any, csr: SparseArray) -> int:
        """Return the bytes that a csr matrix takes beside the SciPy array that it was made of."""
        shared = a.format == COMMON and np.may_share_memory(csr.values, a.data)
        return csr.nbytes - (csr.values.nbytes if shared else 0)

    @classmethod
    def _require(
        cls, s: Summary, max_bytes: int | None, place: Place, a: SparseArray | None = None, held: int = 0,
        beside: int = 0, **options: int,
    ) -> None:  # fmt: skip
        """Raise where the format cannot hold the matrix, or its bytes exceed the limit.

        What is needed beside it while it is made of `a` counts, and in a limit of the user's what is `held` already;
        of other origins `beside` is told.
        """
        cls._check_shape(s.shape, place.core)
        if max_bytes is None and cls._bound(s, **options) < memory.SMALL:
            return
        beside = beside if a is None else cls._beside(s, a, **options)
        beside += 0 if max_bytes is None else held
        nbytes = cls._forecast(s, **options) + beside
        if not memory.fits(nbytes, max_bytes, place):
            memory.require(nbytes, max_bytes, *cls._words(s), place, beside)

    @classmethod
    def _bound(cls, s: Summary, **options: int) -> int:
        """Return bytes that are enough in any case, even if every value took a row or a column to itself."""
        return 64 * (s.stored + 1) * (sum(s.shape) + 1)

    @classmethod
    def _words(cls, s: Summary) -> tuple[str, str]:
        """Return what is said of a matrix that does not fit, and what would fit in its place."""
        return f"{cls.__name__}: {s.entries} entries of a {s.shape[0]} x {s.shape[1]} matrix", ""

    @classmethod
    def _check_shape(cls: type[SparseArray], shape: tuple[int, int], core: Any) -> None:
        """Raise ValueError for a shape that the format cannot hold."""
        core.check_shape(cls._format, *shape)

    @classmethod
    def _foresee(cls, a: SparseArray, max_bytes: int | None, held: int = 0) -> None:
        """Raise, before anything is done, where `a` is known to be too large in this format; its maker looks again."""

    def _foresee_diagonal(self: SparseArray, k: int) -> None:
        """Raise where a copy of diagonal `k` does not fit."""
        if max(self._shape) * self._dtype.itemsize > memory.SMALL:
            memory.require_free(diagonal_length(self._shape, k) * self._dtype.itemsize, f"diagonal: offset {k}")

    def _summary(self: SparseArray) -> Summary:
        """Return what forecasts ask of this matrix."""
        size = widened(self.dtype).itemsize
        return Summary(
            self.shape, size, self.nnz, entries=self._entries, offsets=self._occupied, fill=self._fill,
            row_lengths=self._row_lengths, leading=self._leading_entries, blocks=self._occupied_blocks,
            slices=self._places_in_slices, symmetry=self._found_symmetry,
        )  # fmt: skip

    def _entries(self: SparseArray) -> int:
        """Count what this matrix would store entry by entry."""
        return self.nnz

    def _occupied(self: SparseArray) -> np.ndarray:
        """Return the offsets of the diagonals on which something is stored, ascending."""
        return self._core.occupied_diagonals(*self._in_rows())

    def _fill(self: SparseArray) -> np.ndarray:
        """Return how many entries lie on each of these diagonals."""
        return self._core.entries_on_diagonals(*self._in_rows())

    def _row_lengths(self: SparseArray) -> np.ndarray:
        """Return the lengths that rows have, ascending, and how many rows have each: shape (k, 2)."""
        return np.array(self._core.row_lengths(*self._in_rows()), np.int64).reshape(-1, 2)

    def _leading_entries(self: SparseArray, **limits: int) -> tuple[int, int]:
        """Return how many entries lead: of the row with most of them, and of all rows."""
        return self._core.leading_entries(*self._in_rows(), limits)

    def _occupied_blocks(self: SparseArray, size: int) -> int:
        """Return how many ``size x size`` blocks hold entries."""
        return self._core.occupied_blocks(*self._in_rows(), size)

    def _places_in_slices(self: SparseArray, height: int, sigma: int) -> int:
        """Return the places of slices of `height` rows, sorted in windows of `sigma` rows."""
        m = self._shape[0]
        ordered = 4 * m + sorting(m, 0, self._place) if sigma > 1 else 0
        return self._core.places_in_slices(*self._in_rows(8 * (m // height + 2) + ordered), height, sigma)

    def _in_rows(self: SparseArray, beside: int = 0) -> tuple[Any, int]:
        """Return this view as native code is asked for what follows from the places of entries: it makes csr of it."""
        nbytes = beside + table_of_diagonals(self._shape, self.nnz)  # of counts
        if self._format != COMMON:
            common, s = FORMATS[COMMON], Summary(self.shape, widened(self.dtype).itemsize, self.nnz)
            nbytes += common._forecast(s) + self._to_csr_beside(s)
        memory.require_free(nbytes, f"{self.format}_array: its rows, which a forecast reads,", self._place)
        return self._widened()._matrix, self._op


def table_of_diagonals(shape: tuple[int, int], stored: int) -> int:
    """Return the most bytes of a table of all diagonals: 8 each, where it pays (`table_is_worthwhile` in C++)."""
    return 8 * min(sum(shape), 8 * stored + (1 << 16))


def sorting(entries: int, itemsize: int, place: Place) -> int:
    """Return the bytes that are needed beside csr, csc or coo while it is made of entries in any order.

    On the CPU they are counted into their lines, on a GPU sorted by keys: the keys and the places of the values,
    sorted ones, and as much for the sort itself; later the values in the old order and in the new one.
    """
    return 0 if place is CPU else max(44, 32 + itemsize) * entries
