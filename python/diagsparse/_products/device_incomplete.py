"""Incomplete factors of diagonals of a grid on a GPU, also if they are stored as csr."""

from __future__ import annotations

from .._matrix.convert import convert
from .._matrix.registry import FORMATS
from .._matrix.sparse_array import SparseArray
from .device_triangles import has_few_diagonals
from .substitution import DIAGONALS

_UNSUITABLE = -2


def factored(a: SparseArray, cholesky: bool, shift: float) -> tuple[SparseArray, int] | None:
    """Return incomplete factors of `a`, and the first row without a pivot or -1; None if the host has to compute them.

    `a` stores diagonals or csr, and its diagonals may be overwritten with both factors. For a Cholesky factor, its main
    diagonal is multiplied by ``1 + shift``.
    """
    if a.format not in DIAGONALS:
        if not has_few_diagonals(a, True) or not (cholesky or has_few_diagonals(a, False)):
            return None
        return _of_entries(a, cholesky, shift)
    if cholesky:
        offsets = sorted({int(k) for k in a._summary().offsets if k <= 0})
        factors = FORMATS[a.format].zeros_on(a.shape, a.dtype, offsets, a._backend)
        row = a._core.incomplete_cholesky(a._matrix, shift, factors._matrix)
    else:
        factors, row = a, a._core.incomplete_lu(a._matrix)
    return None if row == _UNSUITABLE else (factors, row)


def _of_entries(a: SparseArray, cholesky: bool, shift: float) -> tuple[SparseArray, int] | None:
    """Return the result of `factored` for csr; None if elimination of its diagonals leaves the stored entries."""
    diagonals = convert(a, "hm")
    if diagonals.count_nonzero() != a.nnz:  # zeros are stored, which belong to the pattern
        return None
    result = factored(diagonals, cholesky, shift)
    if result is None or result[1] >= 0:
        return None
    factors, row = result
    if factors.multiply(convert(a, "hm")).count_nonzero() != factors.count_nonzero():
        return None
    return convert(factors, a.format), row
