"""`DeviceArray`s, the arrays of the GPU module: views and copies of them, and copies to and from the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._backends.backend import Backend
from .._backends.types import real_type


class _Reinterpreted:
    """The memory of `array` with another shape, strides or dtype, as an argument of `asarray`."""

    def __init__(self, array: Any, **other: Any) -> None:
        self.array = array  # kept alive
        self.__cuda_array_interface__ = array.__cuda_array_interface__ | other


def strided(core: Any, array: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """Return a view of a `DeviceArray` with another shape and strides (bytes), as `numpy.lib.stride_tricks` does."""
    return core.asarray(_Reinterpreted(array, shape=shape, strides=strides), None)


def reinterpreted(core: Any, array: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """Return a `DeviceArray` in C order with another shape and dtype, on the same memory if that is aligned for it."""
    if array.size and array.__cuda_array_interface__["data"][0] % dtype.itemsize:
        array = array.copy()
    return core.asarray(_Reinterpreted(array, shape=shape, strides=None, typestr=dtype.str), None)


def as_reals(core: Any, array: Any) -> Any:
    """Return a complex `DeviceArray` of shape (n, k) in C order as a real one of shape (n, 2 k), on the same memory."""
    return reinterpreted(core, array, (array.shape[0], 2 * array.shape[1]), real_type(array.dtype))


def component(core: Any, array: Any, i: int) -> Any:
    """Return a copy of the real (i = 0) or the imaginary parts (i = 1) of a complex `DeviceArray` in C order."""
    reals = reinterpreted(core, array, (array.size, 2), real_type(array.dtype))
    chosen = strided(core, reals.ravel()[i:], (array.size,), (2 * reals.itemsize,)) if array.size else reals.ravel()
    return chosen.copy().reshape(array.shape)


def is_contiguous(array: Any) -> bool:
    """Whether a `DeviceArray` is in C order without gaps."""
    step = array.itemsize
    for extent, stride in zip(reversed(array.shape), reversed(array.strides), strict=True):
        if extent > 1 and stride != step:
            return array.size == 0
        step *= extent
    return True


def contiguous(array: Any, dtype: np.dtype, copy: bool = False) -> Any:
    """Return a `DeviceArray` in this dtype and in C order, copied if it has to be or if `copy` is set."""
    if array.dtype != dtype:
        return array.astype(dtype)
    return array.copy() if copy or not is_contiguous(array) else array


def upload(backend: Backend, array: np.ndarray) -> Any:
    """Copy a NumPy array to a GPU, in the same memory order."""
    if array.ndim == 2 and array.flags.f_contiguous and not array.flags.c_contiguous:
        return backend.core.from_host(array.T, backend.index).T
    return backend.core.from_host(np.ascontiguousarray(array), backend.index)


def download(array: Any) -> np.ndarray:
    """Copy a `DeviceArray` to the host, in the same memory order."""
    transposed = array.ndim == 2 and array.strides[0] < array.strides[1]
    return array.T.get().T if transposed else array.get()
