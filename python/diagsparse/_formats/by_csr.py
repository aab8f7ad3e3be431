"""Generic sums, element-wise products, totals, elements and sums of products, computed via csr.

Each function is a method of `Format`, so that its first argument is the format.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._backends.backend import CPU
from .._backends.types import widened
from .._matrix import norms
from .._matrix.base import CONJUGATED
from .._matrix.convert import convert, unpacked
from .._matrix.registry import COMMON, FORMATS
from .._matrix.request import Sum
from .._matrix.sparse_array import SparseArray
from .._matrix.through_scipy import as_scipy_csr
from .._products.plans import MatmulPlan

EXTREMES: dict[str, np.ufunc] = {"max": np.maximum, "min": np.minimum, "nanmax": np.fmax, "nanmin": np.fmin}


def write_dense(format: Any, a: SparseArray, dense: np.ndarray, alpha: int, add: bool) -> None:
    """Write `alpha` times the stored elements to a dense array on the CPU, or add them to it."""
    FORMATS[COMMON].write_dense(format.to_csr(a), dense, alpha, add)


def element_values(format: Any, a: SparseArray) -> list[np.ndarray] | None:
    """Return all stored values, without the conjugation of a view, in arrays that are read at once.

    None if the elements cannot be read there: with padding, with values that represent several elements, and on a GPU.
    """
    if format.padded or a._packed or a._matrix.symmetry or a._matrix.palette or a._backend is not CPU:
        return None
    return [a._matrix.values.ravel()]


def count_nonzero(format: Any, a: SparseArray) -> int:
    """Count the stored values that are not zero."""
    if format.padded or a._matrix.symmetry or a._matrix.palette:  # a stored value may represent two elements
        return FORMATS[COMMON].count_nonzero(format.to_csr(a._wrap(a._matrix)))
    return sum(a._core.count_nonzero(a._matrix))


def combined(
    format: Any, a: SparseArray, b: SparseArray, alpha: complex = 1, beta: complex = 1, how: str = "sum",
    zeros: bool = False,
) -> SparseArray:  # fmt: skip
    """Return ``alpha a`` and ``beta b`` combined element by element, in this format, which is that of `a`.

    `how` is "sum", or with both factors 1 "product", "maximum", "minimum", "not_equal" or "less"; the last two give 1
    where the comparison is true. csr, csc and coo drop elements that are 0, except with `zeros` those that an operand
    stores.
    """
    a = unpacked(a)
    csr = FORMATS[COMMON].combined(format.to_csr(a), convert(unpacked(b), COMMON), alpha, beta, how, zeros)
    return format.like(a, csr)


def scaled_by(format: Any, a: SparseArray, dense: Any, divide: bool = False) -> SparseArray:
    """Return the element-wise product with a dense array, which is broadcast, or the quotient; zeros stay zeros."""
    return format.from_csr_as(FORMATS[COMMON].scaled_by(format.to_csr(a), dense, divide), format.own_layout(a))


def triangle(format: Any, a: SparseArray, which: str, who: str) -> SparseArray:
    """Return the "lower" or "upper" triangle, with the main diagonal."""
    return FORMATS[COMMON].triangle(format.to_csr(a), which, who)


def total(format: Any, a: SparseArray, dtype: np.dtype) -> Any:
    """Return the sum of all elements, accumulated in this type, which has more than 16 bits."""
    return a.sum(axis=1, dtype=dtype).sum()


def total_of_diagonal(format: Any, a: SparseArray, k: int) -> Any:
    """Return the sum of diagonal `k`."""
    return format.diagonal_values(a, k).astype(widened(a._dtype), copy=False).sum()


def frobenius_norm(format: Any, a: SparseArray) -> float:
    """Return the Frobenius norm."""
    values = format.element_values(a)
    return norms.of_matrix(abs(unpacked(a))) if values is None else norms.of_arrays(values)


def absolute_sums(format: Any, a: SparseArray, axis: int) -> Any:
    """Return the sums of absolute values of columns (0) or rows (1); equal sums may be returned once."""
    return abs(a).sum(axis=axis)


def extreme(format: Any, a: Any, which: str, axis: Any, out: Any, **options: Any) -> Any:
    """Return the result of SciPy's method of this name."""
    explicit = options.get("explicit", False)
    whole = axis is None and out is None and options.keys() <= {"explicit"} and 0 not in a._shape
    values = format.element_values(a) if whole else None
    if values is None:
        return getattr(as_scipy_csr(a, which), which)(axis, out, **options)
    if explicit and format.drops_zeros:
        values = [some[some != 0] for some in values]
    if a._op & CONJUGATED:
        values = [some.conj() for some in values]
    zero, ufunc = a._dtype.type(0), EXTREMES[which]
    extremes = [ufunc.reduce(some) for some in values if some.size]
    if not extremes:
        return zero
    extreme = extremes[0] if len(extremes) == 1 else ufunc.reduce(extremes)
    return extreme if explicit or a.nnz == a._shape[0] * a._shape[1] else ufunc(zero, extreme)


def element(format: Any, a: SparseArray, row: int, col: int) -> Any:
    """Return an element as a NumPy scalar."""
    return a._dtype.type(as_scipy_csr(a, "A[...]")[row, col])


def window(format: Any, a: SparseArray, r0: int, r1: int, c0: int, c1: int) -> SparseArray:
    """Return the submatrix ``A[r0:r1, c0:c1]`` in this format."""
    result = format.like(a, FORMATS[COMMON].array(as_scipy_csr(a, "A[...]")[r0:r1, c0:c1]))
    return result.astype(a._dtype, copy=False)


def scipy_row(format: Any, a: SparseArray, row: int) -> Any:
    """Return a row as a SciPy csr of one row."""
    return as_scipy_csr(a, "A[...]")[row : row + 1]


def sum_of_products(format: Any, s: Sum) -> SparseArray:
    """Return a sum of products that the kernels of this format compute, added in `format.sums` if possible."""
    if s.out is not None:
        raise ValueError(f"{s.who}: out= of a sum is for dia, hm and cdm")
    sums = format.sums if s.c is None or s.c._format.family in (format.family, *format.added_to) else COMMON
    results = (MatmulPlan(x, y, format.name, s.kernel, s.max_bytes)(alpha=s.alpha * factor) for x, y, factor in s.pairs)
    total, *others = (convert(product, sums) for product in results)
    for other in others:
        total = total._format.combined(total, other)
    if s.c is not None and s.beta != 0:
        dtype = s.pairs[0].a.dtype
        total = total._format.combined(total, convert(s.c, sums).astype(dtype, copy=False), 1, s.beta)
    return total if s.triangle is None else total._format.triangle(total, s.triangle, s.who)
