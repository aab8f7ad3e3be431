"""Compressed sparse columns."""

from __future__ import annotations

import scipy.sparse as sp

from .._matrix.summary import Summary
from . import compressed
from .indexed import Entries
from .indexed_array import IndexedArray


class Csc(Entries):
    """The layout of `csc_array`."""

    nearest = "csc"
    structure = ("indices", "indptr")
    scipy_class = sp.csc_array
    by_column = True

    def nbytes(self, s: Summary, **options: int) -> int:
        return s.entries * (s.itemsize + 4) + 8 * (s.shape[1] + 1)


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

    _format = Csc("csc")
    indices, indptr = compressed.indices, compressed.indptr
    has_sorted_indices = compressed.has_sorted_indices
    has_canonical_format = compressed.has_canonical_format
    sort_indices = compressed.sort_indices
    sorted_indices = compressed.sorted_indices
