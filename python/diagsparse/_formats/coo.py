"""Coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._matrix.base import TRANSPOSED
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary
from .indexed import Entries
from .indexed_array import IndexedArray, index_part, is_canonical, refuse_canonical, set_index_part


class Coo(Entries):
    """The layout of `coo_array`."""

    nearest = "coo"
    scipy_class = sp.coo_array
    structure = ("row", "col")

    def scipy_arguments(self, parts: dict[str, np.ndarray]) -> tuple[Any, ...]:
        return parts["values"], (parts["row"], parts["col"])

    def canonical(self, a: Any) -> Any:
        if a.shape[0] > a.nnz and a.format != "csr":
            return _in_order(a.tocoo())
        csr = sp.csr_array(a, copy=a.format == "csr")
        csr.sum_duplicates()
        return csr.tocoo()

    def scipy_workspace(self, s: Summary) -> int:
        if s.shape[0] > s.stored:  # the order, and sorted copies of all arrays, whose indices may be int64
            return s.stored * (2 * s.itemsize + 64)
        return super().scipy_workspace(s) + 8 * (s.shape[0] + 1)

    def nbytes(self, s: Summary, **options: int) -> int:
        return s.entries * (s.itemsize + 8)


class coo_array(IndexedArray):
    """Coordinates: ``A[row[e], col[e]] = values[e]``, sorted by rows, without duplicates.

    Parameters
    ----------
    arg : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shape (m, n), or ``(values, (row, col))``
        Or ``(values, row, col)``, or a dict of these arrays.
    shape, dtype, copy, device, max_bytes
        As for `csr_array`.

    Notes
    -----
    Bytes: ``nnz (itemsize + 8)``; `row` and `col` are int32.

    Examples
    --------
    >>> import numpy as np, diagsparse as ds
    >>> A = ds.coo_array((np.array([5.0, 1.0]), (np.array([1, 0]), np.array([0, 1]))), shape=(2, 2))
    >>> A.row
    array([0, 1], dtype=int32)
    """

    _format = Coo("coo")

    @property
    def row(self) -> np.ndarray:
        """Row of every entry, int32: a copy of the array that kernels read.

        Changes are validated and applied before the next use of the matrix, see `csr_array.indices`. The entries of a
        transposed view are ordered by columns.
        """
        return index_part(self, _axis(self, "row"))

    @row.setter
    def row(self, new: Any) -> None:
        set_index_part(self, _axis(self, "row"), new)

    @property
    def col(self) -> np.ndarray:
        """Column of every entry, int32: a copy, like `row`."""
        return index_part(self, _axis(self, "col"))

    @col.setter
    def col(self, new: Any) -> None:
        set_index_part(self, _axis(self, "col"), new)

    @property
    def has_canonical_format(self) -> bool:
        """Whether entries are sorted by rows, without duplicates; False for a transposed view.

        The order is always checked: assigning False has no effect, and assigning True raises `ValueError` if entries
        are not sorted or repeat.
        """
        return not self._op & TRANSPOSED and is_canonical(self)

    @has_canonical_format.setter
    def has_canonical_format(self, value: bool) -> None:
        refuse_canonical(self, value)

    @property
    def coords(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the entries, `row` and `col`. Assigning replaces all component arrays of the matrix."""
        return self.row, self.col

    @coords.setter
    def coords(self, new: Any) -> None:
        self._matrix, self._op = coo_array((self.data, tuple(new)), self._shape)._matrix, 0

    T = mT = SparseArray.T  # a view, as for the diagonal formats, because coo has no dual format


def _in_order(a: Any) -> Any:
    """Return a SciPy `coo_array` sorted by rows, with duplicates summed, without building row pointers."""
    order = np.lexsort((a.col, a.row))
    row, col = a.row[order], a.col[order]
    first = np.flatnonzero(np.diff(row, prepend=-1) | np.diff(col, prepend=-1))
    values = np.add.reduceat(a.data[order], first) if first.size else a.data
    return sp.coo_array((values, (row[first], col[first])), shape=a.shape)


def _axis(a: SparseArray, name: str) -> str:
    """Return the name of an index array in the matrix that this is a view of."""
    return {"row": "col", "col": "row"}[name] if a._op & TRANSPOSED else name
