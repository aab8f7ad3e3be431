"""Tridiagonal and cyclic batches on a GPU whose members are interleaved, and batches that need pivoting.

The matrix of all members has the elements (i, i + k) of the members on its diagonal ``k * members``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._arrays import device_dense
from .._matrix.sparse_array import SparseArray
from . import device_corners
from .device_bands import by_rows, three_diagonals
from .substitution import Singular

Solve = Callable[[Any, Any], None]

MANY = 2048  #: members from which a thread or two for each of them keep a GPU busy


def _columns(array: Any) -> list[Any]:
    """Return the columns of an array in F order."""
    flat, n = array.T.ravel(), array.shape[0]
    return [flat[j * n : (j + 1) * n] for j in range(array.shape[1])]


def _require_solved(verdict: list[int], n: int) -> None:
    """Raise if a pivot of a member is zero, or its solution is inaccurate."""
    member, row, inaccurate = verdict
    if member >= 0:
        raise Singular(member * n + row)
    if inaccurate >= 0:
        raise np.linalg.LinAlgError(f"the backward error of a solution of member {inaccurate} is too large")


def _tridiagonal(a: SparseArray, members: int, reach: tuple[int, int]) -> tuple[Solve, int, str]:
    """Return a solver that repeats the elimination: it reads as many bytes as one that would read its results."""
    three, core, n = three_diagonals(a, members), a._core, a.shape[0] // members
    pivoting = max(core.solve_members(*three, members, None, None, False, True)) >= 0
    if pivoting:
        _require_solved(core.solve_members(*three, members, None, None, True, True), n)

    def solve(b: Any, x: Any) -> None:
        for given, result in zip(_columns(b), _columns(x), strict=True):
            core.solve_members(*three, members, given, result, pivoting, False)

    return solve, sum(d.nbytes for d in three if not core.overlap(a._matrix.values, d)), ""


def tridiagonal_once(a: SparseArray, members: int) -> Solve:
    """Return a solver that verifies each solution, and pivots where that is needed."""
    three, core, n = three_diagonals(a, members), a._core, a.shape[0] // members

    def solve(b: Any, x: Any) -> None:
        b = device_dense.gather(core, b, 0) if x is b else b
        for given, result in zip(_columns(b), _columns(x), strict=True):
            if max(core.solve_members(*three, members, given, result, False, True)) >= 0:
                _require_solved(core.solve_members(*three, members, given, result, True, True), n)

    return solve


def _cyclic(a: SparseArray, members: int, reach: tuple[int, int]) -> tuple[Solve, int, str]:
    """Return a solver for members with two corner elements."""
    corners = [a._core.diagonal(a._matrix, a._op, k).ravel() for k in (a.shape[0] - members, members - a.shape[0])]
    solve, nbytes, _ = _tridiagonal(a, members, reach)
    solve, more = device_corners.corrected(a, solve, members, True, corners)
    return solve, nbytes + more, "backward error"


def pivoting(a: SparseArray, members: int) -> tuple[Solve, int, str]:
    """Return a solver with pivoting for a matrix of diagonal blocks, which copies its diagonals to this layout."""
    core, n = a._core, a.shape[0] // members

    def interleaved(column: Any) -> Any:
        result = core.empty((n, members), column.dtype.name, column.device)
        result.assign(column.reshape((members, n)).T)
        return result.ravel()

    below, main, above = (interleaved(by_rows(a, k, a.shape[0])) for k in (-1, 0, 1))
    three = below[members:], main, above[: (n - 1) * members]
    _require_solved(core.solve_members(*three, members, None, None, True, True), n)

    def solve(b: Any, x: Any) -> None:
        for given, result in zip(_columns(b), _columns(x), strict=True):
            solution = interleaved(given)
            core.solve_members(*three, members, solution, solution, True, False)
            result.reshape((members, n)).assign(solution.reshape((n, members)).T)

    return solve, sum(d.nbytes for d in three), ""


METHODS = {"tridiagonal": _tridiagonal, "cyclic": _cyclic}  #: with the arguments of those in `device_methods`
