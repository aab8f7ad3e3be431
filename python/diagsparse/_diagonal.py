"""What `dia`, `hm` and `cdm` share: everything but where a diagonal starts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import _memory
from ._array import SparseArray
from ._backend import CPU, Place
from ._conversions import Conversions
from ._elementwise import Elementwise
from ._packing import Packed, Packing, pack
from ._protocols import Protocols
from ._types import value_dtype, widened
from ._views import Views


def diagonal_length(shape: tuple[int, int], offset: int) -> int:
    """Return the length of a diagonal of a matrix of this shape (0 outside it)."""
    m, n = shape
    return max(0, min(m, n - offset) if offset >= 0 else min(m + offset, n))


def integer_labels(labels: Any, who: str, what: str) -> list[int]:
    """Return offsets (or row indices) as a list of ints, or say why not."""
    given = np.atleast_1d(np.asarray(labels))
    if given.size == 0:
        return []
    if given.ndim != 1:
        raise ValueError(f"{who}: {what} has shape {given.shape}, expected a list of integers")
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        raise ValueError(f"{who}: {what} {given.tolist()[:8]} holds values that are not finite")
    if given.dtype.kind not in "iu":
        raise TypeError(f"{who}: {what} is of type {given.dtype}, expected integers")
    if given.min() <= -(2**62) or given.max() >= 2**62:
        raise ValueError(f"{who}: {what} {given.tolist()[:8]} hold values beyond 2^62")
    return given.tolist()


class DiagonalArray(Packed, Elementwise, Conversions, Views, Protocols, SparseArray):
    """A matrix stored by diagonals. Every stored diagonal is one contiguous run of values."""

    _part_options: tuple[str, ...] = ()  # the options of the constructor that say how parts are to be read
    _labels = "offsets"  # how the format names its diagonals
    _structure: tuple[str, ...] = ("offsets",)  # the parts beside the values that a matrix is made of

    # ---- making -----------------------------------------------------------------------------------
    @classmethod
    def _from_parts(cls, parts: dict[str, np.ndarray], shape: tuple[int, int], packing: Packing) -> SparseArray:
        labels = integer_labels(parts[cls._labels], f"{cls.format}_array", cls._labels)
        values = np.require(parts["values"], requirements=["C", "A"])
        return cls._wrap(CPU.core.diagonal_matrix(cls.format, *shape, labels, values, "", 0, *packing.codes()))

    @classmethod
    def _from_tuple(
        cls, arg: tuple[Any, ...], shape: tuple[int, int] | None, dtype: Any, copy: bool, packing: Packing,
        given: dict[str, Any],
    ) -> SparseArray:  # fmt: skip
        """Build from ``(values, offsets)`` in this format's own layout; `given` are the options of the parts."""
        who = f"{cls.format}_array"
        if len(arg) != 2:
            raise ValueError(f"{who}: got {len(arg)} parts, expected (values, {cls._labels})")
        labels = integer_labels(arg[1], who, cls._labels)
        values = np.asarray(arg[0])
        kept = value_dtype(values.dtype, dtype, who, narrow=True)
        values = cls._shape_values(values, labels)
        if shape is None:
            shape = cls._infer_shape(values)
        values = np.array(values, kept, order="C") if copy else np.require(values, kept, ["C", "A"])
        values, labels = cls._by_layout(values, labels, shape, packing, given, CPU)
        return cls._wrap(CPU.core.diagonal_matrix(cls.format, *shape, labels, values, "", 0, *packing.codes()))

    @classmethod
    def _shape_values(cls, values: np.ndarray, labels: list[int]) -> np.ndarray:
        """Bring the values of one diagonal, or of none, to the format's number of dimensions."""
        if values.ndim == 1 and len(labels) == 1:
            return values[np.newaxis, :]
        if values.ndim != 2:
            raise ValueError(
                f"{cls.format}_array: values of shape {values.shape}, expected a row for each of "
                f"{len(labels)} {cls._labels}"
            )
        return values

    @classmethod
    def _by_layout(
        cls, values: Any, labels: list[int], shape: tuple[int, int], packing: Packing, given: dict[str, Any],
        place: Place,
    ) -> tuple[Any, list[int]]:  # fmt: skip
        """Return parts that the user may have given in another layout of the same name."""
        return values, labels

    @classmethod
    def _infer_shape(cls, values: np.ndarray) -> tuple[int, int]:
        raise ValueError(f"{cls.format}_array: (values, {cls._labels}) do not tell the shape; pass shape=(m, n)")

    @classmethod
    def _empty(cls, shape: tuple[int, int], dtype: np.dtype, offsets: list[int], place: Place = CPU) -> DiagonalArray:
        """Return a matrix of zeros that stores these diagonals (ascending)."""
        labels = place.core.labels_for(cls.format, *shape, offsets)
        return cls._wrap(place.core.diagonal_matrix(cls.format, *shape, labels, None, dtype.name, place.index))

    @classmethod
    def _stored_on(cls, shape: tuple[int, int], offsets: np.ndarray) -> int:
        """Count the elements of a matrix that stores these diagonals."""
        return sum(diagonal_length(shape, k) for k in offsets.tolist())

    @classmethod
    def _forecast(cls, shape: tuple[int, int], itemsize: int, offsets: np.ndarray, nnz: int) -> int:
        """Return the bytes of a matrix that stores these diagonals."""
        raise NotImplementedError

    # ---- attributes -------------------------------------------------------------------------------
    @property
    def offsets(self) -> np.ndarray:
        """The offsets of the stored diagonals: as stored; of a view, those of the view."""
        stored = self._matrix.parts()["offsets"]
        return -stored if self._op & 1 else stored

    def _spans(self) -> np.ndarray:
        """Return (offset, first row, length, start in values) of every diagonal, ascending, as this view sees it."""
        return self._matrix.spans(self._op)

    def _diagonals(self) -> Iterator[tuple[int, int, Any]]:
        """Yield (offset, first row, values) of every diagonal; the values as and where stored, not conjugated."""
        if self._packed:
            for offset, row, values in self.unpacked()._diagonals():
                yield offset, row, self._seen(values)
            return
        flat = self._matrix.values.ravel()  # a view
        for offset, row, length, start in self._spans().tolist():
            yield offset, row, flat[start : start + length]

    def _seen(self, values: Any) -> Any:
        return values.conj() if self._op & 2 else values

    def diagonal(self, k: int = 0) -> np.ndarray:
        """Return a copy of diagonal `k` (0: the main one) in NumPy, of its true length; zeros where none is stored."""
        if self._packed:
            return self._alone(k).diagonal(k).astype(self.dtype, copy=False)
        for offset, _, values in self._diagonals():
            if offset == k:
                return self._seen(self._place.host(values.copy()))
        return np.zeros(diagonal_length(self.shape, k), self.dtype)

    def _alone(self, k: int) -> DiagonalArray:
        """Return diagonal `k`, if it is stored, in full and without the others."""
        wide = self.astype(widened(self.dtype), copy=False)
        return wide._laid_out(type(self), [k] if k in wide._spans()[:, 0] else [], wide.dtype)

    def count_nonzero(self) -> int:
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
        spans = self._spans()[:, 0].tolist()
        full = [offset for offset, count in zip(spans, self._nonzeros(), strict=True) if count]
        if len(full) < len(spans):
            self._matrix = self._laid_out(type(self), full, self.dtype)._matrix
            self._op = 0

    # ---- conversions ------------------------------------------------------------------------------
    def _laid_out(
        self, cls: type[DiagonalArray], offsets: list[int], dtype: np.dtype, on_zeros: bool = False
    ) -> DiagonalArray:
        """Return these diagonals of this view in the layout of `cls`; added to zeros, none of them is negative."""
        made = cls._empty(self.shape, dtype, offsets, self._place)
        self._core.add_diagonals(1.0, self._matrix, self._op, made._matrix, on_zeros)
        return made

    def copy(self) -> SparseArray:
        """Return an independent matrix; a view is laid out anew."""
        if not self._op:
            return self._wrap(self._matrix.with_values(self._matrix.values.copy()))
        if self._packed:
            return pack(self, self._packing)
        return self._laid_out(type(self), self._spans()[:, 0].tolist(), self.dtype)

    def _lent(self, format: str | None = None) -> Any:
        """Return this view as a SciPy array to read from."""
        return self.to_scipy(format)

    def to_scipy(self, format: str | None = None) -> Any:
        """Return `scipy.sparse.dia_array` (aligned by column, so a copy), or the class that `format` names."""
        if self._place is not CPU:
            return self.to("cpu").to_scipy(format)
        if self._packed:
            return self.unpacked().to_scipy(format)
        if format not in (None, "dia"):
            return self.asformat("csr").to_scipy().asformat(format)
        spans = self._spans()
        _memory.require_free(len(spans) * self.shape[1] * self.dtype.itemsize, "to_scipy: dia_array's data")
        data = np.zeros((len(spans), self.shape[1]), self.dtype)
        for row, (offset, first, values) in zip(data, self._diagonals(), strict=True):
            row[first + offset : first + offset + len(values)] = self._seen(values)
        return sp.dia_array((data, spans[:, 0]), shape=self.shape)

    def toarray(self, order: str | None = None, out: np.ndarray | None = None) -> np.ndarray:
        """Return a dense NumPy array, shape (m, n); `out` is overwritten where given."""
        dense = self._dense_output(order, out)
        if self._place is not CPU:
            return self.to("cpu").toarray(out=dense)
        for offset, row, values in self._diagonals():
            rows = np.arange(row, row + len(values))
            dense[rows, rows + offset] = self._seen(values)
        return dense
