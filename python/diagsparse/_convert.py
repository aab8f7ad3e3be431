"""From format to format, and the bytes that it takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _memory, _merge
from ._array import FORMATS, SparseArray
from ._backend import CPU, Place
from ._diagonal import DiagonalArray


def format_class(format: str) -> type[SparseArray]:
    """Return the class of a format by its name."""
    if format not in FORMATS:
        raise ValueError(f'no format "{format}"; there are {", ".join(FORMATS)}')
    return FORMATS[format]


def convert(a: SparseArray, format: str, max_bytes: int | None = None) -> SparseArray:
    """Return `a` in another format (itself in its own)."""
    cls = format_class(format)
    if format == a.format:
        return a
    a = a.unpacked(max_bytes=max_bytes) if a._packed else a
    if not issubclass(cls, DiagonalArray):
        if isinstance(a, DiagonalArray):
            require_entries(cls, a, a.dtype, max_bytes, a._place)
            require_entries(FORMATS["csr"], a, a.dtype, None, a._place)  # on the way
            a._core.check_shape(format, *a.shape)
            csr = a._wrap(a._core.csr_from_diagonals(a._matrix, a._op))
            return csr if format == "csr" else convert(csr, format, max_bytes)
        require_entries(cls, a, a.dtype, max_bytes, a._place)
        return cls._from_scipy(a.to_scipy(), None, False) if a._place is CPU else _merge.converted(a, format)
    if isinstance(a, DiagonalArray):
        offsets = a._spans()[:, 0]
        require_layout(cls, a.shape, a.dtype.itemsize, offsets, a.nnz, max_bytes, a._place)
        return a._laid_out(cls, offsets.tolist(), a.dtype)
    return from_csr(convert(a, "csr"), cls, max_bytes)


def from_csr(csr: SparseArray, cls: type[DiagonalArray], max_bytes: int | None) -> SparseArray:
    """Return a csr matrix in a diagonal format, with the diagonals on which it has entries."""
    if csr._op:
        csr = csr.copy()
    offsets = csr._core.occupied_diagonals(csr._matrix)
    require_layout(cls, csr.shape, csr.dtype.itemsize, np.array(offsets, np.int64), csr.nnz, max_bytes, csr._place)
    return cls._wrap(csr._core.diagonals_from_csr(csr._matrix, cls.format, offsets))


def unshared(made: SparseArray, a: SparseArray) -> SparseArray:
    """Return what was made of `a`, or a copy of it where both share values."""
    return made.copy() if made._core.overlap(made._matrix.values, a._matrix.values) else made


def entries(a: Any) -> int:
    """Count what a matrix stores entry by entry: of diagonals what is not zero, for zeros are dropped on the way."""
    return a.count_nonzero() if isinstance(a, DiagonalArray) else a.nnz


def require_entries(cls: type[SparseArray], a: Any, dtype: np.dtype, max_bytes: int | None, place: Place) -> None:
    """Raise when the entries of `a`, in csr, csc or coo, exceed the limit."""
    if _memory.fits(cls._forecast(a.shape, dtype.itemsize, None, a.nnz), max_bytes, place):
        return
    nnz = entries(a)  # counted only where it matters: of diagonals it takes a pass over them
    what = f"{cls.format}_array: {nnz} entries of a {a.shape[0]} x {a.shape[1]} matrix"
    _memory.require(cls._forecast(a.shape, dtype.itemsize, None, nnz), max_bytes, what, place=place)


def require_layout(
    cls: type[DiagonalArray],
    shape: tuple[int, int],
    itemsize: int,
    offsets: np.ndarray,
    nnz: int,
    max_bytes: int | None,
    place: Place,
) -> None:
    """Raise when this format cannot hold the shape, or its bytes exceed the limit."""
    place.core.labels_for(cls.format, *shape, [])  # cdm: square only
    csr = FORMATS["csr"]._forecast(shape, itemsize, offsets, nnz)
    _memory.require(
        cls._forecast(shape, itemsize, offsets, nnz),
        max_bytes,
        f"{cls.format}_array: {len(offsets)} diagonals of a {shape[0]} x {shape[1]} matrix",
        f"{nnz} nonzeros take {_memory.human(csr)} as csr_array",
        place,
    )
