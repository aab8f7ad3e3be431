"""Coordinates sorted by columns, with column pointers."""

from __future__ import annotations

from .._matrix.sparse_array import SparseArray
from . import sorted_coo


class Coosc(sorted_coo.SortedCoo):
    """The layout of `coosc_array`."""

    pointed = 1


class coosc_array(SparseArray):
    """Coordinates sorted by columns, with column pointers.

    Parameters
    ----------
    arg : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shape (m, n), or component arrays
        The component arrays are ``(values, row, col, indptr)``: the entries sorted by columns, and the start of each
        column. Values are shared, the other arrays are copied.
    shape : tuple, optional
        Required with component arrays.
    dtype, copy, device, max_bytes
        As for `csr_array`.

    Notes
    -----
    Bytes: ``nnz (itemsize + 8) + 8 (n + 1)``. Products of two matrices are computed in csr.

    Vooturi and Kothapalli (2016): the remainder of a quasi-band matrix as a right operand.

    Examples
    --------
    >>> import diagsparse as ds
    >>> A = ds.coosc_array(ds.gallery.tridiagonal(3))
    >>> A.row, A.col
    (array([0, 1, 0, 1, 2, 1, 2], dtype=int32), array([0, 0, 1, 1, 1, 2, 2], dtype=int32))
    >>> A.indptr
    array([0, 2, 5, 7])
    """

    _format = Coosc("coosc")
    row, col, indptr = sorted_coo.row, sorted_coo.col, sorted_coo.indptr
