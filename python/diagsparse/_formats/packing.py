"""Diagonals in fewer bytes: one triangle of a symmetric matrix, one period of diagonals that repeat, 16-bit values.

The kernels of products with vectors and blocks read such layouts as they are, and so do elements, rows and slices
(`diagonal_reading`). Everything else (sparse products, sums, other formats) takes `unpacked`, the same matrix with
every diagonal stored in full.
"""

from __future__ import annotations

from math import lcm
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._matrix.summary import Summary
from .._places.arguments import SYMMETRIES, symmetry_number
from .._places.backend import CPU
from .._show.display import counted

if TYPE_CHECKING:
    from .._matrix.base import SparseArray
    from .diagonal import DiagonalArray


class Packing(NamedTuple):
    """The options of a diagonal layout that save bytes."""

    symmetry: str | None = None
    period: int | str | None = None

    @classmethod
    def of(cls, layout: dict[str, Any], who: str) -> Packing:
        """Return the options of a call, checked.

        Raises
        ------
        TypeError, ValueError
            For an option that there is not, and for values that mean nothing.
        """
        if unknown := set(layout) - set(cls._fields):
            raise TypeError(f"{who}: no option {', '.join(sorted(unknown))}; there are {', '.join(cls._fields)}")
        packing = cls(**layout)
        symmetry_number(packing.symmetry, f"{who}: symmetry")
        period = packing.period
        if period in (None, "auto"):
            return packing
        if not isinstance(period, Integral) or isinstance(period, bool):
            raise TypeError(f'{who}: period={period!r}: expected a whole number of rows, "auto" or None')
        if not 0 < period < 2**31:
            raise ValueError(f"{who}: period={period}: expected 1 to 2^31 - 1 rows")
        return packing._replace(period=int(period))

    def codes(self) -> tuple[int, int]:
        """Return what the C++ core takes."""
        return SYMMETRIES.index(self.symmetry), int(self.period or 0)

    def __str__(self) -> str:
        words = [self.symmetry] if self.symmetry else []
        return ", ".join(words + ([f"period {self.period}"] if self.period else []))


UNPACKED = Packing()


def stored_labels(format: str, s: Summary, packing: Packing) -> np.ndarray:
    """Return the labels of a layout, offsets or rows of cdm; with a symmetry of one of two opposite diagonals."""
    offsets = np.union1d(s.offsets, -s.offsets) if packing.symmetry else s.offsets
    labels = CPU.core.labels_for(format, *s.shape, offsets.tolist(), packing.codes()[0])
    return np.array(labels, np.int64)


class Packed:
    """What matrices of diagonals know of their packing; mixed into their base class."""

    @property
    def symmetry(self: DiagonalArray) -> str | None:
        """``"symmetric"`` or ``"hermitian"`` where of two opposite diagonals one is stored, else None."""
        return SYMMETRIES[self._matrix.symmetry]

    @property
    def period(self: DiagonalArray) -> int | None:
        """The rows after which every diagonal repeats, where one period is stored, else None."""
        return self._matrix.period or None

    @property
    def _packing(self: Any) -> Packing:
        return Packing(self.symmetry, self.period)

    def _forecast_of_copy(self: DiagonalArray, s: Summary) -> int:
        return type(self)._forecast(s, **self._packing._asdict())

    def _forecast_as(self: DiagonalArray, cls: type[SparseArray], s: Summary) -> int:
        if cls._family != self._family:
            return super()._forecast_as(cls, s)
        return cls._forecast(s.in_items(self._dtype.itemsize), **self._packing._asdict())

    def _packed_alike(self: DiagonalArray, cls: type[DiagonalArray], max_bytes: int | None) -> DiagonalArray:
        """Return this view in a format of diagonals, with the same symmetry, period and type."""
        s = self._summary().in_items(self._dtype.itemsize)
        cls._require(s, max_bytes, self._place, self, **self._packing._asdict())
        wide = self._widened()
        made = cls._zeros_on(self.shape, wide.dtype, self._occupied().tolist(), self._place, self._packing)
        self._core.add_diagonals(1.0, wide._matrix, wide._op, made._matrix, self.symmetry == "hermitian")
        packed: Any = made.astype(self._dtype, copy=False)
        return packed

    def unpacked(self: DiagonalArray, *, max_bytes: int | None = None) -> DiagonalArray:
        """Return this matrix with every diagonal stored in full, in a type that arithmetic is done in.

        Itself where that is so already; float16 and bfloat16 values become float32.

        Raises
        ------
        MemoryError
            With the bytes, when the result exceeds `max_bytes` or the free memory.
        """
        if not self._packed:
            return self
        wide = self._widened()
        if not any(wide._packing):
            return wide
        s = Summary(self.shape, wide.dtype.itemsize, self.nnz, offsets=wide._occupied)
        self._require(s, max_bytes, self._place)
        # The mirror image of -1 + 0i is -1 - 0i, whose root is another one: added to zeros, both are the same number.
        return wide._laid_out(type(self), s.offsets.tolist(), wide.dtype, on_zeros=self.symmetry == "hermitian")


