"""What `coosr` and `coosc` share: coordinates in order, and where each row or column begins."""

from __future__ import annotations

from typing import Any

from .._matrix.forecasts import sorting
from .._matrix.summary import Summary
from .._places.backend import Place
from .format import Format


class SortedCoo(Format):
    """Coordinates with pointers, to rows or to columns."""

    _structure = ("row", "col", "indptr")
    _pointed: int  # the axis along which pointers run

    @property
    def row(self) -> Any:
        """Row of every entry, int32 (nnz,), zero-copy."""
        return self.parts()["row"]

    @property
    def col(self) -> Any:
        """Column of every entry, int32 (nnz,), zero-copy."""
        return self.parts()["col"]

    @property
    def indptr(self) -> Any:
        """Where the entries of each row, or column, begin: int64 (m + 1,), or (n + 1,); zero-copy."""
        return self.parts()["indptr"]

    @classmethod
    def _forecast(cls, s: Summary, **options: int) -> int:
        return s.entries * (s.itemsize + 8) + 8 * (s.shape[cls._pointed] + 1)

    @classmethod
    def _from_csr_beside(cls, s: Summary, place: Place, **options: int) -> int:
        return sorting(s.entries, s.itemsize, place) + 8 * (sum(s.shape) + 1)

    def _to_csr_beside(self, s: Summary) -> int:
        as_stored = self._pointed == 0 and not self._op  # csr over the same arrays
        return 0 if as_stored else self._from_csr_beside(s, self._place)
