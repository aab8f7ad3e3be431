"""Compact diagonals: superdiagonal k stacked on subdiagonal n - k."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._matrix.registry import FORMATS
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary
from .._products.plans import MatmulPlan
from .._show import drawing
from . import diagonal_products
from .diagonal import DiagonalArray, Diagonals
from .format import Format
from .packing import Packing, stored_labels


class Cdm(Diagonals):
    """The layout of `cdm_array`."""

    labels = "rows"
    structure = ("rows",)
    two_dimensional = ("values",)
    shares_rows = True

    def infer_shape(self, values: Any) -> tuple[int, int]:
        return values.shape[1], values.shape[1]

    def for_product(self, a: SparseArray, other: SparseArray, repeated: bool, named: bool) -> Format:
        return self if a._shape[0] == other._shape[1] else FORMATS["hm"]

    def matmul(self, a: SparseArray, b: SparseArray) -> SparseArray:
        return diagonal_products.matmul(a, b) if b._shape[0] == b._shape[1] else MatmulPlan(a, b)()

    def format_for_shape(self, shape: tuple[int, int]) -> Format:
        return self if shape[0] == shape[1] else FORMATS["hm"]

    def count_stored(self, s: Summary) -> int:
        return rows_for(s.offsets, s.shape[0]) * s.shape[0]

    def nbytes(self, s: Summary, **options: Any) -> int:
        n, packing = s.shape[0], Packing(**options)
        rows = len(stored_labels(self.name, s, packing)) if packing.symmetry else rows_for(s.offsets, n)
        width = 2 * min(n, int(packing.period)) if packing.period else n  # both diagonals of a row have their period
        return rows * (width * s.itemsize + 8)

    def draw_layout(self, a: SparseArray, small: bool) -> tuple[str, str]:
        return drawing.diagonal_rows(a, small, "values, one row per pair of diagonals; grey values are zero")


class cdm_array(DiagonalArray):
    """Compact diagonals of square matrices: superdiagonal k and subdiagonal n - k share a row of n values.

    ``values[r, i] = A[i, (i + rows[r]) mod n]``; if only one of the two diagonals has entries, the other is zero. ::

        | 1  5  .  . |         rows   = [ 0  1  3 ]
        | 9  2  6  . |         values = [[ 1  2  3  4 ]     the main diagonal
        | . 10  3  7 |                   [ 5  6  7  0 ]     superdiagonal 1, subdiagonal -3
        | .  . 11  4 |                   [ 0  9 10 11 ]]    superdiagonal 3, subdiagonal -1

    Parameters
    ----------
    arg : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shape (n, n), or ``(values, rows)``
        `values` of shape (R, n), `rows` R distinct integers from 0 to n - 1 in any order.
    shape, dtype, copy, device, max_bytes, symmetry, period
        As for `dia_array`; the shape follows from `values`. With a period, `values` has shape (R, 2 period), for the
        period of each of both diagonals.

    Raises
    ------
    ValueError, TypeError, MemoryError
        As for `dia_array`; ValueError for a matrix that is not square.

    Notes
    -----
    Bytes: ``R (n itemsize + 8)``. Haque, Parvez, Hossain, Algorithms 17(1):31, 2024, section 3.2.

    Examples
    --------
    >>> import numpy as np, diagsparse as ds
    >>> A = ds.cdm_array((np.array([[1.0, 2, 3], [4, 5, 6]]), [0, 1]))
    >>> A.toarray()
    array([[1., 4., 0.],
           [0., 2., 5.],
           [6., 0., 3.]])
    """

    _format = Cdm("cdm")

    @property
    def rows(self) -> np.ndarray:
        """The index k of each stored row, which has superdiagonal k and subdiagonal n - k."""
        return self.parts()["rows"]

    @property
    def offsets(self) -> np.ndarray:
        """The offsets of all diagonals that the rows store, ascending."""
        return self._format.spans(self)[:, 0]


def rows_for(offsets: np.ndarray, n: int) -> int:
    """Return the number of rows of values for these diagonals of an n x n matrix; k and k - n share a row."""
    return len(set((offsets % max(1, n)).tolist()))
