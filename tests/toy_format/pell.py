"""A toy for tests/package/test_toy_format.py: every row padded to the longest one, row after row."""

from __future__ import annotations

from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary
from .component import component
from .format import Format


class Pell(Format):
    """The layout of `pell_array`."""

    structure = ("indices",)
    two_dimensional = ("values", "indices")
    padded = True

    def positions(self, s: Summary, **options: int) -> int:
        return s.longest_row * s.shape[0]

    def nbytes(self, s: Summary, **options: int) -> int:
        return self.positions(s) * (s.itemsize + 4)


class pell_array(SparseArray):
    """Every row padded to the longest one, row after row."""

    _format = Pell("pell")
    indices = component("indices", "Column of every position, -1 in the padding, int32 (m, width), zero-copy.")
