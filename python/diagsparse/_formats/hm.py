"""Hossain-Mahmud: diagonals at their true length."""

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
    value_rows = False

    def shape_values(self, values: np.ndarray, labels: list[int]) -> np.ndarray:
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
    """Hossain-Mahmud: every stored diagonal at its true length, one after another, no padding.

    Element (i, j) is at position ``min(i, j)`` of diagonal ``j - i``. ::

        | 1  5  .  .  . |      offsets = [ 0        1        -1      ]
        | 9  2  6  .  . |      values  = [ 1 2 3 4  5 6 7 8  9 10 11 ]
        | . 10  3  7  . |      starts  = [ 0        4        8       11 ]
        | .  . 11  4  8 |

    Parameters
    ----------
    arg : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shape (m, n), or ``(values, offsets)``
        `values` flat, the diagonals one after another; `offsets` in the format's order: 0 first
        when stored, then superdiagonals ascending, then subdiagonals descending.
    shape : (int, int), optional
        Needed with ``(values, offsets)``.
    dtype, copy, device, max_bytes
        As for `dia_array`.
    symmetry : {None, "symmetric", "hermitian"}, optional
        Store one of two opposite diagonals. Parts name either of them, of a matrix the upper one is kept.
    period : int or "auto", optional
        Store the first `period` values of diagonals that repeat after so many rows (1: they are constant;
        "auto": the fewest rows that all of them have in common). With parts: the first values of each diagonal.
        Both options: ``docs/packing.md``.

    Raises
    ------
    ValueError, TypeError, MemoryError
        As for `dia_array`.

    Notes
    -----
    Bytes: ``itemsize * (sum of the lengths) + 16 D + 8``; a full band (kl, ku) of order n holds
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
