"""Matrices built from diagonals: `diags` and `eye`, as in SciPy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._backends import memory
from .._backends.arguments import integer
from .._backends.backend import CPU, get_backend
from .._backends.docstrings import completed_by
from .._backends.types import floats_for, is_narrow, named_dtype, value_dtype, widened
from .._show.columns import counted
from .registry import COMMON, FORMATS, format_named, storing_16_bits
from .sparse_array import SparseArray
from .summary import Summary, diagonal_length
from .validation import checked_shape

_DIAGONALS = "hm"  # the format that is built first and converted to others


def diags(
    diagonals: Any, offsets: Any = 0, *, shape: tuple[int, int] | None = None, format: str | None = None,
    dtype: Any = None, device: str | None = None, period: int | None = None,
) -> SparseArray:  # fmt: skip
    """Construct a sparse matrix from diagonals.

    Parameters
    ----------
    diagonals : dict, or sequence of arrays or numbers
        A dict ``{offset: values}``, or one entry for each of `offsets`. The values of a diagonal are an array of its
        length, or one number for all its elements. A 2-D array may be the data of SciPy's `dia_array`: row d, column j
        is element ``[j - offsets[d], j]``.
    offsets : int or sequence of int
        0 is the main diagonal, k > 0 is above it.
    shape : (int, int), optional
        By default the matrix is square, and its order follows from the length of the first diagonal. Required if the
        diagonals are given as numbers.
    format : str, optional
        By default ``"hm"``.
    dtype : dtype, optional
        By default that of the values; integers and bools become float64 with a `ConversionWarning`. float16 and
        bfloat16 are available in formats that store them, such as dia, hm, cdm and mdia.
    device : str, optional
        ``"cpu"``, the default, or ``"cuda"``, ...
    period : int, optional
        Store only the first `period` values of each diagonal, which repeat along it (``docs/packing.md``); for the
        formats dia, hm and cdm, and together with `shape`. Pass these values only, one number for all of them, or
        complete diagonals, which are then checked.

    Returns
    -------
    sparse matrix

    Raises
    ------
    ValueError
        For repeated offsets, offsets outside of the matrix, and values that do not fit their diagonal or do not repeat.
    TypeError
        For a `period` with a format that stores every element, and for 16-bit values with a format that cannot store
        them.
    MemoryError
        If the matrix does not fit.

    Examples
    --------
    >>> import diagsparse as ds
    >>> ds.diags({-1: 1.0, 0: -2.0, 1: 1.0}, shape=(4, 4)).toarray()
    array([[-2.,  1.,  0.,  0.],
           [ 1., -2.,  1.,  0.],
           [ 0.,  1., -2.,  1.],
           [ 0.,  0.,  1., -2.]])
    >>> ds.diags({0: [1.0, 2.0]}, shape=(10**9, 10**9), period=2)
    <hm_array 1000000000 x 1000000000 float64: 1 diagonal, 0, period 2, 1000000000 stored, 40 B, cpu>
    """
    target, kind = get_backend(device), format_named(format or _DIAGONALS)
    if period is not None:
        period = _checked_period(period, kind, shape)
    if isinstance(diagonals, Mapping):
        offsets, diagonals = list(diagonals), list(diagonals.values())
    elif np.ndim(offsets) == 0:
        offsets, diagonals = [offsets], diagonals if np.ndim(diagonals) == 2 else [diagonals]
    ks = [integer(k, "diags: offset") for k in offsets]
    data = isinstance(diagonals, np.ndarray) and diagonals.ndim == 2
    values = [np.atleast_1d(np.asarray(v)) for v in diagonals]
    if len(ks) != len(values) or len(set(ks)) < len(ks):
        raise ValueError(
            f"diags: {counted(len(values), 'diagonal')} for the offsets {ks}; expected one for each, none twice"
        )
    if shape is None:
        if not ks:
            raise ValueError("diags: no diagonals; pass shape=(rows, columns)")
        shape = _inferred_shape(ks, values)
    shape = checked_shape(shape, "diags")
    given = np.result_type(*values) if values else np.dtype(float)
    dtype = value_dtype(given, _storable(floats_for(given, dtype, "diags"), kind), "diags", narrow=kind.narrow)
    stored = [(k, _on_diagonal(v, k, shape, data, period)) for k, v in zip(ks, values, strict=True)]
    if period is None:
        _require_room(kind, shape, dtype.itemsize, dict(stored))
    first: Any = FORMATS[_DIAGONALS] if period is None else kind
    result = first.from_runs(shape, widened(dtype), [(k, max(0, -k), v) for k, v in stored], period=period)
    return result.asformat(kind.name).astype(dtype, copy=False).to(target.name)


def _inferred_shape(ks: list[int], values: list[np.ndarray]) -> tuple[int, int]:
    """Return the shape of the square matrix whose first diagonal has as many elements as there are values."""
    n = len(values[0]) + abs(ks[0])
    if outside := [k for k, v in zip(ks, values, strict=True) if abs(k) >= n and len(v)]:
        raise ValueError(
            f"diags: offset {outside[0]} lies outside of a {n} x {n} matrix, the shape that follows from "
            f"{counted(len(values[0]), 'value')} on diagonal {ks[0]}; pass shape=(rows, columns)"
        )
    return n, n


def _storable(dtype: Any, kind: Any) -> Any:
    """Return the requested dtype; raise TypeError if it has 16 bits and the format does not store such values."""
    if dtype is not None and not kind.narrow and is_narrow(wanted := named_dtype(dtype)):
        storing = storing_16_bits()
        raise TypeError(
            f"diags: dtype {wanted}: {kind.name} stores no 16-bit floats; pass a format= that does: {storing}"
        )
    return dtype


def _require_room(kind: Any, shape: tuple[int, int], itemsize: int, runs: dict[int, np.ndarray]) -> None:
    """Raise MemoryError if the diagonals do not fit: they are built in hm, and converted to other families via csr."""
    kind.check_shape(shape, CPU.core)
    if 64 * (len(runs) + 1) * (sum(shape) + 1) < memory.SMALL:  # an upper bound
        return
    constant = {k: v.strides == (0,) for k, v in runs.items()}  # one value for all elements
    entries = sum(len(v) * bool(v[0]) if constant[k] and len(v) else int(np.count_nonzero(v)) for k, v in runs.items())
    s = Summary(shape, itemsize, entries, offsets=lambda: np.array(sorted(runs), np.int64))
    first, rows = FORMATS[_DIAGONALS], FORMATS[COMMON]
    diagonals = first.nbytes(s)
    temporary = diagonals * (kind is not first) + rows.nbytes(s) * (kind.family != first.family and kind is not rows)
    nbytes = temporary + (diagonals if kind is first else rows.nbytes(s) if kind is rows else entries * itemsize)
    hint = f'; format="{_DIAGONALS}" needs {memory.human(diagonals)}' if kind is not first else ""
    if kind is first and all(constant.values()):
        hint = "; period=1 stores one value of each diagonal"
    memory.require_free(
        nbytes, f"{kind.who}: {entries} entries of a {shape[0]} x {shape[1]} matrix", CPU, hint, temporary
    )


def _checked_period(period: Any, kind: Any, shape: Any) -> int:
    """Return the user's period as an int; raise if the format has no periods."""
    checked = integer(period, "diags: period")
    if not kind.packs:
        able = ", ".join(name for name in FORMATS if FORMATS[name].packs)
        raise TypeError(f"diags: period={checked}: {kind.name} stores every element; expected one of {able}")
    if not 0 < checked < 2**31:
        raise ValueError(f"diags: period={checked}: expected 1 to 2^31 - 1 rows")
    if shape is None:
        raise ValueError(
            f"diags: period={checked} without shape=(rows, columns): one period does not determine the shape"
        )
    return checked


