"""ELLPACK and the rest."""

from __future__ import annotations

import numpy as np

from .._backends.backend import Backend
from .._matrix.registry import COMMON, FORMATS
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary
from .._matrix.workspaces import sorting
from .component import component
from .format import Format
from .options import count


class Hyb(Format):
    """The layout of `hyb_array`."""

    structure = ("ell_indices", "coo_row", "coo_col")
    two_dimensional = ("ell_indices",)
    padded = several = True
    options = {"width": count}

    def child(self, a: SparseArray, number: int) -> SparseArray:
        return a._wrap(a._matrix.children()[number], a._op)

    def description(self, a: SparseArray) -> str:
        return f"width {a.width}, "

    def completed(self, s: Summary, options: dict[str, int]) -> dict[str, int]:
        if options:
            return options
        lengths, rows = s.row_lengths.T
        longer = s.shape[0] - (np.cumsum(rows) - rows)  # rows of this length or more
        # One more entry makes every row longer, and takes one of each longer row out of coo.
        worthwhile = longer * (s.itemsize + 8) > s.shape[0] * (s.itemsize + 4)
        return {"width": int(lengths[worthwhile].max(initial=0))}

    def nbytes(self, s: Summary, **options: int) -> int:
        positions, rest = self.split(s, **options)
        return positions * (s.itemsize + 4) + rest * (s.itemsize + 8)

    def split(self, s: Summary, **options: int) -> tuple[int, int]:
        """Return the places of ell and the entries of coo."""
        width = self.completed(s, options)["width"]
        return width * s.shape[0], s.beyond(width)

    def positions(self, s: Summary, **options: int) -> int:
        """Return how many values are stored, those of the padding among them."""
        return sum(self.split(s, **options))

    def from_csr_workspace(self, s: Summary, backend: Backend, **options: int) -> int:
        # Both are made with values of their own before they share an array; the rest is rows at first.
        positions, rest = self.split(s, **options)
        return 8 * (s.shape[0] + 1) + max((positions + rest) * s.itemsize, sorting(rest, s.itemsize, backend))

    def to_csr_workspace(self, a: SparseArray, s: Summary) -> int:
        # Both as rows, which are merged.
        rows = FORMATS[COMMON].nbytes(s) + 8 * (s.shape[0] + 1)
        return rows + sorting(s.entries, s.itemsize, a._backend)


class hyb_array(SparseArray):
    """The first entries of each row in ell, the rest in coo: two matrices over one array of values.

    Parameters
    ----------
    arg : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shape (m, n), or the parts
        The parts are ``(values, ell_indices, coo_row, coo_col)``: values of shape (width m + rest,), those of `ell` row
        by row of its array, then those of `coo`; ell_indices of shape (width, m); coo_row, coo_col of shape (rest,).
        Values are shared, the rest is copied.
    shape : tuple, optional
        Needed with the parts.
    dtype, copy, device, max_bytes
        As for `csr_array`.
    width : int, optional
        How many entries of each row lie in ell; by default the number with the fewest bytes. Matrices that are made of
        this one (`A.T.copy()`, `A + B`) choose it anew.

    Notes
    -----
    Bytes: ``width m (itemsize + 4) + rest (itemsize + 8)``. Products of two matrices are made as `csr_array`.

    The hybrid of the NVIDIA teaching kit's module 10, and of Bell and Garland (2009).

    Examples
    --------
    >>> import diagsparse as ds
    >>> A = ds.hyb_array(ds.gallery.arrow(1000))
    >>> A.width, A.ell.nnz, A.coo.nnz
    (2, 2000, 998)
    """

    _format = Hyb("hyb")

    @property
    def ell(self) -> SparseArray:
        """The first `width` entries of each row, over its part of the values."""
        return self._format.child(self, 0)

    @property
    def coo(self) -> SparseArray:
        """The rest, over its part of the values."""
        return self._format.child(self, 1)

    ell_indices = component(
        "ell_indices", "Column of every entry of ell, int32 (width, m), -1 in the padding; zero-copy."
    )
    coo_row = component("coo_row", "Row of every entry of coo, int32 (rest,), zero-copy.")
    coo_col = component("coo_col", "Column of every entry of coo, int32 (rest,), zero-copy.")

    @property
    def width(self) -> int:
        """Entries of each row that lie in ell."""
        return self._matrix.parts()["ell_indices"].shape[0]
