"""Attributes and methods of `csr`, `csc` and `coo` with SciPy's names, and writable index arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._backends.arguments import integer
from .._backends.backend import CPU
from .._matrix import conversions
from .._matrix.base import CONJUGATED, require_plain, write_values
from .._matrix.sparse_array import SparseArray
from .._matrix.through_scipy import require_host
from .._matrix.validation import integers
from .exported_indices import index_array


class IndexedArray(SparseArray):
    """A matrix stored entry by entry."""

    def to_scipy(self, format: str | None = None) -> Any:
        """Return a SciPy array of this format, which shares the values, or of the given format.

        Index arrays are copied; from a GPU, values are copied too. SciPy methods that move values in place
        (``eliminate_zeros``, ``sort_indices``) move the shared ones: call ``.copy()`` first.
        """
        if self._backend is not CPU:
            return self.to("cpu").to_scipy(format)
        return _with_own_indices(self._format.scipy_view(self, format))

    @property
    def T(self) -> SparseArray:
        """The transpose, on the same memory: csc for csr, and csr for csc."""
        return self._wrap(self._matrix.dual(), self._op)

    mT = T

    def copy(self) -> Any:
        """Return an independent matrix; entries whose index arrays were written out of order stay so, as in SciPy."""
        exporter = None if self._op or self._backend is not CPU else self._matrix.exporter
        result = None if exporter is None else exporter.copied(self._format.name)
        return conversions.copy(self) if result is None else self._wrap(result)

    @property
    def data(self) -> np.ndarray:
        """The stored values, as in SciPy, on the CPU only: `values`, or for a conjugate view a read-only copy."""
        if self._backend is not CPU:
            raise TypeError(f'data: {self!r}: SciPy works on the cpu; write A.to("cpu"), or A.values')
        values = self._matrix.stored_values
        if self._op & CONJUGATED:
            values = values.conj()
            values.flags.writeable = False
        return values

    @data.setter
    def data(self, new: Any) -> None:
        require_plain(self, "data")
        write_values(self, new, "data")

    def sum_duplicates(self) -> None:
        """Sort entries whose index arrays were written out of order, and sum duplicates.

        If anything changes, the matrix and its views get new arrays. Values that are shared with other matrices, such
        as the SciPy matrix that this one was created from, do not change.
        """
        sort(self, sum_duplicates=True)

    def check_format(self, full_check: bool = True) -> None:
        """Raise ValueError if index arrays were written to and do not describe a matrix."""
        is_canonical(self)

    def diagonal(self, k: int = 0) -> np.ndarray:
        """Return a copy of diagonal `k` (0: the main one) as a NumPy array."""
        if type(k) is not int:
            k = integer(k, "diagonal: k")
        if not -self._shape[0] < k < self._shape[1]:
            return np.zeros(0, self.dtype)
        self._format.check_diagonal_fits(self, k)
        return self._backend.host(self._core.diagonal(self._matrix, self._op, k))

    def eliminate_zeros(self) -> None:
        """Drop the stored zeros, in place."""
        self._matrix, self._op = self._format.without_zeros(self)._matrix, 0


def index_part(a: SparseArray, name: str) -> Any:
    """Return an index array of the matrix that this is a view of."""
    return index_array(a._matrix, name) if a._backend is CPU else a._matrix.parts()[name]


def set_index_part(a: SparseArray, name: str, new: Any) -> None:
    """Replace an index array by a copy of `new`; the previous one does not change, as in SciPy."""
    require_host(a, name)
    if a._matrix.sealed:
        raise ValueError(f"{name}: {a!r} is part of another matrix, whose structure does not change; .copy() it")
    given = integers(new, name, f"{a.format}_array")
    array = index_part(a, name)  # the exporter exists as long as this is referenced
    converted = given.astype(array.dtype, copy=False)
    if not np.array_equal(converted, given):
        raise ValueError(
            f"{a.format}_array: {name} holds {given.min()} to {given.max()}, which does not fit {converted.dtype}"
        )
    a._matrix.exporter.replace(name, converted)


def is_canonical(a: SparseArray) -> bool:
    """Whether entries are sorted, without duplicates. They are, unless index arrays were written to."""
    return a._backend is not CPU or (exporter := a._matrix.exporter) is None or exporter.in_order()


def refuse_canonical(a: SparseArray, value: bool) -> None:
    """Raise ValueError if `value` is True, but entries are not sorted or repeat."""
    if value and not is_canonical(a):
        raise ValueError(
            f"{a.format}_array: has_canonical_format = {value!r}, but entries are out of order or repeat; "
            "sum_duplicates() sorts and sums them"
        )


def sort(a: SparseArray, sum_duplicates: bool) -> None:
    """Sort entries whose index arrays were written out of order."""
    if a._backend is CPU and (exporter := a._matrix.exporter) is not None:
        exporter.sort(sum_duplicates)


def _with_own_indices(a: Any) -> Any:
    """Return a SciPy array with copies of index arrays that other matrices read."""
    if a.format == "coo":
        a.coords = tuple(index if index.flags.writeable else index.copy() for index in a.coords)
        return a
    for name in ("indices", "indptr"):
        index = getattr(a, name, None)
        if index is not None and not index.flags.writeable:
            setattr(a, name, index.copy())
    return a
