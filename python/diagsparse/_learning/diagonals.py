"""What matrices of diagonals do in JAX and in PyTorch: products, sums and conversions, in terms of a few hooks."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np

from .._arrays import owners
from .._backends.backend import cuda_available
from .._formats.dia import dia_array
from .._matrix.operands import is_sparse, require_matrix
from . import layout, terms
from .terms import Terms


class AnyDiagonals(ABC):
    """The common part of the classes for JAX and PyTorch."""

    values: Any  #: the diagonals, of shape (D, m)
    offsets: tuple[int, ...]  #: their offsets
    shape: tuple[int, int]  #: number of rows and of columns
    ndim = 2
    __array_ufunc__ = None  # NumPy's arrays leave products to this class

    def __init__(self, values: Any, offsets: Iterable[int], shape: tuple[int, int]) -> None:
        self.shape = layout.checked_shape(shape, "Diagonals")
        self.offsets = layout.checked_offsets(offsets, self.shape, "Diagonals")
        self.values = self._array(values)
        layout.check_values(self.values.shape, self.offsets, self.shape, "Diagonals")
        if not self._is_inexact(self.values):
            raise TypeError(f"Diagonals: got {self.values.dtype} values, expected floats or complex numbers")

    @classmethod
    def _of(cls, values: Any, offsets: tuple[int, ...], shape: tuple[int, int]) -> Self:
        """Return a matrix without checks."""
        self = object.__new__(cls)
        self.values, self.offsets, self.shape = values, offsets, shape
        return self

    # ---- what depends on the library -----------------------------------------------------------------------------
    @abstractmethod
    def _array(self, x: Any) -> Any:
        """Return an array_like as an array of the library, on the device of the values if there are any."""

    @staticmethod
    @abstractmethod
    def _is_inexact(array: Any) -> bool:
        """Whether elements are floats or complex numbers."""

    @staticmethod
    @abstractmethod
    def _evaluate(terms: Terms, u: Any, v: Any) -> Any:
        """Return the result of a list of terms, for arrays of shape ``(*batch, rows, elements)``."""

    @staticmethod
    @abstractmethod
    def _applied_to(some: Terms, values: Any, x: Any, by_rows: bool) -> Any:
        """Return `applied_to` for `_evaluate`."""

    @abstractmethod
    def _constant(self, shape: tuple[int, ...], number: int) -> Any:
        """Return an array that is filled with a number, in the dtype and on the device of the values."""

    @abstractmethod
    def _integers(self, numbers: np.ndarray) -> Any:
        """Return integers as an array of the library, on the device of the values."""

    @abstractmethod
    def _rows(self, rows: Any, columns: Any = slice(None)) -> Any:
        """Return ``values[rows, columns]``, with zeros in the row after the last."""

    @abstractmethod
    def conj(self) -> Self:
        """Return the complex conjugate."""

    # ---- attributes ----------------------------------------------------------------------------------------------
    @property
    def dtype(self) -> Any:
        """Data type of the values."""
        return self.values.dtype

    def __repr__(self) -> str:
        values = getattr(self.values, "aval", self.values)
        dtype = str(getattr(values, "dtype", type(values).__name__)).removeprefix("torch.")
        return f"Diagonals({self.shape[0]} x {self.shape[1]} {dtype}, offsets={self.offsets})"

    # ---- products ------------------------------------------------------------------------------------------------
    def __matmul__(self, other: Any) -> Any:
        """Return the product with a vector, a block, or another `Diagonals`."""
        return self._times(other) if isinstance(other, type(self)) else self._applied(other)

    def __rmatmul__(self, other: Any) -> Any:
        """Return ``x @ A`` for a vector or a block."""
        return self._applied(other, transposed=True)

    def _applied(self, x: Any, transposed: bool = False) -> Any:
        """Return ``A @ x`` or ``x @ A`` for a vector or a block."""
        self._require_one()
        if is_sparse(x):
            raise TypeError(f"matmul: got {type(x).__name__}; convert it with from_array of {self._module()}")
        x = self._array(x)
        m, n = self.shape
        needed, axis = (m, -1) if transposed else (n, 0)
        if x.ndim not in (1, 2):
            raise ValueError(f"matmul: x has shape {tuple(x.shape)}, with {x.ndim} dimensions, expected 1 or 2")
        if x.shape[axis] != needed:
            what = f"x @ A needs {needed} columns" if transposed else f"A @ x needs {needed} rows"
            raise ValueError(f"matmul: x has shape {tuple(x.shape)}, but A is {m} x {n} and {what}")
        some = terms.product(self.offsets, self.shape)
        return self._applied_to(some.exchanged(0, 2) if transposed else some, self.values, x, transposed)

    def _times(self, other: Self) -> Self:
        """Return the product of two matrices, which has the diagonals of all sums of their offsets."""
        self._require_one()
        other._require_one()
        (rows, middle), (given, columns) = self.shape, other.shape
        if middle != given:
            raise ValueError(f"matmul: A is {rows} x {middle}, but B is {given} x {columns}")
        some = terms.matmul(self.offsets, other.offsets, (rows, middle, columns))
        offsets = layout.of_product(self.offsets, other.offsets, rows, columns)
        return self._of(self._evaluate(some, self.values, other.values), offsets, (rows, columns))

    def _require_one(self) -> None:
        """Raise ValueError for the stacked values of several matrices, as `jax.vmap` returns them."""
        expected = len(self.offsets), self.shape[0]
        if tuple(self.values.shape) != expected:
            raise ValueError(
                f"values have shape {tuple(self.values.shape)}, expected {expected}; stacked matrices need vmap"
            )

    def _module(self) -> str:
        return "diagsparse." + type(self).__module__.rpartition(".")[2].partition("_")[0]

    # ---- views ---------------------------------------------------------------------------------------------------
    @property
    def T(self) -> Self:
        """The transposed matrix. ``x @ A`` is ``A.T @ x``, but rearranges no values."""
        self._require_one()
        some = terms.transpose(self.offsets, self.shape)
        values = self._evaluate(some, self.values, self._constant((1, self.shape[1]), 1))
        return self._of(values, tuple(-k for k in self.offsets), self.shape[::-1])

    @property
    def H(self) -> Self:
        """The conjugate transpose."""
        return self.T.conj()

    # ---- sums and factors ----------------------------------------------------------------------------------------
    def _with(self, values: Any) -> Self:
        return self._of(values, self.offsets, self.shape)

    def __add__(self, other: Any) -> Any:
        """Return the sum with another `Diagonals`."""
        return self._combined(other, operator.add)

    def __sub__(self, other: Any) -> Any:
        """Return the difference from another `Diagonals`."""
        return self._combined(other, operator.sub)

    def _combined(self, other: Any, how: Callable[[Any, Any], Any]) -> Any:
        if not isinstance(other, type(self)):
            return NotImplemented
        if self.shape != other.shape:
            raise ValueError(
                f"sum: A is {self.shape[0]} x {self.shape[1]}, but B is {other.shape[0]} x {other.shape[1]}"
            )
        offsets = layout.union(self.offsets, other.offsets)
        return self._of(how(self._on(offsets), other._on(offsets)), offsets, self.shape)

    def _on(self, offsets: tuple[int, ...]) -> Any:
        """Return the values as rows of other offsets, which include those of the matrix."""
        row = {k: i for i, k in enumerate(self.offsets)}
        return self.values if offsets == self.offsets else self._rows(np.array([row.get(k, len(row)) for k in offsets]))

    def __neg__(self) -> Self:
        """Return the matrix with all signs changed."""
        return self._with(-self.values)

    def __mul__(self, factor: Any) -> Self:
        """Return the matrix times a scalar, which may be traced."""
        return self._with(self.values * self._scalar(factor))

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Self:
        """Return the matrix divided by a scalar, which may be traced."""
        return self._with(self.values / self._scalar(divisor))

    def _scalar(self, factor: Any) -> Any:
        dimensions = factor.ndim if hasattr(factor, "ndim") else np.ndim(factor)
        if dimensions or is_sparse(factor):
            raise TypeError(
                f"got {type(factor).__name__} as a factor, expected a scalar; A @ B is the product of matrices"
            )
        return factor

    # ---- conversions ---------------------------------------------------------------------------------------------
    def diagonal(self, k: int = 0) -> Any:
        """Return the elements of a diagonal, at its true length: zeros if it is not stored, none outside of the matrix.

        Parameters
        ----------
        k : int
            The offset.
        """
        first, end = layout.rows_of(k, self.shape)
        if k not in self.offsets:
            return self._constant((end - first,), 0)
        self._require_one()
        return self.values[self.offsets.index(k), first:end]

    def todense(self) -> Any:
        """Return the matrix as a dense array of shape (m, n)."""
        self._require_one()
        m, n = self.shape
        row = np.full(m + n + 1, len(self.offsets))
        row[np.array(self.offsets, int) + m] = np.arange(len(self.offsets))
        i, j = self._integers(np.arange(m))[:, None], self._integers(np.arange(n))[None]
        return self._rows(self._integers(row)[j - i + m], i)

    def to_array(self, format: str = "dia") -> Any:
        """Return a matrix of diagsparse with a copy of the values, on the device of the values.

        Parameters
        ----------
        format : str
            The format; by default `dia_array`, with the same offsets.
        """
        self._require_one()
        values = self._exported()
        if owners.owner_of(values) is None or not cuda_available():
            values = np.asarray(values)
        a = dia_array((values, list(self.offsets)), shape=self.shape, align="row", copy=True)
        return a.asformat(format)

    def _exported(self) -> Any:
        """Return the values as an array without gradients."""
        return self.values


def applied_to(evaluate: Any, some: Terms, values: Any, x: Any, by_rows: bool) -> Any:
    """Return a product with a vector or a block of columns, or if `by_rows` is set of rows."""
    if x.ndim == 1:
        return evaluate(some, values, x[None])[0]
    y = evaluate(some, values[None], (x if by_rows else x.T)[:, None])[:, 0]
    return y if by_rows else y.T


def diagonals_of(A: Any) -> tuple[Any, list[int], tuple[int, int]]:
    """Return the values of the diagonals of a matrix, aligned by row, their offsets and the shape.

    The values are a NumPy array, or on a GPU a `DeviceArray`. They may share the memory of A, and elements outside of
    the matrix may be anything.
    """
    require_matrix(A, "from_array", "A")
    a = dia_array(A).unpacked()
    a = a.copy() if a._op else a
    return a.values, a.offsets.tolist(), a.shape
