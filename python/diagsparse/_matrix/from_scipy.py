"""From SciPy's arrays to our matrices, and what that takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._places.backend import CPU, Place
from .._places.types import value_dtype
from .base import SparseArray
from .convert import convert
from .gate import private
from .summary import Summary, inside


def from_scipy(
    cls: type[SparseArray], a: Any, dtype: Any, copy: bool, max_bytes: int | None, target: Place
) -> SparseArray:
    """Build on the CPU, but lay out diagonals from csr at `target`: there it is done faster, and less is copied."""
    kept = value_dtype(a.dtype, dtype, f"{cls.format}_array")
    if a.format == "dia":  # which SciPy would convert with offsets of 32 bits
        made = _from_diagonals(cls._for_diagonals(), private(a, f"{cls.format}_array")[0], kept, max_bytes)
        return convert(made, cls.format, max_bytes)
    return cls._from_scipy(a, dtype, copy, max_bytes, target)


def peak_nbytes(cls: type[SparseArray], a: Any, ours: SparseArray) -> int:
    """Return the bytes that this needs on the CPU for an array of which `operands.as_sparse` made `ours`."""
    s = ours._summary()
    if a.format != "dia":
        return cls._peak_from_scipy(a, ours, s)
    first = cls._for_diagonals()
    return max(first._forecast(s), 0 if first is cls else cls._forecast(s) + cls._beside(s, ours))


def _from_diagonals(cls: type[SparseArray], a: Any, dtype: np.dtype, max_bytes: int | None) -> SparseArray:
    """Realign SciPy's diagonals (``data[d, j] = A[j - offsets[d], j]``)."""
    offsets = [int(k) for k in a.offsets]
    cls._require(Summary(a.shape, dtype.itemsize, a.nnz, offsets=lambda: inside(a.shape, offsets)), max_bytes, CPU)
    data = np.require(a.data, dtype, ["C", "A"])
    return cls._wrap(CPU.core.realigned(cls.format, *a.shape, data, offsets))
