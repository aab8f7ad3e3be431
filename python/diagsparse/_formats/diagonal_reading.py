"""Reading elements, rows, diagonals and windows of a diagonal matrix, packed or not.

Everything uses the spans of the matrix, so that the cost is proportional to the result, and nothing is unpacked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._backends import memory
from .._backends.arguments import integer
from .._backends.backend import CPU
from .._backends.types import widened
from .._matrix.convert import unpacked, widen
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary, diagonal_length
from .._matrix.through_scipy import require_host
from .._show.columns import counted
from .packing import Packing, packing_of

_SHORT = 1 << 11  # values: copying shorter diagonals costs less than a call of NumPy for each of them


def spans(a: SparseArray) -> np.ndarray:
    """Return (offset, first row, length, start in values) of every diagonal, ascending, as this view sees it."""
    return a._matrix.spans(a._op)[:, :4]


def positions(a: SparseArray, start: Any, phase: Any, t: Any) -> Any:
    """Return the positions in the values of elements `t` of a diagonal that starts at `start` with this phase."""
    period = a._matrix.period
    return start + (phase + t) % period if period else start + t


def element_values(a: SparseArray) -> list[np.ndarray] | None:
    """Return the stored values without padding; views, unless that would be many short ones."""
    if a._packed or a._backend is not CPU:
        return None
    values, stored = a._matrix.values.ravel(), a._matrix.stored
    if stored == values.size:
        return [values]
    if a._matrix.diagonals * _SHORT > stored:
        if (nbytes := stored * values.itemsize) > memory.SMALL:
            memory.require_free(nbytes, f"{a!r}: its values without padding")
        return [a._core.convert(a._matrix, 0, "hm").values]
    return [values[start : start + length] for length, start in a._matrix.spans(0)[:, 2:4].tolist()]


def elements(a: SparseArray, span: Sequence[int], first: int, last: int) -> Any:
    """Return elements `first` to `last` of a diagonal: a view if they are contiguous and not conjugated.

    `span` is a row of the native ``spans``.
    """
    _, _, _, start, phase, conjugated = span
    flat, period, count = a._matrix.values.ravel(), a._matrix.period, last - first  # a view
    if period:
        once = flat[positions(a, start, phase, np.arange(first, first + min(count, period)))]
        values = np.tile(once, -(-count // period))[:count]
    else:
        values = flat[start + first : start + last]
    # The conjugate of 1 + 0i is 1 - 0i. Adding 0 makes its imaginary part +0 again, so that functions with a branch
    # cut on the real axis, such as sqrt(-1 - 0i), give the same for both triangles.
    return values.conj() + 0 if conjugated else values


def diagonals(
    a: SparseArray, rows: tuple[int, int] | None = None, cols: tuple[int, int] | None = None,
    most: int | None = None,
) -> Iterator[tuple[int, int, Any]]:  # fmt: skip
    """Yield (offset, first row, values) of every diagonal, without the conjugation of a view.

    With `rows` and `cols`, only the segment of each diagonal in this window is yielded, up to `most` values. On a GPU
    the values are views of its memory, which requires that all diagonals are stored in full.

    Raises
    ------
    TypeError
        For a matrix on a GPU with a symmetry or a period.
    """
    if a._backend is not CPU and any(packing_of(a)):
        raise TypeError(
            f"diagonals of {a!r}: expected every diagonal stored in full on {a.device}, got {packing_of(a)}; "
            'write A.unpacked(), or A.to("cpu")'
        )
    (r0, r1), (c0, c1) = rows or (0, a._shape[0]), cols or (0, a._shape[1])
    for span in a._matrix.spans(a._op).tolist():
        k, row, length = span[:3]
        begin, end = max(row, r0, c0 - k), min(row + length, r1, c1 - k)
        if begin < end:
            count = end - begin if most is None else min(most, end - begin)
            yield k, begin, elements(a, span, begin - row, begin - row + count)


def runs(a: SparseArray, *window: Any) -> Iterator[tuple[int, int, Any]]:
    """Yield the same with the conjugation of a view, without zero diagonals that share a row with another one."""
    for k, first, values in diagonals(a, *window):
        if not a._format.shares_rows or values.any():
            yield k, first, apply_conjugation(a, values)


def apply_conjugation(a: SparseArray, values: Any) -> Any:
    return values.conj() if a._op & 2 else values


def diagonal_values(a: SparseArray, k: int) -> np.ndarray:
    if a._packed or not -a._shape[0] < k < a._shape[1]:
        return a.diagonal(k)
    if max(a._shape) * a._dtype.itemsize > memory.SMALL and k not in a._format.occupied(a):
        return np.zeros(0, a.dtype)
    return a._backend.host(a._core.diagonal(a._matrix, a._op, k, True))


def span_of(a: SparseArray, k: int) -> list[int] | None:
    """Return the row of the native ``spans`` for diagonal `k`, None if it is not stored."""
    spans = a._matrix.spans(a._op)
    index = int(np.searchsorted(spans[:, 0], k))
    return spans[index].tolist() if index < len(spans) and spans[index, 0] == k else None


def alone(a: SparseArray, k: int) -> SparseArray:
    """Return the matrix of diagonal `k` alone, unpacked; without diagonals if it is not stored."""
    wide = widen(a)
    return wide._format.laid_out(wide, a._format, [k] if k in wide._format.occupied(wide) else [], wide.dtype)


# ---- indexing ---------------------------------------------------------------------------------


def element(a: SparseArray, row: int, col: int) -> Any:
    require_host(a, "A[i, j]")
    if not a._packed:
        values = diagonal_values(a, col - row)
        return values[min(row, col)] if len(values) else a._dtype.type(0)
    if (span := span_of(a, col - row)) is None:
        return a._dtype.type(0)
    first = row - span[1]
    return apply_conjugation(a, elements(a, span, first, first + 1))[0]


def scipy_row(a: SparseArray, row: int) -> Any:
    require_host(a, "A[...]")
    spans = a._matrix.spans(a._op)
    spans = spans[(spans[:, 1] <= row) & (row < spans[:, 1] + spans[:, 2])]
    values = a._matrix.values.ravel()[positions(a, spans[:, 3], spans[:, 4], row - spans[:, 1])]
    values = np.where(spans[:, 5], values.conj(), values) if spans[:, 5].any() else values
    values = apply_conjugation(a, values.astype(widened(a._dtype), copy=False))
    nonzero = values != 0
    columns = (spans[:, 0] + row)[nonzero]
    return sp.csr_array((values[nonzero], columns, [0, len(columns)]), shape=(1, a._shape[1]))


def rows(a: SparseArray, numbers: np.ndarray) -> SparseArray:
    """Return the rows with these numbers as csr."""
    require_host(a, "A[...]")
    a = unpacked(a)
    if len(numbers) * a._matrix.diagonals * (a._dtype.itemsize + 4) > memory.SMALL:
        spans, order = a._matrix.spans(a._op), np.sort(numbers)
        ends = np.searchsorted(order, [spans[:, 1], spans[:, 1] + spans[:, 2]])
        nbytes = int((ends[1] - ends[0]).sum()) * (a._dtype.itemsize + 4) + 8 * len(numbers)
        memory.require_free(nbytes, f"A[...]: {len(numbers)} rows of {a!r}")
    return a._wrap(a._core.rows_of_diagonals(a._matrix, a._op, numbers))


def window(a: SparseArray, r0: int, r1: int, c0: int, c1: int) -> SparseArray:
    """Return a submatrix in this format and with this period, and with this symmetry if it is a principal one."""
    require_host(a, "A[...]")
    shape = r1 - r0, c1 - c0
    symmetry = a.symmetry if (r0, r1) == (c0, c1) else None
    segments = runs(a, (r0, r1), (c0, c1), a.period)
    shifted = [(k + r0 - c0, first - r0, values) for k, first, values in segments]
    kind = a._format.format_for_shape(shape)
    result: Any = kind.from_runs(shape, widened(a._dtype), shifted, symmetry=symmetry, period=a.period)
    return result.astype(a._dtype, copy=False)


def from_runs(
    format: Any, shape: tuple[int, int], dtype: np.dtype, runs: list[tuple[int, int, np.ndarray]],
    max_bytes: int | None = None, **packing: Any,
) -> SparseArray:  # fmt: skip
    """Return the matrix of segments of diagonals, each given as offset, first row and values.

    With `symmetry`, segments are given on both sides of the main diagonal; with `period`, they are the first period of
    each diagonal.
    """
    offsets = sorted({k for k, _, v in runs if len(v)})
    options = Packing.of(packing, format.who)
    count = sum(len(v) for _, _, v in runs)
    s = Summary(shape, dtype.itemsize, count, offsets=lambda: np.array(offsets, np.int64))
    if options.period:
        format.check_shape(shape, CPU.core)
        what = f"{format.name}_array: {counted(len(offsets), 'period')} of {counted(int(options.period), 'row')}"
        memory.require(format.nbytes(s, **options._asdict()), max_bytes, what)
    else:
        format.require(s, max_bytes, CPU)
    result = format.zeros_on(shape, dtype, offsets, CPU, options)
    spans = {span[0]: span for span in result._matrix.spans(0).tolist()}
    flat = result._matrix.values.ravel()  # a view
    for k, row, given in runs:
        if len(given) and not (options.symmetry and k < 0):
            _, begin, _, start, phase, conjugated = spans[k]
            values, first, last = given.conj() if conjugated else given, row - begin, row - begin + len(given)
            if options.period:
                flat[positions(result, start, phase, np.arange(first, last))] = values
            else:
                flat[start + first : start + last] = values
    return result


# ---- diagonals --------------------------------------------------------------------------------


def diagonal(a: SparseArray, k: int = 0) -> np.ndarray:
    """Return a copy of diagonal `k` (0: the main one) as a NumPy array; elements that are not stored are 0."""
    if type(k) is not int:
        k = integer(k, "diagonal: k")
    if not -a._shape[0] < k < a._shape[1]:
        return np.zeros(0, a.dtype)
    a._format.check_diagonal_fits(a, k)
    if not a._packed:
        return a._backend.host(a._core.diagonal(a._matrix, a._op, k))
    if a._backend is not CPU:
        return alone(a, k).diagonal(k).astype(a.dtype, copy=False)
    span = span_of(a, k)
    if span is None:
        return np.zeros(diagonal_length(a._shape, k), a.dtype)
    result: np.ndarray = apply_conjugation(a, elements(a, span, 0, span[2]))
    return result.copy() if np.may_share_memory(result, a._matrix.values) else result