def pack(a: DiagonalArray, packing: Packing, max_bytes: int | None = None) -> DiagonalArray:
    """Return `a` with its diagonals packed so; `a` itself for no packing at all.

    Raises
    ------
    ValueError
        Where the values do not allow it: the message names a diagonal.
    """
    if packing == a._packing and not a._op:
        return a
    who = f"{a.format}_array"
    kept = a.dtype
    full: Any = a.unpacked(max_bytes=max_bytes)
    full = full.copy() if full._op else full
    if not any(packing):
        return full.astype(kept, copy=False)
    if packing.period == "auto":
        if (period := common_period(full)) is None:
            raise ValueError(f'{who}: period="auto": the diagonals do not repeat together within {full.shape[0]} rows')
        packing = packing._replace(period=period)
    if packing.symmetry and full.shape[0] != full.shape[1]:
        raise ValueError(f"{who}: symmetric storage is for square matrices, got {full.shape[0]} x {full.shape[1]}")
    offsets = full._occupied()
    if packing.symmetry:
        offsets = np.union1d(offsets, -offsets)
    made: Any = _laid_out(full, packing, offsets.tolist())
    whole = full if len(offsets) == len(full._spans()) else full._laid_out(type(full), offsets.tolist(), full.dtype)
    wrong = full._core.differing_diagonal(made._matrix, whole._matrix)
    if wrong is not None:
        raise ValueError(f"{who}: diagonal {wrong} does not allow {packing}: {_reason(packing, wrong)}")
    return made.astype(kept, copy=False)


def _laid_out(full: DiagonalArray, packing: Packing, offsets: list[int]) -> DiagonalArray:
    made = type(full)._zeros_on(full.shape, full.dtype, offsets, full._place, packing)
    full._core.add_diagonals(1.0, full._matrix, 0, made._matrix, False)
    return made


def _reason(packing: Packing, offset: int) -> str:
    image = {"symmetric": f"diagonal {-offset}", "hermitian": f"the conjugate of diagonal {-offset}"}
    reasons = []
    if packing.symmetry:
        reasons.append(f"it is not {image[packing.symmetry]}")
    if packing.period:
        reasons.append(f"its values do not repeat after {counted(int(packing.period), 'row')}")
    return " or ".join(reasons)


def common_period(full: DiagonalArray) -> int | None:
    """Return the fewest rows after which all diagonals repeat, of a matrix that is not packed; None: they do not."""
    host = full._place.host
    period = 1
    for _, _, values in full._diagonals():
        period = lcm(period, CPU.core.shortest_period(np.ascontiguousarray(host(values))))
        if period >= max(full.shape[0], 2):
            return None
    return period
