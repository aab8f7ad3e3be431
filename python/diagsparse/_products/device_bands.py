"""Diagonals of a matrix on a GPU as arrays with an element for each row."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import device_arrays
from .._matrix.convert import convert
from .._matrix.sparse_array import SparseArray

WITH_DIAGONALS = ("dia", "hm", "cdm", "csr", "csc")  #: formats whose diagonals are read as they are stored
_RANDOM = 65537  # numbers that are generated on the host, a prime so that they do not repeat in step with a grid


def filled(core: Any, like: Any, shape: tuple[int, ...], value: int) -> Any:
    """Return an array of one value, of the dtype and on the device of another array."""
    result = core.empty(shape, like.dtype.name, like.device)
    result.fill(value)
    return result


def by_rows(a: SparseArray, k: int, rows: int) -> Any:
    """Return the elements (i, i + k) by i, for the matrix extended to `rows` rows by those of the identity."""
    a = a if a.format in WITH_DIAGONALS else convert(a, "csr")
    diagonal = a._core.diagonal(a._matrix, a._op, k)
    result = filled(a._core, diagonal, (rows,), int(k == 0))
    first = max(0, -k)
    result[first : first + diagonal.size].assign(diagonal)
    return result


def random_vector(a: SparseArray) -> Any:
    """Return numbers between -1 and 1, one for each row and of the dtype of `a`: always the same."""
    n, core, index = a.shape[0], a._core, a._backend.index
    given = np.random.default_rng(0).uniform(-1, 1, min(n, _RANDOM)).astype(a.dtype)
    numbers = core.from_host(given, index)
    if n <= _RANDOM:
        return numbers
    times, rest = divmod(n, _RANDOM)
    result = core.empty((n,), a.dtype.name, index)
    repeated = device_arrays.strided(core, numbers, (times, _RANDOM), (0, numbers.itemsize))
    result[: n - rest].reshape((times, _RANDOM)).assign(repeated)
    result[n - rest :].assign(numbers[:rest])
    return result


def three_diagonals(a: SparseArray, members: int = 1) -> tuple[Any, Any, Any]:
    """Return the diagonals below, on and above the main one; they may share the memory of the matrix.

    If `members` are interleaved, they are `members` apart.
    """
    a, n, core = a if a.format in WITH_DIAGONALS else convert(a, "csr"), a.shape[0], a._core
    below, main, above = (
        core.diagonal(a._matrix, a._op, k * members, shared=True)
        if abs(k) * members < n
        else core.empty((0,), a.dtype.name, a._backend.index)
        for k in (-1, 0, 1)
    )
    return below, main, above
