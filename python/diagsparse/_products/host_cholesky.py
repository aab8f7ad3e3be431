"""Cholesky factors of bands on the CPU, by LAPACK."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs

from .._matrix.sparse_array import SparseArray
from .host_methods import require_finite, require_memory


class NotPositiveDefinite(np.linalg.LinAlgError):
    """The leading minor of this order is not positive."""

    def __init__(self, order: int) -> None:
        super().__init__(f"the leading minor of order {order} is not positive")
        self.order = order


class _Cholesky:
    """Solving with ``A = L L^H``, where `factors` has a row for each diagonal of L, the main one first."""

    def __init__(self, factors: np.ndarray) -> None:
        self._factors = factors
        (self._back,) = get_lapack_funcs(("pbtrs",), (factors,))

    @property
    def logarithms(self) -> np.ndarray:
        """Their sum is the logarithm of the determinant."""
        return 2 * np.log(self._factors[0].real)

    def __call__(self, b: np.ndarray, trans: str, rows: slice) -> np.ndarray:
        factors = self._factors[:, rows]
        if trans == "T" and factors.dtype.kind == "c":  # A^T is the conjugate of A
            return self._back(factors, b.conj(), lower=True)[0].conj()
        return self._back(factors, b, lower=True)[0]


def cholesky(a: SparseArray, sigma: Any, below: int, above: int, order: int) -> tuple[_Cholesky, int]:
    """Factor a symmetric or Hermitian band; raise ValueError if it is neither, LinAlgError if it is not definite."""
    n, reach = a.shape[0], max(below, above)
    require_memory(n * (reach + 1) * a.dtype.itemsize, f"{reach + 1} rows of a band of {n}")
    band = np.zeros((reach + 1, n), a.dtype, "F")  # row k, column j: the element (j + k, j)
    kind = "Hermitian" if a.dtype.kind == "c" else "symmetric"
    for k in range(min(reach + 1, n)):
        band[k, : n - k] = a.diagonal(-k) - (sigma if k == 0 else 0)
        require_finite(band[k])
        if not np.array_equal(a.diagonal(k) - (sigma if k == 0 else 0), band[k, : n - k].conj()):
            differ = f"the diagonals {-k} and {k} differ" if k else "the main diagonal is not real"
            raise ValueError(f"Cholesky factors need a {kind} matrix, but {differ}")
    (factor,) = get_lapack_funcs(("pbtrf",), (band,))
    factors, info = factor(band, lower=True, overwrite_ab=True)
    if info > 0:
        raise NotPositiveDefinite(info)
    return _Cholesky(factors), factors.nbytes
