"""The ways to factor a matrix on the CPU: LAPACK's bands through SciPy, and SciPy's SuperLU."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from scipy.linalg import get_lapack_funcs
from scipy.sparse.linalg import splu

from .._matrix.base import SparseArray
from .._matrix.convert import convert
from .._places import memory

_LEAST_BAND = 8  # diagonals from the lowest to the highest that are solved as a band, whatever of them is stored
_MOST_ZEROS = 4  # times what is stored that a band may hold
_NUMBERS = {"N": 0, "T": 1, "H": 2}  # gbtrs'

Solver = Callable[[np.ndarray, str], np.ndarray]
"""Solves for right sides of the matrix's type, with the matrix ("N"), its transpose ("T") or adjoint ("H")."""


class Singular(np.linalg.LinAlgError):
    """A matrix without an inverse; `row` is where that was seen."""

    def __init__(self, row: int) -> None:
        super().__init__(f"pivot {row + 1} is zero, or no number")
        self.row = row


REACH = {"diagonal": 0, "tridiagonal": 1}  #: diagonals on either side that a method takes; the others take all


def chosen(a: SparseArray, below: int, above: int, needed: str, members: int) -> str:
    """Return the method for a matrix with diagonals from `-below` to `above`, which takes `needed` at least."""
    narrow = (below + above + 1) * a.shape[0] <= max(_LEAST_BAND * a.shape[0], _MOST_ZEROS * max(1, a.nnz))
    return needed if narrow else "superlu"


class HostFactors:
    """Factors of ``a - sigma I`` by a method, and their bytes."""

    def __init__(self, a: SparseArray, sigma: complex, method: str, below: int, above: int) -> None:
        self._dtype = a.dtype
        self._solve, self.nbytes = METHODS[method](a, sigma, below, above)

    def solve(self, b: np.ndarray, trans: str) -> np.ndarray:
        """Return the solutions for the columns of `b`, in the matrix's type or its complex one."""
        if b.dtype.kind == "c" and self._dtype.kind != "c":
            real, imag = (self._solve(part.astype(self._dtype), trans) for part in (b.real, b.imag))
            return real + 1j * imag
        return self._solve(b.astype(self._dtype), trans)


def _finite(*arrays: np.ndarray) -> None:
    if not all(np.isfinite(array).all() for array in arrays):
        raise ValueError("factorized: A holds values that are not finite")


def _diagonal(a: SparseArray, sigma: complex, below: int, above: int) -> tuple[Solver, int]:
    values = a.diagonal() - a.dtype.type(sigma)
    _finite(values)
    if (zeros := np.flatnonzero(values == 0)).size:
        raise Singular(int(zeros[0]))

    def solved(b: np.ndarray, trans: str) -> np.ndarray:
        by = values.conj() if trans == "H" else values
        return b / (by if b.ndim == 1 else by[:, None])

    return solved, values.nbytes


def _tridiagonal(a: SparseArray, sigma: complex, below: int, above: int) -> tuple[Solver, int]:
    if a.shape[0] < 3:  # which gttrf refuses
        return _banded(a, sigma, 1, 1)
    factor, back = get_lapack_funcs(("gttrf", "gttrs"), dtype=a.dtype)
    three = a.diagonal(-1), a.diagonal() - a.dtype.type(sigma), a.diagonal(1)
    _finite(*three)
    *factors, info = factor(*three, 1, 1, 1)
    if info > 0:
        raise Singular(info - 1)

    def solved(b: np.ndarray, trans: str) -> np.ndarray:
        return back(*factors, b, trans="C" if trans == "H" else trans)[0]

    return solved, sum(part.nbytes for part in factors)


def _banded(a: SparseArray, sigma: complex, below: int, above: int) -> tuple[Solver, int]:
    n, wide = a.shape[0], 2 * below + above + 1
    nbytes = n * (wide * a.dtype.itemsize + 4)
    memory.require(nbytes, None, f"factorized: {wide} rows of a band of {n}", 'method="superlu" takes what it fills')
    band = np.zeros((wide, n), a.dtype, "F")  # row below + above - k, column j: the element (j - k, j)
    for k in range(-below, above + 1):
        band[below + above - k, max(0, k) : n + min(0, k)] = a.diagonal(k)
    band[below + above] -= a.dtype.type(sigma)
    _finite(band)
    factor, back = get_lapack_funcs(("gbtrf", "gbtrs"), dtype=a.dtype)
    factors, pivots, info = factor(band, below, above, overwrite_ab=True)
    if info > 0:
        raise Singular(info - 1)

    def solved(b: np.ndarray, trans: str) -> np.ndarray:
        return back(factors, below, above, b, pivots, trans=_NUMBERS[trans])[0]

    return solved, factors.nbytes + pivots.nbytes


def _superlu(a: SparseArray, sigma: complex, below: int, above: int) -> tuple[Solver, int]:
    shifted = convert(a, "csc").to_scipy()
    if sigma:
        shifted = sp.csc_array(shifted - a.dtype.type(sigma) * sp.eye_array(a.shape[0], dtype=a.dtype, format="csc"))
    _finite(shifted.data)
    try:
        factors = splu(shifted)
    except RuntimeError as error:
        raise np.linalg.LinAlgError(str(error)) from None
    return factors.solve, factors.nnz * (a.dtype.itemsize + 4)


METHODS: dict[str, Callable[..., tuple[Solver, int]]] = {
    "diagonal": _diagonal,
    "tridiagonal": _tridiagonal,
    "banded": _banded,
    "superlu": _superlu,
}
