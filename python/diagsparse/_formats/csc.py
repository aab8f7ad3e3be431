"""Compressed sparse columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._matrix import reading
from .._matrix.summary import Summary
from .indexed import IndexedArray


class csc_array(IndexedArray):
    """Compressed sparse columns: column j holds ``values[indptr[j]:indptr[j + 1]]`` in rows ``indices[...]``.

    Parameters
    ----------
    arg : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shape (m, n), or ``(values, indices, indptr)``
    shape, dtype, copy, device, max_bytes
        As for `csr_array`.

    Notes
    -----
    Bytes: ``nnz (itemsize + 4) + 8 (n + 1)``. The same memory read as rows is the csr of the transpose.

    Examples
    --------
    >>> import numpy as np, diagsparse as ds
    >>> A = ds.csc_array(np.array([[1.0, 0.0], [2.0, 3.0]]))
    >>> A.indices
    array([0, 1, 1], dtype=int32)
    """

    format = _nearest = "csc"
    _reading = reading.SCATTERED
    _scipy = sp.csc_array
    _by_column = True
    _structure = ("indices", "indptr")

    @property
    def indices(self) -> np.ndarray:
        """Row of every entry, int32, zero-copy, read-only."""
        return self._index_part("indices")

    @indices.setter
    def indices(self, new: Any) -> None:
        self._keep_index_part("indices", new)

    @property
    def indptr(self) -> np.ndarray:
        """Where each column starts, in the type of `indices`; ``parts()`` has the int64 that kernels read."""
        return self._index_part("indptr")

    @indptr.setter
    def indptr(self, new: Any) -> None:
        self._keep_index_part("indptr", new)

    @classmethod
    def _forecast(cls, s: Summary, **options: int) -> int:
        return s.entries * (s.itemsize + 4) + 8 * (s.shape[1] + 1)
