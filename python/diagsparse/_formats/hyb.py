"""ELLPACK and the rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._matrix.base import SparseArray
from .._matrix.forecasts import sorting
from .._matrix.registry import COMMON, FORMATS
from .._matrix.summary import Summary
from .._places.backend import Place
from .format import Format
from .options import count


class hyb_array(Format):
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

    format = "hyb"
    _structure = ("ell_indices", "coo_row", "coo_col")
    _two_dimensional = ("ell_indices",)
    _padded = _several = True
    _options = {"width": count}

    @property
    def ell(self) -> SparseArray:
        """The first `width` entries of each row, over its part of the values."""
        return self._child(0)

    @property
    def coo(self) -> SparseArray:
        """The rest, over its part of the values."""
        return self._child(1)

    @property
    def ell_indices(self) -> Any:
        """Column of every entry of ell, int32 (width, m), -1 in the padding; zero-copy."""
        return self.parts()["ell_indices"]

    @property
    def coo_row(self) -> Any:
        """Row of every entry of coo, int32 (rest,), zero-copy."""
        return self.parts()["coo_row"]

    @property
    def coo_col(self) -> Any:
        """Column of every entry of coo, int32 (rest,), zero-copy."""
        return self.parts()["coo_col"]

    @property
    def width(self) -> int:
        """Entries of each row that lie in ell."""
        return self._matrix.parts()["ell_indices"].shape[0]

    def _child(self, number: int) -> SparseArray:
        return self._wrap(self._matrix.children()[number], self._op)

    def _told(self) -> str:
        return f"width {self.width}, "

    @classmethod
    def _completed(cls, s: Summary, options: dict[str, int]) -> dict[str, int]:
        if options:
            return options
        lengths, rows = s.row_lengths.T
        longer = s.shape[0] - (np.cumsum(rows) - rows)  # rows of this length or more
        # One more entry makes every row longer, and takes one of each longer row out of coo.
        pays = longer * (s.itemsize + 8) > s.shape[0] * (s.itemsize + 4)
        return {"width": int(lengths[pays].max(initial=0))}

    @classmethod
    def _forecast(cls, s: Summary, **options: int) -> int:
        places, rest = cls._shares(s, **options)
        return places * (s.itemsize + 4) + rest * (s.itemsize + 8)

    @classmethod
    def _shares(cls, s: Summary, **options: int) -> tuple[int, int]:
        """Return the places of ell and the entries of coo."""
        width = cls._completed(s, options)["width"]
        return width * s.shape[0], s.beyond(width)

    @classmethod
    def _places(cls, s: Summary, **options: int) -> int:
        """Return how many values are stored, those of the padding among them."""
        return sum(cls._shares(s, **options))

    @classmethod
    def _from_csr_beside(cls, s: Summary, place: Place, **options: int) -> int:
        # Both are made with values of their own before they share an array; the rest is rows at first.
        places, rest = cls._shares(s, **options)
        return 8 * (s.shape[0] + 1) + max((places + rest) * s.itemsize, sorting(rest, s.itemsize, place))

    def _to_csr_beside(self, s: Summary) -> int:
        # Both as rows, which are merged.
        rows = FORMATS[COMMON]._forecast(s) + 8 * (s.shape[0] + 1)
        return rows + sorting(s.entries, s.itemsize, self._place)
