"""Element-wise ``+ - * /``, computed on the stored values where possible.

Two sparse operands are combined by the `combined` of the left one's format: diagonals as contiguous runs, csr, csc and
coo by a merge. The result has the format and the device of the left operand. The diagonal formats store explicit zeros
where elements cancel; csr, csc and coo drop them, as in SciPy.
"""

from __future__ import annotations

from typing import Any, overload

import numpy as np
import scipy.sparse as sp

from .._arrays import device_arrays, host_dense, owners
from .._backends import memory
from .._backends.backend import CPU
from .._backends.types import VALUE_TYPES, sum_dtype, value_dtype, widened
from . import operands
from .base import CONJUGATED, TRANSPOSED, Base, M
from .convert import unpacked
from .elementwise_functions import changed, is_scalar, over_number, scaled
from .operands import dense_operand, require_broadcast, require_shape
from .registry import COMMON, FORMATS


@overload
def divide(a: M, other: complex) -> M: ...
@overload
def divide(a: Any, other: Any) -> Any: ...
@memory.no_limit
def divide(a: Any, other: Any) -> Any:
    """Return ``A / other``; zeros stay zeros, whatever a dense array divides them by. On a GPU, the host divides."""
    if is_scalar(other):
        return over_number(a, other)
    if operands.is_sparse(other):
        return _over_sparse(a, operands.as_operand(other, a._backend))
    if not operands.is_dense(other):
        return NotImplemented
    divisor = dense_operand(a, other, "/")
    require_broadcast(a, divisor.shape, "/")
    reciprocal_dtype = np.true_divide(1, np.empty(0, owners.dtype_of(divisor))).dtype
    dtype = value_dtype(widened(sum_dtype(a.dtype, reciprocal_dtype)), None, f"{a.format}_array")
    if a._backend is not CPU:
        if owners.owner_of(divisor) is not None:
            divisor = a._backend.host(owners.as_device_array(divisor, dtype, a._backend, "/", "the divisor"))
        return (a.to("cpu") / divisor).to(a.device)
    plain = unpacked(a).astype(dtype, copy=False)
    plain = plain.copy() if plain._op else plain
    return plain._format.scaled_by(plain, divisor, divide=True)


def refuse_to_divide(a: Any, other: Any) -> Any:
    """Raise TypeError for ``other / A``."""
    raise TypeError(f"/: the divisor is a sparse {type(a).__name__}, and its zeros would divide; write x / A.toarray()")


def times(a: M, other: Any) -> M:
    """Return ``A * other``."""
    if is_scalar(other):
        return scaled(a, other)
    return a.multiply(other) if operands.is_sparse(other) or operands.is_dense(other) else NotImplemented


def times_on_the_right(a: M, other: Any) -> M:
    """Return ``other * A``."""
    if is_scalar(other):
        return scaled(a, other)
    if isinstance(other, sp.spmatrix):  # for SciPy's matrices, * is the matrix product
        return a.__rmatmul__(other)
    return a * other


@memory.no_limit
def multiply(a: M, other: Any) -> M:
    """Return the element-wise product with a scalar, a sparse matrix, or a dense array.

    A dense array (for a matrix on a GPU also a CuPy or PyTorch array) is broadcast as in NumPy: shape (n,) or (1, n)
    scales the columns, (m, 1) the rows. The result is sparse, in the format and on the device of this matrix.
    """
    if is_scalar(other):
        return scaled(a, other)
    if operands.is_sparse(other):
        sparse = operands.as_operand(other, a._backend)
        operands.check_same_device("multiply", a, sparse)
        if sparse._shape != a._shape:
            return _broadcast_sparse(a, sparse)
        return a._format.combined(a, sparse, how="product")
    if not operands.is_dense(other):
        raise TypeError(f"multiply: got {type(other).__name__}, expected a number, a sparse matrix or an array")
    dense = dense_operand(a, other, "multiply")
    require_broadcast(a, dense.shape, "multiply")
    plain = unpacked(a)
    return plain._format.scaled_by(plain, dense)


@overload
def add(a: M, other: Base) -> M: ...
@overload
def add(a: Any, other: Any) -> Any: ...
def add(a: Any, other: Any) -> Any:
    """Return ``A + other``, and ``other + A``."""
    return sum_with(a, other, 1, 1)


@overload
def subtract(a: M, other: Base) -> M: ...
@overload
def subtract(a: Any, other: Any) -> Any: ...
def subtract(a: Any, other: Any) -> Any:
    """Return ``A - other``."""
    return sum_with(a, other, 1, -1)


def subtract_from(a: Any, other: Any) -> Any:
    """Return ``other - A``."""
    return sum_with(a, other, -1, 1)


