"""Short columns: column indices of 8 or 16 bits, relative to a base that a chunk of 32 positions shares."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._backends.backend import Backend
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary
from .format import Format
from .options import one_of

column_bits = one_of(8, 16, 32)
_CHUNK = 32
_SHORT = 8, 16  # bits


def chunks(lines: int, length: int) -> int:
    """Return the number of chunks of lines with `length` positions each."""
    return lines * -(-length // _CHUNK)


def reach(bits: int) -> int:
    """Return the largest difference between a column and its base."""
    return 2**31 - 1 if bits == 32 else 2**bits - 2


def has_bases(bits: int, cols: int) -> bool:
    """Whether columns are relative to bases, because a matrix has more columns than the indices can represent."""
    return bits < 32 and cols > reach(bits) + 1


def nbytes(bits: int, cols: int, lines: int, length: int) -> int:
    """Return the bytes of indices and their bases, for lines with `length` positions each."""
    return lines * length * bits // 8 + has_bases(bits, cols) * 4 * chunks(lines, length)


def bits_of(indices: Any) -> int:
    """Return the bits of a column in an index array: those of uint8 and uint16, and 32 for all other dtypes."""
    dtype = np.dtype(indices.dtype)
    return 8 * dtype.itemsize if dtype in (np.uint8, np.uint16) else 32


def index_type(bits: int) -> np.dtype:
    """Return the dtype of indices with this number of bits."""
    return np.dtype({8: np.uint8, 16: np.uint16, 32: np.int32}[bits])


def _stored_bits(a: SparseArray) -> int:
    """Number of bits of a column index: 32, 16 or 8."""
    return bits_of(a._matrix.parts()[a._format.structure[0]])


stored_bits = property(_stored_bits)


class ShortColumns(Format):
    """A layout with the option `column_bits`, for the column indices in the first array of its structure."""

    def layout(self, a: SparseArray) -> dict[str, int]:
        return {"column_bits": a.column_bits}

    def description(self, a: SparseArray) -> str:
        return f"columns of {a.column_bits} bits, " if a.column_bits < 32 else ""

    def from_csr_as(
        self, csr: SparseArray, layout: dict[str, int], max_bytes: int | None = None, held: int = 0
    ) -> SparseArray:
        """Return the matrix with the fewest bits that can represent its columns, at least those of the layout."""
        for bits in (bits for bits in _SHORT if bits >= layout["column_bits"]):
            try:
                return super().from_csr_as(csr, layout | {"column_bits": bits}, max_bytes, held)
            except ValueError:  # columns are too far apart
                continue
        return super().from_csr_as(csr, layout | {"column_bits": 32}, max_bytes, held)

    def index_type(self, name: str, shape: tuple[int, int], given: dict[str, Any]) -> np.dtype:
        first = self.structure[0]
        return index_type(bits_of(given[first])) if name == first else super().index_type(name, shape, given)

    def positions(self, s: Summary, **options: int) -> int:
        """Return the number of stored columns, including padding."""
        raise NotImplementedError

    # Conversions from and to csr use columns of 32 bits.
    def from_csr_workspace(self, s: Summary, backend: Backend, **options: int) -> int:
        return 4 * self.positions(s, **options) if options.get("column_bits", 32) < 32 else 0

    def to_csr_workspace(self, a: SparseArray, s: Summary) -> int:
        return super().to_csr_workspace(a, s) + (4 * a._matrix.values.size if a.column_bits < 32 else 0)
