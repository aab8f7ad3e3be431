"""Batches whose members are interleaved: element i of all members, then element i + 1 of all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._backends import memory
from .._backends.backend import CPU
from .._matrix.base import CONJUGATED, TRANSPOSED
from .._matrix.elementwise import sum_with
from .._matrix.elementwise_functions import is_scalar
from .._matrix.operands import is_sparse
from .._matrix.sparse_array import SparseArray
from .._show import display
from . import batch_arithmetic, batch_matrix, batch_values, batch_vectors
from .batch import Batch, refusal
from .batches import batch_array

_WHO = "interleaved_batch"


class interleaved_batch(Batch):
    """Diagonal matrices with the same layout interleaved with each other, as in cuSPARSE's interleaved batches.

    Everything about a member is in the last axis: values have the shape ``(*like.values.shape, count)``, vectors and
    right-hand sides ``(n, count)``. A `batch_array` has it in the first axis.

    Parameters
    ----------
    values : array, shape (..., count), or batch_array
        The values of all members: as in `batch_array`, shared if in C order and of a supported dtype. A batch is
        copied, and takes no `like`.
    like : dia_array, hm_array or cdm_array
        A matrix with the layout of every member, on their device. It must not be a view or packed.

    Attributes
    ----------
    count : int
        The number of members, at least one.
    shape : (int, int)
        Rows and columns of each member.

    Raises
    ------
    ValueError
        For values of another shape or without members, and a `like` that is a view or packed.
    TypeError
        For a `like` of another type, and values of an unsupported dtype.

    Notes
    -----
    The members are one matrix with the elements (i, i + k) of all of them on its diagonal ``k count``. Products are
    those with this matrix. On a GPU, tridiagonal systems of at least 2048 members are solved in this layout, other
    systems with a copy in the layout of `batch_array`.

    Examples
    --------
    >>> import numpy as np, diagsparse as ds
    >>> A = ds.dia_array(ds.gallery.tridiagonal(3))
    >>> b = ds.interleaved_batch(np.multiply.outer(A.values, [1.0, 10.0]), A)
    >>> b
    <interleaved_batch of 2 dia_array 3 x 3 float64: 3 diagonals from -1 to 1, 168 B, cpu>
    >>> b @ np.array([1.0, 0, 0])
    array([[  2.,  20.],
           [ -1., -10.],
           [  0.,   0.]])
    >>> ds.solve(b, np.ones((3, 2)))
    array([[1.5 , 0.15],
           [2.  , 0.2 ],
           [1.5 , 0.15]])
    """

    _interleaved = True

    def __init__(self, values: Any, like: SparseArray | None = None) -> None:
        if like is None:
            values, like = _copied(values)
        flat, count = batch_values.shared_interleaved(values, like)
        if not count:
            raise ValueError(f"{_WHO}: values have shape {tuple(values.shape)}, expected at least one member")
        core, member = like._core, like._core.member_shape(like._matrix)
        shape = like.shape[0] * count, like.shape[1] * count
        labels = [int(k) * count for k in like.parts()[like._format.labels].tolist()]
        flat = flat.reshape((*member[:-1], member[-1] * count))
        matrix = core.diagonal_matrix(like.format, *shape, labels, flat, "", like._backend.index)
        self._set(SparseArray._wrap(matrix), count)

    def _set(self, everything: SparseArray, count: int) -> None:
        self._all, self.count = everything, count
        self.shape = (everything.shape[0] // count, everything.shape[1] // count)

    @classmethod
    def _wrap(cls, everything: SparseArray, count: int) -> interleaved_batch:
        """Return the batch for the matrix of all members."""
        self = object.__new__(cls)
        self._set(everything, count)
        return self

    @property
    def offsets(self) -> np.ndarray:
        """The offsets of the stored diagonals, as `A.offsets`."""
        return self._all.offsets // self.count

    @property
    def values(self) -> Any:
        """The values of all members, ``(..., count)``, not copied; writing to them changes the matrices."""
        values = self._all._matrix.values
        return values.reshape((*values.shape[:-1], values.shape[-1] // self.count, self.count))

    def _member(self, i: int) -> SparseArray:
        """Return a copy of a member."""
        return self._part(i, 1)[0]

    def _part(self, first: int, count: int) -> batch_array:
        """Return copies of some members, one after the other."""
        like, values = self._like, self._all._matrix.values
        memory.require_free(count * like.nbytes, f"{_WHO}: a copy of {count} members", self._backend)
        part = batch_matrix.window(self._backend, values, first, (values.size // self.count, count), self.count)
        return batch_array._wrap(like._matrix.with_members(batch_values.transposed(self._backend, part)))

    @property
    def _like(self) -> SparseArray:
        """A matrix of zeros with the layout of every member, on their device."""
        labels = [int(k) // self.count for k in self._all._matrix.parts()[self._all._format.labels].tolist()]
        core, index = self._all._core, self._backend.index
        return SparseArray._wrap(core.diagonal_matrix(self.format, *self.shape, labels, None, self.dtype.name, index))

    def contiguous(self) -> batch_array:
        """Return a copy in which the values of each member are contiguous."""
        return self._part(0, self.count)

    def to(self, device: str) -> interleaved_batch:
        """Return the batch on a device: itself if it is there already, else a copy."""
        there = self._all.to(device)
        return self if there is self._all else self._wrap(there, self.count)

    def copy(self) -> interleaved_batch:
        """Return an independent batch."""
        return self._wrap(self._all.copy(), self.count)

    def __reduce__(self) -> tuple[Any, ...]:
        return interleaved_batch, (self._backend.host(self.values), self._like.to("cpu"))

    def __repr__(self) -> str:
        what = f"{self.count} {display.operand(self._like)}: {display.diagonals(self.offsets)}"
        return f"<{_WHO} of {what}, {memory.human(self.nbytes)}, {self.device}>"

    # ---- arithmetic -------------------------------------------------------------------------------
    def diagonal(self, k: int = 0) -> Any:
        """Return diagonal `k` of all members, an array of shape (length, count). See `batch_array.diagonal`."""
        at = batch_arithmetic.checked_diagonal(self, k)
        return batch_arithmetic.diagonal(self.contiguous(), at).T

    def _like_this(self, everything: SparseArray) -> interleaved_batch:
        return self._wrap(everything, self.count)

    def _transposed(self, conjugated: bool) -> interleaved_batch:
        return self._like_this((self._all.H if conjugated else self._all.T).copy())

    def _sum(self, other: Any, alpha: int, beta: int) -> interleaved_batch:
        if is_scalar(other) and other == 0:
            return self.copy() if alpha == 1 else -self
        if not isinstance(other, interleaved_batch):
            return NotImplemented
        if (other.count, other.shape) != (self.count, self.shape):
            raise ValueError(f"+: A is {self!r}, B is {other!r}; expected as many members of the same shape")
        return self._like_this(sum_with(self._all, other._all, alpha, beta))

    def _selected(self, part: slice) -> interleaved_batch:
        chosen = self.contiguous()[part]
        if not chosen.count:
            raise IndexError(f"{_WHO}: no member in {part}, expected at least one")
        return interleaved_batch(chosen)

    # ---- products ---------------------------------------------------------------------------------
    def matvec(self, x: Any, *, out: Any = None, alpha: complex = 1, beta: complex = 0, stream: Any = None) -> Any:
        """Return ``alpha A_i x_i + beta out_i`` in column i; `x` has shape (n, count), or (n,) for all members.

        The other arguments, the result's dtype and the errors are those of `batch_array.matvec`.
        """
        return batch_vectors.product(self, 0, x, out, alpha, beta, "matvec", stream)

    def rmatvec(self, x: Any, *, out: Any = None, alpha: complex = 1, beta: complex = 0, stream: Any = None) -> Any:
        """Return ``alpha A_i.H x_i + beta out_i`` in column i; `x` has shape (m, count), or (m,). See `matvec`."""
        return batch_vectors.product(self, TRANSPOSED | CONJUGATED, x, out, alpha, beta, "rmatvec", stream)

    def __matmul__(self, x: Any) -> Any:
        if isinstance(x, Batch) or is_sparse(x):
            raise refusal(self)
        return NotImplemented if is_scalar(x) else self.matvec(x)

    def __rmatmul__(self, x: Any) -> Any:
        if is_sparse(x):
            raise refusal(self)
        return NotImplemented


def _copied(batch: Any) -> tuple[Any, SparseArray]:
    """Return the values of a batch in this layout, and a matrix with the layout of its members."""
    if not isinstance(batch, batch_array):
        raise TypeError(f"{_WHO}: expected (values, like), or a batch_array, got {type(batch).__name__}")
    backend, member = batch._backend, batch._core.member_shape(batch._matrix)
    memory.require_free(batch.nbytes, f"{_WHO}: a copy of {batch.count} members", backend)
    values = batch_values.transposed(backend, batch._matrix.values).reshape((*member, batch.count))
    return values, batch._like if backend is CPU else batch._like.to(backend.name)
