"""Functions of one vector, for all columns of an array on any device, and for real and imaginary parts."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._arrays import device_arrays, device_dense, owners
from .._arrays.host_dense import as_numpy
from .._backends.backend import CPU
from .._backends.types import product_dtypes

Function = Callable[[Any, int, np.dtype], Any]
"""Of a vector in float64, its number among the columns and parts, and the dtype of the result; returns a vector."""


def apply(A: Any, f: Function, b: Any, who: str) -> Any:
    """Return f of all columns of b, an array of shape (n,) or (n, k) of any library, in the dtype of ``A @ b``."""
    if sp.issparse(b):
        raise TypeError(f"{who}: b is a sparse {type(b).__name__}; write b.toarray()")
    if A._backend is not CPU:
        return device_dense.multiply(_Columns(A, f, who), b, None, None)
    owners.refuse_gpu_array(b, A._backend, who, "b")
    given = as_numpy(b, who)
    if given.dtype.kind not in "biufc" or given.dtype.type in (np.longdouble, np.clongdouble):
        raise TypeError(f"{who}: b is of type {given.dtype}, expected numbers of at most double precision")
    _check_shape(given.shape, A.shape[0], who)
    kind = _result(A.dtype, given.dtype, who)[1]
    columns = given.reshape(len(given), prod(given.shape[1:]))
    x, parts = np.empty(columns.shape, kind), ("real", "imag") if kind.kind == "c" else ("real",)
    for j in range(columns.shape[1]):
        for i, part in enumerate(parts):
            vector = np.ascontiguousarray(getattr(columns, part)[:, j], float)
            getattr(x, part)[:, j] = f(vector, len(parts) * j + i, kind)
    return x.reshape(given.shape)


def separate(A: Any, b: Any, is_complex: bool, who: str, name: str) -> list[Any]:
    """Return the columns of another array of the same shape, or their parts, in the order of `apply`."""
    if A._backend is not CPU:
        wanted = np.dtype(np.complex128 if is_complex else np.float64)
        rows = device_arrays.contiguous(owners.as_device_array(b, wanted, A._backend, who, name), wanted)
        return list(_parts(_in_columns(A._core, rows)))
    given = as_numpy(b, who)
    columns = given.reshape(len(given), -1)
    parts = ("real", "imag") if is_complex else ("real",)
    return [np.array(getattr(columns, part)[:, j], float) for j in range(columns.shape[1]) for part in parts]


def _check_shape(shape: tuple[int, ...], n: int, who: str) -> None:
    if len(shape) not in (1, 2) or shape[0] != n:
        raise ValueError(f"{who}: b has shape {tuple(shape)}, expected {n} rows")


def _result(dtype: np.dtype, given: np.dtype, who: str) -> tuple[np.dtype, np.dtype]:
    if given.kind not in "biufc":
        raise ValueError(f"{who}: b has elements that are not finite numbers, but of type {given}")
    return product_dtypes(dtype, given)


class _Columns(device_dense.Product):
    """The task of applying a function to the columns of an array on a GPU."""

    def __init__(self, A: Any, f: Function, who: str) -> None:
        super().__init__(A, 0, A.shape, 1, 0, None, who)
        self._f = f

    def dtypes(self, shape: tuple[int, ...], given: np.dtype) -> tuple[np.dtype, np.dtype]:
        _check_shape(shape, self.shape[0], self.who)
        return _result(self.a.dtype, given, self.who)

    def run(self, x: Any, target: Any, allocate: Callable[[str], Any]) -> None:
        result, core = allocate("C"), self.backend.core
        columns = _in_columns(core, device_arrays.contiguous(x, x.dtype))
        for j, vector in enumerate(_parts(columns)):
            vector.assign(self._f(vector, j, result.dtype))
        _as_real_columns(core, result).assign(columns)


def _as_real_columns(core: Any, array: Any) -> Any:
    """Return an array in C order as columns, complex ones as two real ones, on the same memory."""
    n = array.shape[0]
    columns = array.reshape((n, array.size // n if n else 0))
    return device_arrays.as_reals(core, columns) if array.dtype.kind == "c" else columns


def _in_columns(core: Any, array: Any) -> Any:
    """Return a copy in float64 whose columns are contiguous."""
    columns = _as_real_columns(core, array)
    copy = core.empty(columns.shape, "float64", columns.device, "F")
    copy.assign(columns)
    return copy


def _parts(columns: Any) -> Any:
    n, flat = columns.shape[0], columns.T.ravel()
    return (flat[j * n : (j + 1) * n] for j in range(columns.shape[1]))
