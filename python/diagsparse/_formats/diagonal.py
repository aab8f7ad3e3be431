"""What `dia`, `hm` and `cdm` share: everything but where a diagonal starts."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from .._matrix import devices, elementwise
from .._matrix.base import SparseArray
from .._matrix.convert import convert
from .._matrix.forecasts import table_of_diagonals
from .._matrix.registry import COMMON, FORMATS, first_class
from .._matrix.summary import Summary, diagonal_length
from .._places import memory
from .._places.backend import CPU, Place
from .._places.types import is_narrow
from .._show import cells, drawing
from .._show.display import counted, diagonals
from .diagonal_products import DiagonalProducts
from .diagonal_reading import DiagonalReading
from .diagonal_totals import DiagonalTotals
from .diagonal_writing import DiagonalWriting
from .made_of_diagonals import MadeOfDiagonals
from .packing import UNPACKED, Packing, pack


class DiagonalArray(DiagonalProducts, DiagonalReading, DiagonalTotals, DiagonalWriting, MadeOfDiagonals):
    """A matrix stored by diagonals. Every stored diagonal is one contiguous run of values."""

    _nearest = "dia"
    _family, _packs, _narrow, _batched, _own_products, _triangles = "diagonals", True, True, True, True, True
    _drops_zeros = True

    @classmethod
    def _empty(cls, shape: tuple[int, int], dtype: np.dtype, place: Place = CPU) -> SparseArray:
        return cls._zeros_on(shape, dtype, [], place)

    @classmethod
    def _zeros_on(
        cls, shape: tuple[int, int], dtype: np.dtype, offsets: list[int], place: Place, packing: Packing = UNPACKED
    ) -> DiagonalArray:
        """Return a matrix of zeros that stores these diagonals (ascending), packed so."""
        symmetry, period = packing.codes()
        labels = place.core.labels_for(cls.format, *shape, offsets, symmetry)
        options = dtype.name, place.index, symmetry, period
        made = cls._wrap(place.core.diagonal_matrix(cls.format, *shape, labels, None, *options))
        return cast(DiagonalArray, made)

    # ---- from and to other formats, and what that takes -------------------------------------------
    @classmethod
    def _for_diagonals(cls) -> type[SparseArray]:
        return cls

    @classmethod
    def _within(cls, a: SparseArray, max_bytes: int | None, held: int = 0) -> SparseArray:
        if a._packed:
            packed: Any = a
            return packed._packed_alike(cls, max_bytes)
        cls._require(a._summary(), max_bytes, a._place, a, held)
        return cls._wrap(a._core.convert(a._matrix, a._op, cls._format))

    @classmethod
    def _from_csr_beside(cls, s: Summary, place: Place, **options: int) -> int:
        return table_of_diagonals(s.shape, s.stored)  # of where each diagonal begins

    def _to_csr_beside(self, s: Summary) -> int:
        return 0

    @classmethod
    def _beside(cls, s: Summary, a: SparseArray, **options: int) -> int:
        if a._family != cls._family:
            return super()._beside(s, a, **options)
        return 2 * (a.nbytes + a._forecast_as(cls, s)) if is_narrow(a._dtype) else 0  # both of them in float32

    @classmethod
    def _words(cls, s: Summary) -> tuple[str, str]:
        rows, kind = FORMATS[COMMON]._forecast(s.at_most()), first_class(s.shape)
        what = f"{cls.format}_array: {counted(len(s.offsets), 'diagonal')} of a {s.shape[0]} x {s.shape[1]} matrix"
        if kind is not FORMATS[COMMON]:
            return f"{what} (too large for {COMMON}_array, whose extents stay below 2^31)", ""
        nonzeros = f"{counted(s.stored, 'nonzero')} take{'s' * (s.stored == 1)}"
        return what, f"{nonzeros} {memory.human(rows)} as {COMMON}_array" if rows < cls._forecast(s) else ""

    @classmethod
    def _check_shape(cls, shape: tuple[int, int], core: Any) -> None:
        core.check_shape(cls.format, *shape)
        core.labels_for(cls.format, *shape, [])  # cdm: square only

    @classmethod
    def _count(cls, s: Summary) -> int:
        return sum(diagonal_length(s.shape, k) for k in s.offsets.tolist())

    def _entries(self) -> int:
        return self.count_nonzero()  # zeros are dropped on the way

    def _occupied(self) -> np.ndarray:
        return self._spans()[:, 0]

    def _fill(self) -> np.ndarray:
        return np.array(self._nonzeros(), np.int64)

    def _row_lengths(self) -> np.ndarray:
        memory.require_free(8 * self._shape[0], f"{self.format}_array: the lengths of its rows", self._place)
        return np.array(self._core.row_lengths(self._matrix, self._op), np.int64).reshape(-1, 2)

    def _leading_entries(self, **limits: int) -> tuple[int, int]:
        return convert(self, COMMON)._leading_entries(**limits)

    def _occupied_blocks(self, size: int) -> int:
        return convert(self, COMMON)._occupied_blocks(size)

    def _places_in_slices(self, height: int, sigma: int) -> int:
        return convert(self, COMMON)._places_in_slices(height, sigma)

    # ---- attributes -------------------------------------------------------------------------------
    @property
    def offsets(self) -> np.ndarray:
        """The offsets of the stored diagonals: as stored; of a view, those of the view."""
        stored = self._matrix.parts()["offsets"]
        return -stored if self._op & 1 else stored

    def _count_nonzero(self) -> int:
        """Count the stored values that are not zero."""
        return sum(self._nonzeros())

    def _nonzeros(self) -> list[int]:
        """Count the values of each diagonal that are not zero, in the order of `_spans`."""
        stored = self._core.count_nonzero(self._matrix)
        return stored[::-1] if self._op & 1 else stored  # transposed, the offsets run the other way

    def eliminate_zeros(self) -> None:
        """Drop, in place, the diagonals that hold nothing but zeros (zeros inside a diagonal stay)."""
        if self._packed:
            raise NotImplementedError(f"eliminate_zeros: of a packed {self.format}_array; A.unpacked() has the method")
        spans = self._occupied().tolist()
        full = [offset for offset, count in zip(spans, self._nonzeros(), strict=True) if count]
        if len(full) < len(spans):
            self._matrix = self._laid_out(type(self), full, self.dtype)._matrix
            self._op = 0

    # ---- conversions ------------------------------------------------------------------------------
    def _laid_out(
        self, cls: type[DiagonalArray], offsets: list[int], dtype: np.dtype, on_zeros: bool = False
    ) -> DiagonalArray:
        """Return these diagonals of this view in the layout of `cls`; added to zeros, none of them is negative."""
        made = cls._zeros_on(self.shape, dtype, offsets, self._place)
        self._core.add_diagonals(1.0, self._matrix, self._op, made._matrix, on_zeros)
        return made

    def _partner(self, other: SparseArray) -> SparseArray:
        return convert(other, self.format)

    def _anew(self) -> SparseArray:
        if self._packed:
            return self._packed_alike(type(self), None)
        return self._laid_out(type(self), self._occupied().tolist(), self.dtype)

    def _reordered(self, csr: SparseArray) -> SparseArray:
        return pack(super()._reordered(csr), Packing(self.symmetry))  # type: ignore[arg-type]

    def to_scipy(self, format: str | None = None) -> Any:
        """Return `scipy.sparse.dia_array` (aligned by column, so a copy), or the class that `format` names."""
        if self._place is not CPU:
            return self.to("cpu").to_scipy(format)
        if self._packed:
            return self.unpacked().to_scipy(format)
        if format not in (None, "dia"):
            return convert(self, COMMON).to_scipy().asformat(format)
        spans = self._spans()
        memory.require_free(len(spans) * self.shape[1] * self.dtype.itemsize, "to_scipy: dia_array's data")
        data = np.zeros((len(spans), self.shape[1]), self.dtype)
        for row, (offset, first, values) in zip(data, self._diagonals(), strict=True):
            row[first + offset : first + offset + len(values)] = self._seen(values)
        return sp.dia_array((data, spans[:, 0]), shape=self.shape)

    def _onto(self, dense: np.ndarray, alpha: int, add: bool) -> None:
        self._core.add_to_dense(alpha, self._matrix, self._op, dense, add)

    @classmethod
    def _that_holds(cls, shape: tuple[int, int]) -> type[DiagonalArray]:
        """Return this format, or the nearest one that takes matrices of this shape."""
        return cls

    # ---- arithmetic -------------------------------------------------------------------------------
    def _added(self, other: SparseArray, alpha: Any, beta: Any) -> SparseArray:
        dtype = self._dtype if self._dtype is other._dtype else np.result_type(self._dtype, other._dtype)
        if (self._matrix.diagonals + other._matrix.diagonals) * max(self._shape) * dtype.itemsize > memory.SMALL:
            s = Summary(self.shape, dtype.itemsize, self.nnz + other.nnz, offsets=lambda: self._union(other))
            self._require(s, None, self._place)
        terms = [(self._matrix, self._op, alpha), (other._matrix, other._op, beta)]
        return self._wrap(self._core.combine(self._format, terms, "sum", True, dtype.name))

    def _union(self, other: SparseArray) -> np.ndarray:
        return np.union1d(self._occupied(), other._occupied())

    def _multiplied(self, other: SparseArray) -> SparseArray:
        dtype = np.result_type(self._dtype, other._dtype)
        terms = [(self._matrix, self._op, 1), (other._matrix, other._op, 1)]
        return self._wrap(self._core.combine(self._format, terms, "product", True, dtype.name))

    def _scaled_by(self, dense: Any) -> SparseArray:
        return devices.scaled(self, dense)

    def _divided_by(self, dense: Any) -> SparseArray:
        return elementwise.divided(self, dense)

    def _triangle(self, which: str, who: str) -> SparseArray:
        side = 1 if which == "lower" else -1
        kept = [k for k in self._occupied().tolist() if k * side <= 0]
        return self._laid_out(FORMATS["hm"], kept, self.dtype)  # type: ignore[arg-type]  # a row of cdm is in both

    # ---- what is shown ----------------------------------------------------------------------------
    def _told(self) -> str:
        packing = f"{self._packing}, " if self._packed and any(self._packing) else ""
        return f"{diagonals(self.offsets)}, {packing}"

    def _drawn(self, width: float, height: float) -> tuple[str, str]:
        return drawing.diagonal_lines(self, width, height)

    def _drawn_diagonals(self) -> list[cells.Drawn]:
        return cells.drawn_diagonals(self)

    def _drawn_cells(self) -> list[Any]:
        return cells.of_diagonals(self)

    def _drawn_layout(self, small: bool) -> tuple[str, str]:
        return drawing.diagonal_rows(self, small, "values, a row per diagonal; grey is padding")
