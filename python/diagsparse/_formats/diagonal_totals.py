"""Sums, norms and extremes of a diagonal matrix; with a period they are computed from the stored values alone.

An element of a period occurs in a diagonal once per repetition, and the first ones once more if the diagonal ends
within a period. A sum is the sum of the stored values weighted by these counts, so that its cost does not depend on the
shape. On a GPU the stored period is copied to the host first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import frexp, isfinite, sqrt
from typing import Any

import numpy as np

from .._backends import memory
from .._backends.backend import CPU
from .._backends.types import widened
from .._matrix.sparse_array import SparseArray
from .._matrix.through_scipy import require_host
from .by_csr import EXTREMES
from .diagonal_reading import apply_conjugation, elements, positions, span_of
from .format import Format

_MIN_REPEATS = 4  # distinct rows are summed if there are at least this many rows for each of them
_CHUNK = 1 << 16  # rows that are summed at a time
_SCALE = 2.0**64  # exceeds the sum of all counts
_FEW = 1 << 20  # values: one thread adds them up in less time than several need for a product with ones


def repeats(a: SparseArray) -> bool:
    """Whether one period is read instead of all elements; on a GPU only if copying it to the host is cheap."""
    period: int = a._matrix.period
    return period > 0 and (a._backend is CPU or _MIN_REPEATS * period <= max(a._shape))


def repeated(a: SparseArray, spans: Sequence[Sequence[int]] | None = None) -> Iterator[tuple[np.ndarray, int]]:
    """Yield elements of one period of each diagonal, conjugated like the view, and the count of each of them.

    `spans` are rows of the native ``spans``, by default all of them. One period is in memory at a time.
    """
    host: SparseArray = a if a._backend is CPU else a.to("cpu")
    period, wide = a._matrix.period, widened(host._dtype)
    for span in host._matrix.spans(host._op).tolist() if spans is None else spans:
        times, rest = divmod(span[2], period)
        values = apply_conjugation(host, elements(host, span, 0, min(period, span[2]))).astype(wide, copy=False)
        for some, count in ((values[:rest], times + 1), (values[rest:], times)):
            if len(some) and count:
                yield some, count


def weighted_sum(a: SparseArray, spans: Sequence[Sequence[int]] | None = None) -> Any:
    """Return the sum of the elements of these diagonals, in double precision."""

    def total(part: Callable[[np.ndarray], np.ndarray], scale: float) -> float:
        return sum(count * float((part(v) * scale).sum(dtype=float)) for v, count in repeated(a, spans))

    def scaled_where_it_overflows(part: Callable[[np.ndarray], np.ndarray]) -> np.float64:
        with np.errstate(all="ignore"):
            plain = total(part, 1.0)
            small = plain if isfinite(plain) else total(part, 1 / _SCALE)
        if isfinite(plain) or not isfinite(small):
            return np.float64(plain)
        return np.float64(small) * _SCALE  # sums that overflow may cancel; warns where this one overflows

    if a._dtype.kind != "c":
        return scaled_where_it_overflows(lambda v: v.astype(float, copy=False))
    # Real and imaginary parts separately, because an infinite part times a complex count would spread.
    parts = (lambda v: v.real.astype(float), lambda v: v.imag.astype(float))
    return np.complex128(complex(*map(scaled_where_it_overflows, parts)))


def total(a: SparseArray, dtype: np.dtype) -> Any:
    """Return the sum of all elements, accumulated in this type, which has more than 16 bits."""
    if repeats(a):
        return weighted_sum(a).astype(dtype)
    values = a._format.element_values(a) if a.nnz <= _FEW or 8 * sum(a._shape) > memory.SMALL else None
    if values is None:
        return Format.total(a._format, a, dtype)
    return apply_conjugation(a, sum((some.sum(dtype=dtype) for some in values), start=dtype.type(0)))


def total_of_diagonal(a: SparseArray, k: int) -> Any:
    """Return the sum of diagonal `k`."""
    if not repeats(a):
        return Format.total_of_diagonal(a._format, a, k)
    span = span_of(a, k)
    return weighted_sum(a, [span] if span else []).astype(widened(a._dtype))


def frobenius_norm(a: SparseArray) -> float:
    """Return the Frobenius norm."""
    if not repeats(a):
        return Format.frobenius_norm(a._format, a)

    def sizes() -> Iterator[tuple[np.ndarray, int]]:
        for values, count in repeated(a):
            yield abs(values.astype(np.result_type(values.dtype, float), copy=False)), count

    with np.errstate(all="ignore"):
        largest = float(np.max([some.max() for some, _ in sizes()], initial=0))
        if largest == 0 or not isfinite(largest):
            return largest
        scale = 2.0 ** (frexp(largest)[1] - 1)  # exact; no square overflows, and no significant one underflows
        return sqrt(sum(count * float(((some / scale) ** 2).sum()) for some, count in sizes())) * scale


def absolute_sums(a: SparseArray, axis: int) -> Any:
    """Return the sums of absolute values of columns (0) or rows (1); equal sums may be returned once."""
    if not repeats(a):
        return Format.absolute_sums(a._format, a, axis)
    view = a.T if axis == 0 else a
    rows = _DifferentRows(view._matrix.spans(view._op), view._shape[0], a._matrix.period)
    if _MIN_REPEATS * rows.count > max(view._shape):
        return Format.absolute_sums(a._format, a, axis)
    return np.array([extreme for sums in _sums_of_rows(view, rows) for extreme in (sums.min(), sums.max())])


def extreme(a: SparseArray, which: str, axis: Any, out: Any, **options: Any) -> Any:
    """Return the result of SciPy's method of this name."""
    explicit = options.get("explicit", False)
    others = axis is not None or out is not None or set(options) - {"explicit"}
    if not repeats(a) or others or 0 in a._shape:
        return Format.extreme(a._format, a, which, axis, out, **options)
    require_host(a, which)
    zero, ufunc, nonzeros, extremes = widened(a._dtype).type(0), EXTREMES[which], 0, []
    for values, count in repeated(a):
        if len(some := values[values != 0]):
            nonzeros += count * len(some)
            extremes.append(ufunc.reduce(some))
    if not extremes:
        return zero
    extreme = ufunc.reduce(extremes)
    return extreme if explicit or nonzeros >= a._shape[0] * a._shape[1] else ufunc(zero, extreme)


