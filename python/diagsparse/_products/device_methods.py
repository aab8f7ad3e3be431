"""Methods of factorizations on a GPU: kernels of our own and cuSPARSE for bands, NVIDIA's cuDSS for the rest.

A method returns a function that solves, the bytes of the factors, and how to verify them. cuSPARSE does not return
factors, so only the diagonals are stored where it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._arrays import device_arrays, device_dense
from .._backends import libraries, memory
from .._matrix.builders import eye
from .._matrix.convert import convert
from .._matrix.sparse_array import SparseArray
from . import device_banded, device_corners, device_corrected, device_members
from .banded_sizes import MOST_REACH
from .cudss import Cudss
from .device_bands import WITH_DIAGONALS, by_rows, filled, random_vector, three_diagonals
from .triangles import Triangle

_MIN_ROWS = {"tridiagonal": 3, "pentadiagonal": 5}  # rows of a system in cuSPARSE
_SINGULAR, _RESIDUAL = 0.1, 1e-3  # least |A| |x| eps / |b| and residual of a solution without correct digits

Solve = Callable[[Any, Any], None]
"""``solve(b, x)`` writes the solutions for `b` to `x`: columns of `DeviceArray`s in F order; `x` may be `b`."""

Reach = tuple[int, int]  # the distances of the outermost nonzero diagonals below and above the main one

Method = Callable[[SparseArray, int, Reach], tuple[Solve, int, str]]
"""``method(a, members, reach)`` returns a solver of a matrix of `members` diagonal blocks, the bytes of the factors and
what has to be verified for a random right-hand side: "finite", "residual", "backward error", or "" for nothing."""


def chosen(a: SparseArray, below: int, above: int, needed: str, members: int) -> str:
    """Return the method for a matrix of `members` blocks; `needed` is the first one that supports its bandwidth."""
    if _is_cyclic(a, members) or (members == 1 and needed == "cudss" and device_corrected.has_corners(a)):
        return "cyclic"
    if members == 1 and needed == "cudss" and device_corrected.of_quasi_band(a) is not None:
        return "woodbury"
    return "banded" if needed == "pentadiagonal" else needed


def _overwriting(solve: Callable[[Any], None]) -> Solve:
    """Return the solver for a function that overwrites right-hand sides with solutions."""

    def run(b: Any, x: Any) -> None:
        if x is not b:
            x.assign(b)
        solve(x)

    return run


def _parts(vector: Any, count: int) -> Iterator[Any]:
    """Yield `count` equal parts of a vector, one after the other."""
    length = vector.size // count
    for i in range(count):
        yield vector[i * length : (i + 1) * length]


def _diagonal(a: SparseArray, members: int, reach: Reach) -> tuple[Solve, int, str]:
    inverse = eye(a.shape[0], dtype=a.dtype, format="dia", device=a.device)
    inverse.values = (by_rows(a, 0, a.shape[0]) ** -1).reshape(inverse.values.shape)

    def solve(b: Any, x: Any) -> None:
        a._core.matvec(inverse._matrix, 0, device_dense.gather(a._core, b, 0) if x is b else b, x, 1, 0, "")

    return solve, inverse.nbytes, "finite"


def _tridiagonal(a: SparseArray, members: int, reach: Reach) -> tuple[Solve, int, str]:
    values = 4 * a.shape[0]  # 2.6 for each row, or 4.4 if the inverse does not decay
    memory.require_free(values * a.dtype.itemsize, f"factorized: factors of {a.shape[0]} rows", a._backend)
    below, main, above = three_diagonals(a)
    factors = a._core.factor_tridiagonal(below, main, above, max(1, a.shape[0] // members))
    if factors is None and members > 1:  # solutions would be inaccurate without pivoting
        return device_members.pivoting(a, members)
    if factors is None:
        pivoting = _pivoting_tridiagonal(a, members, reach)
        try:
            require_regular(a, pivoting[0], "backward error")
        except np.linalg.LinAlgError:
            if isinstance(libraries.cudss(), Exception):
                raise
            return _cudss(a, members, reach)
        return *pivoting[:2], ""
    copied = [d for d in (below, main, above) if not a._core.overlap(a._matrix.values, d)]  # the factors refer to them
    return factors.solve, factors.nbytes + sum(d.nbytes for d in copied), ""


def tridiagonal_once(a: SparseArray, members: int) -> Solve:
    """Return a solver for a single right-hand side, which stores no factors."""

    def solve(b: Any, x: Any) -> None:
        if x is b or x.shape[1] != 1 or not a._core.solve_tridiagonal_once(*diagonals, block, 0, b, x):
            factored, _, verify = _tridiagonal(a, members, (1, 1))
            require_regular(a, factored, verify)
            factored(b, x)

    diagonals, block = three_diagonals(a), max(1, a.shape[0] // members)
    return solve


def _is_cyclic(a: SparseArray, members: int) -> bool:
    """Whether all nonzeros are on three diagonals in the middle and in two corners apart from them, in each block."""
    n, summary = a.shape[0] // members, a._summary()
    offsets = abs(summary.offsets)
    if n < 4 or n - 1 not in offsets:
        return False
    return {n - 1} <= set(offsets[summary.fill > 0].tolist()) <= {0, 1, n - 1}


def _cyclic(a: SparseArray, members: int, reach: Reach) -> tuple[Solve, int, str]:
    if not _is_cyclic(a, members):
        if members == 1 and device_corrected.has_corners(a):
            return _corrected(a, device_corrected.of_corners(a), reach)
        raise ValueError(
            'factorized: method "cyclic" needs three diagonals and two corner elements, or for a single matrix a band '
            "with entries in two small corners"
        )
    n, core = a.shape[0] // members, a._core
    a = a if a.format in WITH_DIAGONALS else convert(a, "csr")
    corners = []
    for k in (n - 1, 1 - n):  # one element for each member
        diagonal, corner = core.diagonal(a._matrix, a._op, k), core.empty((members,), a.dtype.name, a._backend.index)
        corner.assign(device_arrays.strided(core, diagonal, (members,), (n * diagonal.itemsize,)))
        corners.append(corner)
    try:
        solve, nbytes, verify = _tridiagonal(a, members, (1, 1))
        require_regular(a, solve, "finite" if verify else "")
        solve, more = device_corners.corrected(a, solve, members, False, corners)
        require_regular(a, solve, "backward error", members)
    except np.linalg.LinAlgError:  # the tridiagonal matrix may be singular even if this one is not
        if isinstance(libraries.cudss(), Exception):
            raise
        return _cudss(a, members, reach)
    return solve, nbytes + more, ""


def _woodbury(a: SparseArray, members: int, reach: Reach) -> tuple[Solve, int, str]:
    split = device_corrected.of_quasi_band(a)
    if members != 1 or split is None:
        raise ValueError(
            'factorized: method "woodbury" needs a qband matrix of a band, and at most 64 rows or columns with other '
            "entries"
        )
    return _corrected(a, split, reach)


def _corrected(a: SparseArray, split: device_corrected.Split, reach: Reach) -> tuple[Solve, int, str]:
    try:
        return *device_corrected.corrected(a, split), ""
    except np.linalg.LinAlgError:  # the band may be singular even if the matrix is not
        if isinstance(libraries.cudss(), Exception):
            raise
        return _cudss(a, 1, reach)


def _banded(a: SparseArray, members: int, reach: Reach) -> tuple[Solve, int, str]:
    return *device_banded.banded(a, *reach), ""


def _pivoting_tridiagonal(a: SparseArray, members: int, reach: Reach) -> tuple[Solve, int, str]:
    """Repeat the elimination in every solve, with the pivoting of cuSPARSE."""
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

    return _overwriting(solve), sum(band.nbytes for band in bands), "finite"


def _pentadiagonal(a: SparseArray, members: int, reach: Reach) -> tuple[Solve, int, str]:
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

    return _overwriting(solve), sum(band.nbytes for band in bands), "finite"


def _repeated(core: Any, column: Any, times: int) -> Any:
    """Return the (n, times) array of copies of a column."""
    result = core.empty((column.shape[0], times), column.dtype.name, column.device)
    result.assign(device_arrays.strided(core, column, result.shape, (column.itemsize, 0)))
    return result


def _cudss(a: SparseArray, members: int, reach: Reach) -> tuple[Solve, int, str]:
    csr = convert(a, "csr")
    csr = csr.copy() if csr._op else csr
    if (csr.values * 0).any():  # cuDSS may divide by infinity, and its solutions are finite then
        raise np.linalg.LinAlgError("a value of the matrix is not finite")
    factors = Cudss(csr)
    return factors.solve, factors.nbytes, "residual" if factors.replaced_pivots else "finite"


def _triangular(a: SparseArray, members: int, reach: Reach) -> tuple[Solve, int, str]:
    triangle = Triangle(a, reach[0] > 0, False)
    return _overwriting(lambda x: triangle.solve(x, "N")), triangle.nbytes, "finite"


def require_regular(a: SparseArray, solve: Solve, verify: str, members: int = 1, interleaved: bool = False) -> None:
    """Raise if the solution for a random right-hand side is not finite, or its residual or backward error is large.

    The residuals are those of each of `members` diagonal blocks, or of `interleaved` members.
    """
    if not verify:
        return
    core, b = a._core, random_vector(a)
    if not b.size:
        return
    x = core.empty((b.size, 1), b.dtype.name, b.device, "F")
    flat = x.T.ravel()
    flat.assign(b)
    solve(x, x)
    if verify == "finite":
        if (flat * 0).any():
            raise np.linalg.LinAlgError("a solution is not finite")
        return
    ones = core.empty((a.shape[1],), b.dtype.name, b.device)
    ones.fill(1)
    with np.errstate(all="ignore"):
        residual, sizes, sums = abs((a @ flat).get() - b.get()), abs(flat.get()), (abs(a) @ ones).get().real
        off, size, row = (
            (each.reshape(-1, members).T if interleaved else each.reshape(members, -1)).max(axis=1)
            for each in (residual, sizes, sums)
        )
        growth, eps = row * size, np.finfo(a.dtype).eps  # of elements of b, which are at most 1
        if verify == "residual":  # as pivots were replaced
            wrong = ~(off < eps**0.5)
        else:
            wrong = ~(off < eps**0.5 * (growth + 1)) | ((growth * eps > _SINGULAR) & (off > _RESIDUAL))
        error = off / (growth + 1)
    if wrong.any():
        infinite = ~np.isfinite(size)  # with this x, products with stored zeros are NaN in other members, too
        i = int(np.argmax(infinite if infinite.any() else wrong))
        of = f" of member {i}" if members > 1 else ""
        raise np.linalg.LinAlgError(
            f"the residual of a solution{of} is {off[i]:.1g}, its backward error {error[i]:.1g}"
        )


METHODS: dict[str, Method] = {
    "diagonal": _diagonal,
    "tridiagonal": _tridiagonal,
    "pentadiagonal": _pentadiagonal,
    "banded": _banded,
    "cudss": _cudss,
    "cyclic": _cyclic,
    "woodbury": _woodbury,
    "triangular": _triangular,
}
#: the largest offset that a method supports
REACH = {"diagonal": 0, "tridiagonal": 1, "pentadiagonal": 2, "banded": MOST_REACH}
