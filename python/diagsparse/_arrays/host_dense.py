"""Dense operands on the host, copied only if their layout does not suit the kernels.

A kernel takes a vector with unit stride, or blocks x and y that are both contiguous along the same axis (C order or F
order, with any distance between rows or columns). Other layouts are gathered first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._backends import memory


def as_numpy(x: Any, who: str) -> np.ndarray:
    """Return an array_like as a NumPy array; raise TypeError if it has masked elements."""
    if np.ma.is_masked(x):
        raise TypeError(f"{who}: got a masked array, whose mask would be lost; x.filled(0) is a plain one")
    return np.asarray(x)


def has_unit_stride(a: np.ndarray, axis: int) -> bool:
    """Whether elements are contiguous along `axis`, and the other stride is a multiple of the item size."""
    if not a.flags.aligned:
        return False
    if a.ndim == 1:
        return a.strides[0] == a.itemsize or a.size <= 1
    return a.strides[axis] == a.itemsize and a.strides[1 - axis] % a.itemsize == 0


def _axis(a: np.ndarray) -> int:
    """Return the axis along which the kernel traverses `a`: 1 for C order, 0 for F order and single columns."""
    return 0 if a.ndim == 1 or a.shape[1] == 1 or (not has_unit_stride(a, 1) and has_unit_stride(a, 0)) else 1


def gather(a: np.ndarray, axis: int) -> np.ndarray:
    """Return a copy that is contiguous along `axis`; raise MemoryError before, if it does not fit."""
    memory.require_free(a.nbytes, "a copy of an array that is not contiguous")
    return np.array(a, order="C" if axis else "F")


def operands(
    x: np.ndarray, rows: int, dtype: np.dtype, out: Any, beta: complex, who: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return x and y for a kernel; y is `out`, or an array that is copied into `out` afterwards."""
    if out is None:
        if beta != 0:
            raise ValueError(f"{who}: beta={beta} scales out, but no out was given")
        if x.ndim == 1:
            return (x if has_unit_stride(x, 0) else gather(x, 0)), np.empty(rows, dtype)
        axis = _axis(x)
        y = np.empty((rows, x.shape[1]), dtype, "C" if has_unit_stride(x, 1) or axis else "F")
    else:
        y = checked_output(out, (rows, *x.shape[1:]), dtype, who)
        axis = _axis(y)
        if not has_unit_stride(y, axis) or overlaps_itself(y):
            y, axis = gather(y, axis), axis
        if np.may_share_memory(out, x):
            x = gather(x, axis)
    return (x if has_unit_stride(x, axis) else gather(x, axis)), y


def columns(x: np.ndarray, out: Any, who: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return x and y with contiguous columns for a kernel, and the target that y is copied into if it differs."""
    if out is None:
        target = np.empty(x.shape, x.dtype, "C" if x.ndim == 1 or _axis(x) else "F")
    else:
        target = checked_output(out, x.shape, x.dtype, who)
    fits = has_unit_stride(target, 0) and not overlaps_itself(target)
    y = target if fits else np.empty(x.shape, x.dtype, "F")
    free = has_unit_stride(x, 0) and not np.may_share_memory(x, y)
    return (x if free else gather(x, 0)), y, target


def overlaps_itself(a: Any) -> bool:
    """Whether elements of a block may share memory."""
    return a.ndim == 2 and a.size > 1 and min(a.strides[i] for i in range(2) if a.shape[i] > 1) < a.itemsize


def check_operand(given: tuple[int, ...], shape: tuple[int, int], who: str) -> None:
    """Raise ValueError unless a vector or block of this shape can be multiplied by a matrix of `shape`."""
    if len(given) not in (1, 2) or given[0] != shape[1]:
        words = f"{given[0]} elements" if len(given) == 1 else f"shape {given}"
        which = "the adjoint of A" if who == "rmatvec" else "A"
        raise ValueError(f"{who}: x has {words}, but {which} is {shape[0]} x {shape[1]} and needs {shape[1]}")


def check_output(given: tuple[int, ...], given_dtype: Any, shape: tuple[int, ...], dtype: np.dtype, who: str) -> None:
    """Raise ValueError or TypeError unless out= has the shape and the dtype of the result."""
    if given != shape:
        raise ValueError(f"{who}: out has shape {given}, expected {shape}")
    if given_dtype != dtype:
        raise TypeError(f"{who}: out is {given_dtype}, but the product is {dtype}")


def refuse_part_of(values: Any, out: Any, who: str, core: Any) -> None:
    """Raise ValueError if the output overlaps the matrix. Native code checks the arrays that it writes to itself."""
    here = [isinstance(array, np.ndarray) for array in (values, out)]
    if np.may_share_memory(out, values) if all(here) else not any(here) and core.overlap(out, values):
        raise ValueError(f"{who}: out is part of A's values")


def check_writeable(out: np.ndarray, who: str) -> None:
    """Raise ValueError for a read-only output."""
    if not out.flags.writeable:
        raise ValueError(f"{who}: out is read-only")


def checked_output(out: Any, shape: tuple[int, ...], dtype: np.dtype, who: str) -> np.ndarray:
    """Return an output; raise ValueError or TypeError unless it is a writeable NumPy array for the result."""
    if not isinstance(out, np.ndarray):
        raise TypeError(f"{who}: out is {type(out).__name__}, expected a NumPy array")
    check_output(out.shape, out.dtype, shape, dtype, who)
    check_writeable(out, who)
    return out


def is_addressable(a: np.ndarray) -> bool:
    """Whether native code can traverse an array: it is aligned, and its strides are multiples of the item size."""
    flags = a.flags
    return flags.aligned and (flags.c_contiguous or not any(step % a.itemsize for step in a.strides))


def broadcast(dense: np.ndarray, dtype: np.dtype, shape: tuple[int, int]) -> np.ndarray:
    """Return an array, converted to a dtype, as a view of shape `shape` that native code can traverse."""
    values = dense.astype(dtype, copy=False)
    if not is_addressable(values):
        values = values.copy()
    return np.broadcast_to(values, shape)
