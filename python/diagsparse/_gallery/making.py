"""Building blocks of the gallery's functions: arguments, limits of memory, random values, diagonals."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy import sparse

Dtype = DTypeLike | None
Format = str | None
Seed = int | Sequence[int] | np.random.Generator | None
_DTYPES = tuple(np.dtype(name) for name in ("float32", "float64", "complex64", "complex128"))


def as_format(matrix: Any, format: Format) -> Any:
    if format is None:
        return matrix
    from .._matrix.construct import array  # imported here, so that the gallery works without the compiled core

    return array(matrix, format)


def of_diagonals(diagonals: dict[int, NDArray[Any]], n: int, dtype: np.dtype[Any], format: Format) -> Any:
    """Return a square matrix with these diagonals, each an array with one element per column."""
    offsets = np.array(sorted(diagonals), dtype=int)
    data = np.empty((len(offsets), n), dtype)
    for row, offset in zip(data, offsets, strict=True):
        row[:] = diagonals[offset].ravel()
    return as_format(sparse.dia_array((data, offsets), shape=(n, n)), format)


def of_constants(
    where: str, shape: tuple[int, int], offsets: NDArray[Any], values: NDArray[Any], dtype: Dtype, format: Format
) -> Any:
    """Return a matrix with constant diagonals; those that are zero or outside of the matrix are left out."""
    dtype = checked_dtype(where, dtype)
    if values.dtype.kind == "c" and dtype.kind != "c":
        raise TypeError(f"gallery.{where}: complex values do not fit dtype {dtype}")
    keep = (values != 0) & (offsets > -shape[0]) & (offsets < shape[1])
    room(where, int(keep.sum()) * shape[1] * dtype.itemsize)
    data = np.where(inside(shape, offsets[keep]), values[keep, None].astype(dtype), dtype.type(0))
    return as_format(sparse.dia_array((data, offsets[keep]), shape=shape), format)


def random_band(where: str, n: int, offsets: NDArray[Any], dtype: Dtype, seed: Seed, format: Format) -> Any:
    offsets = offsets[abs(offsets) < n]
    dtype = checked_dtype(where, dtype)
    room(where, len(offsets) * n * dtype.itemsize)
    data = random_values((len(offsets), n), dtype, np.random.default_rng(seed))
    data[~inside((n, n), offsets)] = 0
    return as_format(sparse.dia_array((data, offsets), shape=(n, n)), format)


def inside(shape: tuple[int, int], offsets: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which elements of a `dia_array` are inside the matrix, an array of shape (diagonals, columns)."""
    columns = np.arange(shape[1])
    return (columns >= offsets[:, None]) & (columns < shape[0] + offsets[:, None])


def random_values(size: int | tuple[int, ...], dtype: np.dtype[Any], rng: np.random.Generator) -> NDArray[Any]:
    if dtype.kind == "c":
        size = (size,) if isinstance(size, int) else size
        return random_values((*size, 2), dtype.type(0).real.dtype, rng).view(dtype)[..., 0]
    values = 2 * rng.random(size, dtype.type) - 1
    return np.copysign(dtype.type(0.1) + dtype.type(0.9) * abs(values), values)


def checked_dtype(where: str, dtype: Dtype) -> np.dtype[Any]:
    if (result := np.dtype(dtype)) not in _DTYPES:
        raise TypeError(f"gallery.{where}: dtype is {result}, expected {', '.join(d.name for d in _DTYPES)}")
    return result


def whole(where: str, name: str, value: Any, meaning: str) -> int:
    if not hasattr(value, "__index__"):
        raise TypeError(f"gallery.{where}: {name} is {value!r}, expected {meaning}, a whole number")
    if (result := operator.index(value)) < 0:
        raise ValueError(f"gallery.{where}: {name} is {result}, expected {meaning} >= 0")
    return result


def room(where: str, nbytes: int) -> None:
    """Raise MemoryError if the diagonals of a matrix do not fit in memory twice, which is needed temporarily."""
    from .._backends import memory  # imported here, so that the gallery works without the compiled core

    memory.require_free(2 * nbytes, f"gallery.{where}: the diagonals", temporary=nbytes)


def room_for_entries(where: str, count: float, dtype: np.dtype[Any]) -> None:
    """Raise MemoryError if `count` values with rows and columns do not fit in memory twice."""
    from .._backends import memory

    nbytes = round(count) * (dtype.itemsize + 16)
    memory.require_free(2 * nbytes, f"gallery.{where}: the entries", temporary=nbytes)


def numbers(where: str, name: str, values: ArrayLike) -> NDArray[Any]:
    result = np.asarray(values)
    if result.ndim != 1 or result.dtype.kind not in "biufc":
        raise TypeError(f"gallery.{where}: {name} is {result.dtype} {result.shape}, expected a 1-D array of numbers")
    return result
