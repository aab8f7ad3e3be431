"""A matrix that is stored in another order of its rows and columns, and multiplies in the order that its user has."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from .._backends.memory import human
from .._matrix.sparse_array import SparseArray


class Reordered(LinearOperator):
    """A square operator: ``R @ x`` is ``A @ x``, though ``matrix`` is ``A[p][:, p]``; on the CPU.

    Each product permutes x and y, which takes about as long as to read each of them twice.

    Attributes
    ----------
    matrix : SparseArray
        In the order in which it is stored.
    permutation : int64, shape (n,)
        p: row i of ``matrix`` is row ``p[i]`` of A.
    """

    def __init__(self, matrix: SparseArray, permutation: NDArray[np.int64]) -> None:
        super().__init__(matrix.dtype, matrix.shape)
        self.matrix, self.permutation = matrix, permutation

    def __repr__(self) -> str:
        m, n = self.shape
        return f"<reordered {self.matrix.format}_array {m} x {n} {self.dtype}, {human(self.matrix.nbytes)}>"

    def _back(self, made: Any) -> Any:
        y = np.empty_like(made)
        y[self.permutation] = made
        return y

    def _matvec(self, x: Any) -> Any:
        return self._back(self.matrix @ x[self.permutation])

    def _rmatvec(self, x: Any) -> Any:
        return self._back(self.matrix.rmatvec(x[self.permutation]))

    _matmat = _matvec
    _rmatmat = _rmatvec
