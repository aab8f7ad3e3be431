"""Element-wise comparisons and extremes of two operands.

The result of a comparison is a SciPy array of bools in host memory, because bool is not one of our value types. Two
matrices are compared on their device. A result that is mostly True, as of ``A == B``, is computed as the complement of
the opposite comparison. ``A <= B`` is the complement of ``A > B``, for example, and therefore true where an element is
NaN, as in SciPy.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._arrays import owners
from .._backends import memory
from .._backends.backend import CPU
from . import operands
from .base import CONJUGATED, TRANSPOSED
from .convert import convert, unpacked
from .elementwise_functions import is_scalar
from .operands import require_shape
from .registry import COMMON, FORMATS
from .through_scipy import as_scipy_csr

_COMPRESSED = {"csr": sp.csr_array, "csc": sp.csc_array}  # the classes of results
_OPPOSITE = {
    operator.eq: operator.ne, operator.lt: operator.ge, operator.gt: operator.le,
    operator.ne: operator.eq, operator.ge: operator.lt, operator.le: operator.gt,
}  # fmt: skip
_INDEX_LIMIT = 2**31  # results with fewer entries have 32-bit indices


def equal(a: Any, other: Any) -> Any:
    """Return ``A == other`` as a SciPy sparse array of bools, or a dense array if `other` is dense."""
    return _compared(a, other, operator.eq)


def not_equal(a: Any, other: Any) -> Any:
    """Return ``A != other`` as `equal` does; ``(A != B).nnz == 0`` if all elements are equal."""
    return _compared(a, other, operator.ne)


def less(a: Any, other: Any) -> Any:
    """Return ``A < other`` as `equal` does."""
    return _compared(a, other, operator.lt)


def less_equal(a: Any, other: Any) -> Any:
    """Return ``A <= other`` as `equal` does.

    For a sparse `other` this is the complement of ``A > other``, as in SciPy, so it is True where an element is NaN.
    """
    return _compared(a, other, operator.le)


def greater(a: Any, other: Any) -> Any:
    """Return ``A > other`` as `equal` does."""
    return _compared(a, other, operator.gt)


def greater_equal(a: Any, other: Any) -> Any:
    """Return ``A >= other`` as `equal` does; with NaN as ``A <= other``."""
    return _compared(a, other, operator.ge)


def maximum(a: Any, other: Any) -> Any:
    """Return the element-wise maximum, in this format; `other` is sparse, dense or a number."""
    return _extreme(a, other, "maximum")


def minimum(a: Any, other: Any) -> Any:
    """Return the element-wise minimum; see `maximum`."""
    return _extreme(a, other, "minimum")


@memory.no_limit
def _extreme(a: Any, other: Any, how: str) -> Any:
    if operands.is_sparse(other):
        other = operands.as_operand(other, a._backend)
        operands.check_same_device(how, a, other)
        require_shape(a, other._shape, how)
        return a._format.combined(a, other, how=how)
    result = getattr(as_scipy_csr(a, how), how)(other)
    return a._format.like(a, FORMATS[COMMON].array(result)) if sp.issparse(result) else result


@memory.no_limit
def _compared(a: Any, other: Any, compare: Callable[[Any, Any], Any]) -> Any:
    sparse, scalar = operands.is_sparse(other), is_scalar(other)
    if not (sparse or scalar or operands.is_dense(other)):
        return NotImplemented
    if sparse:
        other = operands.as_operand(other, a._backend)
        operands.check_same_device("comparison", a, other)
        if a._shape != other._shape and compare in (operator.eq, operator.ne):
            return compare is operator.ne  # as in SciPy
        require_shape(a, other._shape, compare.__name__)
    elif a._backend is not CPU or (not scalar and owners.owner_of(other) is not None):
        raise TypeError(
            f"comparison of {a!r}: with numbers and dense arrays, elements are compared on the cpu; "
            'use A.to("cpu"), or compare with a sparse matrix'
        )
    full = not (sparse or scalar) or bool(compare(0, 0 if sparse else other))
    (m, n), hint = a._shape, "; use (A != B).nnz == 0" if sparse and compare is operator.eq else ""
    if full and (nbytes := 18 * m * n) > memory.SMALL:
        memory.require_free(nbytes, f"{compare.__name__}: the result of {m} x {n} elements", hint=hint)
    if not (sparse or scalar):
        return compare(unpacked(a).toarray(), np.asanyarray(other))
    find = _where_matrices if sparse else _where_values
    return _complement(find(a, other, _OPPOSITE[compare])) if full else find(a, other, compare)


def _where_matrices(a: Any, b: Any, compare: Callable[[Any, Any], Any]) -> Any:
    """Return where ``compare(a, b)`` is true for two matrices, and false for 0 and 0."""
    a, b = _entries(a), _entries(b)
    target = FORMATS[a.format if a.format in _COMPRESSED else COMMON]
    if compare is operator.gt:
        a, b = b, a
    return _positions(target.combined(a, b, how="not_equal" if compare is operator.ne else "less")._matrix, target, a)


def _where_values(a: Any, number: Any, compare: Callable[[Any, Any], Any]) -> Any:
    """Return where ``compare(a, number)`` is true, and false for 0."""
    a = unpacked(a)
    if a.format not in _COMPRESSED:
        if a._format.family == "diagonals":
            return _where_diagonals(a, number, compare)
        a = convert(a, COMMON)
    if a._op:
        a = a.copy()
    return _positions(a._core.select(a._matrix, 0, compare(a._matrix.values, number).view(np.uint8)), a._format, a)


def _where_diagonals(a: Any, number: Any, compare: Callable[[Any, Any], Any]) -> Any:
    """Return the same for diagonals, whose values are compared where they are stored."""
    if (nbytes := 6 * a.nnz + 12 * sum(a._shape)) > memory.SMALL:
        memory.require_free(nbytes, f"{compare.__name__}: the positions in {a!r}")
    values = a._matrix.values.conj() if a._op & CONJUGATED else a._matrix.values
    with np.errstate(invalid="ignore") if a.nnz < values.size else nullcontext():  # padding may be NaN
        flags = compare(values, number).view(np.uint8)
    return _positions(a._core.select(a._matrix, a._op & TRANSPOSED, flags), FORMATS[COMMON], a)


def _entries(a: Any) -> Any:
    """Return a matrix in csr, csc or coo."""
    a = unpacked(a)
    return a if a._format.family == FORMATS[COMMON].family else convert(a, COMMON)


def _positions(native: Any, format: Any, a: Any) -> Any:
    """Return the SciPy array that is True at the entries of a native matrix of ones, with the shape of `a`."""
    parts = native.parts()
    if a._backend is not CPU:
        parts = {name: a._backend.host(part) for name, part in parts.items()}
    return _bools(format.name, a._shape, parts["values"].view(bool), parts["indices"].copy(), parts["indptr"])


def _bools(format: str, shape: tuple[int, int], values: np.ndarray, indices: np.ndarray, indptr: np.ndarray) -> Any:
    """Return a SciPy array over these arrays."""
    index = np.int32 if len(indices) < _INDEX_LIMIT else np.int64  # SciPy requires one type for both
    return _COMPRESSED[format]((values, indices.astype(index, copy=False), indptr.astype(index)), shape=shape)


def _complement(a: Any) -> Any:
    """Return the complement of an array of bools that stores only True."""
    lines, length = a.shape if a.format == COMMON else a.shape[::-1]
    counts = np.diff(a.indptr)
    free = np.ones((lines, length), bool)
    free[np.repeat(np.arange(lines), counts), a.indices] = False
    indices = np.broadcast_to(np.arange(length, dtype=np.int32), free.shape)[free]
    indptr = np.zeros(lines + 1, np.int64)
    np.cumsum(length - counts, out=indptr[1:])
    return _bools(a.format, a.shape, np.ones(len(indices), bool), indices, indptr)
