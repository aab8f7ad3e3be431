"""Dense operands: brought to a layout that the kernels walk, without a copy where they have one.

A kernel takes a vector with neighbouring elements, or a block in which x and y are both contiguous along the
same axis (C order or F order, rows or columns as far apart as they like). Anything else is gathered first.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def as_numpy(x: Any, who: str) -> np.ndarray:
    """Return what a user gave as a NumPy array, or say that its mask would be lost."""
    if np.ma.is_masked(x):  # some element is
        raise TypeError(f"{who}: got a masked array, whose mask would be lost; x.filled(0) is a plain one")
    return np.asarray(x)


def _has_unit_stride(a: np.ndarray, axis: int) -> bool:
    """Whether neighbours along `axis` are neighbours in memory, and the other axis moves by whole elements."""
    if not a.flags.aligned:
        return False
    if a.ndim == 1:
        return a.strides[0] == a.itemsize or a.size <= 1
    return a.strides[axis] == a.itemsize and a.strides[1 - axis] % a.itemsize == 0


def _axis(a: np.ndarray) -> int:
    """Return the axis along which the kernel will walk `a`: 1 for C order, 0 for F order and single columns."""
    return 0 if a.ndim == 1 or a.shape[1] == 1 or (not _has_unit_stride(a, 1) and _has_unit_stride(a, 0)) else 1


def _gather(a: np.ndarray, axis: int) -> np.ndarray:
    return np.array(a, order="C" if axis else "F")


def operands(
    x: np.ndarray, rows: int, dtype: np.dtype, out: Any, beta: complex, who: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return x and y for a kernel; y is `out`, or what is to be copied into it afterwards."""
    if out is None:
        if beta != 0:
            raise ValueError(f"{who}: beta={beta} scales out, but no out was given")
        if x.ndim == 1:
            return (x if _has_unit_stride(x, 0) else _gather(x, 0)), np.empty(rows, dtype)
        axis = _axis(x)
        y = np.empty((rows, x.shape[1]), dtype, "C" if _has_unit_stride(x, 1) or axis else "F")
    else:
        y = _checked_output(out, (rows, *x.shape[1:]), dtype, who)
        axis = _axis(y)
        if not _has_unit_stride(y, axis) or overlaps_itself(y):
            y, axis = _gather(y, axis), axis
        if np.may_share_memory(out, x):
            x = _gather(x, axis)
    return (x if _has_unit_stride(x, axis) else _gather(x, axis)), y


def columns(x: np.ndarray, out: Any, who: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return x and y with contiguous columns for a kernel, and what y is to be copied into if it is another array."""
    if out is None:
        target = np.empty(x.shape, x.dtype, "C" if x.ndim == 1 or _axis(x) else "F")
    else:
        target = _checked_output(out, x.shape, x.dtype, who)
    fits = _has_unit_stride(target, 0) and not overlaps_itself(target)
    y = target if fits else np.empty(x.shape, x.dtype, "F")
    free = _has_unit_stride(x, 0) and not np.may_share_memory(x, y)
    return (x if free else _gather(x, 0)), y, target


def overlaps_itself(a: Any) -> bool:
    """Whether elements of a block may share memory."""
    return a.ndim == 2 and a.size > 1 and min(a.strides[i] for i in range(2) if a.shape[i] > 1) < a.itemsize


def check_operand(given: tuple[int, ...], shape: tuple[int, int], who: str) -> None:
    """Raise unless a vector or block of this shape can be multiplied by a matrix of `shape`."""
    if len(given) not in (1, 2) or given[0] != shape[1]:
        words = f"{given[0]} elements" if len(given) == 1 else f"shape {given}"
        which = "the adjoint of A" if who == "rmatvec" else "A"
        raise ValueError(f"{who}: x has {words}, but {which} is {shape[0]} x {shape[1]} and needs {shape[1]}")


def check_output(given: tuple[int, ...], given_dtype: Any, shape: tuple[int, ...], dtype: np.dtype, who: str) -> None:
    """Raise unless out= has the shape and the dtype of the result."""
    if given != shape:
        raise ValueError(f"{who}: out has shape {given}, expected {shape}")
    if given_dtype != dtype:
        raise TypeError(f"{who}: out is {given_dtype}, but the product is {dtype}")


def refuse_part_of(values: Any, out: Any, who: str, core: Any) -> None:
    """Raise for an output in the memory of the matrix. Native code asks this of what it is given itself."""
    here = [isinstance(array, np.ndarray) for array in (values, out)]
    if np.may_share_memory(out, values) if all(here) else not any(here) and core.overlap(out, values):
        raise ValueError(f"{who}: out is part of A's values")


def check_writeable(out: np.ndarray, who: str) -> None:
    """Raise for an output that must not be written to."""
    if not out.flags.writeable:
        raise ValueError(f"{who}: out is read-only")


def _checked_output(out: Any, shape: tuple[int, ...], dtype: np.dtype, who: str) -> np.ndarray:
    if not isinstance(out, np.ndarray):
        raise TypeError(f"{who}: out is {type(out).__name__}, expected a NumPy array")
    check_output(out.shape, out.dtype, shape, dtype, who)
    check_writeable(out, who)
    return out


def native(a: np.ndarray) -> bool:
    """Whether native code can walk an array: its elements lie whole elements apart."""
    flags = a.flags
    return flags.aligned and (flags.c_contiguous or not any(step % a.itemsize for step in a.strides))


def broadcast(dense: np.ndarray, dtype: np.dtype, shape: tuple[int, int]) -> np.ndarray:
    """Return a view of an array over all of `shape`, in another type, that native code can walk."""
    values = dense.astype(dtype, copy=False)
    if not native(values):
        values = values.copy()
    return np.broadcast_to(values, shape)
