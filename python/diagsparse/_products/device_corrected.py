"""Bands with a few other rows, columns or corners on a GPU: factors of the band, corrected by Woodbury's formula.

    A = B + P V      B: the band; V: the rest in the r rows that have one; P: columns of the identity for these rows
    A^-1 = B^-1 - Y M Q^T B^-1  with  Y = B^-1 P,  M = (I + V Y)^-1 V,  Q: columns of the identity for those of V

If the rest is in few columns instead, Q selects these, ``Y = B^-1 U`` for the values U in them, and
``M = (I + Q^T Y)^-1``. If B is ill-conditioned, so is the formula, even where A is not. Therefore a random system is
solved first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._backends import memory
from .._matrix.convert import convert
from .._matrix.norms import norm
from .._matrix.sparse_array import SparseArray
from .banded_sizes import MOST_REACH
from .device_banded import banded
from .device_bands import random_vector

_MOST_RANK = 64  # rows or columns with entries outside of the band
_MOST_ERROR = 64  # backward error of a random system, in units of the last place


class Split(NamedTuple):
    """A matrix with the band, how far this reaches, and the other entries, on the host."""

    band: SparseArray
    below: int
    above: int
    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray


def has_corners(a: SparseArray) -> bool:
    """Whether a matrix is a band with entries in two corners that are small enough."""
    near, far = _near_and_far(a)
    corners = 2 * (a.shape[0] - abs(far).min(initial=a.shape[0]))
    return 0 < corners <= min(_MOST_RANK, a.shape[0] // 4) and abs(near).max(initial=0) <= MOST_REACH


def of_corners(a: SparseArray) -> Split:
    """Split a matrix that has corners."""
    near, far = _near_and_far(a)
    diagonals = convert(a, "hm")
    at, values = [], []
    for k in far.tolist():
        diagonal = a._core.diagonal(diagonals._matrix, diagonals._op, k).get()
        row = np.flatnonzero(diagonal)
        at.append(np.stack([row + max(0, -k), row + max(0, k)]))
        values.append(diagonal[row])
    rows, columns = np.concatenate(at, axis=1)
    return Split(diagonals, int(-near.min(initial=0)), int(near.max(initial=0)), rows, columns, np.concatenate(values))


def _near_and_far(a: SparseArray) -> tuple[np.ndarray, np.ndarray]:
    """Return the offsets of nonzero diagonals up to half of the order, and the larger ones."""
    offsets = a._summary().offsets[a._summary().fill > 0]
    far = 2 * abs(offsets) > a.shape[0]
    return offsets[~far], offsets[far]


def of_quasi_band(a: SparseArray) -> Split | None:
    """Split a `qband` matrix; None if its bands are too wide, or the rest has too many rows and columns."""
    if a.format != "qband":
        return None
    bands, rest = a.bands, a.rest
    reach = bands.offsets
    below, above = int(-reach.min(initial=0)), int(reach.max(initial=0))
    if max(below, above) > MOST_REACH:
        return None
    entries = convert(rest, "csr").to("cpu").to_scipy().tocoo()
    nonzero = entries.data != 0
    split = Split(bands, below, above, *(part[nonzero] for part in (*entries.coords, entries.data)))
    return split if min(np.unique(split.rows).size, np.unique(split.columns).size) <= _MOST_RANK else None


def corrected(a: SparseArray, split: Split) -> tuple[Callable[[Any, Any], None], int]:
    """Return a solver for `a`, and the bytes of what it stores; raise LinAlgError if it is inaccurate."""
    core, n = a._core, a.shape[0]
    solve, nbytes = banded(split.band, split.below, split.above)
    if not split.values.size:
        return solve, nbytes
    rows, at_row = np.unique(split.rows, return_inverse=True)
    columns, at_column = np.unique(split.columns, return_inverse=True)
    by_rows = rows.size <= columns.size
    rank = min(rows.size, columns.size)
    memory.require_free(2 * rank * n * a.dtype.itemsize, f"factorized: {rank} columns of {n} rows", a._backend)
    p = np.zeros((rank, n), a.dtype)
    if by_rows:
        p[np.arange(rank), rows] = 1
        v = np.zeros((rank, columns.size), a.dtype)
        np.add.at(v, (at_row, at_column), split.values)
    else:
        np.add.at(p, (at_column, split.rows), split.values)
        v = np.eye(rank, dtype=a.dtype)
    y = core.from_host(p, a._backend.index).T
    solve(y, y)
    positions = core.from_host(columns.astype(np.int64), a._backend.index)

    def selected(factors: Any, x: Any) -> Any:
        result = core.empty((rank, x.shape[1]), x.dtype.name, x.device, "F")
        core.multiply_selected(factors, positions, x, result)
        return result

    with np.errstate(all="ignore"):
        small = np.eye(rank, dtype=a.dtype) + selected(core.from_host(v, a._backend.index), y).T.get().T
        m = core.from_host(np.linalg.solve(small, v), a._backend.index)

    def run(b: Any, x: Any) -> None:
        solve(b, x)
        core.subtract_combined(y, selected(m, x), x)

    _verify(a, run)
    return run, nbytes + y.nbytes + m.nbytes + positions.nbytes


def _verify(a: SparseArray, solve: Callable[[Any, Any], None]) -> None:
    """Raise if the backward error of the solution of a random system is large."""
    b = random_vector(a)
    host, x = b.get(), b.reshape((1, a.shape[0])).T
    solve(x, x)
    with np.errstate(all="ignore"):
        off = abs((a @ b).get() - host).max()
        error = off / (norm(a, np.inf) * abs(b.get()).max() + abs(host).max())
    if not error <= _MOST_ERROR * np.finfo(a.dtype).eps:
        raise np.linalg.LinAlgError(f"the backward error of a solution is {error:.1g}")
