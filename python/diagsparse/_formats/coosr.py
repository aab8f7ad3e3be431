"""Coordinates by rows, with pointers to them."""

from __future__ import annotations

from .._matrix.sparse_array import SparseArray
from . import sorted_coo


class Coosr(sorted_coo.SortedCoo):
    """The layout of `coosr_array`."""

    pointed = 0


class coosr_array(SparseArray):
    """Coordinates row by row that also know where each row begins.

    Parameters
    ----------
    arg : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shape (m, n), or the parts
        The parts are ``(values, row, col, indptr)``: entries in order, row by row, and where each row begins.
        Values are shared, the rest is copied.
    shape : tuple, optional
        Needed with the parts.
    dtype, copy, device, max_bytes
        As for `csr_array`.

    Notes
    -----
    Bytes: ``nnz (itemsize + 8) + 8 (m + 1)``. Products of two matrices are made as `csr_array`.

    Vooturi and Kothapalli (2016): the remainder of a quasi-band matrix as a left operand.

    Examples
    --------
    >>> import diagsparse as ds
    >>> A = ds.coosr_array(ds.gallery.tridiagonal(3))
    >>> A.row, A.col
    (array([0, 0, 1, 1, 1, 2, 2], dtype=int32), array([0, 1, 0, 1, 2, 1, 2], dtype=int32))
    >>> A.indptr
    array([0, 2, 5, 7])
    """

    _format = Coosr("coosr")
    row, col, indptr = sorted_coo.row, sorted_coo.col, sorted_coo.indptr
