"""Factorizations on the CPU by LAPACK and by SuperLU, through SciPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Lock
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import get_lapack_funcs
from scipy.sparse.linalg import splu

from .._backends import memory
from .._backends.backend import CPU
from .._matrix.builders import eye
from .._matrix.convert import convert
from .._matrix.sparse_array import SparseArray
from .substitution import Singular
from .triangles import Triangle

_MIN_BAND = 8  # bands of up to this many diagonals are always factored as such
_MAX_RATIO = 4  # limit for the elements of a band, relative to its nonzeros
_OPERATIONS = {"N": 0, "T": 1, "H": 2}  # of operations in LAPACK
_ALL = slice(None)

Solve = Callable[..., np.ndarray]
"""``solve(b, trans, rows)`` for b with the dtype of the factors; `rows` are those of one diagonal block, or all."""


def chosen(a: SparseArray, below: int, above: int, needed: str) -> str:
    """Return the method for offsets from `-below` to `above`; `needed` is the first one that supports them."""
    n, nonzeros = a.shape[0], int(a._summary().fill.sum())
    if (below + above + 1) * n > max(_MIN_BAND * n, _MAX_RATIO * nonzeros):
        return "superlu"
    return "dense" if needed == "banded" and 2 * below + above + 1 >= n > 2 else needed


class HostFactors:
    """Factors of ``a - sigma I``, for a matrix of `members` diagonal blocks of equal size.

    The first right-hand side in double precision for a matrix in single precision triggers a second factorization.
    """

    def __init__(self, a: SparseArray, sigma: complex, method: str, below: int, above: int, members: int) -> None:
        self._sigma, self._method, self._reach = sigma, METHODS[method], (below, above)
        self._members, self._block = members, a.shape[0] // members
        self._lock = Lock()
        self._solves = {a.dtype: self._factored(a)}
        self._single = a.copy() if a.dtype in (np.float32, np.complex64) else None  # the user may write to theirs

    @property
    def nbytes(self) -> int:
        """Bytes of everything that is stored."""
        unfactored = 0 if self._single is None else self._single.nbytes
        return unfactored + sum(nbytes for _, nbytes in self._solves.values())

    def _factored(self, a: SparseArray) -> tuple[Solve, int]:
        return self._method(a, a.dtype.type(self._sigma), *self._reach, self._block)

    def _solve_in(self, dtype: np.dtype) -> Solve:
        with self._lock:
            if self._single is not None and dtype not in self._solves:
                self._solves[dtype] = self._factored(self._single.astype(dtype))
            return self._solves[dtype][0]

    def solve(self, b: np.ndarray, trans: str, dtype: np.dtype) -> np.ndarray:
        """Return the solutions for the columns of `b`, in the dtype of the matrix or in a wider one."""
        solve = self._solve_in(dtype)
        with np.errstate(all="ignore"):  # overflows to inf
            x = solve(b, trans, _ALL)
            if self._members > 1 and not np.isfinite(x).all():
                for rows in self._not_finite(x):
                    x[rows] = solve(b[rows], trans, rows)
        return x

    def _not_finite(self, x: np.ndarray) -> Iterator[slice]:
        """Yield the rows of each block whose solution is not finite; it may be due to another block, as inf * 0."""
        finite = np.isfinite(x).reshape(self._members, -1).all(axis=1)
        for i in np.flatnonzero(~finite).tolist():
            yield slice(i * self._block, (i + 1) * self._block)


def _require_finite(*arrays: np.ndarray) -> None:
    if not all(np.isfinite(array).all() for array in arrays):
        raise ValueError("factorized: A holds values that are not finite")


def _diagonal(a: SparseArray, sigma: Any, below: int, above: int, order: int) -> tuple[Solve, int]:
    values = a.diagonal() - sigma
    _require_finite(values)
    if (zeros := np.flatnonzero(values == 0)).size:
        raise Singular(int(zeros[0]))

    def solve(b: np.ndarray, trans: str, rows: slice) -> np.ndarray:
        by = (values.conj() if trans == "H" else values)[rows]
        return b / (by if b.ndim == 1 else by[:, None])

    return solve, values.nbytes


def _tridiagonal(a: SparseArray, sigma: Any, below: int, above: int, order: int) -> tuple[Solve, int]:
    if order < 3:  # gttrf and gttrs do not support it
        return _banded(a, sigma, 1, 1, order)
    factor, back = get_lapack_funcs(("gttrf", "gttrs"), dtype=a.dtype)
    three = a.diagonal(-1), a.diagonal() - sigma, a.diagonal(1)
    _require_finite(*three)
    lower, main, upper, second, pivots, info = factor(*three, 1, 1, 1)
    if info > 0:
        raise Singular(info - 1)

    def solve(b: np.ndarray, trans: str, rows: slice) -> np.ndarray:
        first, stop, _ = rows.indices(len(main))
        part = lower[first : stop - 1], main[rows], upper[first : stop - 1], second[first : stop - 2]
        return back(*part, pivots[rows] - first, b, trans="C" if trans == "H" else trans)[0]

    return solve, sum(part.nbytes for part in (lower, main, upper, second, pivots))


def _banded(a: SparseArray, sigma: Any, below: int, above: int, order: int) -> tuple[Solve, int]:
    n, wide = a.shape[0], 2 * below + above + 1
    _require_memory(n * (wide * a.dtype.itemsize + 4), f"{wide} rows of a band of {n}")
    band = np.zeros((wide, n), a.dtype, "F")  # row below + above - k, column j: the element (j - k, j)
    for k in range(-below, above + 1):
        band[below + above - k, max(0, k) : n + min(0, k)] = a.diagonal(k)
    band[below + above] -= sigma
    _require_finite(band)
    factor, back = get_lapack_funcs(("gbtrf", "gbtrs"), dtype=a.dtype)
    factors, pivots, info = factor(band, below, above, overwrite_ab=True)
    if info > 0:
        raise Singular(info - 1)

    def solve(b: np.ndarray, trans: str, rows: slice) -> np.ndarray:
        first = rows.start or 0
        return back(factors[:, rows], below, above, b, pivots[rows] - first, trans=_OPERATIONS[trans])[0]

    return solve, factors.nbytes + pivots.nbytes


def _dense(a: SparseArray, sigma: Any, below: int, above: int, order: int) -> tuple[Solve, int]:
    n = a.shape[0]
    if n == 0:  # getrf does not support it
        return _diagonal(a, sigma, below, above, order)
    _require_memory(n * n * a.dtype.itemsize, f"a dense matrix {n} x {n}")
    dense = a.toarray(order="F")
    dense[np.arange(n), np.arange(n)] -= sigma
    _require_finite(dense)
    factor, back = get_lapack_funcs(("getrf", "getrs"), dtype=a.dtype)
    factors, pivots, info = factor(dense, overwrite_a=True)
    if info > 0:
        raise Singular(info - 1)

    def solve(b: np.ndarray, trans: str, rows: slice) -> np.ndarray:
        first = rows.start or 0
        return back(factors[rows, rows], pivots[rows] - first, b, trans=_OPERATIONS[trans])[0]

    return solve, factors.nbytes + pivots.nbytes


def _superlu(a: SparseArray, sigma: Any, below: int, above: int, order: int) -> tuple[Solve, int]:
    shifted = convert(a, "csc").to_scipy()
    if sigma:
        shifted = sp.csc_array(shifted - sigma * sp.eye_array(a.shape[0], dtype=a.dtype, format="csc"))
    _require_finite(shifted.data)
    try:
        factors = splu(shifted)
    except RuntimeError as error:
        raise np.linalg.LinAlgError(str(error)) from None

    def solve(b: np.ndarray, trans: str, rows: slice) -> np.ndarray:
        if rows == _ALL:
            return factors.solve(b, trans)
        return factors.solve(_alone(b, rows, a.shape[0]), trans)[rows]

    return solve, factors.nnz * (a.dtype.itemsize + 4)


def _triangular(a: SparseArray, sigma: Any, below: int, above: int, order: int) -> tuple[Solve, int]:
    # A copy, because the user may write to the matrix.
    matrix = a - sigma * eye(a.shape[0], dtype=a.dtype) if sigma else a.copy()
    triangle = Triangle(matrix, above == 0, False)

    def solve(b: np.ndarray, trans: str, rows: slice) -> np.ndarray:
        x = np.array(b, order="C") if rows == _ALL else _alone(b, rows, a.shape[0])
        triangle.solve(x, trans)
        return x[rows]

    return solve, matrix.nbytes + triangle.nbytes


def _alone(b: np.ndarray, rows: slice, n: int) -> np.ndarray:
    """Return right-hand sides that are b in some rows, and zero in the others."""
    result = np.zeros((n, *b.shape[1:]), b.dtype)
    result[rows] = b
    return result


def _require_memory(nbytes: int, what: str) -> None:
    memory.require_free(nbytes, f"factorized: {what}", CPU, '; method="superlu" may need less')


METHODS: dict[str, Callable[..., tuple[Solve, int]]] = {
    "diagonal": _diagonal,
    "tridiagonal": _tridiagonal,
    "banded": _banded,
    "dense": _dense,
    "superlu": _superlu,
    "triangular": _triangular,
}
REACH = {"diagonal": 0, "tridiagonal": 1}  #: the largest offset that a method supports; the others support all
