"""A matrix of diagonals whose values are an array of JAX."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .diagonals import AnyDiagonals, applied_to, diagonals_of
from .jax_terms import evaluate
from .terms import Terms


@partial(jax.jit, static_argnums=(0, 3))
def _applied_to(some: Terms, values: jax.Array, x: jax.Array, by_rows: bool) -> jax.Array:
    return applied_to(partial(evaluate, by_columns=not by_rows), some, values, x, by_rows)


class Diagonals(AnyDiagonals):
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
    ``A @ x``, ``x @ A`` and their gradients are sums of products of slices, as ``A @ B`` is. XLA fuses them into one
    loop. For more than 64 pairs of slices, the sum is a loop over groups of 16 diagonals, so that the time to compile
    does not grow with their number. On CPUs and NVIDIA GPUs, products that are large enough call kernels of diagsparse
    instead. A product reads each value once. The gradient with respect to the values costs as much as a product and
    writes as many bytes as A has.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> from diagsparse.jax import Diagonals
    >>> A = Diagonals([[1.0, 2, 3], [4, 5, 0]], (0, 1), shape=(3, 3))
    >>> print(A @ jnp.ones(3))
    [5. 7. 3.]
    >>> print(jax.grad(lambda A: (A @ jnp.arange(3.0)).sum())(A).values)
    [[0. 1. 2.]
     [1. 2. 0.]]
    """

    # ---- a pytree, whose leaf may be anything that JAX puts there ------------------------------------------------
    def tree_flatten(self) -> tuple[Any, Any]:
        """Return the values as the only leaf, and what is static."""
        return (self.values,), (self.offsets, self.shape)

    def tree_flatten_with_keys(self) -> tuple[Any, Any]:
        """Return the same, and the name of the leaf."""
        return ((jax.tree_util.GetAttrKey("values"), self.values),), (self.offsets, self.shape)

    @classmethod
    def tree_unflatten(cls, static: Any, leaves: Any) -> Diagonals:
        """Return the matrix of a leaf, without checks."""
        return cls._of(leaves[0], *static)

    # ---- hooks ---------------------------------------------------------------------------------------------------
    _evaluate = staticmethod(evaluate)
    _applied_to = staticmethod(_applied_to)

    def _array(self, x: Any) -> jax.Array:
        return jnp.asarray(x)

    @staticmethod
    def _is_inexact(array: Any) -> bool:
        return jnp.issubdtype(array.dtype, jnp.inexact)

    def _constant(self, shape: tuple[int, ...], number: int) -> jax.Array:
        return jnp.full(shape, number, self.values.dtype)

    def _integers(self, numbers: np.ndarray) -> jax.Array:
        return jnp.asarray(numbers)

    def _rows(self, rows: Any, columns: Any = slice(None)) -> jax.Array:
        return jnp.concatenate([self.values, self._constant((1, self.shape[0]), 0)])[rows, columns]

    def _exported(self) -> jax.Array:
        if isinstance(self.values, jax.core.Tracer):
            raise TypeError(
                "to_array: JAX traces the values (jax.jit, grad, vmap, ...), which are not known yet; call to_array "
                "outside of the function that JAX traces, or use A.todense() in it"
            )
        return self.values

    def conj(self) -> Diagonals:
        """Return the complex conjugate."""
        return self._with(jnp.conj(self.values))

    def astype(self, dtype: Any) -> Diagonals:
        """Return the matrix in another dtype."""
        return self._with(self.values.astype(dtype))


jax.tree_util.register_pytree_with_keys_class(Diagonals)


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
    >>> from_array(ds.gallery.tridiagonal(1000), dtype="float32")
    Diagonals(1000 x 1000 float32, offsets=(-1, 0, 1))
    """
    values, offsets, shape = diagonals_of(A)
    on_host = isinstance(values, np.ndarray)
    array = jnp.array(values if on_host else jax.dlpack.from_dlpack(values), dtype, copy=True)
    column = np.arange(shape[0])[None] + np.array(offsets, int).reshape(-1, 1)
    return Diagonals(jnp.where((column >= 0) & (column < shape[1]), array, 0), offsets, shape)
