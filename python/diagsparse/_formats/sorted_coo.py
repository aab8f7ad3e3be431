"""Coordinates sorted by rows (`coosr`) or by columns (`coosc`), with pointers to them."""

from __future__ import annotations

from .._backends.backend import Backend
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary
from .._matrix.workspaces import sorting
from .component import component
from .format import Format


class SortedCoo(Format):
    """The layout of `coosr_array` and `coosc_array`, whose pointers run along an axis: 0 for rows, 1 for columns."""

    structure = ("row", "col", "indptr")

    def __init__(self, name: str, axis: int) -> None:
        super().__init__(name)
        self._axis = axis

    def nbytes(self, s: Summary, **options: int) -> int:
        return s.entries * (s.itemsize + 8) + 8 * (s.shape[self._axis] + 1)

    def from_csr_workspace(self, s: Summary, backend: Backend, **options: int) -> int:
        return sorting(s.entries, s.itemsize, backend) + 8 * (sum(s.shape) + 1)

    def to_csr_workspace(self, a: SparseArray, s: Summary) -> int:
        as_stored = self._axis == 0 and not a._op  # csr shares these arrays
        return 0 if as_stored else self.from_csr_workspace(s, a._backend)


class coosr_array(SparseArray):
    """Coordinates sorted by rows, with row pointers.

    Parameters
    ----------
    arg : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shape (m, n), or component arrays
        The component arrays are ``(values, row, col, indptr)``: the entries sorted by rows, and the start of each row.
        Values are shared, the other arrays are copied.
    shape, dtype, copy, device, max_bytes
        As for `csr_array`; `shape` is required with component arrays.

    Notes
    -----
    Bytes: ``nnz (itemsize + 8) + 8 (m + 1)``. Products of two matrices are computed in csr.

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

    _format = SortedCoo("coosr", 0)
    row = component("row", "Row of every entry, int32 (nnz,).")
    col = component("col", "Column of every entry, int32 (nnz,).")
    indptr = component("indptr", "Start of each row (coosc: of each column), int64 (m + 1,) or (n + 1,).")


class coosc_array(SparseArray):
    """Coordinates sorted by columns, with column pointers.

    Parameters
    ----------
    arg : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shape (m, n), or component arrays
        As for `coosr_array`, but sorted by columns, with the start of each column.
    shape, dtype, copy, device, max_bytes
        As for `coosr_array`.

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
    """

    _format = SortedCoo("coosc", 1)
    row, col, indptr = coosr_array.row, coosr_array.col, coosr_array.indptr
