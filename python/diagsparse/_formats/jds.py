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
        # A GPU sorts the rows by keys, from one array of them to another, with as much for the sort itself.
        return 0 if backend is CPU else 24 * s.shape[0]


class jds_array(SparseArray):
    """Jagged diagonals: rows sorted by length, the longest first; those of one length are an ell without padding.

    Parameters
    ----------
    arg : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shape (m, n), or the parts
        The parts are ``(values, indices, row_order, section_rows, section_indptr)``. Place p holds row
        ``row_order[p]``, shape (m,). Section s holds the places from ``section_rows[s]`` to ``section_rows[s + 1]``,
        rows of one length, ascending, and of a smaller length than those of the section before; the places after the
        last section are the empty rows. Its entries lie from ``section_indptr[s]`` to ``section_indptr[s + 1]`` in
        values and indices: the first of each row side by side, then the second of each; columns ascend in a row.
        Values are shared, the rest is copied.
    shape : tuple, optional
        Needed with the parts.
    dtype, copy, device, max_bytes
        As for `csr_array`.

    Notes
    -----
    Bytes: ``nnz (itemsize + 4) + 4 m + 12 (sections + 1)``: a section for each length above 0 that rows have, and no
    padding. Products of two matrices are computed in csr.

    Jagged diagonals as in Saad (1989), cut where the length changes, as in the NVIDIA teaching kit's module 10.

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
    indices = component("indices", "Column of every entry, int32 (nnz,), zero-copy.")
    row_order = component("row_order", "Row at every place, int32 (m,), zero-copy.")
    section_rows = component(
        "section_rows", "First place of every section, and the end of the last one, int32 (sections + 1,), zero-copy."
    )
    section_indptr = component(
        "section_indptr", "First entry of every section, and the end of the last one, int64 (sections + 1,), zero-copy."
    )

    @property
    def sections(self) -> int:
        """How many lengths above 0 the rows have."""
        return self._matrix.parts()["section_rows"].shape[0] - 1
