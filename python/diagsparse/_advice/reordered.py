"""A matrix whose rows and columns are stored in another order, with products in the original order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from .._backends.memory import human
from .._matrix.sparse_array import SparseArray


class Reordered(LinearOperator):
    """A square operator on the CPU: ``R @ x`` is ``A @ x``, although ``matrix`` is ``A[p][:, p]``.

    Each product permutes x and y, which takes about as long as reading each of them twice.

    Attributes
    ----------
    matrix : SparseArray
        The matrix in its stored order.
    permutation : int64, shape (n,)
        p: row i of ``matrix`` is row ``p[i]`` of A.
    """

    def __init__(self, matrix: SparseArray, permutation: NDArray[np.int64]) -> None:
        super().__init__(matrix.dtype, matrix.shape)
        self.matrix, self.permutation = matrix, permutation

    def __repr__(self) -> str:
        m, n = self.shape
        return f"<reordered {self.matrix.format}_array {m} x {n} {self.dtype}, {human(self.matrix.nbytes)}>"

    def _in_original_order(self, permuted: Any) -> Any:
        y = np.empty_like(permuted)
        y[self.permutation] = permuted
        return y

    def _matvec(self, x: Any) -> Any:
        return self._in_original_order(self.matrix @ x[self.permutation])

    def _rmatvec(self, x: Any) -> Any:
        return self._in_original_order(self.matrix.rmatvec(x[self.permutation]))

    _matmat = _matvec
    _rmatmat = _rmatvec