class _DifferentRows:
    """The distinct rows of a matrix with a period; all other rows are shifted copies of them.

    Between two rows where a diagonal begins or ends, rows repeat: the first period of each such range is sufficient.
    """

    def __init__(self, spans: np.ndarray, rows: int, period: int) -> None:
        begins, lengths = spans[:, 1], spans[:, 2]
        edges = np.unique(np.concatenate([[0, rows], begins, begins + lengths]))
        self._first = edges[:-1]
        self._before = np.concatenate([[0], np.cumsum(np.minimum(np.diff(edges), period))])
        self.count = int(self._before[-1])

    def at(self, first: int, last: int) -> np.ndarray:
        """Return the row numbers of distinct rows `first` to `last` (exclusive), ascending."""
        each = np.arange(first, last)
        ranges = np.searchsorted(self._before, each, "right") - 1
        return self._first[ranges] + each - self._before[ranges]


def _sums_of_rows(view: SparseArray, rows: _DifferentRows) -> Iterator[np.ndarray]:
    """Yield the sums of absolute values of these rows of a matrix with a period, in chunks of rows."""
    host: Any = view if view._backend is CPU else view.to("cpu")
    spans = host._matrix.spans(host._op).tolist()
    with np.errstate(all="ignore"):
        flat = np.abs(host._matrix.values.ravel().astype(widened(host._dtype), copy=False))
        for first in range(0, rows.count, _CHUNK):
            chosen = rows.at(first, min(first + _CHUNK, rows.count))
            sums = np.zeros(len(chosen), flat.dtype)
            for _, row, length, start, phase, _ in spans:
                begin, end = np.searchsorted(chosen, (row, row + length))
                sums[begin:end] += flat[positions(host, start, phase, chosen[begin:end] - row)]
            yield sums
