"""Batches: many matrices with the same layout, multiplied in one call."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import streams
from .._backends import memory
from .._backends.backend import CPU, Backend, get_backend
from .._backends.types import product_dtypes
from .._matrix import devices
from .._matrix.base import CONJUGATED, TRANSPOSED
from .._matrix.elementwise_functions import is_scalar
from .._matrix.operands import check_same_device, is_sparse
from .._matrix.sparse_array import SparseArray
from .._show import display
from . import batch_arithmetic, batch_values, batch_vectors, plans
from .batch import Batch, refusal

_WHO = "batch_array"


class batch_array(Batch):
    """Diagonal matrices with the same shape, format and offsets, but different values.

    Parameters
    ----------
    values : array, shape (count, ...), or sequence of matrices
        The values of each member, of shape ``(count, *like.values.shape)``: a NumPy array, or if `like` is on a GPU an
        array of CuPy, PyTorch or JAX, or a `DeviceArray`, there. It is shared if it has C order and a supported dtype
        (arrays of JAX may be copied). A sequence of matrices with the same layout is copied, and takes no `like`.
    like : dia_array, hm_array or cdm_array
        A matrix with the layout of every member, on their device. It must not be a view or packed.

    Raises
    ------
    ValueError
        For values of another shape, matrices whose layout differs from the first one's, and a `like` that is a view or
        packed.
    TypeError
        For a `like` of another type, and values of an unsupported dtype.

    Notes
    -----
    A product is one native call, and on a GPU one kernel launch for all members, so that the cost of many small
    matrices is that of reading their bytes. Large members are multiplied one after the other.

    Examples
    --------
    >>> import numpy as np, diagsparse as ds
    >>> A = ds.dia_array(ds.gallery.tridiagonal(3))
    >>> b = ds.batch_array(np.multiply.outer([1.0, 10.0], A.values), A)
    >>> b
    <batch_array of 2 dia_array 3 x 3 float64: 3 diagonals from -1 to 1, 168 B, cpu>
    >>> b @ np.array([1.0, 0, 0])
    array([[  2.,  -1.,   0.],
           [ 20., -10.,   0.]])
    >>> (b @ b)[1].toarray()[0]
    array([ 500., -400.,  100.])
    """

    _interleaved = False

    _matrix: Any  # the C++ matrix of `_all`, whose values have a row for each member

    def __init__(self, values: Any, like: SparseArray | None = None) -> None:
        stacked, first = batch_values.stacked(values) if like is None else (batch_values.shared(values, like), like)
        self._set_matrix(first._matrix.with_members(stacked))

    def _set_matrix(self, matrix: Any) -> None:
        self._matrix, self._all = matrix, SparseArray._wrap(matrix)
        self.count = matrix.values.shape[0]

    @classmethod
    def _wrap(cls, matrix: Any) -> batch_array:
        """Return the batch of a C++ matrix with the values of all members."""
        self = object.__new__(cls)
        self._set_matrix(matrix)
        return self

    # ---- attributes -------------------------------------------------------------------------------
    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of each member."""
        return self._all.shape

    @property
    def offsets(self) -> np.ndarray:
        """The offsets of the stored diagonals, as `A.offsets`."""
        return self._all.offsets

    @property
    def values(self) -> Any:
        """The values of all members, ``(count, ...)``, not copied; writing to them changes the matrices."""
        return self._matrix.values.reshape((self.count, *self._core.member_shape(self._matrix)))

    # ---- members ----------------------------------------------------------------------------------
    def _member(self, i: int) -> SparseArray:
        """Return a matrix that shares the values of a member."""
        return SparseArray._wrap(self._core.member(self._matrix, i))

    def to(self, device: str) -> batch_array:
        """Return the batch on a device: itself if it is there already, else a copy."""
        target = get_backend(device)
        if target is self._backend:
            return self
        memory.require_free(self.nbytes, f"to: {self.count} {display.operand(self._all)} on {target.name}", target)
        values = devices.copied_array(self._matrix.values, self._backend, target)
        labels = self._matrix.parts()[self._all._format.labels].tolist()
        like = target.core.diagonal_matrix(self.format, *self.shape, labels, None, self.dtype.name, target.index)
        return self._wrap(like.with_members(values))

    def copy(self) -> batch_array:
        """Return an independent batch."""
        return self._wrap(self._matrix.with_values(self._matrix.values.copy()))

    def __reduce__(self) -> tuple[Any, ...]:
        like = self._like
        values = self._backend.host(self._matrix.values)
        return batch_array, (values.reshape((self.count, *CPU.core.member_shape(like._matrix))), like)

    @property
    def _like(self) -> SparseArray:
        """A matrix of zeros with the layout of every member, on the cpu."""
        labels = self._matrix.parts()[self._all._format.labels].tolist()
        core = CPU.core
        return SparseArray._wrap(core.diagonal_matrix(self.format, *self.shape, labels, None, self.dtype.name))

    def __repr__(self) -> str:
        what = f"{self.count} {display.operand(self._all)}: {display.diagonals(self.offsets)}"
        return f"<{_WHO} of {what}, {memory.human(self.nbytes)}, {self.device}>"

    # ---- arithmetic -------------------------------------------------------------------------------
    def diagonal(self, k: int = 0) -> Any:
        """Return diagonal `k` of all members, an array of shape (count, length): a copy, 0 where it is not stored.

        On a GPU it is a `DeviceArray`.

        Raises
        ------
        ValueError
            If the members have no such diagonal.
        """
        return batch_arithmetic.diagonal(self, batch_arithmetic.checked_diagonal(self, k))

    def _like_this(self, everything: SparseArray) -> batch_array:
        return self._wrap(everything._matrix)

    def _transposed(self, conjugated: bool) -> batch_array:
        result = self._wrap(batch_arithmetic.transposed(self))
        return result.conj() if conjugated and self.dtype.kind == "c" else result

    def _sum(self, other: Any, alpha: int, beta: int) -> batch_array:
        if is_scalar(other) and other == 0:
            return self.copy() if alpha == 1 else -self
        if not isinstance(other, batch_array) and not is_sparse(other):
            return NotImplemented
        return self._wrap(batch_arithmetic.sum_of(self, other, alpha, beta))

    def _selected(self, part: slice) -> batch_array:
        return self._wrap(batch_arithmetic.selected(self, part))

    # ---- products ---------------------------------------------------------------------------------
    def matvec(self, x: Any, *, out: Any = None, alpha: complex = 1, beta: complex = 0, stream: Any = None) -> Any:
        """Return the rows ``alpha A_i x_i + beta out_i``, or such blocks of columns.

        Parameters
        ----------
        x : array_like, shape (count, n), (n,), (count, n, p) or (n, p)
            A vector for each member, or one vector for all; or a block of p columns for each member, or one block for
            all. An array of shape (count, n) always has a vector for each member; if ``n == count``, a block of n
            columns for all is ``x[np.newaxis]``. Arrays that are not in C order are copied. As in `SparseArray.matvec`
            it may be an array of CuPy, PyTorch or JAX on the GPU of the batch.
        out : array, shape (count, m) or (count, m, p), optional
            Receives the result and is returned. It may be `x` itself. On a GPU, blocks have to be in C order.
        alpha, beta : scalar
            The same for all members; a `beta` other than 0 needs `out`.
        stream : optional
            For a batch on a GPU, as in `SparseArray.matvec`.

        Returns
        -------
        array, shape (count, m) or (count, m, p)
            An array of the same library as `x`, with NumPy's result type.

        Raises
        ------
        ValueError, TypeError
            As in `SparseArray.matvec`.

        Notes
        -----
        The result is bitwise identical for any number of threads. On the CPU it is bitwise equal to ``b[i] @ x[i]``; on
        a GPU the terms of small members are added in another order.
        """
        return batch_vectors.product(self, 0, x, out, alpha, beta, "matvec", stream)

    def rmatvec(self, x: Any, *, out: Any = None, alpha: complex = 1, beta: complex = 0, stream: Any = None) -> Any:
        """Return the rows ``alpha A_i.H x_i + beta out_i``; `x` is as in `matvec`, with m instead of n."""
        return batch_vectors.product(self, TRANSPOSED | CONJUGATED, x, out, alpha, beta, "rmatvec", stream)

    def matmul(self, other: Any, *, out: batch_array | None = None, stream: Any = None) -> batch_array:
        """Return the batch of products ``A_i B_i``, with one plan for all members.

        Parameters
        ----------
        other : batch_array or matrix of diagonals
            A batch of the same count, or one matrix (or a view) for all members. ``A @ b`` has the matrix on the left.
        out : batch_array, optional
            A batch with the layout, dtype and count of the result, such as the result of an earlier call. It is
            overwritten and returned.
        stream : optional
            For a batch on a GPU, as in `SparseArray.matvec`.

        Raises
        ------
        ValueError
            If shapes, counts or devices do not fit, or `out` has another structure; nothing is written.
        TypeError
            If `other` is neither a batch nor a diagonal matrix.
        MemoryError
            If the result does not fit.
        """
        with streams.on(self._backend, stream, "matmul"):
            return _multiply(self, _required(other, "B"), out)

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Batch) or is_sparse(other):
            return _multiply(self, _required(other, "B"), None)
        return NotImplemented if is_scalar(other) else self.matvec(other)

    def __rmatmul__(self, other: Any) -> Any:
        return _multiply(_required(other, "A"), self, None) if is_sparse(other) else NotImplemented


