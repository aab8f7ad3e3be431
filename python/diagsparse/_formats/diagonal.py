"""The common part of `dia`, `hm` and `cdm`: everything except the start of each diagonal."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from .._backends import memory
from .._backends.backend import CPU, Backend
from .._backends.types import dtype_name, is_narrow
from .._matrix import elementwise
from .._matrix.convert import convert
from .._matrix.registry import COMMON, FORMATS, default_format
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary, diagonal_length
from .._matrix.workspaces import table_of_diagonals
from .._show import cells, drawing
from .._show.columns import counted, diagonals
from . import diagonal_products, diagonal_reading, diagonal_totals, diagonal_writing, packing, unions
from .diagonal_reading import spans
from .format import Format
from .from_diagonals import FromDiagonals
from .packing import Packing, forecast_as, forecast_of_copy, pack, packing_of, unpacked, with_same_packing


class Diagonals(FromDiagonals):
    """The family of dia, hm and cdm."""

    nearest = "dia"
    family, packs, narrow, batched, own_products, triangles = "diagonals", True, True, True, True, True
    sampled = quaternions = True
    drops_zeros = True

    shares_rows: ClassVar[bool] = False  # whether two diagonals share a row, so that one may be zero
    packing = staticmethod(packing_of)
    unpacked = staticmethod(unpacked)
    forecast_of_copy = staticmethod(forecast_of_copy)
    forecast_as = staticmethod(forecast_as)
    spans = staticmethod(spans)
    element_values = staticmethod(diagonal_reading.element_values)
    diagonals = staticmethod(diagonal_reading.diagonals)
    runs = staticmethod(diagonal_reading.runs)
    apply_conjugation = staticmethod(diagonal_reading.apply_conjugation)
    diagonal_values = staticmethod(diagonal_reading.diagonal_values)
    element = staticmethod(diagonal_reading.element)
    scipy_row = staticmethod(diagonal_reading.scipy_row)
    rows = staticmethod(diagonal_reading.rows)
    window = staticmethod(diagonal_reading.window)
    from_runs = diagonal_reading.from_runs
    total = staticmethod(diagonal_totals.total)
    total_of_diagonal = staticmethod(diagonal_totals.total_of_diagonal)
    frobenius_norm = staticmethod(diagonal_totals.frobenius_norm)
    absolute_sums = staticmethod(diagonal_totals.absolute_sums)
    extreme = staticmethod(diagonal_totals.extreme)
    scaled_by = staticmethod(elementwise.scaled_by)
    united = unions.of_diagonals
    matmul = staticmethod(diagonal_products.matmul)
    planned = diagonal_products.planned
    as_factor = diagonal_products.as_factor
    sum_of_products = diagonal_products.sum_of_products

    def empty(self, shape: tuple[int, int], dtype: np.dtype, backend: Backend = CPU) -> SparseArray:
        return self.zeros_on(shape, dtype, [], backend)

    # ---- conversions and their memory -------------------------------------------------------------
    def for_diagonals(self) -> Format:
        return self

    def from_family(self, a: SparseArray, max_bytes: int | None, held: int = 0) -> SparseArray:
        if a._packed:
            return with_same_packing(a, self, max_bytes)
        self.require(a._summary(), max_bytes, a._backend, a, held)
        return SparseArray._wrap(a._core.convert(a._matrix, a._op, self.name))

    def from_csr_workspace(self, s: Summary, backend: Backend, **options: int) -> int:
        return table_of_diagonals(s.shape, s.stored)  # of the start of each diagonal

    def to_csr_workspace(self, a: SparseArray, s: Summary) -> int:
        return 0

    def workspace(self, s: Summary, a: SparseArray, **options: int) -> int:
        if a._format.family != self.family:
            return super().workspace(s, a, **options)
        return (
            2 * (a.nbytes + a._format.forecast_as(a, self, s)) if is_narrow(a._dtype) else 0
        )  # both of them in float32

    def what(self, s: Summary) -> tuple[str, str]:
        rows, kind = FORMATS[COMMON].nbytes(s.at_most()), default_format(s.shape)
        what = f"{self.who}: {counted(len(s.offsets), 'diagonal')} of a {s.shape[0]} x {s.shape[1]} matrix"
        if kind is not FORMATS[COMMON]:
            return f"{what} (too large for {COMMON}_array, whose extents stay below 2^31)", ""
        nonzeros = f"{counted(s.stored, 'nonzero')} need{'s' * (s.stored == 1)}"
        return what, f"{nonzeros} {memory.human(rows)} as {COMMON}_array" if rows < self.nbytes(s) else ""

    def check_shape(self, shape: tuple[int, int], core: Any) -> None:
        core.check_shape(self.name, *shape)
        core.labels_for(self.name, *shape, [])  # cdm: square only

    def count_stored(self, s: Summary) -> int:
        return sum(diagonal_length(s.shape, k) for k in s.offsets.tolist())

    def entries(self, a: SparseArray) -> int:
        return a.count_nonzero()  # conversions drop zeros

    def occupied(self, a: SparseArray) -> np.ndarray:
        return spans(a)[:, 0]

    def fill(self, a: SparseArray) -> np.ndarray:
        return np.array(self.nonzeros(a), np.int64)

    def row_lengths(self, a: SparseArray) -> np.ndarray:
        memory.require_free(8 * a._shape[0], f"{a.format}_array: the lengths of its rows", a._backend)
        return np.array(a._core.row_lengths(a._matrix, a._op), np.int64).reshape(-1, 2)

    def in_rows(self, a: SparseArray, temporary: int = 0) -> tuple[Any, int]:
        return FORMATS[COMMON].in_rows(convert(a, COMMON), temporary)

    def count_nonzero(self, a: SparseArray) -> int:
        """Count the stored values that are not zero."""
        return sum(self.nonzeros(a))

    def nonzeros(self, a: SparseArray) -> list[int]:
        """Count the nonzero values of each diagonal, in the order of `spans`."""
        stored = a._core.count_nonzero(a._matrix)
        return stored[::-1] if a._op & 1 else stored  # a transpose reverses the order of the offsets

    # ---- conversions ------------------------------------------------------------------------------
    def laid_out(
        self, a: SparseArray, format: Any, offsets: list[int], dtype: np.dtype, on_zeros: bool = False
    ) -> SparseArray:
        """Return these diagonals of this view in the layout of `format`; `on_zeros` adds them to 0, so that -0 is 0."""
        result = format.zeros_on(a.shape, dtype, offsets, a._backend)
        a._core.add_diagonals(1.0, a._matrix, a._op, result._matrix, on_zeros)
        return result

    def materialized(self, a: SparseArray) -> SparseArray:
        if a._packed:
            return with_same_packing(a, self, None)
        return self.laid_out(a, self, self.occupied(a).tolist(), a.dtype)

    def reordered(self, a: SparseArray, csr: SparseArray) -> SparseArray:
        return pack(super().reordered(a, csr), Packing(a.symmetry))

    def write_dense(self, a: SparseArray, dense: np.ndarray, alpha: int, add: bool) -> None:
        a._core.add_to_dense(alpha, a._matrix, a._op, dense, add)

    def format_for_shape(self, shape: tuple[int, int]) -> Format:
        """Return this format, or the nearest one that supports this shape."""
        return self

    # ---- arithmetic -------------------------------------------------------------------------------
    def combined(
        self, a: SparseArray, b: SparseArray, alpha: complex = 1, beta: complex = 1, how: str = "sum",
        zeros: bool = False,
    ) -> SparseArray:  # fmt: skip
        a, b = a._format.unpacked(a, None), b._format.unpacked(b, None)
        if how == "sum" and b._format.family != self.family:
            b = convert(b, self.name)
        if how not in ("sum", "product") or b._format.family != self.family:
            return super().combined(a, b, alpha, beta, how, zeros)
        dtype = a._dtype if a._dtype is b._dtype else np.result_type(a._dtype, b._dtype)
        if how == "sum" and (a._matrix.diagonals + b._matrix.diagonals) * max(a._shape) * dtype.itemsize > memory.SMALL:
            s = Summary(a.shape, dtype.itemsize, a.nnz + b.nnz, offsets=lambda: self.union(a, b))
            self.require(s, None, a._backend)
        terms = [(a._matrix, a._op, alpha), (b._matrix, b._op, beta)]
        return a._wrap(a._core.combine(self.name, terms, how, True, dtype_name(dtype)))

    def union(self, a: SparseArray, other: SparseArray) -> np.ndarray:
        return np.union1d(self.occupied(a), other._format.occupied(other))

    def triangle(self, a: SparseArray, which: str, who: str) -> SparseArray:
        side = 1 if which == "lower" else -1
        offsets = [k for k in self.occupied(a).tolist() if k * side <= 0]
        return self.laid_out(a, FORMATS["hm"], offsets, a.dtype)  # a row of cdm is in both

    # ---- representations --------------------------------------------------------------------------
    def description(self, a: SparseArray) -> str:
        packing = f"{packing_of(a)}, " if a._packed and any(packing_of(a)) else ""
        return f"{diagonals(a.offsets)}, {packing}"

    def draw(self, a: SparseArray, width: float, height: float) -> tuple[str, str]:
        return drawing.diagonal_lines(a, width, height)

    def drawn_diagonals(self, a: SparseArray) -> list[cells.Drawn]:
        return cells.drawn_diagonals(a)

    def draw_cells(self, a: SparseArray) -> list[Any]:
        return cells.of_diagonals(a)

    def draw_layout(self, a: SparseArray, small: bool) -> tuple[str, str]:
        return drawing.diagonal_rows(a, small, "values, one row per diagonal; grey is padding")


class DiagonalArray(SparseArray):
    """A matrix stored by diagonals. Every stored diagonal is one contiguous run of values."""

    symmetry = property(packing.symmetry)
    period = property(packing.period)
    diagonal = diagonal_reading.diagonal
    setdiag = diagonal_writing.setdiag

    # ---- attributes -------------------------------------------------------------------------------
    @property
    def offsets(self) -> np.ndarray:
        """The offsets of the stored diagonals in storage order; for a view, those of the view."""
        stored = self._matrix.parts()["offsets"]
        return -stored if self._op & 1 else stored

    @memory.no_limit
    def eliminate_zeros(self) -> None:
        """Remove diagonals of zeros, in place; zeros on other diagonals are not removed."""
        if self._packed:
            raise NotImplementedError(f"eliminate_zeros: this {self.format}_array is packed; use A.unpacked()")
        stored = self._format.occupied(self).tolist()
        full = [offset for offset, count in zip(stored, self._format.nonzeros(self), strict=True) if count]
        if len(full) < len(stored):
            self._matrix = self._format.laid_out(self, self._format, full, self.dtype)._matrix
            self._op = 0

    @memory.no_limit
    def to_scipy(self, format: str | None = None) -> Any:
        """Return a `scipy.sparse.dia_array`, whose values are a copy aligned by column, or the format named."""
        if self._backend is not CPU:
            return self.to("cpu").to_scipy(format)
        if self._packed:
            return self.unpacked().to_scipy(format)
        if format not in (None, "dia"):
            return convert(self, COMMON).to_scipy().asformat(format)
        lines = spans(self)
        memory.require_free(len(lines) * self.shape[1] * self.dtype.itemsize, "to_scipy: dia_array's data")
        data = np.zeros((len(lines), self.shape[1]), self.dtype)
        for row, (offset, first, values) in zip(data, diagonal_reading.diagonals(self), strict=True):
            row[first + offset : first + offset + len(values)] = diagonal_reading.apply_conjugation(self, values)
        return sp.dia_array((data, lines[:, 0]), shape=self.shape)
