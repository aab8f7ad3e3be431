"""A matrix of diagonals whose values are an array of JAX."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from . import interchange, layout, terms
from .jax_terms import evaluate


@jax.tree_util.register_pytree_with_keys_class
class Diagonals:
    """A matrix of diagonals in JAX: ``values[k, i] = A[i, i + offsets[k]]``.

    It is a pytree: `values` is its only leaf, and `offsets` and `shape` are static. A function can therefore take and
    return it under `jax.jit`, `jax.vmap` and `jax.grad`, and the gradient with respect to a matrix is a matrix with the
    same diagonals. ::

        | 1  5  .  .  . |      offsets = (-1, 0, 1)
        | 9  2  6  .  . |      values  = [[ * 9 10 11 ]
        | . 10  3  7  . |                 [ 1 2  3  4 ]
        | .  . 11  4  8 |                 [ 5 6  7  8 ]]

    Parameters
    ----------
    values : array_like, shape (D, m)
        The diagonals, aligned by row: of floats or complex numbers, or traced. Elements outside of the matrix (``*``)
        are padding. They are never read, and the gradient is zero there.
    offsets : sequence of int
        D distinct offsets in any order, known when a function is traced.
    shape : (int, int)
        Number of rows m and of columns n.

    Raises
    ------
    ValueError
        For offsets that repeat or are outside of the matrix, and values of another shape.
    TypeError
        For values that are not floats or complex numbers, and for offsets or a shape that are no integers.

    Notes
    -----
    ``A @ x`` is a sum of products of slices, which XLA fuses into one loop that reads each value once. From 64 pairs of
    slices on, the sum is a loop over groups of 16 diagonals, so that the time to compile does not grow with their
    number. The gradient with respect to the values costs as much as a product and writes as many bytes as A has.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from diagsparse.jax import Diagonals
    >>> A = Diagonals([[1.0, 2, 3], [4, 5, 0]], (0, 1), shape=(3, 3))
    >>> A @ jnp.ones(3)
    Array([5., 7., 3.], dtype=float32)
    >>> jax.grad(lambda A: (A @ jnp.arange(3.0)).sum())(A).values
    Array([[0., 1., 2.],
           [1., 2., 0.]], dtype=float32)
    """

    values: Any  #: the diagonals, of shape (D, m)
    offsets: tuple[int, ...]  #: their offsets
    shape: tuple[int, int]  #: number of rows and of columns
    ndim = 2
    __array_ufunc__ = None  # NumPy's arrays leave products to this class

    def __init__(self, values: Any, offsets: Iterable[int], shape: tuple[int, int]) -> None:
        self.shape = layout.checked_shape(shape, "Diagonals")
        self.offsets = layout.checked_offsets(offsets, self.shape, "Diagonals")
        self.values = jnp.asarray(values)
        layout.check_values(self.values.shape, self.offsets, self.shape, "Diagonals")
        if not jnp.issubdtype(self.values.dtype, jnp.inexact):
            raise TypeError(f"Diagonals: got {self.values.dtype} values, expected floats or complex numbers")

    # ---- a pytree, whose leaf may be anything that JAX puts there ------------------------------------------------
    def tree_flatten_with_keys(self) -> tuple[Any, Any]:
        """Return the values as the only leaf, and what is static."""
        return ((jax.tree_util.GetAttrKey("values"), self.values),), (self.offsets, self.shape)

    @classmethod
    def tree_unflatten(cls, static: Any, leaves: Any) -> Diagonals:
        """Return the matrix of a leaf, without checks."""
        return cls._of(leaves[0], *static)

    @classmethod
    def _of(cls, values: Any, offsets: tuple[int, ...], shape: tuple[int, int]) -> Diagonals:
        self = object.__new__(cls)
        self.values, self.offsets, self.shape = values, offsets, shape
        return self

    # ---- attributes ----------------------------------------------------------------------------------------------
    @property
    def dtype(self) -> Any:
        """Data type of the values."""
        return self.values.dtype

    def __repr__(self) -> str:
        values = getattr(self.values, "aval", self.values)
        dtype = getattr(values, "dtype", type(values).__name__)
        return f"Diagonals({self.shape[0]} x {self.shape[1]} {dtype}, offsets={self.offsets})"

    # ---- products ------------------------------------------------------------------------------------------------
    def __matmul__(self, other: Any) -> Any:
        """Return the product with a vector, a block, or another `Diagonals`."""
        return self._times(other) if isinstance(other, Diagonals) else self._applied(other, transposed=False)

    def __rmatmul__(self, other: Any) -> Any:
        """Return ``x @ A`` for a vector or a block."""
        if interchange.is_matrix(other):
            return NotImplemented
        if jnp.ndim(other) == 2:
            return self._applied(jnp.asarray(other).T, transposed=True).T
        return self._applied(other, transposed=True)

    def _applied(self, x: Any, transposed: bool) -> jax.Array:
        """Return ``A @ x`` or ``A.T @ x`` for a vector or a block."""
        self._require_one()
        needed = self.shape[0 if transposed else 1]
        if interchange.is_matrix(x):
            raise TypeError(f"matmul: got {type(x).__name__}; convert it with diagsparse.jax.from_array")
        x = jnp.asarray(x)
        if x.ndim not in (1, 2) or x.shape[0] != needed:
            m, n = self.shape
            raise ValueError(
                f"matmul: x has shape {x.shape if not transposed else x.shape[::-1]}, but A is {m} x {n} and "
                f"{'x @ A' if transposed else 'A @ x'} needs {needed} {'columns' if transposed else 'rows'}"
            )
        list_of_terms = terms.product(self.offsets, self.shape)
        if transposed:
            list_of_terms = list_of_terms.exchanged(0, 2)
        if x.ndim == 1:
            return evaluate(list_of_terms, self.values, x[None])[0]
        return evaluate(list_of_terms, self.values[None], x.T[:, None])[:, 0].T

    def _times(self, other: Diagonals) -> Diagonals:
        """Return the product of two matrices, which has the diagonals of all sums of their offsets."""
        self._require_one()
        other._require_one()
        (rows, middle), (given, columns) = self.shape, other.shape
        if middle != given:
            raise ValueError(f"matmul: A is {rows} x {middle}, but B is {given} x {columns}")
        values = evaluate(terms.matmul(self.offsets, other.offsets, (rows, middle, columns)), self.values, other.values)
        return self._of(values, layout.of_product(self.offsets, other.offsets, rows, columns), (rows, columns))

    def _require_one(self) -> None:
        """Raise ValueError for the values of several matrices, which `jax.vmap` takes apart."""
        if (shape := jnp.shape(self.values)) != (len(self.offsets), self.shape[0]):
            raise ValueError(
                f"values have shape {shape}, expected {len(self.offsets), self.shape[0]}; use jax.vmap for matrices that "
                "are stacked"
            )

    # ---- views ---------------------------------------------------------------------------------------------------
    @property
    def T(self) -> Diagonals:
        """The transposed matrix. ``x @ A`` is ``A.T @ x`` without rearranging the values."""
        self._require_one()
        ones = jnp.ones((1, self.shape[1]), self.values.dtype)
        values = evaluate(terms.transpose(self.offsets, self.shape), self.values, ones)
        return self._of(values, tuple(-k for k in self.offsets), self.shape[::-1])

    @property
    def H(self) -> Diagonals:
        """The conjugate transpose."""
        return self.T.conj()

    def conj(self) -> Diagonals:
        """Return the complex conjugate."""
        return self._with(jnp.conj(self.values))

    def astype(self, dtype: Any) -> Diagonals:
        """Return the matrix in another dtype."""
        return self._with(self.values.astype(dtype))

    def _with(self, values: Any) -> Diagonals:
        return self._of(values, self.offsets, self.shape)

    # ---- sums and factors ----------------------------------------------------------------------------------------
    def __add__(self, other: Any) -> Diagonals:
        """Return the sum with another `Diagonals`."""
        return self._plus(other, 1) if isinstance(other, Diagonals) else NotImplemented

    def __sub__(self, other: Any) -> Diagonals:
        """Return the difference from another `Diagonals`."""
        return self._plus(other, -1) if isinstance(other, Diagonals) else NotImplemented

    def _plus(self, other: Diagonals, sign: int) -> Diagonals:
        if self.shape != other.shape:
            raise ValueError(f"sum: A is {self.shape[0]} x {self.shape[1]}, but B is {other.shape[0]} x {other.shape[1]}")
        offsets = layout.union(self.offsets, other.offsets)
        a, b = self._on(offsets), other._on(offsets)
        return self._of(a + b if sign > 0 else a - b, offsets, self.shape)

    def _on(self, offsets: tuple[int, ...]) -> Any:
        """Return the values as rows of other offsets, which include those of the matrix."""
        if offsets == self.offsets:
            return self.values
        row = {k: i for i, k in enumerate(self.offsets)}
        rows = np.array([row.get(k, len(row)) for k in offsets])
        return jnp.take(self.values, rows, axis=-2, mode="fill", fill_value=0)

    def __neg__(self) -> Diagonals:
        """Return the matrix with all signs changed."""
        return self._with(-self.values)

    def __mul__(self, factor: Any) -> Diagonals:
        """Return the matrix times a scalar, which may be traced."""
        if isinstance(factor, Diagonals) or interchange.is_matrix(factor) or jnp.ndim(factor):
            raise TypeError(f"A * s: got {type(factor).__name__}, expected a scalar; A @ B is the product of matrices")
        return self._with(self.values * factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Diagonals:
        """Return the matrix divided by a scalar, which may be traced."""
        if isinstance(divisor, Diagonals) or interchange.is_matrix(divisor) or jnp.ndim(divisor):
            raise TypeError(f"A / s: got {type(divisor).__name__}, expected a scalar")
        return self._with(self.values / divisor)

    # ---- conversions ---------------------------------------------------------------------------------------------
    def diagonal(self, k: int = 0) -> jax.Array:
        """Return the elements of a diagonal, at its true length; zeros if it is not stored.

        Parameters
        ----------
        k : int
            The offset.
        """
        (k,) = layout.checked_offsets([k], self.shape, "diagonal")
        first, end = layout.rows_of(k, self.shape)
        if k not in self.offsets:
            return jnp.zeros(end - first, self.dtype)
        return self.values[self.offsets.index(k), first:end]

    def todense(self) -> jax.Array:
        """Return the matrix as a dense array of shape (m, n)."""
        self._require_one()
        m, n = self.shape
        row = np.full(m + n, len(self.offsets))
        row[np.array(self.offsets, int) + m] = np.arange(len(self.offsets))
        i = np.arange(m)[:, None]
        return self.values.at[jnp.asarray(row)[np.arange(n) - i + m], i].get(mode="fill", fill_value=0)

    def to_array(self, format: str = "dia") -> Any:
        """Return a matrix of diagsparse with a copy of the values, on the device of the values.

        Parameters
        ----------
        format : str
            The format; by default `dia_array`, with the same offsets.
        """
        self._require_one()
        return interchange.to_matrix(self.values, self.offsets, self.shape, format)


def from_array(A: Any, dtype: Any = None) -> Diagonals:
    """Return a matrix of diagsparse, SciPy or CuPy as `Diagonals`, with a copy of its diagonals.

    Parameters
    ----------
    A : sparse matrix, or dense 2-D array
        Of any format. Diagonals without nonzeros are left out unless A stores diagonals.
    dtype : dtype, optional
        Of the values; by default that of A. Without ``jax_enable_x64``, JAX reduces float64 to float32.

    Returns
    -------
    Diagonals
        On the GPU of A if A is on one; otherwise on JAX's default device.

    Raises
    ------
    TypeError
        If A is not a matrix.
    MemoryError
        If the diagonals of A do not fit into memory.

    Examples
    --------
    >>> import diagsparse as ds
    >>> from diagsparse.jax import from_array
    >>> from_array(ds.gallery.tridiagonal(1000))
    Diagonals(1000 x 1000 float32, offsets=(-1, 0, 1))
    """
    values, offsets, shape = interchange.diagonals_of(A)
    on_host = isinstance(values, np.ndarray)
    array = jnp.array(values if on_host else jax.dlpack.from_dlpack(values), dtype, copy=True)
    column = jnp.arange(shape[0]) + jnp.array(offsets, int).reshape(-1, 1)
    return Diagonals(jnp.where((column >= 0) & (column < shape[1]), array, 0), offsets, shape)
