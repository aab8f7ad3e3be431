"""Sums, multiples, transposes, diagonals and selections of batches."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import device_arrays, host_dense, new, owners
from .._backends import memory
from .._backends.arguments import integer
from .._backends.backend import CPU, Backend
from .._backends.types import sum_dtype, value_dtype
from .._matrix.convert import convert, unpacked
from .._matrix.operands import as_operand, check_same_device
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import diagonal_length
from .._show import display
from .batch_matrix import assign, diagonal_starts, window


# ---- sums ---------------------------------------------------------------------------------------------------------
def sum_of(batch: Any, other: Any, alpha: int, beta: int) -> Any:
    """Return the native batch of ``alpha A_i + beta B_i``; `other` may be a single matrix for all members.

    The result has the format of the first batch, and the diagonals of both.
    """
    if not hasattr(other, "count"):
        other = _in_diagonals(as_operand(other, batch._backend), batch.format)
    check_same_device("+", batch._all, getattr(other, "_all", other))
    if other.shape != batch.shape:
        raise ValueError(f"+: the members are {_extents(batch)}, the other operand is {_extents(other)}")
    if getattr(other, "count", batch.count) != batch.count:
        raise ValueError(f"+: A is a batch of {batch.count}, B of {other.count}")
    dtype, offsets = sum_dtype(batch.dtype, other.dtype), np.union1d(batch.offsets, other.offsets)
    like = batch._all._format.zeros_on(batch.shape, dtype, offsets.tolist(), batch._backend)
    result, terms = (_laid_out(side, like, batch.count) for side in (batch, other))
    batch._core.add_scaled(beta, terms, alpha, result)
    return result


def _in_diagonals(a: SparseArray, format: str) -> SparseArray:
    """Return a single matrix whose values are those of its diagonals."""
    a = unpacked(a if a._format.family == "diagonals" else convert(a, format))
    return a.copy() if a._op else a


def _laid_out(a: Any, like: SparseArray, count: int, transposed: bool = False) -> Any:
    """Return a copy of these members (or of one matrix for all) with the diagonals of `like`, as a native batch."""
    backend, size, dtype = like._backend, like._matrix.values.size, like.dtype
    what = f"{count} {display.operand(like)}"
    starts, targets = diagonal_starts(a), diagonal_starts(like)
    native = getattr(a, "_all", a)._matrix.values
    step = native.size // count if hasattr(a, "count") and count else 0
    if starts == targets and step == size and not transposed:  # nothing moves
        memory.require_free(count * size * dtype.itemsize, what, backend)
        same = native.copy() if a.dtype == dtype else native.astype(dtype)
        return like._matrix.with_members(same.reshape((count, size)))
    values = _zeros(backend, (count, size), dtype, what)
    for k, start in starts.items():
        shape = count, diagonal_length(a.shape, k)
        if shape[0] and shape[1]:
            to = window(backend, values, targets[-k if transposed else k], shape, size)
            assign(to, window(backend, native, start, shape, step))
    return like._matrix.with_members(values)


# ---- multiples ----------------------------------------------------------------------------------------------------
def scaled_by_members(batch: Any, factors: Any) -> SparseArray:
    """Return the matrix of all members, multiplied by a number for each member."""
    who, backend, everything = "*", batch._backend, batch._all
    shape = tuple(factors.shape) if hasattr(factors, "shape") else np.shape(factors)
    if shape != (batch.count,):
        raise ValueError(f"*: factors have shape {shape}, expected a number, or ({batch.count},) for the members")
    owners.refuse_gpu_array(factors, backend, who, "the factors")
    dtype = value_dtype(np.result_type(batch.dtype, owners.dtype_of(factors)), None, who, argument="factors")
    if backend is CPU:
        given: Any = np.ascontiguousarray(host_dense.as_numpy(factors, who), dtype)
    else:
        given = device_arrays.contiguous(owners.as_device_array(factors, dtype, backend, who, "the factors"), dtype)
    values = everything._matrix.values
    memory.require_free(values.size * dtype.itemsize, f"*: a copy of {batch!r}", backend)
    native = everything._matrix.with_values(values.copy() if batch.dtype == dtype else values.astype(dtype))
    batch._core.scale_members(given, batch._interleaved, native)
    return SparseArray._wrap(native)


# ---- transposes, diagonals and selections -------------------------------------------------------------------------
def transposed(batch: Any) -> Any:
    """Return the native batch of the transposes: a copy."""
    format, offsets = batch._all._format, np.sort(-batch.offsets).tolist()
    like = format.zeros_on(batch.shape[::-1], batch.dtype, offsets, batch._backend)
    return _laid_out(batch, like, batch.count, transposed=True)


def diagonal(batch: Any, k: int) -> Any:
    """Return a copy of diagonal `k` of each member, 0 where it is not stored."""
    backend, shape = batch._backend, (batch.count, diagonal_length(batch.shape, k))
    result = _zeros(backend, shape, batch.dtype, f"diagonal: {shape[0]} x {shape[1]} elements")
    starts, values = diagonal_starts(batch), batch._matrix.values
    if k in starts and result.size:
        assign(result, window(backend, values, starts[k], shape, values.shape[1]))
    return result


def checked_diagonal(batch: Any, k: Any) -> int:
    """Return the offset of a diagonal; raise if the members do not have it."""
    at, (m, n) = integer(k, "diagonal: k"), batch.shape
    if at <= -m or at >= n:
        raise ValueError(f"diagonal: k={at}, but the members are {m} x {n}")
    return at


def selected(batch: Any, part: slice) -> Any:
    """Return the native batch of the members of a slice: a view if its step is 1, else a copy."""
    first, stop, step = part.indices(batch.count)
    count, values, backend = len(range(first, stop, step)), batch._matrix.values, batch._backend
    size = values.shape[1]
    if step == 1 or count < 2:
        rows = values.ravel()[first * size : (first + count) * size].reshape((count, size))
    else:
        rows = _zeros(backend, (count, size), batch.dtype, f"{count} of {batch!r}")
        assign(rows, window(backend, values, first * size, (count, size), step * size))
    return batch._matrix.with_members(rows)


def _zeros(backend: Backend, shape: tuple[int, int], dtype: np.dtype, what: str) -> Any:
    memory.require_free(shape[0] * shape[1] * dtype.itemsize, what, backend)
    return new.zeros(backend, shape, dtype)


def _extents(a: Any) -> str:
    return f"{a.shape[0]} x {a.shape[1]}"
