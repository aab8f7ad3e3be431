"""Short columns: of 8 or 16 bits, that count from a base which 32 neighbouring places share."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._matrix.base import SparseArray
from .._matrix.summary import Summary
from .._places.backend import Place
from .format import Format
from .options import one_of

column_bits = one_of(8, 16, 32)
_CHUNK = 32
_SHORT = 8, 16  # bits


def chunks(lines: int, length: int) -> int:
    """Return how many chunks lines of so many places have."""
    return lines * -(-length // _CHUNK)


def reach(bits: int) -> int:
    """Return how far a column may lie from its base."""
    return 2**31 - 1 if bits == 32 else 2**bits - 2


def has_bases(bits: int, cols: int) -> bool:
    """Whether indices of so many bits count from bases in a matrix of so many columns."""
    return bits < 32 and cols > reach(bits) + 1


def nbytes(bits: int, cols: int, lines: int, length: int) -> int:
    """Return the bytes of indices, and of their bases, on so many lines of places."""
    return lines * length * bits // 8 + has_bases(bits, cols) * 4 * chunks(lines, length)


def bits_of(indices: Any) -> int:
    """Return how many bits the columns in an index array have; all types but the short ones become 32."""
    dtype = np.dtype(indices.dtype)
    return 8 * dtype.itemsize if dtype in (np.uint8, np.uint16) else 32


def index_type(bits: int) -> np.dtype:
    """Return the type of indices of so many bits."""
    return np.dtype({8: np.uint8, 16: np.uint16, 32: np.int32}[bits])


class ShortColumns(Format):
    """A format with the option `column_bits`: of the columns in the first part of its structure."""

    @property
    def column_bits(self) -> int:
        """Bits of a column: 32, 16 or 8."""
        return bits_of(self._matrix.parts()[self._structure[0]])

    def _layout(self) -> dict[str, int]:
        return {"column_bits": self.column_bits}

    def _told(self) -> str:
        return f"columns of {self.column_bits} bits, " if self.column_bits < 32 else ""

    @classmethod
    def _laid_out_as(
        cls, csr: SparseArray, layout: dict[str, int], max_bytes: int | None = None, held: int = 0
    ) -> SparseArray:
        """Return it with the fewest bits, from those of the layout on, that hold the columns."""
        for bits in (bits for bits in _SHORT if bits >= layout["column_bits"]):
            try:
                return super()._laid_out_as(csr, layout | {"column_bits": bits}, max_bytes, held)
            except ValueError:  # columns lie too far apart
                continue
        return super()._laid_out_as(csr, layout | {"column_bits": 32}, max_bytes, held)

    @classmethod
    def _index_type(cls, name: str, shape: tuple[int, int], given: dict[str, Any]) -> np.dtype:
        first = cls._structure[0]
        return index_type(bits_of(given[first])) if name == first else super()._index_type(name, shape, given)

    @classmethod
    def _places(cls, s: Summary, **options: int) -> int:
        """Return how many columns are stored, those of the padding among them."""
        raise NotImplementedError

    # Columns have 32 bits on the way from csr and to it.
    @classmethod
    def _from_csr_beside(cls, s: Summary, place: Place, **options: int) -> int:
        return 4 * cls._places(s, **options) if options.get("column_bits", 32) < 32 else 0

    def _to_csr_beside(self, s: Summary) -> int:
        return super()._to_csr_beside(s) + (4 * self._matrix.values.size if self.column_bits < 32 else 0)


class OneColumnArray(ShortColumns):
    """One with the columns of all entries in its part `indices`, and their bases in its last part."""

    @property
    def bases(self) -> Any:
        """What the columns of each chunk count from, int32, zero-copy; None where they are no offsets."""
        return self.parts().get("bases")