def _on_diagonal(v: np.ndarray, k: int, shape: tuple[int, int], data: bool, period: int | None) -> np.ndarray:
    """Return the values of a diagonal in its full length, or the values of one period."""
    m, n = shape
    length, first = diagonal_length(shape, k), max(0, k)
    if v.ndim != 1:
        raise ValueError(f"diags: diagonal {k} has shape {v.shape}, expected one dimension")
    if not -m < k < n and len(v):
        raise ValueError(f"diags: offset {k} lies outside of a {m} x {n} matrix")
    once = length if period is None else min(period, length)
    if len(v) == 1 and not data:
        return np.broadcast_to(v, once)
    if data and len(v) > length and len(v) >= first + length:
        v = v[first : first + length]
    if len(v) == length > once:
        if not np.array_equal(v[once:], v[:-once], equal_nan=True):
            raise ValueError(f"diags: the values of diagonal {k} do not repeat after period={period}")
        return v[:once]
    if len(v) == once:
        return v
    elements = f"{length} elements" + f" and repeats after {once}" * (once < length)
    raise ValueError(f"diags: diagonal {k} of a {m} x {n} matrix has {elements}, got {len(v)} values")


@completed_by(diags)
def eye(
    m: int,
    n: int | None = None,
    k: int = 0,
    dtype: Any = float,
    format: str | None = None,
    *,
    device: str | None = None,
    period: int | None = None,
) -> SparseArray:
    """Return a matrix of shape (m, n) with ones on diagonal `k`, square by default.

    With ``period=1``, the value is stored once, whatever the size.

    Parameters
    ----------
    m, n : int
        Numbers of rows and columns; by default the matrix is square.
    k : int
        Offset of the diagonal.
    dtype : dtype
        The dtype of the values; float16 and bfloat16 as for `diags`.

    Examples
    --------
    >>> import diagsparse as ds
    >>> ds.eye(3, k=1).toarray()
    array([[0., 1., 0.],
           [0., 0., 1.],
           [0., 0., 0.]])
    >>> ds.eye(2**40, period=1)
    <hm_array 1099511627776 x 1099511627776 float64: 1 diagonal, 0, period 1, 1099511627776 stored, 32 B, cpu>
    """
    shape = checked_shape((m, m if n is None else n), "eye")
    inside = -shape[0] < k < shape[1]
    dtype = value_dtype(np.dtype(float), dtype, "eye", narrow=True)
    ones = {k: 1.0} if inside else {}
    return diags(ones, shape=shape, dtype=dtype, format=format, device=device, period=period)
