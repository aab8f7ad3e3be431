"""Jagged diagonal storage."""

from __future__ import annotations

from .._backends.backend import CPU, Backend
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary
from .component import component
from .format import Format


class Jds(Format):
    """The layout of `jds_array`."""

    structure = ("indices", "row_order", "section_rows", "section_indptr")

    def description(self, a: SparseArray) -> str:
        return f"sections {a.sections}, "

    def nbytes(self, s: Summary, **options: int) -> int:
        sections = int((s.row_lengths[:, 0] > 0).sum())
        return s.entries * (s.itemsize + 4) + 4 * s.shape[0] + 12 * (sections + 1)

    def from_csr_workspace(self, s: Summary, backend: Backend, **options: int) -> int:
        # A GPU sorts pairs of keys and rows from one array to another, and the sort needs as much again.
        return 0 if backend is CPU else 24 * s.shape[0]


class jds_array(SparseArray):
    """Jagged diagonals: rows sorted by descending length; rows of equal length are an ell without padding.

    Parameters
    ----------
    arg : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shape (m, n), or component arrays
        The component arrays are ``(values, indices, row_order, section_rows, section_indptr)``. ``row_order[p]`` is the
        row of the matrix at position p. Section s consists of the positions from ``section_rows[s]`` to
        ``section_rows[s + 1]``: the rows of one length, ascending, which are shorter than those of the section before.
        The positions after the last section are the empty rows. The entries of section s are those from
        ``section_indptr[s]`` to ``section_indptr[s + 1]`` of values and indices: the first one of each row, then the
        second one of each row, with ascending columns in a row. Values are shared, the other arrays are copied.
    shape, dtype, copy, device, max_bytes
        As for `csr_array`; `shape` is required with component arrays.

    Notes
    -----
    Bytes: ``nnz (itemsize + 4) + 4 m + 12 (sections + 1)``, with a section for each row length above 0, and no padding.
    Products of two matrices are computed in csr.

    Jagged diagonals as in Saad (1989), divided where the length changes, as in the NVIDIA teaching kit's module 10.

    Examples
    --------
    >>> import numpy as np, diagsparse as ds
    >>> A = ds.jds_array(np.array([[3.0, 0, 1, 0], [0, 0, 0, 0], [0, 2, 4, 1], [1, 0, 0, 1]]))
    >>> A.row_order, A.section_rows
    (array([2, 0, 3, 1], dtype=int32), array([0, 1, 3], dtype=int32))
    >>> A.values
    array([2., 4., 1., 3., 1., 1., 1.])
    """

    _format = Jds("jds")
    indices = component("indices", "Column of every entry, int32 (nnz,).")
    row_order = component("row_order", "Row of the matrix at every position, int32 (m,).")
    section_rows = component("section_rows", "First position of every section, and the end, int32 (sections + 1,).")
    section_indptr = component("section_indptr", "First entry of every section, and the end, int64 (sections + 1,).")

    @property
    def sections(self) -> int:
        """Number of sections, that is of row lengths above 0."""
        return self._matrix.parts()["section_rows"].shape[0] - 1
