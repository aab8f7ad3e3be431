"""Compressed sparse rows (`csr`) and compressed sparse columns (`csc`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._backends.backend import CPU
from .._matrix.summary import Summary
from .indexed import Entries
from .indexed_array import IndexedArray, index_part, is_canonical, refuse_canonical, set_index_part, sort


class Compressed(Entries):
    """The layout of `csr_array` and `csc_array`, whose pointers run along an axis: 0 for rows, 1 for columns."""

    structure = ("indices", "indptr")
    sampled = True

    def __init__(self, name: str, axis: int, scipy_class: type) -> None:
        super().__init__(name)
        self.nearest, self.by_column, self.scipy_class = name, axis == 1, scipy_class
        self._axis = axis

    def nbytes(self, s: Summary, **options: int) -> int:
        return s.entries * (s.itemsize + 4) + 8 * (s.shape[self._axis] + 1)


class csr_array(IndexedArray):
    """Compressed sparse rows: row i holds ``values[indptr[i]:indptr[i + 1]]`` in columns ``indices[...]``.

    Parameters
    ----------
    arg : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shape (m, n), or ``(values, indices, indptr)``
        Or ``(values, (row, col))``, as in SciPy. Every format also accepts a dict of component arrays, as `parts`
        returns it. Unsorted entries are sorted and duplicates are summed, in a copy. Values of canonical arrays are
        shared, index arrays are copied: if a SciPy matrix changes its values in place, as in ``eliminate_zeros``, this
        matrix changes too. With ``copy=True``, nothing is shared.
    shape, dtype, copy, device, max_bytes
        As for `dia_array`; `shape` may be omitted, as in SciPy.

    Raises
    ------
    ValueError, TypeError, MemoryError
        For indices out of range, inconsistent arrays, m or n >= 2^31, and matrices that do not fit into memory.

    Notes
    -----
    Bytes: ``nnz (itemsize + 4) + 8 (m + 1)``; indices are int32, indptr is int64.

    Examples
    --------
    >>> import numpy as np, diagsparse as ds
    >>> A = ds.csr_array((np.array([1.0, 2.0]), np.array([0, 1]), np.array([0, 1, 2])))
    >>> A @ np.array([3.0, 4.0])
    array([3., 8.])
    """

    _format = Compressed("csr", 0, sp.csr_array)

    @property
    def indices(self) -> np.ndarray:
        """Column of every entry (row for csc), int32: a copy of the array that kernels read.

        Changes are validated and applied before the next use of the matrix. As long as the array is referenced, every
        use compares it with its last state. ``parts()`` has the arrays that kernels read.
        """
        return index_part(self, "indices")

    @indices.setter
    def indices(self, new: Any) -> None:
        set_index_part(self, "indices", new)

    @property
    def indptr(self) -> np.ndarray:
        """Start of each row (column for csc), int32: a copy, like `indices`."""
        return index_part(self, "indptr")

    @indptr.setter
    def indptr(self, new: Any) -> None:
        set_index_part(self, "indptr", new)

    @property
    def has_sorted_indices(self) -> bool:
        """Whether indices ascend in each row (csr) or column (csc). They do, unless they were written to.

        The order is always checked. Assigning False, which tells SciPy that indices were written to, has no effect
        here; assigning True raises `ValueError` if the indices do not ascend.
        """
        return self._backend is not CPU or (exporter := self._matrix.exporter) is None or exporter.ascends()

    @has_sorted_indices.setter
    def has_sorted_indices(self, value: bool) -> None:
        if value and not self.has_sorted_indices:
            who, what = f"{self.format}_array", f"has_sorted_indices = {value!r}"
            raise ValueError(f"{who}: {what}, but indices do not ascend; sort_indices() sorts them")

    @property
    def has_canonical_format(self) -> bool:
        """Whether indices ascend in each row (csr) or column (csc), without duplicates; see `has_sorted_indices`."""
        return is_canonical(self)

    @has_canonical_format.setter
    def has_canonical_format(self, value: bool) -> None:
        refuse_canonical(self, value)

    def sort_indices(self) -> None:
        """Sort indices that were written out of order, and their values, without summing duplicates, as in SciPy.

        If anything changes, the matrix and its views get new arrays, as from `sum_duplicates`.
        """
        sort(self, sum_duplicates=False)

    def sorted_indices(self) -> Any:
        """Return a sorted copy."""
        result = self.copy()
        result.sort_indices()
        return result


class csc_array(IndexedArray):
    """Compressed sparse columns: column j holds ``values[indptr[j]:indptr[j + 1]]`` in rows ``indices[...]``.

    Parameters
    ----------
    arg : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shape (m, n), or ``(values, indices, indptr)``
    shape, dtype, copy, device, max_bytes
        As for `csr_array`.

    Notes
    -----
    Bytes: ``nnz (itemsize + 4) + 8 (n + 1)``. The same arrays are the csr of the transpose.

    Examples
    --------
    >>> import numpy as np, diagsparse as ds
    >>> A = ds.csc_array(np.array([[1.0, 0.0], [2.0, 3.0]]))
    >>> A.indices
    array([0, 1, 1], dtype=int32)
    """

    _format = Compressed("csc", 1, sp.csc_array)
    indices, indptr = csr_array.indices, csr_array.indptr
    has_sorted_indices, has_canonical_format = csr_array.has_sorted_indices, csr_array.has_canonical_format
    sort_indices, sorted_indices = csr_array.sort_indices, csr_array.sorted_indices