def _required(x: Any, name: str) -> Any:
    """Return an operand that can be multiplied by a batch; raise TypeError for anything else."""
    if isinstance(x, Batch) and x._interleaved:
        raise refusal(x)
    if not isinstance(x, batch_array) and not batch_values.has_batches(x):
        raise TypeError(f"matmul: {name} is {type(x).__name__}, expected a batch_array or a matrix of diagonals")
    return x


def _multiply(left: Any, right: Any, out: Any) -> batch_array:
    """Return the products of the members of two operands, one of which may be a single matrix."""
    batches = [side for side in (left, right) if isinstance(side, batch_array)]
    count = batches[0].count
    if batches[-1].count != count:
        raise ValueError(f"matmul: A is a batch of {count}, B of {batches[-1].count}")
    a, b = (side._all if isinstance(side, batch_array) else side for side in (left, right))
    check_same_device("matmul", a, b)
    wanted, dtype = product_dtypes(a.dtype, b.dtype)
    if b.dtype != wanted:
        b = SparseArray._wrap(b._matrix.with_values(b._matrix.values.astype(wanted)), b._op)
    planned = plans.MatmulPlan(a, b)
    plan, core = planned._plan, a._core
    if out is None:
        memory.require_free(count * plan.nbytes, f"matmul: {count} results of {planned!r}", a._backend)
        matrix = core.batch_result(plan, count, dtype.name)
    else:
        matrix = _checked(out, count, a._backend)._matrix
    core.batch_matmul(plan, planned._a._matrix, planned._b._matrix, matrix)
    return batch_array._wrap(matrix) if out is None else out


def _checked(out: Any, count: int, backend: Backend) -> batch_array:
    if not isinstance(out, batch_array):
        raise TypeError(f"matmul: out is {type(out).__name__}, expected a batch_array")
    if out.count != count or out._backend is not backend:
        raise ValueError(f"matmul: out is {out!r}, expected {count} members on {backend.name}")
    return out
