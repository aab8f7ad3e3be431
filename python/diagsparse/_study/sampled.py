"""Checks of large products in benchmarks, mostly on a sample of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._matrix.base import issparse
from .._matrix.sparse_array import SparseArray
from .exactness import MatmulCheck, MatvecCheck, error_over_bound, on_host, rounding

_ROWS = 64


def sampled_rows(rows: int) -> np.ndarray:
    """Return the first and last row, and some rows in between."""
    some = np.random.default_rng(2).integers(0, rows, _ROWS)
    return np.unique(np.concatenate(([0, rows - 1], some)))


def _rows_of(A: Any, rows: np.ndarray) -> Any:
    """Return rows of a SciPy matrix as csr, without converting all of a `dia_array`."""
    if A.format != "dia":
        return A.tocsr()[rows]
    columns = A.offsets + rows[:, np.newaxis]
    inside = (columns >= 0) & (columns < min(A.shape[1], A.data.shape[1]))
    values = A.data[np.nonzero(inside)[1], columns[inside]]
    indptr = np.concatenate(([0], np.cumsum(inside.sum(axis=1))))
    return sp.csr_array((values, columns[inside], indptr), shape=(len(rows), A.shape[1]))


class SampledMatvec:
    """Check of y = A x, for a vector or a block x, on a sample of rows."""

    def __init__(self, A: Any, x: np.ndarray) -> None:
        self.rows = sampled_rows(A.shape[0])
        self._check = MatvecCheck(_rows_of(A, self.rows), x)

    def __call__(self, y: Any) -> float:
        """Return the largest error of `y`, divided by its bound; the result is correct up to 1."""
        return self._check(on_host(y)[self.rows])


class Power:
    """Check of y = A^k x, in all rows."""

    def __init__(self, A: Any, x: np.ndarray, k: int) -> None:
        A = A.tocsr().astype(np.result_type(A.dtype, np.float64))
        moduli, self.bound, self.expected = abs(A), abs(x), x
        for _ in range(k):
            self.expected, self.bound = A @ self.expected, moduli @ self.bound
        self.bound = 2 * k * rounding(int(np.diff(A.indptr).max(initial=0)), x.dtype) * self.bound

    def __call__(self, y: Any) -> float:
        """Return the largest error of `y`, divided by its bound; the result is correct up to 1."""
        return error_over_bound(on_host(y), self.expected, self.bound)


class SampledMatmul:
    """Check of C = A B, or of one triangle, on a sample of rows, including that nothing is stored elsewhere."""

    def __init__(self, A: Any, B: Any, triangle: str | None = None) -> None:
        self.shape, self.rows = (A.shape[0], B.shape[1]), sampled_rows(A.shape[0])
        a = _rows_of(A, self.rows)
        factors, at = np.unique(a.indices, return_inverse=True)  # rows of B
        a = sp.csr_array((a.data, at, a.indptr), shape=(len(self.rows), len(factors)))
        first, after = np.zeros_like(self.rows), np.full_like(self.rows, B.shape[1])
        if triangle is not None:
            first, after = (first, self.rows + 1) if triangle == "lower" else (self.rows, after)
        self._check = MatmulCheck(a, _rows_of(B, factors), (first, after))

    def __call__(self, C: Any) -> float:
        """Return the largest error of a matrix of any library, divided by its bound; it is correct up to 1."""
        if issparse(C) and C._format.family == "diagonals":
            return self._check(self._of_diagonals(C)) if C.shape == self.shape else float("inf")
        host = C.to("cpu").to_scipy("csr") if isinstance(C, SparseArray) else on_host(C)
        if host.format == "bsr":  # padded to complete blocks
            return self._check(_of_blocks(host, self.rows)[:, : self.shape[1]])
        return self._check(host.tocsr()[self.rows]) if C.shape == self.shape else float("inf")

    def _of_diagonals(self, C: Any) -> Any:
        """Return the rows as csr, with all values that are stored."""
        offset, first, length, start = C._format.spans(C).T
        rows = self.rows[:, np.newaxis]
        inside = (rows >= first) & (rows < first + length)
        values = on_host(C.values).reshape(-1)[(start + rows - first)[inside]]
        indptr = np.concatenate(([0], np.cumsum(inside.sum(axis=1))))
        return sp.csr_array((values, (rows + offset)[inside], indptr), shape=(len(rows), C.shape[1]))


def _of_blocks(C: Any, rows: np.ndarray) -> Any:
    """Return rows of a SciPy bsr as csr. Converting all of it would store every zero of its blocks."""
    height = C.blocksize[0]
    of = [np.arange(*C.indptr[i : i + 2]) for i in rows // height]
    some, ends = np.concatenate(of), np.cumsum([0, *map(len, of)])
    blocks = type(C)((C.data[some], C.indices[some], ends), shape=(height * len(rows), C.shape[1]))
    return blocks.tocsr()[height * np.arange(len(rows)) + rows % height]
