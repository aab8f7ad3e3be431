"""What `coosr` and `coosc` share: coordinates in order, and where each row or column begins."""

from __future__ import annotations

from .._backends.backend import Backend
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary
from .._matrix.workspaces import sorting
from .component import component
from .format import Format

row = component("row", "Row of every entry, int32 (nnz,), zero-copy.")
col = component("col", "Column of every entry, int32 (nnz,), zero-copy.")
indptr = component("indptr", "Where the entries of each row, or column, begin: int64 (m + 1,), or (n + 1,); zero-copy.")


class SortedCoo(Format):
    """Coordinates with pointers, to rows or to columns."""

    structure = ("row", "col", "indptr")
    pointed: int  # the axis along which pointers run

    def nbytes(self, s: Summary, **options: int) -> int:
        return s.entries * (s.itemsize + 8) + 8 * (s.shape[self.pointed] + 1)

    def from_csr_workspace(self, s: Summary, backend: Backend, **options: int) -> int:
        return sorting(s.entries, s.itemsize, backend) + 8 * (sum(s.shape) + 1)

    def to_csr_workspace(self, a: SparseArray, s: Summary) -> int:
        as_stored = self.pointed == 0 and not a._op  # csr over the same arrays
        return 0 if as_stored else self.from_csr_workspace(s, a._backend)
