"""The Hossain-Mahmud format: diagonals without padding."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary
from .._show import drawing
from .diagonal import DiagonalArray, Diagonals
from .packing import Packing, stored_labels


class Hm(Diagonals):
    """The layout of `hm_array`."""

    derived = ("starts",)

    def shape_values(self, values: Any, labels: list[int]) -> Any:
        if values.ndim != 1:
            raise ValueError(f"hm_array: values of shape {values.shape}, expected one flat array of all diagonals")
        return values

    def nbytes(self, s: Summary, **options: Any) -> int:
        (m, n), packing = s.shape, Packing(**options)
        k = stored_labels(self.name, s, packing) if packing.symmetry else s.offsets
        lengths = np.minimum(m + np.minimum(k, 0), n - np.maximum(k, 0))
        return int(np.minimum(lengths, int(packing.period or m)).sum()) * s.itemsize + 16 * len(k) + 8

    def draw_layout(self, a: SparseArray, small: bool) -> tuple[str, str]:
        return drawing.diagonal_runs(a, small)


class hm_array(DiagonalArray):
    """Hossain-Mahmud: the stored diagonals one after another, without padding.

    Element (i, j) is at position ``min(i, j)`` of diagonal ``j - i``. ::

        | 1  5  .  .  . |      offsets = [ 0        1        -1      ]
        | 9  2  6  .  . |      values  = [ 1 2 3 4  5 6 7 8  9 10 11 ]
        | . 10  3  7  . |      starts  = [ 0        4        8       11 ]
        | .  . 11  4  8 |

    Parameters
    ----------
    arg : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shape (m, n), or ``(values, offsets)``
        `values` is one-dimensional, with the diagonals one after another; `offsets` are in the format's order: 0 first,
        then superdiagonals ascending, then subdiagonals descending.
    shape, dtype, copy, device, max_bytes, symmetry, period
        As for `dia_array`. With a period, `values` are the first period of each diagonal.

    Raises
    ------
    ValueError, TypeError, MemoryError
        As for `dia_array`.

    Notes
    -----
    Bytes: ``itemsize * (sum of the lengths) + 16 D + 8``; a full band (kl, ku) of order n has
    ``n (kl + ku + 1) - ku (ku + 1) / 2 - kl (kl + 1) / 2`` values. Haque, Parvez, Hossain,
    Algorithms 17(1):31, 2024, after Hossain and Mahmud (HPEC 2019).

    Examples
    --------
    >>> import numpy as np, diagsparse as ds
    >>> A = ds.hm_array((np.array([1.0, 2, 3, 4, 5]), [0, 1]), shape=(3, 3))
    >>> A.toarray()
    array([[1., 4., 0.],
           [0., 2., 5.],
           [0., 0., 3.]])
    """

    _format = Hm("hm")
