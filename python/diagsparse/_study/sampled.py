"""Checks of large products in benchmarks, mostly on a sample of rows and in extended precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._matrix.base import issparse
from .._matrix.sparse_array import SparseArray
from .exactness import error_over_bound, rounding

_ROWS = 64


def sampled_rows(rows: int) -> np.ndarray:
    """Return the first and last row, and some rows in between."""
    some = np.random.default_rng(2).integers(0, rows, _ROWS)
    return np.unique(np.concatenate(([0, rows - 1], some)))


def _row(A: Any, i: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns and values (in extended precision) of row i of a SciPy `dia_array`."""
    columns = A.offsets + i
    inside = (columns >= 0) & (columns < min(A.shape[1], A.data.shape[1]))
    columns = columns[inside]
    values = A.data[inside, columns]
    return columns, values.astype(np.clongdouble if values.dtype.kind == "c" else np.longdouble)


def _host(x: Any) -> np.ndarray:
    return x if isinstance(x, np.ndarray) else x.get()


class SampledMatvec:
    """Check of y = A x, for a vector or a block x, on a sample of rows."""

    def __init__(self, A: Any, x: np.ndarray) -> None:
        self.rows = sampled_rows(A.shape[0])
        parts = [(values, x[columns].astype(values.dtype)) for columns, values in (_row(A, i) for i in self.rows)]
        self.expected = np.array([v @ z for v, z in parts])
        self.bound = rounding(len(A.offsets), x.dtype) * np.array([abs(v) @ abs(z) for v, z in parts])

    def __call__(self, y: Any) -> float:
        """Return the largest error of `y`, divided by its bound; the result is correct up to 1."""
        return error_over_bound(_host(y)[self.rows], self.expected, self.bound)


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
        return error_over_bound(_host(y), self.expected, self.bound)


class SampledMatmul:
    """Check of C = A B, or of one triangle, on a sample of rows, including that nothing is stored elsewhere."""

    def __init__(self, A: Any, B: Any, triangle: str | None = None) -> None:
        self.shape = A.shape[0], B.shape[1]
        self.rows = sampled_rows(A.shape[0])
        self._limit = rounding(len(A.offsets), np.result_type(A.dtype, B.dtype))
        self._expected = [self._product(A, B, i, triangle) for i in self.rows]

    def _product(self, A: Any, B: Any, i: int, triangle: str | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the columns of row i, its values, and the sums of the moduli of their terms."""
        columns, values = _row(A, i)
        parts = [_row(B, k) for k in columns.tolist()]
        where, at = np.unique(np.concatenate([columns[:0], *(k for k, _ in parts)]), return_inverse=True)
        terms = np.concatenate([v * row for v, (_, row) in zip(values, parts)] or [values[:0]])
        total, magnitude = np.zeros(len(where), values.dtype), np.zeros(len(where), np.longdouble)
        np.add.at(total, at, terms)
        np.add.at(magnitude, at, abs(terms))
        inside: Any = {None: slice(None), "lower": where <= i, "upper": where >= i}[triangle]
        return where[inside], total[inside], magnitude[inside]

    def __call__(self, C: Any) -> float:
        """Return the largest error of `C` in the sampled rows, divided by its bound."""
        if C.shape != self.shape:
            return float("inf")
        return max(map(self._error, self._rows_of(C), self._expected), default=0.0)

    def _error(self, row: tuple[np.ndarray, np.ndarray], expected: tuple[np.ndarray, np.ndarray, np.ndarray]) -> float:
        columns, values = row
        where, total, magnitude = expected
        position = np.searchsorted(where, columns)
        known = (
            (position < len(where)) & (where[np.minimum(position, len(where) - 1)] == columns)
            if len(where)
            else position < 0
        )
        if values[~known].any():  # a value at a position where the product has none
            return float("inf")
        result = np.zeros(len(where), values.dtype)
        result[position[known]] = values[known]
        return error_over_bound(result, total, self._limit * magnitude)

    def _rows_of(self, C: Any) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the columns and values of the sampled rows, as stored."""
        if issparse(C) and C._format.family == "diagonals":
            spans, values = C._format.spans(C), _host(C.values).reshape(-1)
            return [self._diagonal_row(spans, values, i) for i in self.rows]
        if isinstance(C, SparseArray):
            host = C.to("cpu").to_scipy("csr")
        else:
            host = C.tocsr().get() if hasattr(C, "get") else C.tocsr()
        runs = [slice(*host.indptr[i : i + 2]) for i in self.rows]
        return [(host.indices[run].astype(np.int64), host.data[run]) for run in runs]

    def _diagonal_row(self, spans: np.ndarray, values: np.ndarray, i: int) -> tuple[np.ndarray, np.ndarray]:
        offset, first, length, start = spans.T
        inside = (i >= first) & (i < first + length)
        return i + offset[inside], values[start[inside] + i - first[inside]]
