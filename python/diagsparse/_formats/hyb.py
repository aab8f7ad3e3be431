"""Hybrid of ELLPACK and coordinates."""

from __future__ import annotations

import numpy as np

from .._backends.backend import Backend
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary
from .._matrix.workspaces import sorting
from .component import component
from .options import count
from .several import Several


class Hyb(Several):
    """The layout of `hyb_array`."""

    structure = ("ell_indices", "coo_row", "coo_col")
    two_dimensional = ("ell_indices",)
    options = {"width": count}

    def description(self, a: SparseArray) -> str:
        return f"width {a.width}, "

    def completed(self, s: Summary, options: dict[str, int]) -> dict[str, int]:
        if options:
            return options
        lengths, rows = s.row_lengths.T
        longer = s.shape[0] - (np.cumsum(rows) - rows)  # rows of this length or more
        # Increasing the width by one adds a position to every row, and moves an entry of each longer row out of coo.
        worthwhile = longer * (s.itemsize + 8) > s.shape[0] * (s.itemsize + 4)
        return {"width": int(lengths[worthwhile].max(initial=0))}

    def nbytes(self, s: Summary, **options: int) -> int:
        positions, rest = self.split(s, **options)
        return positions * (s.itemsize + 4) + rest * (s.itemsize + 8)

    def split(self, s: Summary, **options: int) -> tuple[int, int]:
        """Return the positions of ell and the entries of coo."""
        width = self.completed(s, options)["width"]
        return width * s.shape[0], s.beyond(width)

    def positions(self, s: Summary, **options: int) -> int:
        """Return the number of stored values, including padding."""
        return sum(self.split(s, **options))

    def from_csr_workspace(self, s: Summary, backend: Backend, **options: int) -> int:
        # Both are built with separate values before they share an array; the rest is built as csr first.
        positions, rest = self.split(s, **options)
        return 8 * (s.shape[0] + 1) + max((positions + rest) * s.itemsize, sorting(rest, s.itemsize, backend))


class hyb_array(SparseArray):
    """The first entries of each row in ell, the rest in coo: two matrices on one array of values.

    Parameters
    ----------
    arg : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shape (m, n), or component arrays
        The component arrays are ``(values, ell_indices, coo_row, coo_col)``: values of shape (width m + rest,), those
        of `ell` in the order of its array, then those of `coo`; ell_indices of shape (width, m); coo_row and coo_col of
        shape (rest,). Values are shared, the other arrays are copied.
    shape, dtype, copy, device, max_bytes
        As for `csr_array`; `shape` is required with component arrays.
    width : int, optional
        The number of entries of each row in ell; by default the number with the fewest bytes. Matrices derived from
        this one (`A.T.copy()`, `A + B`) choose their own width.

    Notes
    -----
    Bytes: ``width m (itemsize + 4) + rest (itemsize + 8)``. Products of two matrices are computed in csr.

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
        """The first `width` entries of each row, on their part of the values."""
        return self._format.child(self, 0)

    @property
    def coo(self) -> SparseArray:
        """The remaining entries, on their part of the values."""
        return self._format.child(self, 1)

    ell_indices = component("ell_indices", "Column of every entry of ell, int32 (width, m), -1 in the padding.")
    coo_row = component("coo_row", "Row of every entry of coo, int32 (rest,).")
    coo_col = component("coo_col", "Column of every entry of coo, int32 (rest,).")

    @property
    def width(self) -> int:
        """Number of entries of each row in ell, including padding."""
        return self._matrix.parts()["ell_indices"].shape[0]
