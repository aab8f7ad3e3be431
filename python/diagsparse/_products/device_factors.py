"""Factorizations on a GPU: cuSPARSE for narrow bands, NVIDIA's cuDSS for everything else.

cuSPARSE does not store factors, so only the diagonals of a narrow band are stored. Transposes, adjoints and wider
dtypes are separate matrices, which are factored at their first use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Lock
from typing import Any

import numpy as np

from .._arrays import device_dense, owners
from .._backends import libraries
from .._backends.types import product_dtypes, solved_in
from .._matrix.builders import eye
from .._matrix.convert import convert
from .._matrix.sparse_array import SparseArray
from .cudss import Cudss
from .device_bands import by_rows, filled
from .triangles import Triangle

_MIN_ROWS = {"tridiagonal": 3, "pentadiagonal": 5}  # rows of a system in cuSPARSE
_MIN_SYSTEMS = 32  # systems from which cuSPARSE is faster than cuDSS, which solves all of them as one

Solve = Callable[[Any], None]
"""Overwrites right-hand sides, the columns of a `DeviceArray` in F order, with the solutions."""


def chosen(members: int, needed: str) -> str:
    """Return the method for a matrix of `members` blocks; `needed` is the first one that supports its bandwidth."""
    if needed == "pentadiagonal" and members < _MIN_SYSTEMS and not isinstance(libraries.cudss(), Exception):
        return "cudss"
    return needed


class DeviceFactors:
    """Solvers for ``a - sigma I``, its transpose and its adjoint, for a matrix of `members` diagonal blocks."""

    def __init__(self, a: SparseArray, sigma: complex, method: str, members: int) -> None:
        shift = a.dtype.type(sigma)
        # A copy, because the user may write to the matrix.
        self.matrix = a - shift * eye(a.shape[0], dtype=a.dtype, device=a.device) if sigma else a.copy()
        self._method, self._members = METHODS[method], members
        self._solves: dict[tuple[str, np.dtype], tuple[Solve, int]] = {}
        self._lock = Lock()
        self._solve_for("N", a.dtype)

    @property
    def nbytes(self) -> int:
        """Bytes of everything that is stored."""
        return self.matrix.nbytes + sum(nbytes for _, nbytes in self._solves.values())

    def right_side(self, trans: str, fitted: Callable[..., tuple[int, ...]]) -> RightSide:
        """Return the task of solving for a right-hand side, an array of any library."""
        return RightSide(self, trans, fitted)

    def solve(self, x: Any, trans: str) -> None:
        """Overwrite `x`, of shape (n, k) in F order and real or complex like the matrix, with the solutions."""
        if x.size:
            self._solve_for(trans, x.dtype)(x)

    def _solve_for(self, trans: str, dtype: np.dtype) -> Solve:
        key = "T" if trans == "H" and dtype.kind == "f" else trans, dtype
        with self._lock:
            if key not in self._solves:
                a = {"N": self.matrix, "T": self.matrix.T, "H": self.matrix.H}[trans].astype(dtype, copy=False)
                solve, nbytes, replaced = self._method(a, self._members)
                _require_regular(a, solve, replaced)
                self._solves[key] = solve, nbytes
            return self._solves[key][0]


class RightSide(device_dense.Product):
    """The task of solving for a right-hand side, as a product with it.

    `fitted` returns the shape of the solutions for a shape of right-hand sides, or raises. For a batch it has a row for
    each member, and all rows form one vector.
    """

    def __init__(self, factors: Any, trans: str, fitted: Callable[..., tuple[int, ...]]) -> None:
        super().__init__(factors.matrix, 0, factors.matrix.shape, 1, 0, None, "solve")
        self._factors, self._trans, self._fitted = factors, trans, fitted

    def dtypes(self, shape: tuple[int, ...], given: np.dtype) -> tuple[np.dtype, np.dtype]:
        self._fitted(shape)
        if given.kind not in "iubfc":
            raise TypeError(f"solve: b is of type {given}, expected numbers")
        return product_dtypes(self.a.dtype, given)

    def result_shape(self, x: Any) -> tuple[int, ...]:
        return self._fitted(x.shape)

    def run(self, x: Any, target: Any, make: Callable[[str], Any]) -> None:
        result = make("C")
        b = self._all_rows(x, result.shape)
        dtype = solved_in(self.a.dtype, x.dtype)
        y = self.backend.core.empty(b.shape, dtype.name, b.device, "F")
        y.assign(b)
        self._factors.solve(y, self._trans)
        self._columns(result, y.dtype).assign(y)

    def _all_rows(self, x: Any, shape: tuple[int, ...]) -> Any:
        """Return the right-hand sides as columns; for a real matrix, complex ones as two."""
        core = self.backend.core
        if x.shape != shape:  # one right-hand side for all members
            x = owners.strided(core, owners.contiguous(x, x.dtype), shape, (0, x.itemsize))
        rows = core.empty(shape, x.dtype.name, x.device)
        rows.assign(x)
        return self._columns(rows, self.a.dtype)

    def _columns(self, array: Any, dtype: np.dtype) -> Any:
        """Return an array in C order as columns; with a real `dtype`, complex ones as two."""
        n = self.a.shape[0]
        columns = array.reshape((n, array.size // n if n else 0))
        return owners.as_reals(self.backend.core, columns) if array.dtype.kind == "c" and dtype.kind == "f" else columns


def _require_regular(a: SparseArray, solve: Solve, replaced: bool) -> None:
    """Raise if the solution for a random right-hand side is not finite, or is wrong because pivots were replaced."""
    rng, core = np.random.default_rng(0), a._core
    b = core.from_host(rng.uniform(-1, 1, a.shape[0]).astype(a.dtype), a._backend.index)
    if not b.size:
        return
    x = core.empty((b.size, 1), b.dtype.name, b.device, "F")
    flat = x.T.ravel()
    flat.assign(b)
    solve(x)
    if (flat * 0).any():
        raise np.linalg.LinAlgError("a solution is not finite")
    if replaced:
        off = abs((a @ flat).get() - b.get()).max()
        if not off < np.finfo(a.dtype).eps ** 0.5:
            raise np.linalg.LinAlgError(f"a pivot is zero, and the residual of a solution is {off:.1g}")


# ---- narrow bands ------------------------------------------------------------------------------------------------
def _parts(vector: Any, count: int) -> Iterator[Any]:
    """Yield `count` equal parts of a vector, one after the other."""
    length = vector.size // count
    for i in range(count):
        yield vector[i * length : (i + 1) * length]


def _diagonal(a: SparseArray, members: int) -> tuple[Solve, int, bool]:
    inverse = eye(a.shape[0], dtype=a.dtype, format="dia", device=a.device)
    inverse.values = (by_rows(a, 0, a.shape[0]) ** -1).reshape(inverse.values.shape)

    def solve(x: Any) -> None:
        a._core.matvec(inverse._matrix, 0, device_dense.gather(a._core, x, 0), x, 1, 0, "")

    return solve, inverse.nbytes, False


def _tridiagonal(a: SparseArray, members: int) -> tuple[Solve, int, bool]:
    n, core = a.shape[0], a._core
    rows = max(n, _MIN_ROWS["tridiagonal"])
    bands = [by_rows(a, k, rows) for k in (-1, 0, 1)]

    def solve(x: Any) -> None:
        if n == rows:
            core.solve_tridiagonal(*bands, x)
            return
        for column in _parts(x.T.ravel(), x.shape[1]):
            grown = filled(core, x, (rows,), 0)
            grown[:n].assign(column)
            core.solve_tridiagonal(*bands, grown)
            column.assign(grown[:n])

    return solve, sum(band.nbytes for band in bands), False


def _pentadiagonal(a: SparseArray, members: int) -> tuple[Solve, int, bool]:
    n, core = a.shape[0] // members, a._core
    rows = max(n, _MIN_ROWS["pentadiagonal"])

    def side_by_side(vector: Any, fill: int) -> Any:
        """Return elements i of all members as row i, extended by `fill` to at least 5 rows."""
        result = filled(core, vector, (rows, members), fill)
        first_rows(result).assign(vector.reshape((members, n)).T)
        return result

    def first_rows(result: Any) -> Any:
        return result.ravel()[: n * members].reshape((n, members))

    bands = [side_by_side(by_rows(a, k, a.shape[0]), int(k == 0)) for k in range(-2, 3)]

    def solve(x: Any) -> None:
        if members == 1 and rows == n and x.shape[1] > 1:  # a system for each right-hand side
            sides = core.empty(x.shape, x.dtype.name, x.device)
            sides.assign(x)
            core.solve_pentadiagonal(*(_repeated(core, band, x.shape[1]) for band in bands), sides)
            x.assign(sides)
            return
        for column in _parts(x.T.ravel(), x.shape[1]):
            all_members = side_by_side(column, 0)
            core.solve_pentadiagonal(*bands, all_members)
            column.reshape((members, n)).assign(first_rows(all_members).T)

    return solve, sum(band.nbytes for band in bands), False


def _repeated(core: Any, column: Any, times: int) -> Any:
    """Return the (n, times) array of copies of a column."""
    result = core.empty((column.shape[0], times), column.dtype.name, column.device)
    result.assign(owners.strided(core, column, result.shape, (column.itemsize, 0)))
    return result


def _cudss(a: SparseArray, members: int) -> tuple[Solve, int, bool]:
    csr = convert(a, "csr")
    factors = Cudss(csr.copy() if csr._op else csr)
    return factors.solve, factors.nbytes, factors.replaced_pivots


def _triangular(a: SparseArray, members: int) -> tuple[Solve, int, bool]:
    below = a._summary().offsets[a._summary().fill > 0].min(initial=0) < 0
    triangle = Triangle(a, bool(below), False)
    return (lambda x: triangle.solve(x, "N")), triangle.nbytes, False


METHODS: dict[str, Callable[[SparseArray, int], tuple[Solve, int, bool]]] = {
    "diagonal": _diagonal,
    "tridiagonal": _tridiagonal,
    "pentadiagonal": _pentadiagonal,
    "cudss": _cudss,
    "triangular": _triangular,
}
REACH = {"diagonal": 0, "tridiagonal": 1, "pentadiagonal": 2}  #: the largest offset that a method supports
