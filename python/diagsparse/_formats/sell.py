"""Sliced ELLPACK."""

from __future__ import annotations

from typing import Any

from .._matrix.forecasts import sorting
from .._matrix.summary import Summary
from .._places.backend import Place
from .format import Format
from .options import integer, yes_or_no

_HEIGHTS = 32, 16, 8  # of slices, from which one is chosen
_SPARE = 1.02  # how many times the fewest bytes a higher one may take


class sell_array(Format):
    """Sliced ELLPACK, SELL-C-sigma: slices of rows, each padded to its own longest row and stored as `ell_array`.

    Parameters
    ----------
    arg : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shape (m, n), or the parts
        The parts are ``(values, indices, slice_indptr)``, with row_order or both row_order and row_lengths after them:
        values and indices of shape (places / slice_height, slice_height), indices ascending in each row of the matrix
        and then -1, where its padding begins; slice_indptr of shape (slices + 1,), where each slice begins, in
        elements; row_order of shape (m,), which row of the matrix each stored row is; row_lengths of the stored rows.
        Values are shared, the rest is copied.
    shape : tuple, optional
        Needed with the parts.
    dtype, copy, device, max_bytes
        As for `csr_array`.
    slice_height : int, optional
        Rows of a slice, 1 to 1024; parts tell their own. By default the largest of 32, 16 and 8 with at most 2 % more
        bytes than the best of them. Matrices that are made of this one (`A.T.copy()`, `A + B`) choose it anew.
    sigma : int, default 1
        In each window of so many rows these are sorted by descending length, so that rows of one slice are about
        equally long; 1: rows stay in their order, as do those of matrices that are made of this one.
    row_lengths : bool, default False
        Whether the length of every row is stored too: 4 bytes a row, and kernels need not look for the padding.

    Notes
    -----
    Bytes: ``places (itemsize + 4) + 8 (slices + 1)``, ``4 m`` for row_order where sigma > 1, and ``4 m`` with
    row_lengths. Padding is never multiplied, so infinities in x stay where they belong. Products of two matrices are
    made as `csr_array`.

    The slices are those of Monakov, Lokhmotov and Avetisyan (2010), the sorting that of Kreutzer, Hager, Wellein,
    Fehske and Bishop (2014).

    Examples
    --------
    >>> import diagsparse as ds
    >>> A = ds.sell_array(ds.gallery.arrow(1000))
    >>> A.slice_height, A.nbytes, ds.memory_report(A)["ell"]
    (8, 120816, 12000000)
    """

    format = "sell"
    _structure = ("indices", "slice_indptr")
    _optional = ("row_order", "row_lengths")
    _two_dimensional = ("values", "indices")
    _padded = True
    _options = {"slice_height": integer(1, 1024), "sigma": integer(1, 2**31 - 1), "row_lengths": yes_or_no}

    @property
    def indices(self) -> Any:
        """Column of every entry, int32, slice_height elements a row, -1 in the padding; zero-copy."""
        return self.parts()["indices"]

    @property
    def slice_indptr(self) -> Any:
        """Where each slice starts, in elements, int64 (slices + 1), zero-copy."""
        return self.parts()["slice_indptr"]

    @property
    def row_order(self) -> Any:
        """Row of the matrix that is stored at each place, int32 (m,), zero-copy; None where they are in their order."""
        return self.parts().get("row_order")

    @property
    def row_lengths(self) -> Any:
        """Entries of every stored row, int32 (m,), zero-copy; None where they are not stored."""
        return self.parts().get("row_lengths")

    @property
    def slice_height(self) -> int:
        """Rows of a slice."""
        return self._matrix.values.shape[1]

    def kernels(self, operation: str = "matvec") -> list[str]:
        """Return the names of the kernels of an operation, the default first; cuSPARSE's takes no sorted rows."""
        names = super().kernels(operation)
        return names if self.row_order is None else [name for name in names if name != "cusparse"]

    def _layout(self) -> dict[str, int]:
        return {"row_lengths": int("row_lengths" in self._matrix.parts())}

    def _told(self) -> str:
        return f"slices of {self.slice_height}, "

    @classmethod
    def _completed(cls, s: Summary, options: dict[str, int]) -> dict[str, int]:
        if "slice_height" in options:
            return options
        nbytes = {height: cls._forecast(s, **options, slice_height=height) for height in _HEIGHTS}
        enough = _SPARE * min(nbytes.values())
        return options | {"slice_height": next(height for height in _HEIGHTS if nbytes[height] <= enough)}

    @classmethod
    def _forecast(cls, s: Summary, **options: int) -> int:
        rows, height, sigma = s.shape[0], cls._completed(s, options)["slice_height"], options.get("sigma", 1)
        slices, beside = -(-rows // height), options.get("row_lengths", 0) + (sigma > 1)
        return s.places_in_slices(height, sigma) * (s.itemsize + 4) + 8 * (slices + 1) + 4 * rows * beside

    @classmethod
    def _from_csr_beside(cls, s: Summary, place: Place, *, sigma: int = 1, **options: int) -> int:
        return sorting(s.shape[0], s.itemsize, place) if sigma > 1 else 0
