"""Hollow diagonals: each with a mask of the elements that are stored."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from .._matrix.base import SparseArray
from .._matrix.convert import convert, unpacked
from .._matrix.forecasts import table_of_diagonals
from .._matrix.registry import COMMON, FORMATS
from .._matrix.request import Request
from .._matrix.summary import Summary
from .._places import memory
from .._places.arguments import SYMMETRIES, symmetry_number
from .._places.backend import CPU, Place
from .._show import cells, display
from .format import Format
from .mirrored import Mirrored
from .own_products import OwnProducts

_ROWS = 32  # of a block
_LEAST_FILL = 1 / 16  # of diagonals, from which products are hollow too: the geometric mean of both operands
_PAIRED = 1 << 22  # pairs of diagonals of a product whose sums are counted before it is planned


class mdia_array(Mirrored, OwnProducts, Format):
    """Hollow diagonals: rows in blocks of 32, and for each block and diagonal a mask of what is stored there.

    Parameters
    ----------
    arg : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shape (m, n), or the parts
        The parts are ``(values, offsets, mask, block_indptr)``: offsets of shape (D,), ascending; mask of shape
        (ceil(m / 32), D), uint32, of which bit i (the lowest is 0) of ``mask[b, d]`` stands for the element in row
        ``32 b + i`` and column ``32 b + i + offsets[d]``; block_indptr of shape (ceil(m / 32) + 1,), where the values
        of each block begin; values of shape (nnz,), block after block, and within one diagonal by diagonal and row by
        row. mirrored, uint8 of shape (1,), comes last where one half is stored: 1 for symmetric, 2 for Hermitian
        storage. Values are shared, the rest is copied.
    shape : tuple, optional
        Needed with the parts.
    dtype : dtype, optional
        float32, float64, complex64 or complex128. By default integers and bools become float64, with a
        `ConversionWarning`. float16 and bfloat16 values are stored so, and widened in products.
    copy, device, max_bytes
        As for `csr_array`.
    symmetry : {None, "symmetric", "hermitian"}, optional
        Of a matrix that is so: only the main diagonal and those above it are stored. Products read the other half where
        it is not; they never unpack it.

    Raises
    ------
    ValueError, TypeError, MemoryError
        For parts that do not fit each other, elements outside of the matrix, values without the symmetry, more bytes
        than there are.

    Notes
    -----
    Bytes: ``nnz itemsize + 4 D ceil(m / 32) + 8 (ceil(m / 32) + 1) + 8 D``. That is less than `csr_array` takes where
    diagonals are filled to more than 1/32 on average, and less than `hm_array` takes where they are filled to less than
    63/64 (of float64 values; 31/32 of float32).

    ``A @ B`` finds C's masks from those of A and B before it reads a value, and a plan keeps them. Elements that cancel
    to zero stay stored, as they do in `csr_array`.

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

    format = "mdia"
    _narrow = True
    _structure = ("offsets", "mask", "block_indptr")
    _optional = ("mirrored",)
    _two_dimensional = ("mask",)
    _options = {"symmetry": symmetry_number}
    _halves = True
    _multiplies = {"diagonals": "mdia"}
    _sums, _added_to = "mdia", ("diagonals",)

    @property
    def offsets(self) -> np.ndarray:
        """The offsets of the stored diagonals, ascending, int64 (D,) in NumPy; of a view, those of the view."""
        stored = self._place.host(self._matrix.parts()["offsets"])
        return -stored[::-1] if self._op & 1 else stored

    @property
    def mask(self) -> Any:
        """Rows of every block that every diagonal has, from the lowest bit, uint32 (ceil(m / 32), D), zero-copy."""
        return self.parts()["mask"]

    @property
    def block_indptr(self) -> Any:
        """Where the values of every block begin, int64 (ceil(m / 32) + 1,), zero-copy."""
        return self.parts()["block_indptr"]

    @property
    def mirrored(self) -> Any:
        """1 for symmetric, 2 for Hermitian storage, uint8 (1,), zero-copy; None where both halves are stored."""
        return self.parts().get("mirrored")

    @property
    def fill(self) -> float:
        """How much of the diagonals is stored, 0 to 1; 0 without diagonals."""
        (m, n), k = self._shape, self._both_halves()
        places = int((np.minimum(m, n - k) - np.maximum(0, -k)).sum())
        return self.nnz / places if places else 0.0

    def _drawn_diagonals(self) -> list[cells.Drawn]:
        stored = set(self.offsets.tolist())
        both = sorted(self._both_halves().tolist())
        return [cells.Drawn(k, cells.color_of(d), k not in stored) for d, k in enumerate(both)]

    def _told(self) -> str:
        return f"{display.diagonals(self.offsets)}, " + (f"{self.symmetry}, " if self.symmetry else "")

    @classmethod
    def _index_type(cls, name: str, shape: tuple[int, int], given: dict[str, Any]) -> np.dtype:
        return np.dtype({"mask": np.uint32, "mirrored": np.uint8}.get(name, np.int64))

    def _again(self, csr: SparseArray) -> SparseArray:
        return self._laid_out_as(csr, self._layout() | self._mirror(csr)).astype(self._dtype, copy=False)

    # ---- sums and element-wise products -----------------------------------------------------------
    def _terms(self, other: SparseArray) -> tuple[SparseArray, SparseArray]:
        if other._family in self._added_to:
            csr = convert(other, COMMON)
            other = self._laid_out_as(csr, self._mirror(csr))
        if isinstance(other, mdia_array) and self._matrix.symmetry == other._matrix.symmetry:
            return self._widened(), other._widened()  # halves are added as they are
        return super()._terms(other)

    def _added(self, other: SparseArray, alpha: Any, beta: Any) -> SparseArray:
        if not isinstance(other, mdia_array):
            return super()._added(other, alpha, beta)
        hermitian = self._matrix.symmetry == other._matrix.symmetry == SYMMETRIES.index("hermitian")
        if hermitian and (np.imag(alpha) or np.imag(beta)):  # a complex multiple of a Hermitian matrix is none
            return unpacked(self)._added(unpacked(other), alpha, beta)
        a, b = self._merged_with(other, "sum")
        terms = [(a._matrix, a._op, alpha), (b._matrix, b._op, beta)]
        return self._wrap(self._core.combine(self._format, terms, "sum", True, a._dtype.name))

    def _factors(self, other: SparseArray) -> tuple[SparseArray, SparseArray]:
        return self._terms(other)

    def _multiplied(self, other: SparseArray) -> SparseArray:
        assert isinstance(other, mdia_array)
        a, b = self._merged_with(other, "element-wise product")
        terms = [(a._matrix, a._op, 1), (b._matrix, b._op, 1)]
        return self._wrap(self._core.combine(self._format, terms, "product", True, a._dtype.name))

    def _merged_with(self, other: Any, what: str) -> tuple[SparseArray, SparseArray]:
        """Return both in one type; `MemoryError` where the masks of both and as many values do not fit."""
        dtype = np.result_type(self._dtype, other._dtype)
        masks = self._matrix.parts()["mask"].nbytes + other._matrix.parts()["mask"].nbytes
        nbytes = (self._matrix.values.size + other._matrix.values.size) * dtype.itemsize + masks  # places, as many
        if nbytes + 2 * masks > memory.SMALL:
            nbytes += 4 * -(-self._shape[0] // _ROWS) * np.union1d(self._both_halves(), other._both_halves()).size
            what = f"the {what} of {display.operand(self)} and {display.operand(other)}"
            memory.require_free(nbytes, what, self._place)
        return self.astype(dtype, copy=False), other.astype(dtype, copy=False)

    # ---- products ---------------------------------------------------------------------------------
    def _as_operand(self) -> SparseArray:
        return self._widened()  # a half is read as it is

    def _for_product(self, other: SparseArray, repeated: bool, named: bool) -> type[SparseArray]:
        # A product looks at masks of 32 places, however few are stored. AMD EPYC, two threads, random places on
        # diagonals of n = 10^5, ms of a product (of a plan's) and by csr: 10 diagonals filled to 0.25 3.5 (2.6), 7.1
        # (3.0); to 0.06 2.1 (1.3), 1.9 (0.5). 40 of them to 0.25 50 (38), 52 (21); to 0.06 27 (16), 10 (5).
        # Hamiltonians of 16 spins, filled to 0.28 in whole blocks: 9.9 (5.2), 16 (13).
        assert isinstance(other, mdia_array)
        return type(self) if named or self.fill * other.fill >= _LEAST_FILL**2 else FORMATS[COMMON]

    @classmethod
    def _symmetry_of_product(cls, a: SparseArray, b: SparseArray) -> int:
        # Of a matrix S that is its own transpose S S is so too, and S conj(S) is its own adjoint; of one that is its
        # own adjoint it is the other way round.
        of_a = a._matrix.symmetry
        if a._matrix is not b._matrix or not of_a:
            return 0
        symmetric, hermitian = SYMMETRIES.index("symmetric"), SYMMETRIES.index("hermitian")
        return of_a if a._op == b._op else symmetric + hermitian - of_a

    @classmethod
    def _as_factor(cls, a: SparseArray, planned: SparseArray, packed: bool) -> SparseArray:
        return convert(a, cls._format)

    @classmethod
    def _planned(cls, a: SparseArray, b: SparseArray, request: Request) -> tuple[Any, SparseArray, SparseArray]:
        left, right = (cast(mdia_array, convert(operand, cls._format)) for operand in (a, b))
        if (pairs := left._diagonal_count() * right._diagonal_count()) > 1 << 12:
            sums = np.unique(np.add.outer(left._both_halves(), right._both_halves())) if pairs < _PAIRED else None
            most = a.shape[0] + b.shape[1] - 1
            count = min(pairs, most) if sums is None else int(((-a.shape[0] < sums) & (sums < b.shape[1])).sum())
            masks = f"masks of {display.counted(count, 'diagonal')}"
            what = f"matmul: {display.operand(a)} times {display.operand(b)}: {masks}"
            nbytes = 4 * -(-a.shape[0] // _ROWS) * count + (12 if left._place is CPU else 44) * pairs
            memory.require(nbytes, request.max_bytes, what, f"{COMMON}_array plans by rows", left._place)
        return super()._planned(left, right, request)

    def _diagonal_count(self) -> int:
        count = self._matrix.parts()["offsets"].size
        return 2 * count if self._matrix.symmetry else count

    def _both_halves(self) -> np.ndarray:
        """Return the offsets of all diagonals, of those that mirror others too."""
        k = self.offsets
        return np.union1d(k, -k) if self._matrix.symmetry else k

    # ---- what that takes --------------------------------------------------------------------------
    @classmethod
    def _forecast(cls, s: Summary, **options: int) -> int:
        blocks, used = -(-s.shape[0] // _ROWS), s.fill > 0
        if options.get("symmetry"):
            used &= s.offsets >= 0
        stored, count = int(s.fill[used].sum()), int(used.sum())
        masks = 4 * blocks * count + 8 * (blocks + 1) + 8 * count
        return stored * s.itemsize + masks + bool(options.get("symmetry"))

    @classmethod
    def _words(cls, s: Summary) -> tuple[str, str]:
        masks = f"masks of {display.counted(len(s.offsets), 'diagonal')}"
        return f"mdia_array: {masks} of a {s.shape[0]} x {s.shape[1]} matrix", ""

    @classmethod
    def _from_csr_beside(cls, s: Summary, place: Place, **options: int) -> int:
        # Of the number of each diagonal, and on a GPU where the values of each block and diagonal begin.
        places = 0 if place is CPU else 4 * -(-s.shape[0] // _ROWS) * len(s.offsets)
        return table_of_diagonals(s.shape, s.stored) + places

    def _to_csr_beside(self, s: Summary) -> int:
        return self._matrix.parts()["mask"].nbytes  # where the values of each block and diagonal begin
