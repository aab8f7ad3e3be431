"""Diagonals that become masked diagonals with a palette: masks and codes, without a value for each element."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arguments import Format
from .construction import Diagonals, require_memory
from .rows import Box, RowRange

_ROWS = 32  # of a block
_MOST_COLORS = 256  # values of a table
_SMALL = 1 << 16  # elements of a matrix that needs no palette
_Term = tuple[tuple[slice, ...], NDArray[Any]]  # values that are added in a part of the grid


def diagonals_for(rows: RowRange, dtype: np.dtype[Any], format: Format, most: int) -> Diagonals | PaletteDiagonals:
    """Return an object that collects diagonals, with a palette if all rows are built in a format that has one."""
    with_palette = format == "mdia" and not rows.part
    return PaletteDiagonals(rows, dtype, most) if with_palette else Diagonals(rows, dtype, format, most)


class PaletteDiagonals:
    """Diagonals of a whole matrix, whose values depend on few axes of the grid of its rows.

    They are kept with one coordinate on all other axes.
    """

    def __init__(self, rows: RowRange, dtype: np.dtype[Any], most: int) -> None:
        """Raise MemoryError if the masks of `most` diagonals, and a diagonal that depends on all axes, do not fit."""
        self.rows, self.dtype = rows, dtype
        self.grid: tuple[int, ...] = ()
        self.terms: dict[int, list[_Term]] = {}
        require_memory(4 * most * _blocks(rows.columns) + 2 * rows.columns * dtype.itemsize)

    def add(self, box: Box, offset: int, values: NDArray[Any], at: tuple[slice, ...] = ()) -> None:
        """Add values, which are broadcast, to the elements of a diagonal, or of a part of it."""
        self.grid = box.shape
        axes = (1,) * (len(box.shape) - values.ndim)
        self.terms.setdefault(offset, []).append(
            (at or (slice(None),) * len(box.shape), values.reshape(axes + values.shape))
        )

    def matrix(self) -> Any:
        """Return the matrix in mdia, with a palette wherever a conversion would choose one."""
        colored = (_Colored(offset, self.grid, terms) for offset, terms in sorted(self.terms.items()))
        diagonals = [d for d in colored if d.elements]
        blocks, elements = _blocks(self.rows.columns), sum(d.elements for d in diagonals)
        plain = self.dtype.itemsize * elements + (4 * blocks + 8) * len(diagonals) + 8 * (blocks + 1)
        if 4 * sum(d.elements for d in diagonals if d.bits > 1) > elements:
            for d in diagonals:
                if d.bits > 1:
                    d.store_values()
        saved = sum(d.saved for d in diagonals) - 8 * (len(diagonals) + 1)
        if elements < _SMALL or 4 * saved < plain:
            return self._expanded().matrix()
        from .._formats.mdia import mdia_array  # imported here, so that the gallery works without the compiled core

        mask = np.zeros((blocks, len(diagonals)), np.uint32)
        codes = np.zeros((blocks, sum(d.bits for d in diagonals)), np.uint32)
        word = 0
        for column, d in enumerate(diagonals):
            _write_words(d.present, 1, self.grid, mask[:, column : column + 1])
            if d.bits:
                _write_words(d.codes, d.bits, self.grid, codes[:, word : word + d.bits])
            word += d.bits
        stored = self._stored([d for d in diagonals if not len(d.table)])
        table_indptr = np.cumsum([0, *(len(d.table) for d in diagonals)])
        before = np.cumsum([0, *np.count_nonzero(stored, axis=(1, 2))])
        parts = {
            "values": np.concatenate([*(d.table for d in diagonals), stored[stored != 0]]),
            "offsets": np.array([d.offset for d in diagonals], np.int64),
            "mask": mask,
            "block_indptr": table_indptr[-1] + before,
            "table_indptr": table_indptr,
            "codes": codes,
        }
        return mdia_array(parts, shape=self.rows.shape)

    def _stored(self, diagonals: list[_Colored]) -> NDArray[Any]:
        """Return the values of these diagonals in each block, including zeros."""
        values = np.zeros((_blocks(self.rows.columns), len(diagonals), _ROWS), self.dtype)
        for k, d in enumerate(diagonals):
            rows = np.zeros(len(values) * _ROWS, self.dtype)
            rows[: self.rows.columns].reshape(self.grid)[...] = d.values
            values[:, k] = rows.reshape(-1, _ROWS)
        return values

    def _expanded(self) -> Diagonals:
        """Return the diagonals with a value for each row."""
        diagonals = Diagonals(self.rows, self.dtype, "mdia", len(self.terms))
        for offset, terms in self.terms.items():
            for at, values in terms:
                diagonals[offset].reshape(self.grid)[at] += values
        return diagonals


class _Colored:
    """A diagonal, with one coordinate on the axes of the grid on which it does not depend.

    `table` has its values, sorted by their bits, and `codes` the position of each of them, in this many `bits`. The
    table is empty if the values are stored one by one. `saved` is how many bytes the table saves.
    """

    def __init__(self, offset: int, grid: tuple[int, ...], terms: list[_Term]) -> None:
        self.offset, rows = offset, prod(grid)
        depends = [
            any(values.shape[axis] > 1 or len(range(size)[at[axis]]) < size for at, values in terms)
            for axis, size in enumerate(grid)
        ]
        self.values = np.zeros([size if own else 1 for size, own in zip(grid, depends, strict=True)], terms[0][1].dtype)
        for at, values in terms:
            self.values[tuple(part if own else slice(None) for part, own in zip(at, depends, strict=True))] += values
        self.present = self.values != 0
        self.elements = int(self.present.sum()) * (rows // self.values.size)
        self.table, codes = _distinct(self.values[self.present])
        self.bits = _code_bits(len(self.table))
        item = self.values.dtype.itemsize
        self.saved = item * (self.elements - len(self.table)) - 4 * self.bits * _blocks(rows)
        self.codes = np.zeros(self.values.shape, np.uint8)
        if len(self.table) > _MOST_COLORS or self.saved <= 0:
            self.store_values()
        elif self.bits:
            self.codes[self.present] = codes

    def store_values(self) -> None:
        """Have no table."""
        self.table, self.bits, self.saved = self.table[:0], 0, 0


def _distinct(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the different values, sorted by their bits, and the position of each value among them.

    If there are too many for a table, the first array has too many as well.
    """
    of_each = max(1, values.itemsize // 8)  # words
    words = values.view(np.dtype(f"u{values.itemsize // of_each}")).reshape(len(values), of_each)
    colors, codes = np.zeros((1, 0), words.dtype), np.zeros(len(values), np.intp)
    for word in words.T:
        own = np.unique(word)
        if len(own) > _MOST_COLORS:
            return values, codes
        pairs = codes * len(own) + np.searchsorted(own, word)
        used = np.bincount(pairs, minlength=len(colors) * len(own)) > 0
        color, last = np.divmod(np.flatnonzero(used), len(own))
        colors, codes = np.column_stack([colors[color], own[last]]), (np.cumsum(used) - 1)[pairs]
    return np.ascontiguousarray(colors).view(values.dtype)[:, 0], codes


def _code_bits(colors: int) -> int:
    return 0 if colors == 1 else 1 if colors == 2 else 2 if colors <= 4 else 4 if colors <= 16 else 8


def _write_words(codes: NDArray[Any], bits: int, grid: tuple[int, ...], words: NDArray[np.uint32]) -> None:
    """Write codes of this many bits, on the axes on which they depend, as words, which are zero before."""
    # The last axes are combined into whole blocks. On the others, words are written only once for equal coordinates.
    first = max((k for k in range(len(grid) + 1) if prod(grid[k:]) % _ROWS == 0), default=0)
    tail = prod(grid[first:])
    rows = np.zeros((*codes.shape[:first], _blocks(tail) * _ROWS), np.uint8)
    rows[..., :tail] = np.broadcast_to(codes, (*codes.shape[:first], *grid[first:])).reshape(*codes.shape[:first], tail)
    shifted = rows.reshape(*rows.shape[:-1], -1, 8 // bits) << (bits * np.arange(8 // bits)).astype(np.uint8)
    packed = np.bitwise_or.reduce(shifted, axis=-1).view("<u4")
    packed = packed.reshape(*packed.shape[:-1], -1, bits)
    words.reshape(*grid[:first], -1, bits)[...] = packed


def _blocks(rows: int) -> int:
    return -(-rows // _ROWS)
