"""Compressed sparse rows."""

from __future__ import annotations

import scipy.sparse as sp

from .._matrix.summary import Summary
from . import compressed
from .indexed import Entries
from .indexed_array import IndexedArray


class Csr(Entries):
    """The layout of `csr_array`."""

    structure = ("indices", "indptr")
    scipy_class = sp.csr_array

    def nbytes(self, s: Summary, **options: int) -> int:
        return s.entries * (s.itemsize + 4) + 8 * (s.shape[0] + 1)


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

    _format = Csr("csr")
    indices, indptr = compressed.indices, compressed.indptr
    has_sorted_indices = compressed.has_sorted_indices
    has_canonical_format = compressed.has_canonical_format
    sort_indices = compressed.sort_indices
    sorted_indices = compressed.sorted_indices
