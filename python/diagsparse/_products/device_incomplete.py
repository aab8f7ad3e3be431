"""Incomplete factors on a GPU, where elimination changes nothing but pivots, as on grids of 5 and 7 points."""

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
        result = factored(convert(a, "hm"), cholesky, shift)
        return result and (convert(result[0], a.format), result[1])
    if cholesky:
        offsets = sorted({int(k) for k in a._summary().offsets if k <= 0})
        factors = FORMATS[a.format].zeros_on(a.shape, a.dtype, offsets, a._backend)
        row = a._core.incomplete_cholesky(a._matrix, shift, factors._matrix)
    else:
        factors, row = a, a._core.incomplete_lu(a._matrix)
    return None if row == _UNSUITABLE else (factors, row)
