"""Random values, diagonals and conversions, for the functions of the gallery."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .arguments import Dtype, Format, Seed, checked_dtype
from .rows import Box, RowRange


def as_format(matrix: Any, format: Format) -> Any:
    if format is None:
        return matrix
    from .._matrix.construct import array  # imported here, so that the gallery works without the compiled core

    return array(matrix, format)


class Diagonals(dict[int, NDArray[Any]]):
    """Diagonals by their offsets in the whole matrix: arrays with an element for each row that is built, at first zero.

    Elements outside of the matrix are ignored. Functions add a diagonal only if it has a nonzero in these rows.
    """

    def __init__(self, rows: RowRange, dtype: np.dtype[Any], format: Format, most: int) -> None:
        """Raise MemoryError if `most` diagonals do not fit in memory, together with the matrix."""
        super().__init__()
        self.rows, self.dtype, self.format = rows, dtype, format
        if not rows.part:
            require_memory(most * rows.columns * dtype.itemsize)
        elif format:
            require_memory(most * rows.shape[0] * dtype.itemsize)
        else:
            require_memory_for_entries(most * rows.shape[0], dtype)

    def __missing__(self, offset: int) -> NDArray[Any]:
        self[offset] = zeros = np.zeros(self.rows.shape[0], self.dtype)
        return zeros

    def within(self, box: Box, offset: int) -> NDArray[Any]:
        """Return a view of the elements of a diagonal in a box."""
        return self[offset][box.rows].reshape(box.shape)

    def add(self, box: Box, offset: int, values: NDArray[Any], at: tuple[slice, ...] = ()) -> None:
        """Add values, which are broadcast, to the elements of a diagonal in a box, or in a part of it."""
        self.within(box, offset)[at] += values

    def matrix(self) -> Any:
        extents = {offset: self.rows.extent(offset) for offset in sorted(self)}
        if not self.rows.part:
            return as_format(self._dia(extents), self.format)
        return as_format(self._hm(extents), self.format) if self.format else self._csr(extents)

    def _dia(self, extents: dict[int, slice]) -> sparse.dia_array:
        data = np.zeros((len(extents), self.rows.columns), self.dtype)
        for row, (offset, extent) in zip(data, extents.items(), strict=True):
            row[extent.start + offset : extent.stop + offset] = self[offset][extent]
        return sparse.dia_array((data, np.array(list(extents), dtype=int)), shape=self.rows.shape)

    def _csr(self, extents: dict[int, slice]) -> sparse.csr_array:
        """Return the nonzero elements. A `dia_array` of some rows would store a value for each of all columns."""
        data = np.zeros((self.rows.shape[0], len(extents)), self.dtype)
        for column, (offset, extent) in zip(data.T, extents.items(), strict=True):
            column[extent] = self[offset][extent]
        stored = data != 0
        columns = np.arange(self.rows.first, self.rows.last)[:, None] + np.array(list(extents), dtype=int)
        pointers = np.concatenate(([0], np.cumsum(stored.sum(axis=1))))
        return sparse.csr_array((data[stored], columns[stored], pointers), shape=self.rows.shape)

    def _hm(self, extents: dict[int, slice]) -> Any:
        from .._formats.hm import hm_array  # imported here, so that the gallery works without the compiled core

        offsets = sorted((offset + self.rows.first for offset in extents), key=lambda k: (k < 0, abs(k)))
        order = [offset - self.rows.first for offset in offsets]
        values = [self[offset][extents[offset]] for offset in order]
        return hm_array((np.concatenate([np.empty(0, self.dtype), *values]), offsets), shape=self.rows.shape)


def from_constants(rows: RowRange, offsets: NDArray[Any], values: NDArray[Any], dtype: Dtype, format: Format) -> Any:
    """Return rows of a matrix with constant diagonals; those that are zero or outside of the rows are left out."""
    dtype = checked_dtype(dtype)
    if values.dtype.kind == "c" and dtype.kind != "c":
        raise TypeError(f"complex values do not fit dtype {dtype}")
    stored = (values != 0) & rows.meets(offsets)
    diagonals = Diagonals(rows, dtype, format, most=int(stored.sum()))
    constants = values[stored, None].astype(dtype)
    constants = np.broadcast_to(constants, (len(constants), rows.shape[0]))
    diagonals.update(zip(offsets[stored].tolist(), constants, strict=True))
    return diagonals.matrix()


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
