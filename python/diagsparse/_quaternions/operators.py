"""Products, sums and multiples of matrices of quaternions, as methods and operators."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from .._matrix.elementwise_functions import is_scalar
from .._matrix.operands import check_same_device, is_dense, is_sparse, require_sparse
from . import algebra, pairs, vectors
from .arrays import has_quaternions


class Operators:
    """A matrix of quaternions A + B j, as the pair of A and B."""

    __array_ufunc__ = None  # NumPy defers `x @ Q` to us
    ndim = 2

    _pair: pairs.Pair

    @classmethod
    def _wrap(cls, pair: pairs.Pair) -> Self:
        self = object.__new__(cls)
        self._pair = pair
        return self

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self._pair[0].shape

    # ---- products ---------------------------------------------------------------------------------
    def matvec(self, x: Any) -> Any:
        """Return ``Q @ x`` for a vector or a block of vectors of quaternions.

        Parameters
        ----------
        x : array_like, shape (n, 4) or (n, p, 4)
            The components of quaternions, in the last axis. For a matrix on a GPU also an array of CuPy, PyTorch or JAX
            there. On the host it may also be an array of numpy-quaternion of shape (n,) or (n, p).

        Returns
        -------
        array, shape (m, 4) or (m, p, 4)
            An array of the same library as `x`, with NumPy's result type.

        Raises
        ------
        ValueError
            If the shape does not fit.
        TypeError
            If the components are not real numbers, or `x` is on a GPU and Q on the cpu.

        Notes
        -----
        In dia, hm, cdm and mdia, A, B and x are read once and the result is written once. A product with a large matrix
        then takes about half of the time of one with `to_complex`, which has twice the bytes. In other formats, x and
        the result are read several times, which takes as long as is saved if a row has few entries. The result is
        bitwise identical for any number of threads.
        """
        return vectors.times(self._pair, x, "matvec")

    def rmatvec(self, x: Any) -> Any:
        """Return ``Q.H @ x`` without a copy of the values; `x` has shape (m, 4) or (m, p, 4). See `matvec`."""
        return vectors.adjoint_times(self._pair, x, "rmatvec")

    def matmul(self, other: Any, *, format: str | None = None) -> Self:
        """Return the sparse product ``Q @ other``.

        Parameters
        ----------
        other : quaternion_array, or real or complex sparse matrix, shape (n, k)
            The right operand, on the same device.
        format : str, optional
            Format of the result, by default that of a product of complex matrices.

        Raises
        ------
        ValueError
            If the shapes do not fit, or the matrices are on different devices.
        TypeError
            If `other` is not a sparse matrix.
        MemoryError
            If the result does not fit.

        Notes
        -----
        It consists of four products of complex matrices, (A C - B conj(D)) + (A D + B conj(C)) j.
        """
        right = self._operand(other, "matmul")
        if self.shape[1] != right.shape[0]:
            raise ValueError(f"matmul: Q is {size(self)}, the other operand {size(right)}; {self.shape[1]} rows fit")
        return self._wrap(algebra.product(self._pair, right._pair, format))

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Operators) or is_sparse(other):
            return self.matmul(other)
        _refuse_scalar(other)
        return vectors.times(self._pair, other, "matmul") if _is_vector(other) else NotImplemented

    def __rmatmul__(self, other: Any) -> Any:
        if is_sparse(other):
            return self._operand(other, "matmul").matmul(self)
        _refuse_scalar(other)
        return vectors.times_on_the_right(self._pair, other, "matmul") if _is_vector(other) else NotImplemented

    # ---- sums and multiples -----------------------------------------------------------------------
    def _operand(self, other: Any, who: str) -> Self:
        """Return another sparse matrix as one of quaternions, on the same device."""
        if not isinstance(other, Operators):
            matrix = require_sparse(other, who, "the other operand", self._pair[0]._backend)
            check_same_device(who, self._pair[0], matrix, ("Q", "the other operand"))
            other = self._wrap(pairs.of_complex(matrix))
        check_same_device(who, self._pair[0], other._pair[0], ("Q", "the other operand"))
        return other

    def _sum(self, other: Any, sign: int) -> Any:
        if not isinstance(other, Operators) and not is_sparse(other):
            return NotImplemented
        right = self._operand(other, "+" if sign == 1 else "-")
        if self.shape != right.shape:
            raise ValueError(f"{'+' if sign == 1 else '-'}: Q is {size(self)}, the other operand {size(right)}")
        return self._wrap(algebra.combined(self._pair, right._pair, sign))

    def __add__(self, other: Any) -> Any:
        return self._sum(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._sum(other, -1)

    def __rsub__(self, other: Any) -> Any:
        return (-self)._sum(other, 1)

    def __neg__(self) -> Self:
        a, b = self._pair
        return self._wrap((-a, -b))

    def __mul__(self, factor: Any) -> Any:
        """Return Q q for a number or a quaternion of four components; quaternions do not commute."""
        return self._scaled(factor, False)

    def __rmul__(self, factor: Any) -> Any:
        """Return q Q."""
        return self._scaled(factor, True)

    def _scaled(self, factor: Any, left: bool) -> Any:
        if algebra.is_quaternion(factor):
            return self._wrap(algebra.scaled(self._pair, factor, left, "*"))
        if isinstance(factor, (tuple, list, np.ndarray)):
            raise ValueError(f"*: the factor has shape {np.shape(factor)}, expected a number or four components")
        return NotImplemented

    def __truediv__(self, divisor: Any) -> Any:
        """Return Q / s for a real number."""
        if not is_scalar(divisor) or np.iscomplexobj(divisor) or has_quaternions(divisor):
            raise TypeError(f"/: the divisor is {divisor!r}, expected a real number; write Q * q or q * Q for others")
        a, b = self._pair
        return self._wrap((a / divisor, b / divisor))


def size(q: Operators) -> str:
    """Return ``3 x 4``."""
    return f"{q.shape[0]} x {q.shape[1]}"


def _refuse_scalar(x: Any) -> None:
    if is_scalar(x):
        raise ValueError("matmul: a scalar is not a matrix; use Q * s or s * Q to scale Q")


def _is_vector(x: Any) -> bool:
    return has_quaternions(x) or is_dense(x)
