"""A matrix of diagonals whose values are a tensor of PyTorch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

from . import layout
from .diagonals import AnyDiagonals, applied_to, diagonals_of
from .terms import Terms
from .torch_terms import evaluate


def _product(terms: Terms, u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Return the result of a list of terms for tensors in any precision, on one device."""
    if u.device != v.device:
        raise ValueError(f"matmul: A is on {u.device}, the other operand on {v.device}; move one of them")
    common = torch.promote_types(u.dtype, v.dtype)
    return evaluate(terms, _widened(u, common), _widened(v, common))


def _widened(t: torch.Tensor, common: torch.dtype) -> torch.Tensor:
    """Return a tensor in the precision of a dtype; a real one stays real."""
    return t.to(common if t.is_complex() or not common.is_complex else common.to_real())


class Diagonals(AnyDiagonals):
    """A matrix of diagonals in PyTorch: ``values[k, i] = A[i, i + offsets[k]]``.

    Products pass gradients on to the values and to the other operand, of any order. ::

        | 1  5  .  .  . |      offsets = (-1, 0, 1)
        | 9  2  6  .  . |      values  = [[ * 9 10 11 ]
        | . 10  3  7  . |                 [ 1 2  3  4 ]
        | .  . 11  4  8 |                 [ 5 6  7  8 ]]

    Parameters
    ----------
    values : Tensor or array_like, shape (D, m)
        The diagonals, aligned by row: floats or complex numbers. A tensor is not copied, so it may be a parameter of a
        module. Elements outside of the matrix (``*``) are padding. They are never read, and the gradient is zero there.
    offsets : sequence of int
        D distinct offsets in any order.
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
    ``A @ x`` and its gradients run on the kernels of diagsparse, on the device of the values and in PyTorch's current
    stream. The gradient of the values writes as many bytes as A has.

    Examples
    --------
    >>> import torch
    >>> from diagsparse.torch import Diagonals
    >>> values = torch.tensor([[1.0, 2, 3], [4, 5, 0]], requires_grad=True)
    >>> A = Diagonals(values, (0, 1), shape=(3, 3))
    >>> (A @ torch.arange(3.0)).sum().backward()
    >>> values.grad
    tensor([[0., 1., 2.],
            [1., 2., 0.]])
    """

    _evaluate = staticmethod(_product)

    @staticmethod
    def _applied_to(some: Terms, values: torch.Tensor, x: torch.Tensor, by_rows: bool) -> torch.Tensor:
        return applied_to(_product, some, values, x, by_rows)

    def _array(self, x: Any) -> torch.Tensor:
        if isinstance(x, torch.Tensor):
            return x
        if isinstance(x, np.ndarray):
            x = np.ascontiguousarray(x)  # PyTorch has no negative strides
        return torch.as_tensor(x, device=getattr(getattr(self, "values", None), "device", None))

    @staticmethod
    def _is_inexact(array: torch.Tensor) -> bool:
        return array.is_floating_point() or array.is_complex()

    def _constant(self, shape: tuple[int, ...], number: int) -> torch.Tensor:
        return self.values.new_full(shape, number)

    def _integers(self, numbers: np.ndarray) -> torch.Tensor:
        return torch.as_tensor(numbers, device=self.values.device)

    def _rows(self, rows: Any, columns: Any = slice(None)) -> torch.Tensor:
        return torch.cat([self.values, self._constant((1, self.shape[0]), 0)])[rows, columns]

    def _exported(self) -> torch.Tensor:
        return self.values.detach().resolve_conj().resolve_neg()

    def conj(self) -> Diagonals:
        """Return the complex conjugate."""
        return self._with(self.values.conj())

    def to(self, *args: Any, **options: Any) -> Diagonals:
        """Return the matrix on another device or in another dtype: the arguments are those of `torch.Tensor.to`."""
        return self._with(self.values.to(*args, **options))


def matvec(values: torch.Tensor, offsets: Iterable[int], shape: tuple[int, int], x: torch.Tensor) -> torch.Tensor:
    """Return the product of a matrix of diagonals with a vector or a block.

    It is `Diagonals` and ``A @ x`` in one call, with tensors as arguments, as `torch.vmap` and `torch.func` need it.

    Parameters
    ----------
    values : Tensor, shape (D, m)
        The diagonals, aligned by row: ``values[k, i] = A[i, i + offsets[k]]``.
    offsets : sequence of int
        D distinct offsets in any order.
    shape : (int, int)
        Number of rows m and of columns n.
    x : Tensor, shape (n,) or (n, p)
        The vector or block.

    Returns
    -------
    Tensor, shape (m,) or (m, p)
        The product.

    Raises
    ------
    ValueError, TypeError
        As for `Diagonals`, and if x does not fit.

    Examples
    --------
    >>> import torch
    >>> from diagsparse.torch import matvec
    >>> matvec(torch.tensor([[1.0, 2, 3], [4, 5, 0]]), (0, 1), (3, 3), torch.ones(3))
    tensor([5., 7., 3.])
    """
    return Diagonals(values, offsets, shape)._applied(x)  # torch.compile does not follow the operator of a class


def from_array(A: Any, dtype: torch.dtype | None = None) -> Diagonals:
    """Return a matrix of diagsparse, SciPy or CuPy as `Diagonals`, with a copy of its diagonals.

    Parameters
    ----------
    A : sparse matrix, or dense 2-D array
        Of any format. Diagonals without nonzeros are left out unless A stores diagonals.
    dtype : torch.dtype, optional
        Of the values; by default that of A.

    Returns
    -------
    Diagonals
        On the device of A. Its values require no gradient until you call ``A.values.requires_grad_()``.

    Raises
    ------
    TypeError
        If A is not a matrix.
    MemoryError
        If the diagonals of A do not fit into memory.

    Examples
    --------
    >>> import diagsparse as ds
    >>> from diagsparse.torch import from_array
    >>> from_array(ds.gallery.tridiagonal(1000))
    Diagonals(1000 x 1000 float64, offsets=(-1, 0, 1))
    """
    values, offsets, shape = diagonals_of(A)
    copied = torch.tensor(values) if isinstance(values, np.ndarray) else torch.from_dlpack(values).clone()
    for row, offset in zip(copied, offsets, strict=True):
        first, end = layout.rows_of(offset, shape)
        row[:first] = row[end:] = 0
    return Diagonals(copied if dtype is None else copied.to(dtype), offsets, shape)
