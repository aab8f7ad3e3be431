"""Bands with a few other entries on the CPU: factors of the band, corrected for the rest by Woodbury's formula.

    A = B + P V      B: the band; V: the rest in the r rows that have one; P: columns of the identity for these rows
    A^-1 = B^-1 - Y (I + V Y)^-1 V B^-1  with  Y = B^-1 P

The members of a batch have the same rows with a rest, so Y has r columns for all members together, and V and I + V Y
are small matrices for each member. If B is ill-conditioned, so is the formula, even where A is not. Therefore a random
system is solved first, and SuperLU is used if its residual is large.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._matrix.convert import convert
from .._matrix.sparse_array import SparseArray
from . import host_methods
from .host_methods import ALL, Solve, Unsuitable

_MOST_ROWS = 64  # with entries outside of the band
_MAX_BACKWARD_ERROR = 64  # of the solution of a random system, in units of the last place


class _Split(NamedTuple):
    """A band, and the other entries: their rows and columns within a member, its number, and their values."""

    below: int
    above: int
    rows: np.ndarray
    columns: np.ndarray
    members: np.ndarray
    values: np.ndarray


def chosen(a: SparseArray, members: int) -> str | None:
    """Return the method here that suits a matrix of `members` blocks, if there is one."""
    order = a.shape[0] // members
    near, far = _near_and_far(a, order)
    if far.size:
        corners = order - abs(far).min()
        wide = int(near.max(initial=0) - near.min(initial=0)) + 1
        nonzeros = int(a._summary().fill.sum())
        if (
            2 * corners <= _MOST_ROWS
            and wide * a.shape[0] <= max(8 * a.shape[0], 4 * nonzeros)
            and 8 * corners <= order
        ):
            return "cyclic"
    if a.format == "qband" and members == 1 and _of_rows(a) is not None:
        return "woodbury"
    return None


def cyclic(a: SparseArray, sigma: Any, below: int, above: int, order: int) -> tuple[Solve, int]:
    """Factor a matrix whose offsets are near zero, or near those of the corners; ``order`` is that of a block."""
    near, far = _near_and_far(a, order)
    if 2 * (order - abs(far).min(initial=order)) > _MOST_ROWS:
        raise ValueError('method "cyclic" needs a band with entries in two small corners')
    rows, values = [], []
    for k in far.tolist():
        diagonal = a.diagonal(k)
        at = np.flatnonzero(diagonal)
        rows.append(np.stack([at + max(0, -k), at + max(0, k)]))
        values.append(diagonal[at])
    at = np.concatenate([np.zeros((2, 0), np.int64), *rows], axis=1)
    below, above = int(-near.min(initial=0)), int(near.max(initial=0))
    rest = np.concatenate([np.zeros(0, a.dtype), *values])
    inner, members = at % max(1, order), at[0] // max(1, order)
    split = _Split(below, above, inner[0], inner[1], members, rest)
    return _corrected(a, sigma, split, order)


def woodbury(a: SparseArray, sigma: Any, below: int, above: int, order: int) -> tuple[Solve, int]:
    """Factor a band with further entries in at most 64 rows."""
    split = _of_rows(a)
    if split is None:
        raise ValueError(f'method "woodbury" needs a band and at most {_MOST_ROWS} rows with other entries')
    return _corrected(a, sigma, split, a.shape[0])


def _near_and_far(a: SparseArray, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the offsets of nonzero diagonals up to half of the order of a block, and the larger ones."""
    offsets = a._summary().offsets[a._summary().fill > 0]
    far = 2 * abs(offsets) > order
    return offsets[~far], offsets[far]


