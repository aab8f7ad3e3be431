"""Conversion from one format to another, after a check of the memory that it needs."""

from __future__ import annotations

import numpy as np

from .._backends import memory
from .._backends.types import is_narrow
from .base import M
from .registry import COMMON, FORMATS, default_format, format_named, relabeled


def unpacked(a: M, max_bytes: int | None = None) -> M:
    """Return `a` unpacked."""
    return a.unpacked(max_bytes=max_bytes) if a._packed else a


def widen(a: M) -> M:
    """Return `a` in the same layout, with 16-bit values as float32."""
    return a.astype(np.float32) if is_narrow(a._dtype) else a


def to_csr(a: M, max_bytes: int | None = None, in_use: int = 0) -> M:
    """Return a matrix that is not packed as csr, on its device; `in_use` bytes count towards the user's limit."""
    return a._format.to_csr(a, max_bytes, in_use)


def convert(a: M, format: str, max_bytes: int | None = None) -> M:
    """Return `a` in another format, or `a` itself if it has this format; raise first if the result does not fit."""
    wanted = format_named(format)
    if max_bytes is not None:
        memory.checked_limit(max_bytes)
    if format == a.format:
        return a
    try:
        wanted.check_shape(a._shape, a._core)
        if a._format.family == wanted.family:  # a packing is preserved
            wanted.check_forecast(a, max_bytes)
            return wanted.from_family(a, max_bytes)
        full = unpacked(a, max_bytes)
        in_use = 0 if full is a else full.nbytes
        wanted.check_forecast(full, max_bytes, in_use)
        csr = to_csr(full, max_bytes, in_use)
        return wanted.from_csr(csr, max_bytes, in_use if csr is full else in_use + csr.nbytes)
    except (MemoryError, ValueError, TypeError) as error:
        raise relabeled(error, format) from None


def in_rows(a: M, who: str) -> M:
    """Return `a` in csr, for reports and advice that count its entries.

    Raise ValueError for more rows or columns than csr can index, and MemoryError if the unpacked matrix does not fit.
    """
    too_large = default_format(a._shape) is not FORMATS[COMMON]
    if too_large or a._packed:
        what, s = f"{who}: A is {a!r}, whose entries are counted in {COMMON}", a._summary()
        needed = FORMATS[COMMON].nbytes(s)
        if too_large:
            room = memory.human(needed)
            raise ValueError(f"{what}: expected fewer than 2^31 rows and columns (and room for {room})")
        memory.require_free(a._format.nbytes(s) + needed, f"{what}: this, and the unpacked matrix,", a._backend)
    return convert(a, COMMON)


def unshared(result: M, a: M, max_bytes: int | None) -> M:
    """Return `result`, or a copy of it if it shares values with `a`."""
    if result is not a and not result._core.overlap(result._matrix.values, a._matrix.values):
        return result
    memory.require(result.nbytes, max_bytes, f"{result.format}_array: the copy", backend=result._backend)
    return result.copy()
