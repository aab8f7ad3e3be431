"""The accuracy of results: the error relative to SciPy's result, divided by the bound for rounding errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._matrix.sparse_array import SparseArray

_BLOCK = 1 << 24  # number of entries of a product that are checked at a time


def vector(n: int, dtype: Any) -> np.ndarray:
    """Return a random vector without zeros, the same for each call; complex if `dtype` is complex."""
    rng = np.random.default_rng(1)
    x = rng.uniform(0.1, 1.0, n) * rng.choice([-1, 1], n)
    return (x * (1 + 1j) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def rounding(terms: int, dtype: Any) -> float:
    """Return c such that two ways of summing `terms` products differ by at most ``c sum |a_i| |x_i|``.

    Each sum has an error of at most ``terms u sum |a_i| |x_i|`` (u = eps / 2, first order) for any order of the terms,
    with or without fused operations. Two sums differ by at most ``terms eps``, and the additional 4 eps are for higher
    orders. A complex sum consists of two real sums with twice as many terms, and the modulus of two equal errors is
    sqrt(2) times each of them.
    """
    dtype = np.dtype(dtype)
    return float((terms + 4) * np.finfo(dtype).eps * (2 * 2**0.5 if dtype.kind == "c" else 1.0))


def error_over_bound(y: np.ndarray, expected: np.ndarray, bound: np.ndarray) -> float:
    """Return the largest ``|y - expected| / bound``: 0 for equal values, inf if a bound of 0 is exceeded."""
    if y.shape != expected.shape:
        return float("inf")
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        ratio = np.abs(y - expected) / bound
        ratio[(y == expected) | (np.isnan(y) & np.isnan(expected))] = 0
    ratio[np.isnan(ratio)] = np.inf
    return float(ratio.max(initial=0))


def on_host(x: Any) -> Any:
    """Return an array or a matrix of a GPU in the memory of the host, and all others as they are."""
    return x.get() if hasattr(x, "get") else x


def _longest_row(A: Any) -> int:
    return int(np.diff(A.indptr).max(initial=0))


class MatvecCheck:
    """Check of y = A x against SciPy: ``|y - y_ref| <= (k + 4) eps (|A| |x|)``, k the longest row.

    ``check(y)`` returns the largest error divided by its bound; the result is correct up to 1.
    """

    def __init__(self, A: Any, x: np.ndarray) -> None:
        A = sp.csr_array(A)
        self.expected = A @ x
        self.bound = rounding(_longest_row(A), self.expected.dtype) * (abs(A) @ np.abs(x))

    def __call__(self, y: Any) -> float:
        """Return the largest error of a vector of any library, divided by its bound."""
        return error_over_bound(on_host(y), self.expected, self.bound)


class MatmulCheck:
    """Check of C = A B against SciPy: ``|C - C_ref| <= (k + 4) eps (|A| |B|)``, k the longest row of A.

    ``check(C)`` returns the largest error of all elements, stored or not, divided by its bound. Blocks of rows are
    checked one after another, so that this needs little memory compared with C. With `within`, the first column and the
    end of each row, C is expected to be zero in all other columns.
    """

    def __init__(self, A: Any, B: Any, within: tuple[np.ndarray, np.ndarray] | None = None) -> None:
        self._within = within
        self._a, self._b = sp.csr_array(A), sp.csr_array(B)
        self._magnitude = abs(self._b)
        self._rounding = rounding(_longest_row(self._a), np.result_type(self._a.dtype, self._b.dtype))
        lengths = np.diff(self._b.indptr)
        ones = sp.csr_array((np.ones(self._a.nnz), self._a.indices, self._a.indptr), shape=self._a.shape)
        most = np.minimum(ones @ lengths, self._b.shape[1]).cumsum()
        cuts = np.searchsorted(most, np.arange(_BLOCK, most[-1] if len(most) else 0, _BLOCK))
        self._cuts = np.unique(np.concatenate(([0], cuts, [self._a.shape[0]])))
        self._cached: dict[int, tuple[Any, Any]] = {}
        self._room = _BLOCK

    def _block(self, start: int, stop: int) -> tuple[Any, Any]:
        """Return rows of the expected product and of the inverse of the bound, cached as long as there is room."""
        if start in self._cached:
            return self._cached[start]
        rows = self._a[start:stop]
        expected, inverse = rows @ self._b, abs(rows) @ self._magnitude
        if self._within is not None:
            first, after = (ends[start:stop] for ends in self._within)
            for matrix in (expected, inverse):
                row = np.repeat(np.arange(stop - start), np.diff(matrix.indptr))
                matrix.data[(matrix.indices < first[row]) | (matrix.indices >= after[row])] = 0
                matrix.eliminate_zeros()
        with np.errstate(divide="ignore"):
            inverse.data = 1 / (self._rounding * inverse.data)
        for matrix in (expected, inverse):
            matrix.sort_indices()
        if (room := self._room - expected.nnz) >= 0:
            self._cached[start], self._room = (expected, inverse), room
        return expected, inverse

    def __call__(self, C: Any) -> float:
        """Return the largest error of `C`, divided by its bound."""
        if C.shape != (self._a.shape[0], self._b.shape[1]):
            return float("inf")
        csr = C.to_scipy("csr") if isinstance(C, SparseArray) else C.tocsr()
        csr.sort_indices()
        return max((self._error(csr[i:j], i, j) for i, j in zip(self._cuts[:-1], self._cuts[1:])), default=0.0)

    def _error(self, rows: Any, start: int, stop: int) -> float:
        expected, inverse = self._block(int(start), int(stop))
        off = abs(rows - expected)
        off.eliminate_zeros()
        ratio = off.multiply(inverse)
        if ratio.nnz < off.nnz or np.isnan(ratio.data).any():  # a nonzero error with a bound of 0, or NaN
            return float("inf")
        return float(ratio.data.max(initial=0))
