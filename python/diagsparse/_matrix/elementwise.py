"""``+ - * / **``: element by element, on the stored values where that is possible.

Each family does it in its own way: diagonals as whole runs, csr, csc and coo by merges. The result has the left
operand's format and is where that one is. Cancellation leaves explicit zeros stored in the diagonal formats; csr, csc
and coo drop them, as in SciPy.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from .._arrays import owners
from .._arrays.host_dense import as_numpy
from .._places import memory
from .._places.backend import CPU
from .._places.types import VALUE_TYPES, plain_number, sum_dtype, value_dtype, widened
from . import comparisons, operands
from .convert import convert, unpacked
from .each_element import is_scalar
from .registry import COMMON, FORMATS

if TYPE_CHECKING:
    from .base import SparseArray


class Elementwise:
    """Operators of two operands; mixed into every matrix class. ``A += B`` makes a new matrix."""

    @overload
    def __truediv__(self: SparseArray, other: complex) -> SparseArray: ...
    @overload
    def __truediv__(self: SparseArray, other: Any) -> Any: ...
    def __truediv__(self: SparseArray, other: Any) -> Any:
        return self._over_number(other) if is_scalar(other) else self._over(other)

    def _over(self: SparseArray, other: Any) -> Any:
        """Return the quotient with a dense array: zeros stay zeros, whatever divides them. On a GPU by the host."""
        if operands.is_sparse(other):
            return _over_sparse(self, operands.as_operand(other, self._place))
        if not operands.is_dense(other):
            return NotImplemented
        divisor = self._dense_operand(other, "/")
        self._require_broadcast(divisor.shape, "/")
        kept = np.true_divide(1, np.empty(0, owners.dtype_of(divisor))).dtype
        dtype = value_dtype(widened(sum_dtype(self.dtype, kept)), None, f"{self.format}_array")
        if self._place is not CPU:
            if owners.owner_of(divisor) is not None:
                divisor = self._place.host(owners.bring(divisor, dtype, self._place, "/", "the divisor"))
            return (self.to("cpu") / divisor).to(self.device)
        plain = unpacked(self).astype(dtype, copy=False)
        return (plain.copy() if plain._op else plain)._divided_by(divisor)

    def __rtruediv__(self: SparseArray, other: Any) -> Any:
        raise _zeros_divide(type(self).__name__, "x / A.toarray()")

    def __mul__(self: SparseArray, other: Any) -> SparseArray:
        if is_scalar(other):
            return self._scaled(other)
        return self.multiply(other) if operands.is_sparse(other) or operands.is_dense(other) else NotImplemented

    def __rmul__(self: SparseArray, other: Any) -> SparseArray:
        if is_scalar(other):
            return self._scaled(other)
        if isinstance(other, sp.spmatrix):  # of SciPy's matrices, * is the product
            return self.__rmatmul__(other)
        return self * other

    def __eq__(self: SparseArray, other: Any) -> Any:
        """Compare element by element, as SciPy does: a sparse array of SciPy's with bools (dense for a dense one)."""
        return self._compared(other, operator.eq)

    def __ne__(self: SparseArray, other: Any) -> Any:
        """Compare element by element; ``(A != B).nnz == 0`` where all are equal."""
        return self._compared(other, operator.ne)

    __hash__ = None  # type: ignore[assignment]  # as of NumPy's and SciPy's arrays: == is element by element

    def _compared(self: SparseArray, other: Any, compare: Callable[[Any, Any], Any]) -> Any:
        sparse, scalar = operands.is_sparse(other), is_scalar(other)
        if not (sparse or scalar or operands.is_dense(other)):
            return NotImplemented
        if self._place is not CPU or (not scalar and owners.owner_of(other) is not None):
            raise TypeError(
                f"comparison of {self!r}: elements are compared on the cpu; "
                'use A.to("cpu") == B.to("cpu"), or (A - B).count_nonzero() == 0'
            )
        if sparse:
            operand = operands.as_operand(other, self._place)
            operands.together("comparison", self, operand)
            return comparisons.with_sparse(self, operand, compare)
        if scalar:
            return comparisons.with_scalar(self, other, compare)
        return comparisons.with_dense(self, np.asanyarray(other), compare)

    def multiply(self: SparseArray, other: Any) -> SparseArray:
        """Return the element-wise product with a scalar, a sparse matrix, or a dense array.

        A dense array (on a GPU also CuPy's or PyTorch's) broadcasts as in NumPy: shape (n,) or (1, n)
        scales the columns, (m, 1) the rows. The result is sparse, in this matrix's format and on its device.
        """
        if is_scalar(other):
            return self._scaled(other)
        if operands.is_sparse(other):
            sparse = operands.as_operand(other, self._place)
            operands.together("multiply", self, sparse)
            return _multiply_sparse(self, sparse) if sparse._shape == self._shape else _broadcast_sparse(self, sparse)
        if not operands.is_dense(other):
            raise TypeError(f"multiply: got {type(other).__name__}, expected a number, a sparse matrix or an array")
        dense = self._dense_operand(other, "multiply")
        self._require_broadcast(dense.shape, "multiply")
        return unpacked(self)._scaled_by(dense)

    def _require_broadcast(self: SparseArray, shape: Any, who: str) -> None:
        try:
            fits = np.broadcast_shapes(tuple(shape), self.shape) == self.shape
        except ValueError:
            fits = False
        if not fits:
            raise ValueError(f"{who}: shape {tuple(shape)} does not broadcast to {self.shape[0]} x {self.shape[1]}")

    def _dense_operand(self: SparseArray, other: Any, who: str) -> Any:
        """Return an array on a GPU as it is, where this matrix is on one too; anything else as a NumPy array."""
        if owners.owner_of(other) is None:
            return as_numpy(other, who)
        owners.refuse_beside_cpu(other, self._place, who)
        return other

    @overload
    def __add__(self: SparseArray, other: SparseArray) -> SparseArray: ...
    @overload
    def __add__(self: SparseArray, other: Any) -> Any: ...
    def __add__(self: SparseArray, other: Any) -> Any:
        return self._sum(other, 1, 1)

    def __radd__(self: SparseArray, other: Any) -> Any:
        return self._sum(other, 1, 1)

    @overload
    def __sub__(self: SparseArray, other: SparseArray) -> SparseArray: ...
    @overload
    def __sub__(self: SparseArray, other: Any) -> Any: ...
    def __sub__(self: SparseArray, other: Any) -> Any:
        return self._sum(other, 1, -1)

    def __rsub__(self: SparseArray, other: Any) -> Any:
        return self._sum(other, -1, 1)

    def _sum(self: SparseArray, other: Any, alpha: int, beta: int) -> Any:
        """Return ``alpha self + beta other``."""
        if operands.is_sparse(other):
            sparse = operands.as_operand(other, self._place)
            operands.together("+", self, sparse)
            self._require_shape(sparse.shape, "+")
            return _add_sparse(self, sparse, alpha, beta)
        if is_scalar(other):
            if other == 0:
                return self.copy() if alpha == 1 else -self
            raise NotImplementedError(
                f"adding {other!r} to every element would fill the matrix; add a diagonal, "
                "A + s * scipy.sparse.eye_array(n), or use A.toarray()"
            )
        if isinstance(other, LinearOperator):
            return aslinearoperator(self if alpha == 1 else -self) + (other if beta == 1 else -other)
        if not operands.is_dense(other):
            return NotImplemented
        dense = self._dense_operand(other, "+")
        self._require_broadcast(dense.shape, "+")
        if (owner := owners.owner_of(dense)) is None:
            return _with_dense(self, dense, alpha, beta)
        whole = owner.give(self._place, owners.upload(self._place, self.toarray()))  # added in its own library
        return combined(whole, dense, alpha, beta)

    def _require_shape(self: SparseArray, shape: tuple[int, ...], who: str) -> None:
        if tuple(shape) != self.shape:
            words = " x ".join(map(str, shape))
            raise ValueError(f"{who}: A is {self.shape[0]} x {self.shape[1]}, the other operand {words}")


