"""Corrections of tridiagonal solutions on a GPU for the corners of cyclic matrices, by Woodbury's formula.

With the two corner elements in K, and the columns of the identity for the first and the last row in P, a matrix is
``T + P K P^T``, and its inverse ``(I - Y M P^T) T^-1`` with ``Y = T^-1 P`` and ``M = (I + K P^T Y)^-1 K``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._matrix.sparse_array import SparseArray


def corrected(
    a: SparseArray, solve: Callable[[Any, Any], None], members: int, interleaved: bool, corners: list[Any]
) -> tuple[Callable[[Any, Any], None], int]:
    """Return a solver for `members` matrices, and the bytes that it stores, from one for their tridiagonal parts.

    `interleaved`: whether members are interleaved. `corners`: the elements in the upper right and in the lower left
    corners of all members.
    """
    n, core = a.shape[0] // members, a._core
    y = core.empty((a.shape[0], 2), a.dtype.name, a._backend.index, "F")
    core.write_ends(y, n, interleaved)
    solve(y, y)
    weights = core.corner_weights(y, n, interleaved, *corners)

    def solve_corrected(b: Any, x: Any) -> None:
        solve(b, x)
        core.correct_for_corners(y, n, interleaved, weights, x)

    return solve_corrected, y.nbytes + weights.nbytes
