"""Factorizations on the CPU: the choice of a method, and solving with the factors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Lock

import numpy as np

from .._matrix.sparse_array import SparseArray
from . import host_cholesky, host_corrected, host_methods
from .host_methods import ALL, Solve, Unsuitable

_MIN_BAND = 8  # bands of up to this many diagonals are always factored as such
_MAX_RATIO = 4  # limit for the elements of a band, relative to its nonzeros


def chosen(a: SparseArray, below: int, above: int, needed: str, members: int) -> str:
    """Return the method for offsets from `-below` to `above`; `needed` is the first one that supports them."""
    n, nonzeros = a.shape[0], int(a._summary().fill.sum())
    if (below + above + 1) * n > max(_MIN_BAND * n, _MAX_RATIO * nonzeros):
        return host_corrected.chosen(a, members) or "superlu"
    return "dense" if needed == "banded" and 2 * below + above + 1 >= n > 2 else needed


class HostFactors:
    """Factors of ``a - sigma I``, for a matrix of `members` diagonal blocks of equal size.

    The first right-hand side in double precision for a matrix in single precision triggers a second factorization.
    """

    def __init__(self, a: SparseArray, sigma: complex, method: str, below: int, above: int, members: int) -> None:
        self.method = method  # the one that is used in the end
        self._sigma, self._reach = sigma, (below, above)
        self._members, self._block = members, a.shape[0] // members
        self._lock = Lock()
        self._dtype = a.dtype
        self._solves = {a.dtype: self._factored(a)}
        self._single = a.copy() if a.dtype in (np.float32, np.complex64) else None  # the user may write to theirs

    @property
    def nbytes(self) -> int:
        """Bytes of everything that is stored."""
        unfactored = 0 if self._single is None else self._single.nbytes
        return unfactored + sum(nbytes for _, nbytes in self._solves.values())

    def _factored(self, a: SparseArray) -> tuple[Solve, int]:
        arguments = a, a.dtype.type(self._sigma), *self._reach, self._block
        try:
            return METHODS[self.method](*arguments)
        except Unsuitable:
            self.method = "superlu"
            return METHODS[self.method](*arguments)

    def logdet(self) -> np.ndarray:
        """Return the logarithm of the determinant of each block, for a method that computes it."""
        diagonal = self._solves[self._dtype][0].logarithms  # type: ignore[attr-defined]
        return diagonal.reshape(self._members, -1).sum(axis=1)

    def _solve_in(self, dtype: np.dtype) -> Solve:
        with self._lock:
            if self._single is not None and dtype not in self._solves:
                self._solves[dtype] = self._factored(self._single.astype(dtype))
            return self._solves[dtype][0]

    def solve(self, b: np.ndarray, trans: str, dtype: np.dtype) -> np.ndarray:
        """Return the solutions for the columns of `b`, in the dtype of the matrix or in a wider one."""
        solve = self._solve_in(dtype)
        with np.errstate(all="ignore"):  # overflows to inf
            x = solve(b, trans, ALL)
            if self._members > 1 and not np.isfinite(x).all():
                for rows in self._not_finite(x):
                    x[rows] = solve(b[rows], trans, rows)
        return x

    def _not_finite(self, x: np.ndarray) -> Iterator[slice]:
        """Yield the rows of each block whose solution is not finite; it may be due to another block, as inf * 0."""
        finite = np.isfinite(x).reshape(self._members, -1).all(axis=1)
        for i in np.flatnonzero(~finite).tolist():
            yield slice(i * self._block, (i + 1) * self._block)


METHODS: dict[str, Callable[..., tuple[Solve, int]]] = {
    "diagonal": host_methods.diagonal,
    "tridiagonal": host_methods.tridiagonal,
    "banded": host_methods.banded,
    "dense": host_methods.dense,
    "superlu": host_methods.superlu,
    "qr": host_methods.qr,
    "cholesky": host_cholesky.cholesky,
    "cyclic": host_corrected.cyclic,
    "woodbury": host_corrected.woodbury,
    "triangular": host_methods.triangular,
}
REACH = {"diagonal": 0, "tridiagonal": 1}  #: the largest offset that a method supports; the others support all
