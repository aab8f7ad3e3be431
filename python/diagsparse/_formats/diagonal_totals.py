"""Sums, norms and extremes of a matrix of diagonals; with a period they follow from the stored values alone.

An element of a period occurs in a diagonal once for every repetition: the first ones once more than the others, if the
diagonal ends within a period. So a sum is one over the stored values, weighted by these counts, and costs what is
stored, whatever the shape. On a GPU the stored period is copied to the host first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import frexp, isfinite, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from .._places import memory
from .._places.backend import CPU
from .._places.types import widened

if TYPE_CHECKING:
    from .._matrix.base import SparseArray
    from .diagonal import DiagonalArray

_FEW = 4  # times as many rows as there are different ones: from there on the different ones are summed
_ROWS = 1 << 16  # summed at a time
_SCALE = 2.0**64  # more than all counts together
_EXTREMES: dict[str, np.ufunc] = {"max": np.maximum, "min": np.minimum, "nanmax": np.fmax, "nanmin": np.fmin}


class DiagonalTotals:
    """What depends on all elements; mixed into the class of matrices of diagonals."""

    def _repeats(self: DiagonalArray) -> bool:
        """Whether one period is read instead of all elements; on a GPU where copying it to the host is little work."""
        period: int = self._matrix.period
        return period > 0 and (self._place is CPU or _FEW * period <= max(self._shape))

    def _repeated(
        self: DiagonalArray, spans: Sequence[Sequence[int]] | None = None
    ) -> Iterator[tuple[np.ndarray, int]]:
        """Yield elements of one period of each diagonal, as this view shows them, and how often each of them occurs.

        `spans` are rows of the native ``spans``, by default all of them. One period is held at a time.
        """
        host: DiagonalArray = self if self._place is CPU else self.to("cpu")  # type: ignore[assignment]
        period, wide = self._matrix.period, widened(host._dtype)
        for span in host._matrix.spans(host._op).tolist() if spans is None else spans:
            times, rest = divmod(span[2], period)
            values = host._seen(host._elements(span, 0, min(period, span[2]))).astype(wide, copy=False)
            for some, count in ((values[:rest], times + 1), (values[rest:], times)):
                if len(some) and count:
                    yield some, count

    def _weighted_sum(self: DiagonalArray, spans: Sequence[Sequence[int]] | None = None) -> Any:
        """Return the sum of the elements of these diagonals, in double precision."""

        def total(part: Callable[[np.ndarray], np.ndarray], scale: float) -> float:
            return sum(count * float((part(v) * scale).sum(dtype=float)) for v, count in self._repeated(spans))

        def scaled_where_it_overflows(part: Callable[[np.ndarray], np.ndarray]) -> np.float64:
            with np.errstate(all="ignore"):
                plain = total(part, 1.0)
                small = plain if isfinite(plain) else total(part, 1 / _SCALE)
            if isfinite(plain) or not isfinite(small):
                return np.float64(plain)
            return np.float64(small) * _SCALE  # sums that overflow may cancel; warns where this one overflows

        if self._dtype.kind != "c":
            return scaled_where_it_overflows(lambda v: v.astype(float, copy=False))
        # Part by part: a count times an infinite value has no other infinite part.
        parts = (lambda v: v.real.astype(float), lambda v: v.imag.astype(float))
        return np.complex128(complex(*map(scaled_where_it_overflows, parts)))

    def _total(self: DiagonalArray, dtype: np.dtype) -> Any:
        if self._repeats():
            return self._weighted_sum().astype(dtype)
        if self._packed or self._place is not CPU or 8 * sum(self._shape) <= memory.SMALL:
            return super()._total(dtype)
        total = sum((values.sum(dtype=dtype) for _, _, values in self._diagonals()), start=dtype.type(0))
        return self._seen(total)

    def _total_of_diagonal(self: DiagonalArray, k: int) -> Any:
        if not self._repeats():
            return super()._total_of_diagonal(k)
        span = self._span_of(k)
        return self._weighted_sum([span] if span else []).astype(widened(self._dtype))

    def _frobenius_norm(self: DiagonalArray) -> float:
        if not self._repeats():
            return super()._frobenius_norm()

        def sizes() -> Iterator[tuple[np.ndarray, int]]:
            for values, count in self._repeated():
                yield abs(values.astype(np.result_type(values.dtype, float), copy=False)), count

        with np.errstate(all="ignore"):
            largest = float(np.max([some.max() for some, _ in sizes()], initial=0))
            if largest == 0 or not isfinite(largest):
                return largest
            scale = 2.0 ** (frexp(largest)[1] - 1)  # exact; no square overflows, and none that counts underflows
            return sqrt(sum(count * float(((some / scale) ** 2).sum()) for some, count in sizes())) * scale

    def _absolute_sums(self: DiagonalArray, axis: int) -> Any:
        if not self._repeats():
            return super()._absolute_sums(axis)
        view = self.T if axis == 0 else self
        rows = _different_rows(view._matrix.spans(view._op), view._shape[0], self._matrix.period)
        if _FEW * rows.count > max(view._shape):
            return super()._absolute_sums(axis)
        return np.array([extreme for sums in _sums_of_rows(view, rows) for extreme in (sums.min(), sums.max())])

    def _extreme(self: DiagonalArray, which: str, axis: Any, out: Any, **options: Any) -> Any:
        explicit = options.get("explicit", False)
        others = axis is not None or out is not None or set(options) - {"explicit"}
        if not self._repeats() or others or 0 in self._shape:
            return super()._extreme(which, axis, out, **options)
        self._require_host(which)
        zero, ufunc, nonzeros, found = widened(self._dtype).type(0), _EXTREMES[which], 0, []
        for values, count in self._repeated():
            if len(some := values[values != 0]):
                nonzeros += count * len(some)
                found.append(ufunc.reduce(some))
        if not found:
            return zero
        extreme = ufunc.reduce(found)
        return extreme if explicit or nonzeros >= self._shape[0] * self._shape[1] else ufunc(zero, extreme)


class _DifferentRows:
    """The rows of a matrix with a period, of which each other one is a copy, moved along the diagonals.

    Between two rows where a diagonal begins or ends, rows repeat: the first period of each such range is all there is.
    """

    def __init__(self, edges: np.ndarray, period: int) -> None:
        self._first = edges[:-1]
        self._before = np.concatenate([[0], np.cumsum(np.minimum(np.diff(edges), period))])
        self.count = int(self._before[-1])

    def at(self, first: int, last: int) -> np.ndarray:
        """Return the numbers of the rows from the `first` to before the `last` of them, ascending."""
        each = np.arange(first, last)
        ranges = np.searchsorted(self._before, each, "right") - 1
        return self._first[ranges] + each - self._before[ranges]


def _different_rows(spans: np.ndarray, rows: int, period: int) -> _DifferentRows:
    """Return the rows that differ, of a matrix with these native ``spans``."""
    begins, lengths = spans[:, 1], spans[:, 2]
    return _DifferentRows(np.unique(np.concatenate([[0, rows], begins, begins + lengths])), period)


def _sums_of_rows(view: SparseArray, rows: _DifferentRows) -> Iterator[np.ndarray]:
    """Yield the sums of absolute values of these rows of a matrix with a period, some rows at a time."""
    host: Any = view if view._place is CPU else view.to("cpu")
    spans = host._matrix.spans(host._op).tolist()
    with np.errstate(all="ignore"):
        flat = np.abs(host._matrix.values.ravel().astype(widened(host._dtype), copy=False))
        for first in range(0, rows.count, _ROWS):
            chosen = rows.at(first, min(first + _ROWS, rows.count))
            sums = np.zeros(len(chosen), flat.dtype)
            for _, row, length, start, phase, _ in spans:
                begin, end = np.searchsorted(chosen, (row, row + length))
                sums[begin:end] += flat[host._positions(start, phase, chosen[begin:end] - row)]
            yield sums
