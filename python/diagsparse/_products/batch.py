"""What batches have in common, whichever of their axes is the one of the members."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from .._backends.arguments import integer
from .._backends.backend import Backend
from .._matrix.sparse_array import SparseArray
from .._show import display


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

    def __getitem__(self, i: Any) -> SparseArray:
        """Return member `i`."""
        at = integer(i, f"{type(self).__name__}: index")
        if not -self.count <= at < self.count:
            raise IndexError(f"{type(self).__name__}: index {at}, but there are {self.count} members")
        return self._member(at % self.count)

    def __iter__(self) -> Iterator[SparseArray]:
        return (self[i] for i in range(self.count))

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