def _over_sparse(a: SparseArray, b: SparseArray) -> Any:
    """Return the quotient of two matrices as SciPy gives it, dense: what neither of them stores is 0 / 0, no number."""
    operands.together("/", a, b)
    a._require_shape(b.shape, "/")
    m, n = a._shape
    if (nbytes := 3 * m * n * np.result_type(a.dtype, b.dtype).itemsize) > memory.SMALL:
        memory.require_free(nbytes, f"/: a dense {m} x {n} quotient, where zeros divide", a._place)
    made = a.to("cpu").to_scipy("csr") / b.to("cpu").to_scipy("csr")
    return made.toarray() if sp.issparse(made) else made


def _zeros_divide(divisor: str, way: str) -> TypeError:
    return TypeError(f"/: the divisor is a sparse {divisor}, and its zeros would divide; write {way}")


def divided(a: SparseArray, dense: Any) -> SparseArray:
    """Return `a`, which is no view and scales its values in place, over a dense array that broadcasts."""
    at_places = a._with(np.ones_like)._scaled_by(dense)  # the divisor wherever something is stored
    return a._with(lambda v: np.where(v == 0, v, v / at_places._matrix.values))


def combined(a: Any, b: Any, alpha: Any, beta: Any) -> Any:
    """Return ``alpha a + beta b``; signs are not multiplied with, for a product with -1 + 0i would spoil infinities."""
    if beta not in (1, -1):
        return (a if alpha == 1 else a * plain_number(alpha)) + b * plain_number(beta)
    return a + b if alpha == beta else a - b if alpha == 1 else b - a


def _with_dense(a: SparseArray, dense: np.ndarray, alpha: int, beta: int) -> np.ndarray:
    """Return ``alpha a + beta dense``, a new array; `dense` broadcasts."""
    dtype, (m, n) = sum_dtype(a.dtype, dense.dtype), a._shape
    memory.require_free(m * n * dtype.itemsize, f"+: a dense {m} x {n} sum")
    dense = np.broadcast_to(dense, a._shape)
    if a._packed or dtype not in VALUE_TYPES:
        return combined(a.toarray().astype(dtype, copy=False), dense, alpha, beta)
    made = np.array(dense, dtype, order="C") if beta == 1 else np.subtract(0, dense, dtype=dtype, order="C")
    (a if a._place is CPU else a.to("cpu"))._onto(made, alpha, True)
    return made


def _multiply_sparse(a: SparseArray, b: SparseArray) -> SparseArray:
    a, b = a._factors(b)
    if a._family == b._family:
        return a._multiplied(b)
    return a._like(convert(a, COMMON)._multiplied(convert(b, COMMON)))


def _broadcast_sparse(a: SparseArray, b: SparseArray) -> SparseArray:
    """Return the element-wise product where one matrix has a row, a column or an element for all of the other."""
    (m, n), (p, q) = a._shape, b._shape
    if not ((m == p or 1 in (m, p)) and (n == q or 1 in (n, q))) or a._place is not CPU:
        a._require_shape(b._shape, "multiply")  # raises
    made = a.to_scipy("csr").multiply(b.to_scipy("csr"))
    return a._like(FORMATS[COMMON](made)) if made.shape == a._shape else FORMATS[COMMON](made)


def _add_sparse(a: SparseArray, b: SparseArray, alpha: int, beta: int) -> SparseArray:
    a, b = a._terms(b)
    return a._added(b, alpha, beta)
