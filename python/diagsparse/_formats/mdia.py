"""Masked diagonals: each with a mask of its stored elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays.read_only import read_only
from .._backends import memory
from .._backends.arguments import SYMMETRIES, symmetry_number
from .._backends.backend import CPU, Backend
from .._backends.types import dtype_name
from .._matrix.base import require_plain, write_values
from .._matrix.convert import convert, unpacked, widen
from .._matrix.registry import COMMON
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary
from .._matrix.workspaces import table_of_diagonals
from .._show import cells, display
from . import joint_palettes, masked_products, packing, palettes
from .component import component
from .masked_products import blocks_of
from .mirrored import Mirrored
from .options import boolean
from .own_products import OwnProducts


class Mdia(Mirrored, OwnProducts):
    """The layout of `mdia_array`."""

    narrow = sampled = quaternions = True
    structure = ("offsets", "mask", "block_indptr")
    optional = ("mirrored", "table_indptr", "codes")
    two_dimensional = ("mask", "codes")
    options = {"symmetry": symmetry_number, "palette": boolean}
    triangular_products = True
    multiplies = {"diagonals": "mdia"}
    sums, added_to = "mdia", ("diagonals",)
    as_operand = masked_products.as_operand
    for_product = masked_products.for_product
    symmetry_of_product = masked_products.symmetry_of_product
    as_factor = masked_products.as_factor
    planned = masked_products.planned
    united = joint_palettes.united

    def drawn_diagonals(self, a: SparseArray) -> list[cells.Drawn]:
        stored = set(a.offsets.tolist())
        both = sorted(self.all_offsets(a).tolist())
        return [cells.Drawn(k, cells.color_of(d), k not in stored) for d, k in enumerate(both)]

    def description(self, a: SparseArray) -> str:
        words = [display.diagonals(a.offsets), a.symmetry, "palette" if a._matrix.palette else None]
        return "".join(f"{word}, " for word in words if word)

    def index_type(self, name: str, shape: tuple[int, int], given: dict[str, Any]) -> np.dtype:
        return np.dtype({"mask": np.uint32, "codes": np.uint32, "mirrored": np.uint8}.get(name, np.int64))

    def layout(self, a: SparseArray) -> dict[str, int]:
        return {"palette": int(a._matrix.palette)}

    def why_not_written(self, a: SparseArray) -> str:
        return palettes.why_not_written(a) if a._matrix.palette else super().why_not_written(a)

    def unpacked(self, a: SparseArray, max_bytes: int | None) -> SparseArray:
        if a._matrix.symmetry:
            csr = self.to_csr(a, max_bytes)
            return self.from_csr_as(csr, {"palette": 0}, max_bytes, csr.nbytes)
        return super().unpacked(self.without_palette(a, max_bytes), max_bytes)

    def without_palette(self, a: SparseArray, max_bytes: int | None = None) -> SparseArray:
        """Return this view with a value for each element, in its dtype and with its symmetry."""
        if not a._matrix.palette:
            return a
        nbytes = a.nnz * a._dtype.itemsize + a._matrix.parts()["mask"].nbytes
        memory.require(nbytes, max_bytes, f"{self.who}: the matrix without its palette", backend=a._backend)
        return a._wrap(a._core.without_palette(a._matrix), a._op)

    def rebuilt_from_csr(self, a: SparseArray, csr: SparseArray) -> SparseArray:
        return self.from_csr_as(csr, self.layout(a) | self.mirror(a, csr)).astype(a._dtype, copy=False)

    def all_offsets(self, a: SparseArray) -> np.ndarray:
        """Return the offsets of all diagonals, including those that are only stored as a mirror image."""
        k = a.offsets
        return np.union1d(k, -k) if a._matrix.symmetry else k

    # ---- sums and element-wise products -----------------------------------------------------------
    def combined(
        self, a: SparseArray, b: SparseArray, alpha: complex = 1, beta: complex = 1, how: str = "sum",
        zeros: bool = False,
    ) -> SparseArray:  # fmt: skip
        if b._format.family in self.added_to:
            csr = convert(b, COMMON)
            b = self.from_csr_as(csr, self.mirror(a, csr))
        if how not in ("sum", "product") or not isinstance(b, mdia_array):
            return super().combined(a, b, alpha, beta, how, zeros)
        # Matrices with the same symmetry are combined triangle by triangle; complex multiples of Hermitian matrices are
        # not Hermitian.
        hermitian = SYMMETRIES[a._matrix.symmetry] == "hermitian" and (np.imag(alpha) or np.imag(beta))
        if a._matrix.symmetry != b._matrix.symmetry or hermitian:
            a, b = unpacked(a), unpacked(b)
        a, b = self.merged_with(widen(a), widen(b), "sum" if how == "sum" else "element-wise product")
        terms = [(a._matrix, a._op, alpha), (b._matrix, b._op, beta)]
        return a._wrap(a._core.combine(self.name, terms, how, True, dtype_name(a._dtype)))

    def merged_with(self, a: SparseArray, other: Any, what: str) -> tuple[SparseArray, SparseArray]:
        """Return both matrices in their common dtype; raise MemoryError if their union does not fit."""
        dtype = np.result_type(a._dtype, other._dtype)
        if what == "sum" and palettes.are_shared(a, other):  # only the tables and the values without one are added
            return a.astype(dtype, copy=False), other.astype(dtype, copy=False)
        masks = a._matrix.parts()["mask"].nbytes + other._matrix.parts()["mask"].nbytes
        nbytes = (a.nnz + other.nnz) * dtype.itemsize + masks
        nbytes += sum(x.nnz * dtype.itemsize for x in (a, other) if x._matrix.palette)  # copies without it
        if nbytes + 2 * masks > memory.SMALL:
            offsets = np.union1d(self.all_offsets(a), other._format.all_offsets(other))
            nbytes += 4 * blocks_of(a._shape[0]) * offsets.size
            what = f"the {what} of {display.operand(a)} and {display.operand(other)}"
            memory.require_free(nbytes, what, a._backend)
        return a.astype(dtype, copy=False), other.astype(dtype, copy=False)

    # ---- memory -----------------------------------------------------------------------------------
    def nbytes(self, s: Summary, **options: int) -> int:
        blocks, used = blocks_of(s.shape[0]), _stored(s, options)
        stored, count = int(s.fill[used].sum()), int(used.sum())
        masks = 4 * blocks * count + 8 * (blocks + 1) + 8 * count
        return stored * s.itemsize + masks + bool(options.get("symmetry"))

    def result_nbytes(self, s: Summary, **options: int) -> int:
        return palettes.nbytes(s, _stored(s, options), self.nbytes(s, **options), options.get("palette"))

    def smaller_copy_nbytes(self, s: Summary, **options: int) -> int:
        if options.get("palette"):
            return 0  # part of `from_csr_workspace`
        result = self.result_nbytes(s, **options)
        return result if result < self.nbytes(s, **options) else 0

    def what(self, s: Summary) -> tuple[str, str]:
        masks = f"masks of {display.counted(len(s.offsets), 'diagonal')}"
        return f"mdia_array: {masks} of a {s.shape[0]} x {s.shape[1]} matrix", ""

    def from_csr_workspace(self, s: Summary, backend: Backend, **options: int) -> int:
        # A table of the numbers of the diagonals, and on a GPU the start of the values of each block and diagonal.
        starts = 0 if backend is CPU else 4 * blocks_of(s.shape[0]) * len(s.offsets)
        both = s.stored * s.itemsize if options.get("palette") else 0  # with and without the palette
        return table_of_diagonals(s.shape, s.stored) + starts + both

    def to_csr_workspace(self, a: SparseArray, s: Summary) -> int:
        return a._matrix.parts()["mask"].nbytes  # for the start of the values of each block and diagonal


def _stored(s: Summary, options: dict[str, int]) -> np.ndarray:
    """Return which of the occupied diagonals are stored."""
    return (s.fill > 0) & (s.offsets >= 0) if options.get("symmetry") else s.fill > 0


class mdia_array(SparseArray):
    """Masked diagonals: for each block of 32 rows and each diagonal, a mask of the stored elements.

    Parameters
    ----------
    arg : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shape (m, n), or component arrays
        The component arrays are ``(values, offsets, mask, block_indptr[, mirrored, table_indptr, codes])``: offsets of
        shape (D,), ascending; mask of shape (ceil(m / 32), D), uint32, where bit i (0 is the lowest) of ``mask[b, d]``
        represents the element in row ``32 b + i`` and column ``32 b + i + offsets[d]``; block_indptr of shape
        (ceil(m / 32) + 1,), the start of the values of each block; values of shape (nnz,), block by block, and within a
        block diagonal by diagonal and row by row; mirrored of shape (1,), uint8, for symmetric (1) or Hermitian (2)
        storage; table_indptr and codes of a palette, see Notes. Values are shared, the other arrays are copied.
    shape, dtype, copy, device, max_bytes
        As for `dia_array`; `shape` is required with component arrays.
    symmetry : {None, "symmetric", "hermitian"}, optional
        For matrices with this symmetry: only the main diagonal and the diagonals above it are stored. Products read
        the stored triangle twice, without unpacking it.
    palette : bool, optional
        Whether diagonals with at most 256 different values store them once, in a table, and a code of 0, 1, 2, 4 or 8
        bits for each row. True: wherever this needs fewer bytes; by default only in large matrices that become a
        quarter smaller or more, and for diagonals of more than two values only if they have at most a quarter of the
        elements, because looking values up takes time. It changes no bit of a value.

    Raises
    ------
    ValueError, TypeError, MemoryError
        For inconsistent component arrays, elements outside of the matrix, values without the symmetry, and matrices
        that do not fit into memory.

    Notes
    -----
    Bytes: ``nnz itemsize + 4 D ceil(m / 32) + 8 (ceil(m / 32) + 1) + 8 D``. This is less than in `csr_array` if the
    fill of the diagonals is above 1/32 on average, and less than in `hm_array` if it is below 63/64 (float64 values) or
    31/32 (float32).

    With a palette, ``table_indptr`` of shape (D + 1,), int64, gives the table of each diagonal among the values, and is
    equal at both ends for a diagonal without a table. The values of the latter follow all tables. ``codes`` of shape
    (ceil(m / 32), W), uint32, has one word for each bit of the codes of each diagonal: the code of row i of a block is
    in bits w i to w i + w - 1 of the words of its diagonal. Products with vectors and blocks, scalar multiples and
    sums of matrices that have the same structure use the palette, other operations work on a copy without it.

    ``A @ B`` computes the masks of C from those of A and B alone, and a plan stores them. Elements that cancel to zero
    are stored explicitly, as in `csr_array`.

    Examples
    --------
    >>> import diagsparse as ds
    >>> A = ds.mdia_array(ds.gallery.heisenberg(10))
    >>> A.nnz, round(A.fill, 2)
    (5632, 0.31)
    >>> B = ds.mdia_array(A, symmetry="symmetric")
    >>> B.nnz, B.values.size
    (5632, 3328)
    """

    _format = Mdia("mdia")
    symmetry = property(packing.symmetry)

    @property
    def offsets(self) -> np.ndarray:
        """The offsets of the stored diagonals, ascending, int64 (D,), in NumPy; for a view, those of the view."""
        stored = self._backend.host(self._matrix.parts()["offsets"])
        return -stored[::-1] if self._op & 1 else stored

    @property
    def values(self) -> Any:
        """The stored values, not copied; writing to them changes the matrix.

        With a palette, they are a read-only copy with a value for each element, on every device: writing to it raises
        ValueError. An assignment ``A.values = new`` discards the palette; earlier views, such as ``A.T``, keep the old
        values.
        """
        require_plain(self, "values")
        if not self._matrix.palette:
            return self._matrix.stored_values
        values = self._format.without_palette(self)._matrix.values
        return read_only(values, f"values: {palettes.why_not_written(self)}")

    @values.setter
    def values(self, new: Any) -> None:
        require_plain(self, "values")
        if not self._matrix.palette:
            write_values(self, new, "values")
            return
        plain = self._format.without_palette(self)
        write_values(plain, new, "values")
        self._matrix, self._packed = plain._matrix, plain._packed

    @property
    def palette(self) -> bool:
        """Whether the values of diagonals are codes into tables."""
        return bool(self._matrix.palette)

    table_indptr = component(
        "table_indptr", "Start of the table of every diagonal among the values, int64 (D + 1,); None without a palette."
    )
    codes = component("codes", "Codes of each block, uint32 (ceil(m / 32), W); None without a palette.")
    mask = component(
        "mask", "Stored elements of each block and diagonal, from the lowest bit, uint32 (ceil(m / 32), D)."
    )
    block_indptr = component("block_indptr", "Start of the values of every block, int64 (ceil(m / 32) + 1,).")
    mirrored = component("mirrored", "1 for symmetric, 2 for Hermitian storage, uint8 (1,); None for both triangles.")

    @property
    def fill(self) -> float:
        """Fraction of the elements on the diagonals that are stored, 0 to 1; 0 without diagonals."""
        (m, n), k = self._shape, self._format.all_offsets(self)
        positions = int((np.minimum(m, n - k) - np.maximum(0, -k)).sum())
        return self.nnz / positions if positions else 0.0