@memory.no_limit
def sum_with(a: Any, other: Any, alpha: int, beta: int) -> Any:
    """Return ``alpha a + beta other``."""
    if operands.is_sparse(other):
        sparse = operands.as_operand(other, a._backend)
        operands.check_same_device("+", a, sparse)
        require_shape(a, sparse.shape, "+")
        return a._format.combined(a, sparse, alpha, beta)
    if is_scalar(other):
        if other == 0:
            return a.copy() if alpha == 1 else -a
        raise NotImplementedError(
            f"adding {other!r} to every element would fill the matrix; add a diagonal, "
            "A + s * scipy.sparse.eye_array(n), or use A.toarray()"
        )
    if operands.is_linear_operator(other):
        return operands.as_linear_operator(a if alpha == 1 else -a) + (other if beta == 1 else -other)
    if not operands.is_dense(other):
        return NotImplemented
    dense = dense_operand(a, other, "+")
    require_broadcast(a, dense.shape, "+")
    if (owner := owners.owner_of(dense)) is None:
        return _with_dense(a, dense, alpha, beta)
    dense_a = owner.to_library(a._backend, device_arrays.upload(a._backend, a.toarray()))
    return _signed_sum(dense_a, dense, alpha, beta)  # the library of the array adds


def _over_sparse(a: Any, b: Any) -> Any:
    """Return the quotient of two matrices, dense as in SciPy: elements that neither stores are 0 / 0, which is NaN."""
    operands.check_same_device("/", a, b)
    require_shape(a, b.shape, "/")
    m, n = a._shape
    if (nbytes := 3 * m * n * np.result_type(a.dtype, b.dtype).itemsize) > memory.SMALL:
        memory.require_free(nbytes, f"/: a dense {m} x {n} quotient, where zeros divide", a._backend)
    result = a.to("cpu").to_scipy("csr") / b.to("cpu").to_scipy("csr")
    return result.toarray() if sp.issparse(result) else result


def scaled_by(a: Any, dense: Any, divide: bool = False) -> Any:
    """Return ``a * dense`` or ``a / dense`` for an array that broadcasts, in the format and on the device of `a`.

    A quotient is computed on the CPU, and `a` is not a view then.
    """
    if divide:
        divisors = scaled_by(changed(a, np.ones_like), dense)  # at the stored positions
        return changed(a, lambda v: np.where(v == 0, v, v / divisors._matrix.values))
    dtype = value_dtype(sum_dtype(a.dtype, owners.dtype_of(dense)), None, f"{a.format}_array")
    a = (a.copy() if a._op & TRANSPOSED else a).astype(dtype, copy=False)
    if a._backend is CPU:
        factors = host_dense.broadcast(dense, dtype, a.shape)
    else:
        values = owners.as_device_array(dense, dtype, a._backend, "multiply", "the other operand")
        factors = device_arrays.strided(a._core, values, a.shape, _broadcast_strides(values, a.shape))
    return a._wrap(a._core.scaled_by(a._matrix, bool(a._op & CONJUGATED), factors))


def _broadcast_strides(values: Any, shape: tuple[int, int]) -> tuple[int, ...]:
    """Return the strides with which an array repeats over `shape`, as `numpy.broadcast_to` gives them."""
    extents, strides = (1, 1, *values.shape)[-2:], (0, 0, *values.strides)[-2:]
    return tuple(s if extent == full else 0 for extent, full, s in zip(extents, shape, strides, strict=True))


def _signed_sum(a: Any, b: Any, alpha: int, beta: int) -> Any:
    """Return ``a + b``, ``a - b`` or ``b - a``; a product with a sign would turn complex infinities into NaN."""
    return a + b if alpha == beta else a - b if alpha == 1 else b - a


def _with_dense(a: Any, dense: np.ndarray, alpha: int, beta: int) -> np.ndarray:
    """Return ``alpha a + beta dense`` as a new array; `dense` is broadcast."""
    dtype, (m, n) = sum_dtype(a.dtype, dense.dtype), a._shape
    memory.require_free(m * n * dtype.itemsize, f"+: a dense {m} x {n} sum")
    dense = np.broadcast_to(dense, a._shape)
    if a._packed or dtype not in VALUE_TYPES:
        return _signed_sum(a.toarray().astype(dtype, copy=False), dense, alpha, beta)
    result = np.array(dense, dtype, order="C") if beta == 1 else np.subtract(0, dense, dtype=dtype, order="C")
    host = a if a._backend is CPU else a.to("cpu")
    host._format.write_dense(host, result, alpha, True)
    return result


def _broadcast_sparse(a: Any, b: Any) -> Any:
    """Return the element-wise product with a matrix that is broadcast: of one row, one column or one element."""
    (m, n), (p, q) = a._shape, b._shape
    if not ((m == p or 1 in (m, p)) and (n == q or 1 in (n, q))) or a._backend is not CPU:
        require_shape(a, b._shape, "multiply")  # raises
    result = a.to_scipy("csr").multiply(b.to_scipy("csr"))
    return (
        a._format.like(a, FORMATS[COMMON].array(result)) if result.shape == a._shape else FORMATS[COMMON].array(result)
    )