def _of_rows(a: SparseArray) -> _Split | None:
    """Split a matrix into a narrow band and the rows that reach farther, if these are few."""
    csr = convert(a, "csr").to_scipy()
    n = csr.shape[0]
    rows = np.repeat(np.arange(n), np.diff(csr.indptr))
    columns, values = csr.indices.astype(np.int64), csr.data
    distance = np.zeros(n, np.int64)
    np.maximum.at(distance, rows, np.where(values != 0, abs(columns - rows), 0))
    farthest = np.sort(np.append(distance, 0))[::-1][: _MOST_ROWS + 1]
    count = int(np.argmin(3 * farthest + np.arange(farthest.size)))  # of rows with a rest: about the cost of a solve
    if (6 * farthest[count] + 2) * n > max(8 * n, 8 * csr.nnz):
        return None
    outside = (abs(columns - rows) > farthest[count]) & (values != 0)
    inside = columns[~outside] - rows[~outside]
    reach = int(-inside.min(initial=0)), int(inside.max(initial=0))
    rest = rows[outside], columns[outside]
    return _Split(*reach, *rest, np.zeros_like(rest[0]), values[outside])


def _corrected(a: SparseArray, sigma: Any, split: _Split, order: int) -> tuple[Solve, int]:
    members = a.shape[0] // max(1, order)
    solve, nbytes = _band(a, sigma, split.below, split.above, order)
    host_methods.require_finite(split.values)
    rows, at_row = np.unique(split.rows, return_inverse=True)
    columns, at_column = np.unique(split.columns, return_inverse=True)
    if not rows.size:
        return solve, nbytes
    values = members * rows.size * (2 * order + columns.size + rows.size)  # of P, Y, V and V Y
    host_methods.require_memory(values * a.dtype.itemsize, f"{rows.size} columns of {members * order} rows")
    v = np.zeros((members, rows.size, columns.size), a.dtype)
    np.add.at(v, (split.members, at_row, at_column), split.values)
    p = np.zeros((members, order, rows.size), a.dtype)
    p[:, rows, np.arange(rows.size)] = 1
    y = solve(p.reshape(-1, rows.size), "N", ALL).reshape(p.shape)
    small = np.eye(rows.size, dtype=a.dtype) + v @ y[:, columns]
    if not np.isfinite(small).all():
        raise Unsuitable

    def corrected(b: np.ndarray, trans: str, part: slice) -> np.ndarray:
        first = (part.start or 0) // order
        some = slice(first, first + b.shape[0] // order)
        blocks = b.reshape(-1, order, *(b.shape[1:] or (1,)))
        if trans == "N":
            z = solve(b, "N", part).reshape(blocks.shape)
            return (z - y[some] @ np.linalg.solve(small[some], v[some] @ z[:, columns])).reshape(b.shape)
        vt, yt, st = (m[some].swapaxes(1, 2) for m in (v, y, small))
        if trans == "H":
            vt, yt, st = vt.conj(), yt.conj(), st.conj()
        rest = blocks.copy()
        rest[:, columns] -= vt @ np.linalg.solve(st, yt @ blocks)
        return solve(rest.reshape(b.shape), trans, part)

    _verify(a, sigma, corrected)
    return corrected, nbytes + y.nbytes + v.nbytes + small.nbytes


def _band(a: SparseArray, sigma: Any, below: int, above: int, order: int) -> tuple[Solve, int]:
    try:
        if below == above == 0:
            return host_methods.diagonal(a, sigma, 0, 0, order)
        if max(below, above) == 1:
            return host_methods.tridiagonal(a, sigma, below, above, order)
        return host_methods.banded(a, sigma, below, above, order)
    except host_methods.Singular:
        raise Unsuitable from None


def _verify(a: SparseArray, sigma: Any, solve: Solve) -> None:
    """Raise if the backward error of the solution of a random system is large."""
    b = np.random.default_rng(0).uniform(-1, 1, a.shape[0]).astype(a.dtype)
    with np.errstate(all="ignore"):
        try:
            x = solve(b, "N", ALL)
        except np.linalg.LinAlgError:
            raise Unsuitable from None
        size = abs(a).sum(axis=1).max() + abs(sigma)
        off = abs(a @ x - sigma * x - b).max() / (size * abs(x).max() + abs(b).max())
    if not off <= _MAX_BACKWARD_ERROR * np.finfo(a.dtype).eps:
        raise Unsuitable
