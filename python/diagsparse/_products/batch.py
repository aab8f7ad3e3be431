"""What batches have in common, whichever of their axes is the one of the members."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self, overload

import numpy as np

from .._backends.arguments import integer
from .._backends.backend import Backend
from .._matrix.elementwise_functions import is_scalar, over_number, scaled
from .._matrix.operands import is_dense, is_sparse
from .._matrix.sparse_array import SparseArray
from .._show import display
from . import batch_arithmetic


def refusal(batch: Batch) -> TypeError:
    """Return the error for a product of an interleaved batch with matrices."""
    return TypeError(f"matmul: {batch!r} is interleaved; matrices are multiplied by batch.contiguous()")


class Batch:
    """Matrices with the same shape, format and offsets, but different values."""

    __array_ufunc__ = None  # NumPy defers `x @ b` to us

    _all: SparseArray  # a matrix with the values of all members, and their dtype, format and device
    _interleaved: bool  # whether columns of vectors belong to members, not rows
    count: int  #: the number of members
    shape: Any  #: rows and columns of each member

    def copy(self) -> Self:
        """Return an independent batch."""
        raise NotImplementedError

    def _like_this(self, everything: SparseArray) -> Self:
        """Return the batch for a matrix of all members."""
        raise NotImplementedError

    def _transposed(self, conjugated: bool) -> Self:
        """Return a copy whose members are the transposes or the adjoints."""
        raise NotImplementedError

    def _sum(self, other: Any, alpha: int, beta: int) -> Self:
        """Return the batch of ``alpha A_i + beta B_i``, or NotImplemented."""
        raise NotImplementedError

    def _selected(self, part: slice) -> Self:
        """Return the members of a slice."""
        raise NotImplementedError

    def _member(self, i: int) -> SparseArray:
        """Return member `i` of 0 to `count` - 1."""
        raise NotImplementedError

    # ---- attributes -------------------------------------------------------------------------------
    @property
    def dtype(self) -> np.dtype:
        """Type of the values."""
        return self._all.dtype

    @property
    def format(self) -> str:
        """Format of the members."""
        return self._all.format

    @property
    def device(self) -> str:
        """The device of the values: ``"cpu"``, ``"cuda"``, ``"cuda:1"``, ..."""
        return self._all.device

    @property
    def nbytes(self) -> int:
        """Bytes of all values and of the common layout."""
        return self._all.nbytes

    @property
    def _backend(self) -> Backend:
        return self._all._backend

    @property
    def _core(self) -> Any:
        return self._all._core

    # ---- members ----------------------------------------------------------------------------------
    def __len__(self) -> int:
        return self.count

    @overload
    def __getitem__(self, i: slice) -> Self: ...
    @overload
    def __getitem__(self, i: Any) -> SparseArray: ...
    def __getitem__(self, i: Any) -> Any:
        """Return member `i`, or the batch of the members of a slice."""
        if isinstance(i, slice):
            return self._selected(i)
        at = integer(i, f"{type(self).__name__}: index")
        if not -self.count <= at < self.count:
            raise IndexError(f"{type(self).__name__}: index {at}, but there are {self.count} members")
        return self._member(at % self.count)

    def __iter__(self) -> Iterator[SparseArray]:
        return (self[i] for i in range(self.count))

    # ---- arithmetic -------------------------------------------------------------------------------
    @property
    def T(self) -> Self:
        """The batch of the transposes: a copy, in the same format."""
        return self._transposed(False)

    @property
    def H(self) -> Self:
        """The batch of the adjoints: a copy, in the same format. `rmatvec` multiplies by them without a copy."""
        return self._transposed(True)

    def conj(self) -> Self:
        """Return the batch of the complex conjugates: a copy."""
        return self._like_this(self._all.conj(copy=True))

    def __add__(self, other: Any) -> Self:
        """Return the batch of sums ``A_i + B_i``; a single matrix is added to all members."""
        return self._sum(other, 1, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Self:
        return self._sum(other, 1, -1)

    def __rsub__(self, other: Any) -> Self:
        return self._sum(other, -1, 1)

    def __neg__(self) -> Self:
        return self._like_this(-self._all)

    def __mul__(self, factor: Any) -> Self:
        """Return the batch of multiples, by a number or by an array of shape (count,): a number for each member."""
        if is_scalar(factor):
            return self._like_this(scaled(self._all, factor))
        if is_sparse(factor) or isinstance(factor, Batch) or not is_dense(factor):
            return NotImplemented
        return self._like_this(batch_arithmetic.scaled_by_members(self, factor))

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Self:
        """Return the batch of quotients by a number."""
        return self._like_this(over_number(self._all, divisor)) if is_scalar(divisor) else NotImplemented

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __eq__(self, other: Any) -> Any:
        """Raise TypeError: compare the values instead."""
        if isinstance(other, (Batch, SparseArray)):
            raise TypeError(f"{type(self).__name__}: == of batches is not defined; use b.values == c.values")
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as of matrices

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise TypeError(
            f"{self!r} holds sparse matrices, and NumPy wants an array; write np.stack([A.toarray() for A in batch]), "
            "or batch.values for what they store"
        )

    def _repr_html_(self) -> str:
        return display.batch_html(self)
