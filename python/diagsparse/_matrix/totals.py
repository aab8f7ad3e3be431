"""Sums of all elements, of rows, of columns and of diagonals."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from .._arrays.host_dense import check_writeable, refuse_part_of
from .._backends import memory
from .._backends.arguments import integer
from .._backends.docstrings import completed_by
from .._backends.types import VALUE_TYPES, widened
from .through_scipy import as_scipy_csr


@memory.no_limit
def sum(a: Any, axis: Any = None, dtype: Any = None, out: np.ndarray | None = None, *, keepdims: bool = False) -> Any:
    """Return the sum of all elements, or of each column (``axis=0``) or row (``axis=1``).

    Parameters
    ----------
    axis : {None, 0, 1, -1, -2} or a tuple of them
        None and ``(0, 1)`` sum everything.
    dtype : dtype, optional
        Of the result; by default that of the values. Sums are accumulated in it if it is wider. As in NumPy, real
        values are truncated before they are added if it is an integer type.
    out : NumPy array, shape (), (n,) or (m,), optional
        Receives the result, cast to its dtype, and is returned.
    keepdims : bool
        Whether the result has two dimensions, as in NumPy: shape (1, 1), (1, n) or (m, 1).

    Returns
    -------
    number, or NumPy array of shape (n,) or (m,)

    Raises
    ------
    ValueError
        For any other axis, or an `out` of another shape.
    TypeError
        If the axis is not an integer, or `out` is not a NumPy array, or is real for complex sums.
    """
    return _summed(a, axis, dtype, out, keepdims, "sum")


def _summed(a: Any, axis: Any, dtype: Any, out: np.ndarray | None, keepdims: bool, who: str) -> Any:
    """Return the sum as `sum` does; errors name `who`."""
    along = _axis(axis, who)
    if dtype is not None and np.dtype(dtype).kind in "iu" and a._dtype.kind == "f":
        a = a.trunc()
    if keepdims:
        both = tuple(1 if along in (None, one) else a._shape[one] for one in (0, 1))
        if out is None:
            return np.reshape(a.sum(axis, dtype), both)
        _check_output(out, both, who)
        np.copyto(out, np.reshape(a.sum(axis, dtype), both), casting="same_kind")
        return out
    if out is not None:
        _check_output(out, () if along is None else (a._shape[1 - along],), who)
        refuse_part_of(a._matrix.values, out, who, a._core)
    sum_dtype = a._dtype
    if dtype is not None and np.dtype(dtype) in VALUE_TYPES:
        sum_dtype = np.dtype(dtype)
    own = widened(a._dtype)
    wider = sum_dtype is not a._dtype and np.promote_types(sum_dtype, own) != own
    if along is None:
        result = a._format.total(a, sum_dtype if wider else own)
    else:
        view = a.T if along == 0 else a
        memory.require_free((a._shape[0] + a._shape[1]) * sum_dtype.itemsize, f"{who}: the vectors of a product")
        result = view @ np.ones(view.shape[1], sum_dtype.char.lower())  # real: inf * (1 + 0j) is NaN
    result = result if dtype is None else result.astype(dtype, copy=False)
    if out is None:
        return result
    np.copyto(out, result, casting="same_kind")
    return out


@completed_by(
    sum, ("sum everything", "give the mean of all elements"), ("Sums are accumulated", "The sum is accumulated")
)
@memory.no_limit
def mean(a: Any, axis: Any = None, dtype: Any = None, out: np.ndarray | None = None, *, keepdims: bool = False) -> Any:
    """Return the mean of all elements, or of each column or row, including zeros that are not stored."""
    along = _axis(axis, "mean")
    count = a._shape[0] * a._shape[1] if along is None else a._shape[along]
    total = _summed(a, axis, dtype, out, keepdims, "mean")
    if out is None:
        return total / count
    np.true_divide(out, count, out=out, casting="same_kind")
    return out


@memory.no_limit
def count_nonzero(a: Any, axis: Any = None) -> Any:
    """Count the nonzero elements, of the matrix or of each column or row."""
    if axis is None or (along := _axis(axis, "count_nonzero")) is None:
        return a._format.count_nonzero(a)
    return as_scipy_csr(a, "count_nonzero").count_nonzero(axis=along)


@memory.no_limit
def trace(a: Any, offset: int = 0) -> Any:
    """Return the sum of diagonal `offset`."""
    if type(offset) is not int:
        offset = integer(offset, "trace: offset")
    return a._format.total_of_diagonal(a, offset)


def _axis(given: Any, who: str) -> int | None:
    """Return the axis of a sum as 0 or 1, None for both."""
    if given is None:
        return None
    if type(given) is int and -2 <= given < 2:
        return given % 2
    axes = given if isinstance(given, tuple) else (given,)
    if not all(isinstance(axis, Integral) for axis in axes):
        raise TypeError(f"{who}: axis={given!r}: expected None, an integer or a tuple of them")
    chosen = sorted(axis + 2 if axis < 0 else axis for axis in axes)
    if chosen not in ([0], [1], [0, 1]):
        raise ValueError(f"{who}: axis {given!r}: expected None, 0 or 1")
    return int(chosen[0]) if len(chosen) == 1 else None


def _check_output(out: Any, shape: tuple[int, ...], who: str) -> None:
    if not isinstance(out, np.ndarray):
        raise TypeError(f"{who}: out is {type(out).__name__}, expected a NumPy array")
    if out.shape != shape:
        raise ValueError(f"{who}: out has shape {out.shape}, expected {shape}")
    check_writeable(out, who)
