"""Random values, diagonals and conversions, for the functions of the gallery."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .arguments import Dtype, Format, Seed, checked_dtype


def as_format(matrix: Any, format: Format) -> Any:
    if format is None:
        return matrix
    from .._matrix.construct import array  # imported here, so that the gallery works without the compiled core

    return array(matrix, format)


def from_diagonals(diagonals: dict[int, NDArray[Any]], n: int, dtype: np.dtype[Any], format: Format) -> Any:
    """Return a square matrix with these diagonals, each an array with one element per column."""
    offsets = np.array(sorted(diagonals), dtype=int)
    data = np.empty((len(offsets), n), dtype)
    for row, offset in zip(data, offsets, strict=True):
        row[:] = diagonals[offset].ravel()
    return as_format(sparse.dia_array((data, offsets), shape=(n, n)), format)


def from_constants(
    shape: tuple[int, int], offsets: NDArray[Any], values: NDArray[Any], dtype: Dtype, format: Format
) -> Any:
    """Return a matrix with constant diagonals; those that are zero or outside of the matrix are left out."""
    dtype = checked_dtype(dtype)
    if values.dtype.kind == "c" and dtype.kind != "c":
        raise TypeError(f"complex values do not fit dtype {dtype}")
    stored = (values != 0) & (offsets > -shape[0]) & (offsets < shape[1])
    require_memory(int(stored.sum()) * shape[1] * dtype.itemsize)
    data = np.where(inside(shape, offsets[stored]), values[stored, None].astype(dtype), dtype.type(0))
    return as_format(sparse.dia_array((data, offsets[stored]), shape=shape), format)


def random_band(n: int, offsets: NDArray[Any], dtype: Dtype, seed: Seed, format: Format) -> Any:
    """Return a random square matrix with these diagonals; those outside of the matrix are left out."""
    offsets = offsets[abs(offsets) < n]
    dtype = checked_dtype(dtype)
    require_memory(len(offsets) * n * dtype.itemsize)
    data = random_values((len(offsets), n), dtype, np.random.default_rng(seed))
    data[~inside((n, n), offsets)] = 0
    return as_format(sparse.dia_array((data, offsets), shape=(n, n)), format)


def inside(shape: tuple[int, int], offsets: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which elements of a `dia_array` are inside the matrix, an array of shape (diagonals, columns)."""
    columns = np.arange(shape[1])
    return (columns >= offsets[:, None]) & (columns < shape[0] + offsets[:, None])


def random_values(size: int | tuple[int, ...], dtype: np.dtype[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Return random numbers, uniform in [-1, -0.1] and [0.1, 1], for complex numbers in both parts."""
    if dtype.kind == "c":
        size = (size,) if isinstance(size, int) else size
        return random_values((*size, 2), dtype.type(0).real.dtype, rng).view(dtype)[..., 0]
    values = 2 * rng.random(size, dtype.type) - 1
    return np.copysign(dtype.type(0.1) + dtype.type(0.9) * abs(values), values)


def require_memory(nbytes: int, what: str = "the diagonals") -> None:
    """Raise MemoryError if `nbytes` do not fit in memory twice, which is needed temporarily."""
    from .._backends import memory  # imported here, so that the gallery works without the compiled core

    memory.require_free(2 * nbytes, what, temporary=nbytes)


def require_memory_for_entries(count: float, dtype: np.dtype[Any]) -> None:
    """Raise MemoryError if `count` values with rows and columns do not fit in memory twice."""
    require_memory(round(count) * (dtype.itemsize + 16), "the entries")
