"""Formats of which one half may be stored, whose elements stand for their mirror images too: ellcsr, mdia."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._matrix.base import SparseArray
from .._places.arguments import SYMMETRIES

if TYPE_CHECKING:
    from .format import Format

    _Base = Format
else:
    _Base = object


class Mirrored(_Base):
    """What a matrix in symmetric or Hermitian storage answers, by way of csr."""

    @property
    def symmetry(self) -> str | None:
        """``"symmetric"`` or ``"hermitian"`` where stored elements stand for their mirror images too, else None."""
        return SYMMETRIES[self._matrix.symmetry]

    def unpacked(self, *, max_bytes: int | None = None) -> SparseArray:
        """Return this matrix with both halves stored, in a type that arithmetic is done in; itself where that is so.

        Raises
        ------
        MemoryError
            With the bytes, when the result exceeds `max_bytes` or the free memory.
        """
        if not self._matrix.symmetry:
            return super().unpacked(max_bytes=max_bytes)
        csr = self._to_csr(max_bytes)
        return self._laid_out_as(csr, self._layout(), max_bytes, csr.nbytes)

    def _reordered(self, csr: SparseArray) -> SparseArray:
        return self._laid_out_as(csr, self._layout() | self._mirror(csr))

    def _mirror(self, csr: SparseArray) -> dict[str, int]:
        """Return the option of one half where this matrix has it, and the values in csr allow it."""
        # New values may have broken the symmetry: beside what is mirrored, or what is no number.
        holds = self._matrix.symmetry and csr._core.symmetries(csr._matrix) & self._matrix.symmetry
        return {"symmetry": self._matrix.symmetry} if holds else {}
