"""Arrays on the device of a matrix: NumPy's on the CPU, `DeviceArray`s on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import device_arrays
from .._arrays.new import empty
from .._backends.backend import CPU, Backend


def rows(backend: Backend, array: Any, chosen: list[int]) -> Any:
    """Return some rows of an array; the array itself if they are all."""
    if len(chosen) == len(array):
        return array
    if backend is CPU:
        return array[chosen]
    count = array.shape[1]
    kept, flat = empty(backend, (len(chosen), count), array.dtype), array.ravel()
    to = kept.ravel()
    for i, row in enumerate(chosen):
        to[i * count : (i + 1) * count].assign(flat[row * count : (row + 1) * count])
    return kept


def in_dtype(array: Any, dtype: Any) -> Any:
    """Return an array in a dtype, copied only if it has another one."""
    return array if array.dtype == np.dtype(dtype) else array.astype(dtype)


def on_host(array: Any) -> Any:
    """Return an array as a NumPy array."""
    return array if isinstance(array, np.ndarray) else device_arrays.download(array)


def on_device(backend: Backend, array: Any) -> Any:
    """Return a NumPy array as an array on the device."""
    return array if backend is CPU else device_arrays.upload(backend, array)


def copy(x: Any, to: Any) -> None:
    """Copy an array to another one."""
    if isinstance(to, np.ndarray):
        to[...] = x
    else:
        to.assign(x)


def multiplied(backend: Backend, array: Any, factor: float) -> Any:
    """Return an array times a number; the array itself if that is 1."""
    if factor == 1:
        return array
    if backend is CPU:
        return array * factor
    result = empty(backend, array.shape, array.dtype)
    backend.core.scaled_sum(factor, array.ravel(), 0.0, array.ravel(), result.ravel())
    return result


def multiply(backend: Backend, matrix: Any, x: Any, out: Any) -> None:
    """Write the product of a small dense matrix and a vector to `out`."""
    if backend is CPU:
        np.matmul(matrix, x, out=out)
    else:
        backend.core.multiply_dense(matrix, x, out)


def add(backend: Backend, x: Any, to: Any) -> None:
    """Add a vector to another one."""
    if backend is CPU:
        to += x
    else:
        backend.core.scaled_sum(1.0, x, 1.0, to, to)
