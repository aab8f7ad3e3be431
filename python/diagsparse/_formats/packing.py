"""Packed diagonals: symmetric storage of one triangle, one period of diagonals that repeat, and 16-bit values.

Products with vectors and blocks, elements, rows and slices (`diagonal_reading`) read packed layouts directly.
Everything else (sparse products, sums, other formats) uses `unpacked`, the same matrix with every diagonal stored in
full.
"""

from __future__ import annotations

from math import lcm
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from .._backends.arguments import SYMMETRIES, symmetry_number
from .._backends.backend import CPU
from .._matrix.convert import widen
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary
from .._show.columns import counted


class Packing(NamedTuple):
    """The options of a diagonal layout that save memory."""

    symmetry: str | None = None
    period: int | str | None = None

    @classmethod
    def of(cls, layout: dict[str, Any], who: str) -> Packing:
        """Return the options of a constructor; raise TypeError or ValueError if they are invalid."""
        if unknown := set(layout) - set(cls._fields):
            raise TypeError(f"{who}: no option {', '.join(sorted(unknown))}; expected {', '.join(cls._fields)}")
        packing = cls(**layout)
        symmetry_number(packing.symmetry, f"{who}: symmetry")
        period = packing.period
        if period in (None, "auto"):
            return packing
        if not isinstance(period, Integral) or isinstance(period, bool):
            raise TypeError(f'{who}: period={period!r}: expected an integer, "auto" or None')
        if not 0 < period < 2**31:
            raise ValueError(f"{who}: period={period}: expected 1 to 2^31 - 1 rows")
        return packing._replace(period=int(period))

    def codes(self) -> tuple[int, int]:
        """Return the options for native code."""
        return SYMMETRIES.index(self.symmetry), int(self.period or 0)

    def __str__(self) -> str:
        words = [self.symmetry] if self.symmetry else []
        return ", ".join(words + ([f"period {self.period}"] if self.period else []))


UNPACKED = Packing()


def stored_labels(format: str, s: Summary, packing: Packing) -> np.ndarray:
    """Return the offsets (rows for cdm) that a layout stores; with a symmetry, one of two opposite diagonals."""
    offsets = s.mirrored_offsets if packing.symmetry else s.offsets
    labels = CPU.core.labels_for(format, *s.shape, offsets.tolist(), packing.codes()[0])
    return np.array(labels, np.int64)


def packing_of(a: SparseArray) -> Packing:
    """Return the packing of a matrix."""
    return Packing(a.symmetry, a.period)


def forecast_of_copy(a: SparseArray, s: Summary) -> int:
    """Return the bytes of a copy of this transposed view in its own format; `s` has the item size of its dtype."""
    return a._format.nbytes(s, **packing_of(a)._asdict())


def forecast_as(a: SparseArray, format: Any, s: Summary) -> int:
    """Return the bytes of this matrix in another format; the item size of `s` is that of the widened dtype."""
    if format.family != a._format.family:
        return format.result_nbytes(s)
    return format.nbytes(s.in_items(a._dtype.itemsize), **packing_of(a)._asdict())


def with_same_packing(a: SparseArray, format: Any, max_bytes: int | None) -> SparseArray:
    """Return this view in a diagonal format, with the same symmetry, period and dtype."""
    s = a._summary().in_items(a._dtype.itemsize)
    format.require(s, max_bytes, a._backend, a, **packing_of(a)._asdict())
    wide = widen(a)
    result = format.zeros_on(a.shape, wide.dtype, a._format.occupied(a).tolist(), a._backend, packing_of(a))
    a._core.add_diagonals(1.0, wide._matrix, wide._op, result._matrix, a.symmetry == "hermitian")
    packed: Any = result.astype(a._dtype, copy=False)
    return packed


def symmetry(a: SparseArray) -> str | None:
    """``"symmetric"`` or ``"hermitian"`` if only one triangle is stored, else None."""
    return SYMMETRIES[a._matrix.symmetry]


def period(a: SparseArray) -> int | None:
    """Number of rows after which every diagonal repeats, if only one period is stored, else None."""
    return a._matrix.period or None


def unpacked(a: SparseArray, max_bytes: int | None) -> SparseArray:
    """Return this matrix with every diagonal stored in full, and 16-bit values as float32; itself if not packed."""
    if not a._packed:
        return a
    wide = widen(a)
    if not any(packing_of(wide)):
        return wide
    s = Summary(a.shape, wide.dtype.itemsize, a.nnz, offsets=lambda: wide._format.occupied(wide))
    a._format.require(s, max_bytes, a._backend)
    # The conjugate of -1 + 0i is -1 - 0i, whose square root differs; adding them to zeros makes both -1 + 0i.
    return wide._format.laid_out(wide, a._format, s.offsets.tolist(), wide.dtype, on_zeros=a.symmetry == "hermitian")


def pack(a: SparseArray, packing: Packing, max_bytes: int | None = None) -> SparseArray:
    """Return `a` with this packing; `a` itself if it has it.

    Raises
    ------
    ValueError
        If the values do not allow it; the message names a diagonal.
    """
    if packing == packing_of(a) and not a._op:
        return a
    who, dtype = f"{a.format}_array", a.dtype
    full: Any = a.unpacked(max_bytes=max_bytes)
    full = full.copy() if full._op else full
    if not any(packing):
        return full.astype(dtype, copy=False)
    if packing.period == "auto":
        if (period := common_period(full)) is None:
            raise ValueError(f'{who}: period="auto": the diagonals do not repeat together within {full.shape[0]} rows')
        packing = packing._replace(period=period)
    if packing.symmetry and full.shape[0] != full.shape[1]:
        raise ValueError(f"{who}: symmetric storage is for square matrices, got {full.shape[0]} x {full.shape[1]}")
    stored = full._format.occupied(full)
    offsets = (np.union1d(stored, -stored) if packing.symmetry else stored).tolist()
    result: Any = full._format.zeros_on(full.shape, full.dtype, offsets, full._backend, packing)
    full._core.add_diagonals(1.0, full._matrix, 0, result._matrix, False)
    complete = len(offsets) == len(stored)
    reference = full if complete else full._format.laid_out(full, full._format, offsets, full.dtype)
    wrong = full._core.differing_diagonal(result._matrix, reference._matrix)
    if wrong is not None:
        raise ValueError(f"{who}: diagonal {wrong} does not allow {packing}: {_reason(packing, wrong)}")
    return result.astype(dtype, copy=False)


def _reason(packing: Packing, offset: int) -> str:
    """Return the ways in which a diagonal may contradict a packing."""
    image = {"symmetric": f"diagonal {-offset}", "hermitian": f"the conjugate of diagonal {-offset}"}
    reasons = []
    if packing.symmetry:
        reasons.append(f"it is not {image[packing.symmetry]}")
    if packing.period:
        reasons.append(f"its values do not repeat after {counted(int(packing.period), 'row')}")
    return " or ".join(reasons)


def common_period(full: SparseArray) -> int | None:
    """Return the common period of the diagonals of a matrix that is not packed; None if it repeats in none of them.

    It is a multiple of the periods of those that have one. A diagonal without a period only has to fit into it.
    """
    period = longest = most = 1
    for _, _, values in full._format.diagonals(full):
        own = CPU.core.shortest_period(np.ascontiguousarray(full._backend.host(values)))
        if own < len(values):
            period = lcm(period, own)
        longest, most = max(longest, own), max(most, len(values))
        if max(period, longest) >= max(full.shape[0], 2):
            return None
    period *= -(-longest // period)
    return period if period < max(most, 2) else None
