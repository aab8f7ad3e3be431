"""Formats with symmetric storage, whose elements also represent their mirror images: ellcsr and mdia."""

from __future__ import annotations

from .._matrix.sparse_array import SparseArray
from .format import Format


class Mirrored(Format):
    """A layout with symmetric or Hermitian storage; such matrices are reordered and unpacked via csr."""

    def reordered(self, a: SparseArray, csr: SparseArray) -> SparseArray:
        return self.from_csr_as(csr, self.layout(a) | self.mirror(a, csr))

    def mirror(self, a: SparseArray, csr: SparseArray) -> dict[str, int]:
        """Return the option `symmetry` of `a`, unless the values, which are those of `csr`, no longer have it."""
        # Writing to values may have broken the symmetry, at elements without a mirror image or with NaNs.
        holds = a._matrix.symmetry and csr._core.symmetries(csr._matrix) & a._matrix.symmetry
        return {"symmetry": a._matrix.symmetry} if holds else {}

    def unpacked(self, a: SparseArray, max_bytes: int | None) -> SparseArray:
        if not a._matrix.symmetry:
            return super().unpacked(a, max_bytes)
        csr = self.to_csr(a, max_bytes)
        return self.from_csr_as(csr, self.layout(a), max_bytes, csr.nbytes)
