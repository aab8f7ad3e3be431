"""What is read of a matrix of diagonals by its place: elements, rows, diagonals and windows, packed or not.

All of it goes through the spans of the matrix, so it costs what it returns: a packed matrix stays packed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from .._matrix.summary import Summary, diagonal_length
from .._places import memory
from .._places.arguments import integer
from .._places.backend import CPU
from .._places.types import widened
from .._show.display import counted
from .packing import Packing

if TYPE_CHECKING:
    from .diagonal import DiagonalArray


class DiagonalReading:
    """Reading by place; mixed into the class of matrices of diagonals."""

    _shares_rows: ClassVar[bool] = False  # whether two diagonals share one, so that one of them may be all zeros

    def _spans(self: DiagonalArray) -> np.ndarray:
        """Return (offset, first row, length, start in values) of every diagonal, ascending, as this view sees it."""
        return self._matrix.spans(self._op)[:, :4]

    def _positions(self: DiagonalArray, start: Any, phase: Any, t: Any) -> Any:
        """Return where in the values elements `t` of a diagonal lie that begins at `start` with this phase."""
        period = self._matrix.period
        return start + (phase + t) % period if period else start + t

    def _elements(self: DiagonalArray, span: Sequence[int], first: int, last: int) -> Any:
        """Return elements `first` to `last` of a diagonal as stored: a view where they lie so, but for conjugates.

        `span` is a row of the native ``spans``.
        """
        _, _, _, start, phase, conjugated = span
        flat, period, count = self._matrix.values.ravel(), self._matrix.period, last - first  # a view
        if period:
            once = flat[self._positions(start, phase, np.arange(first, first + min(count, period)))]
            values = np.tile(once, -(-count // period))[:count]
        else:
            values = flat[start + first : start + last]
        # The conjugate of 1 + 0i is 1 - 0i. Adding 0 makes its imaginary part +0 again, so that functions with a branch
        # cut on the real axis, as sqrt(-1 - 0i), give the same for both triangles.
        return values.conj() + 0 if conjugated else values

    def _diagonals(
        self: DiagonalArray, rows: tuple[int, int] | None = None, cols: tuple[int, int] | None = None,
        most: int | None = None,
    ) -> Iterator[tuple[int, int, Any]]:  # fmt: skip
        """Yield (offset, first row, values) of every diagonal; the values as stored, not conjugated as this view is.

        With `rows` and `cols` only the part of each diagonal in this window, of which `most` limits the values. On a
        GPU the values are views of its memory, which only diagonals that are stored in full allow.

        Raises
        ------
        TypeError
            For a matrix on a GPU with a symmetry or a period.
        """
        if self._place is not CPU and any(self._packing):
            raise TypeError(
                f"diagonals of {self!r}: expected every diagonal stored in full on {self.device}, got {self._packing}; "
                'write A.unpacked(), or A.to("cpu")'
            )
        (r0, r1), (c0, c1) = rows or (0, self._shape[0]), cols or (0, self._shape[1])
        for span in self._matrix.spans(self._op).tolist():
            k, row, length = span[:3]
            begin, end = max(row, r0, c0 - k), min(row + length, r1, c1 - k)
            if begin < end:
                count = end - begin if most is None else min(most, end - begin)
                yield k, begin, self._elements(span, begin - row, begin - row + count)

    def _runs(self: DiagonalArray, *window: Any) -> Iterator[tuple[int, int, Any]]:
        """Yield the same as this view shows it, without the diagonals that only share a row with another."""
        for k, first, values in self._diagonals(*window):
            if not self._shares_rows or values.any():
                yield k, first, self._seen(values)

    def _seen(self: DiagonalArray, values: Any) -> Any:
        return values.conj() if self._op & 2 else values

    # ---- diagonals --------------------------------------------------------------------------------
    def diagonal(self: DiagonalArray, k: int = 0) -> np.ndarray:
        """Return a copy of diagonal `k` (0: the main one) in NumPy, of its true length; zeros where none is stored."""
        if type(k) is not int:
            k = integer(k, "diagonal: k")
        if not -self._shape[0] < k < self._shape[1]:
            return np.zeros(0, self.dtype)
        self._foresee_diagonal(k)
        if not self._packed:
            return self._place.host(self._core.diagonal(self._matrix, self._op, k))
        if self._place is not CPU:
            return self._alone(k).diagonal(k).astype(self.dtype, copy=False)
        span = self._span_of(k)
        if span is None:
            return np.zeros(diagonal_length(self._shape, k), self.dtype)
        made: np.ndarray = self._seen(self._elements(span, 0, span[2]))
        return made.copy() if np.may_share_memory(made, self._matrix.values) else made

    def _diagonal_to_read(self: DiagonalArray, k: int) -> np.ndarray:
        if self._packed or not -self._shape[0] < k < self._shape[1]:
            return self.diagonal(k)
        if max(self._shape) * self._dtype.itemsize > memory.SMALL and k not in self._occupied():
            return np.zeros(0, self.dtype)
        return self._place.host(self._core.diagonal(self._matrix, self._op, k, True))

    def _span_of(self: DiagonalArray, k: int) -> list[int] | None:
        """Return the row of the native ``spans`` of diagonal `k`, None where it is not stored."""
        return next((span for span in self._matrix.spans(self._op).tolist() if span[0] == k), None)

    def _alone(self: DiagonalArray, k: int) -> DiagonalArray:
        """Return diagonal `k`, if it is stored, in full and without the others."""
        wide = self._widened()
        return wide._laid_out(type(self), [k] if k in wide._occupied() else [], wide.dtype)

    # ---- by index ---------------------------------------------------------------------------------
    def _element(self: DiagonalArray, row: int, col: int) -> Any:
        self._require_host("A[i, j]")
        if not self._packed:
            values = self._diagonal_to_read(col - row)
            return values[min(row, col)] if len(values) else self._dtype.type(0)
        if (span := self._span_of(col - row)) is None:
            return self._dtype.type(0)
        first = row - span[1]
        return self._seen(self._elements(span, first, first + 1))[0]

    def _row_to_read(self: DiagonalArray, row: int) -> Any:
        self._require_host("A[...]")
        spans = self._matrix.spans(self._op)
        spans = spans[(spans[:, 1] <= row) & (row < spans[:, 1] + spans[:, 2])]
        values = self._matrix.values.ravel()[self._positions(spans[:, 3], spans[:, 4], row - spans[:, 1])]
        values = np.where(spans[:, 5], values.conj(), values) if spans[:, 5].any() else values
        values = self._seen(values.astype(widened(self._dtype), copy=False))
        kept = values != 0
        columns = (spans[:, 0] + row)[kept]
        return sp.csr_array((values[kept], columns, [0, len(columns)]), shape=(1, self._shape[1]))

    def _window(self: DiagonalArray, r0: int, r1: int, c0: int, c1: int) -> DiagonalArray:
        """Return a window in this format and with this period, and around the main diagonal with this symmetry."""
        self._require_host("A[...]")
        shape = r1 - r0, c1 - c0
        symmetry = self.symmetry if (r0, r1) == (c0, c1) else None
        runs = self._runs((r0, r1), (c0, c1), self.period)
        shifted = [(k + r0 - c0, first - r0, values) for k, first, values in runs]
        kind = self._that_holds(shape)
        window: Any = kind._of_runs(shape, widened(self._dtype), shifted, symmetry=symmetry, period=self.period)
        return window.astype(self._dtype, copy=False)

    @classmethod
    def _of_runs(
        cls: type[DiagonalArray], shape: tuple[int, int], dtype: np.dtype, runs: list[tuple[int, int, np.ndarray]],
        max_bytes: int | None = None, **packing: Any,
    ) -> DiagonalArray:  # fmt: skip
        """Return the matrix with these values, given as offset, first row and values of parts of diagonals.

        With `symmetry` on both sides of the main diagonal; with `period` the first values of whole diagonals, as many
        as a period has.
        """
        offsets = sorted({k for k, _, v in runs if len(v)})
        options = Packing.of(packing, f"{cls.format}_array")
        s = Summary(shape, dtype.itemsize, 0, offsets=lambda: np.array(offsets, np.int64))
        if options.period:
            cls._check_shape(shape, CPU.core)
            what = f"{cls.format}_array: {counted(len(offsets), 'period')} of {counted(int(options.period), 'row')}"
            memory.require(cls._forecast(s, **options._asdict()), max_bytes, what)
        else:
            cls._require(s, max_bytes, CPU)
        made = cls._zeros_on(shape, dtype, offsets, CPU, options)
        spans = {span[0]: span for span in made._matrix.spans(0).tolist()}
        flat = made._matrix.values.ravel()  # a view
        for k, row, given in runs:
            if len(given) and not (options.symmetry and k < 0):
                _, begin, _, start, phase, conjugated = spans[k]
                values, first, last = given.conj() if conjugated else given, row - begin, row - begin + len(given)
                if options.period:
                    flat[made._positions(start, phase, np.arange(first, last))] = values
                else:
                    flat[start + first : start + last] = values
        return made
