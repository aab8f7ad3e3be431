"""The ways to factor a matrix on a GPU: cuSPARSE's solvers of narrow bands, NVIDIA's cuDSS for the rest.

cuSPARSE keeps no factors, so what is kept of a narrow band is its diagonals. The adjoint, and right sides that are
complex where the matrix is not, are matrices of their own: each is factored when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Lock
from typing import Any

import numpy as np

from .._arrays import device_dense
from .._matrix.base import SparseArray
from .._matrix.builders import eye
from .._matrix.convert import convert
from .._places import libraries
from .cudss import Cudss

_READ_AS_THEY_ARE = ("dia", "hm", "cdm", "csr", "csc")
_LEAST = {"tridiagonal": 3, "pentadiagonal": 5}  # rows of a system of cuSPARSE's
REACH = {"diagonal": 0, "tridiagonal": 1, "pentadiagonal": 2}  #: diagonals on either side that a method takes
_MANY = 32  # systems that cuSPARSE solves side by side quicker than cuDSS solves them as one

Spread = Callable[[tuple[int, ...]], tuple[int, ...]]
Solver = Callable[[Any], None]
"""Writes the solution over the right sides, the columns of a `DeviceArray` in F order."""


def chosen(a: SparseArray, below: int, above: int, needed: str, members: int) -> str:
    """Return the method for a matrix of `members` blocks, which takes `needed` at least."""
    if needed == "pentadiagonal" and members < _MANY and libraries.cudss() is not None:
        return "cudss"
    return needed


class DeviceFactors:
    """Solvers for ``a - sigma I``, its transpose and its adjoint by a method, and the bytes that they keep."""

    def __init__(self, a: SparseArray, sigma: complex, method: str, members: int) -> None:
        self._a = a - a.dtype.type(sigma) * eye(a.shape[0], dtype=a.dtype, device=a.device) if sigma else a
        self._method, self._members = method, members
        self._made: dict[tuple[str, np.dtype], Solver] = {}
        self._lock = Lock()
        self.nbytes = 0
        self._solver("N", a.dtype)

    def dtype(self, given: np.dtype) -> np.dtype:
        """Return the type that right sides of this one are solved in."""
        return np.result_type(self._a.dtype, np.complex64) if given.kind == "c" else self._a.dtype

    def solve(self, x: Any, trans: str) -> None:
        """Write the solutions over the columns of `x`, of shape (n, k) in F order."""
        if x.size:
            self._solver(trans, x.dtype)(x)

    def _solver(self, trans: str, dtype: np.dtype) -> Solver:
        with self._lock:
            if (known := self._made.get((trans, dtype))) is None:
                a = {"N": self._a, "T": self._a.T, "H": self._a.H}[trans].astype(dtype, copy=False)
                known, nbytes = METHODS[self._method](a, self._members)
                _require_finite(a, known)
                self._made[trans, dtype] = known
                self.nbytes += nbytes
            return known


class Solution(device_dense._Product):
    """What a solution needs to know of its right side, as a product does of x.

    `spread(shape)` returns the shape in which right sides of a shape are solved, or raises; where it is one of rows,
    each row is a part of one long vector.
    """

    def __init__(
        self, factors: DeviceFactors, trans: str, spread: Callable[[tuple[int, ...]], tuple[int, ...]]
    ) -> None:
        super().__init__(factors._a, 0, factors._a.shape, 1, 0, None, "solve")
        self._factors, self._trans, self._spread = factors, trans, spread

    def dtypes(self, shape: tuple[int, ...], given: np.dtype) -> tuple[np.dtype, np.dtype]:
        self._spread(shape)
        if given.kind not in "iubfc":
            raise TypeError(f"solve: b is of type {given}, expected numbers")
        kept = np.result_type(self.a.dtype, given) if given.kind in "fc" else self.a.dtype
        return self._factors.dtype(given), kept

    def result_shape(self, x: Any) -> tuple[int, ...]:
        return self._spread(x.shape)

    def run(self, x: Any, target: Any, make: Callable[[str], Any]) -> None:
        core, n, shape = self.place.core, self.a.shape[0], self._spread(x.shape)
        y = core.empty((n, shape[1] if shape[0] == n and len(shape) == 2 else 1), x.dtype.name, x.device, "F")
        seen = y.T.ravel().reshape(shape) if y.shape[1] == 1 else y
        if x.shape == shape:
            seen.assign(x)
        else:
            for row in _parts(seen.ravel(), shape[0]):
                row.assign(x)
        self._factors.solve(y, self._trans)
        made = make("C")
        made.assign(seen)


def _parts(vector: Any, count: int) -> Iterator[Any]:
    """Yield `count` equal parts of a vector, one after the other."""
    length = vector.size // count if count else 0
    for i in range(count):
        yield vector[i * length : (i + 1) * length]


def _require_finite(a: SparseArray, solver: Solver) -> None:
    """Raise LinAlgError where the solution for a right side of ones is none."""
    trial = a._core.empty((a.shape[0], 1), a.dtype.name, a._place.index, "F")
    flat = trial.T.ravel()
    flat.fill(1)
    solver(trial)
    if (flat * 0).any():
        raise np.linalg.LinAlgError("a solution is not finite")


# ---- narrow bands ------------------------------------------------------------------------------------------------
def _on_diagonal(a: SparseArray, k: int, order: int) -> Any:
    """Return the elements (i, i + k) by their rows i, for a matrix that grows to `order` rows by those of I."""
    a = a if a.format in _READ_AS_THEY_ARE else convert(a, "csr")
    made = a._core.empty((order,), a.dtype.name, a._place.index)
    made.fill(1 if k == 0 else 0)
    if a.shape[0] > abs(k):
        first = max(0, -k)
        made[first : first + a.shape[0] - abs(k)].assign(a._core.diagonal(a._matrix, a._op, k))
    return made


def _diagonal(a: SparseArray, members: int) -> tuple[Solver, int]:
    inverse = _on_diagonal(a, 0, a.shape[0]) ** -1
    factor = eye(a.shape[0], dtype=a.dtype, format="dia", device=a.device)
    factor.values = inverse.reshape(factor.values.shape)

    def solved(x: Any) -> None:
        a._core.matvec(factor._matrix, 0, device_dense._gather(a._core, x, 0), x, 1, 0, "")

    return solved, inverse.nbytes


def _tridiagonal(a: SparseArray, members: int) -> tuple[Solver, int]:
    n, core = a.shape[0], a._core
    bands = [_on_diagonal(a, k, max(n, _LEAST["tridiagonal"])) for k in (-1, 0, 1)]

    def solved(x: Any) -> None:
        if n == bands[0].size:
            core.solve_tridiagonal(*bands, x)
            return
        for column in _parts(x.T.ravel(), x.shape[1]):
            grown = bands[0] * 0
            grown[:n].assign(column)
            core.solve_tridiagonal(*bands, grown)
            column.assign(grown[:n])

    return solved, sum(band.nbytes for band in bands)


def _pentadiagonal(a: SparseArray, members: int) -> tuple[Solver, int]:
    n, core = a.shape[0] // members, a._core
    rows = max(n, _LEAST["pentadiagonal"])

    def side_by_side(vector: Any, fill: int) -> Any:
        """Return what belongs to row i of all members as row i."""
        made = core.empty((rows, members), vector.dtype.name, vector.device)
        made.fill(fill)
        _first_rows(made).assign(vector.reshape((members, n)).T)
        return made

    def _first_rows(made: Any) -> Any:
        return made.ravel()[: n * members].reshape((n, members))

    bands = [side_by_side(_on_diagonal(a, k, a.shape[0]), int(k == 0)) for k in range(-2, 3)]

    def solved(x: Any) -> None:
        for column in _parts(x.T.ravel(), x.shape[1]):
            all_members = side_by_side(column, 0)
            core.solve_pentadiagonal(*bands, all_members)
            column.reshape((members, n)).assign(_first_rows(all_members).T)

    return solved, sum(band.nbytes for band in bands)


def _cudss(a: SparseArray, members: int) -> tuple[Solver, int]:
    factors = Cudss(convert(a, "csr"))
    return factors.solve, factors.nbytes


METHODS: dict[str, Callable[[SparseArray, int], tuple[Solver, int]]] = {
    "diagonal": _diagonal,
    "tridiagonal": _tridiagonal,
    "pentadiagonal": _pentadiagonal,
    "cudss": _cudss,
}
