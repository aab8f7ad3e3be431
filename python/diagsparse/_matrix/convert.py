"""From one format to another, after a forecast."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._places import memory
from .registry import COMMON, FORMATS, by_way, first_class, format_class

if TYPE_CHECKING:
    from .base import SparseArray


def unpacked(a: SparseArray, max_bytes: int | None = None) -> SparseArray:
    """Return `a`, unpacked where it is packed."""
    return a.unpacked(max_bytes=max_bytes) if a._packed else a


def convert(a: SparseArray, format: str, max_bytes: int | None = None) -> SparseArray:
    """Return `a` in another format (itself in its own), after a forecast."""
    cls = format_class(format)
    if max_bytes is not None:
        memory.checked_limit(max_bytes)
    if format == a.format:
        return a
    try:
        cls._check_shape(a._shape, a._core)
        if a._family == cls._family:  # in which a packing is kept
            cls._foresee(a, max_bytes)
            return cls._within(a, max_bytes)
        full = unpacked(a, max_bytes)
        held = 0 if full is a else full.nbytes
        cls._foresee(full, max_bytes, held)
        csr = full._to_csr(max_bytes, held)
        return cls._from_csr(csr, max_bytes, held if csr is full else held + csr.nbytes)
    except (MemoryError, ValueError, TypeError) as error:
        raise by_way(error, format) from None


def in_rows(a: SparseArray, who: str) -> SparseArray:
    """Return `a` in csr, whose entries reports and advice count; raise, before it takes memory, where it has none.

    Raises
    ------
    ValueError
        For more rows or columns than csr has indices for.
    MemoryError
        Where a packed matrix does not fit in full.
    """
    what = f"{who}: A is {a!r}, whose entries are counted in {COMMON}"
    if first_class(a._shape) is not FORMATS[COMMON]:
        needed = memory.human(FORMATS[COMMON]._forecast(a._summary()))
        raise ValueError(f"{what}: expected fewer than 2^31 rows and columns (and room for {needed})")
    if a._packed:
        s = a._summary()
        nbytes = type(a)._forecast(s) + FORMATS[COMMON]._forecast(s)
        memory.require_free(nbytes, f"{what}: that, and every element on the way,", a._place)
    return convert(a, COMMON)


def unshared(made: SparseArray, a: SparseArray, max_bytes: int | None) -> SparseArray:
    """Return what was made of `a`, or a copy of it where both share values."""
    if made is not a and not made._core.overlap(made._matrix.values, a._matrix.values):
        return made
    memory.require(made.nbytes, max_bytes, f"{made.format}_array: the copy", place=made._place)
    return made.copy()
