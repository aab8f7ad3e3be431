"""Formats with symmetric storage, whose elements also represent their mirror images: ellcsr, mdia."""

from __future__ import annotations

from .._backends.arguments import SYMMETRIES
from .._matrix import conversions
from .._matrix.base import M
from .._matrix.sparse_array import SparseArray
from .format import Format


class Mirrored(Format):
    """The layout of matrices in symmetric or Hermitian storage; they are sorted and unpacked by way of csr."""

    def reordered(self, a: SparseArray, csr: SparseArray) -> SparseArray:
        return self.from_csr_as(csr, self.layout(a) | self.mirror(a, csr))

    def mirror(self, a: SparseArray, csr: SparseArray) -> dict[str, int]:
        """Return the option of one half where this matrix has it, and the values in csr allow it."""
        # New values may have broken the symmetry: beside what is mirrored, or what is no number.
        holds = a._matrix.symmetry and csr._core.symmetries(csr._matrix) & a._matrix.symmetry
        return {"symmetry": a._matrix.symmetry} if holds else {}


def _symmetry(a: SparseArray) -> str | None:
    """``"symmetric"`` or ``"hermitian"`` where stored elements stand for their mirror images too, else None."""
    return SYMMETRIES[a._matrix.symmetry]


symmetry = property(_symmetry)


def unpacked(a: M, *, max_bytes: int | None = None) -> M:
    """Return this matrix with both halves stored, in a type that arithmetic is done in; itself where that is so.

    Raises
    ------
    MemoryError
        With the bytes, when the result exceeds `max_bytes` or the free memory.
    """
    if not a._matrix.symmetry:
        return conversions.unpack(a, max_bytes=max_bytes)
    csr = a._format.to_csr(a, max_bytes)
    return a._format.from_csr_as(csr, a._format.layout(a), max_bytes, csr.nbytes)
