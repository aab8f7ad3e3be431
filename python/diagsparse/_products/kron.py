"""Kronecker products of small factors, diagonal by diagonal."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._matrix.base import SparseArray
from .._matrix.construct import array
from .._matrix.convert import unpacked
from .._matrix.operands import require_matrix
from .._matrix.registry import COMMON, FORMATS, format_class
from .._matrix.summary import Summary
from .._places import memory
from .._places.backend import CPU, place

_DIAGONALS = "dia", "hm", "cdm", "mdia"
_MOST = 8  # times the bytes of csr that they may take, unless one of them was named


def kron(
    a: Any, b: Any, /, format: str | None = None, *, device: str | None = None, max_bytes: int | None = None
) -> SparseArray:
    """Return the Kronecker product of A and B: each element of A is replaced by itself times B.

    Diagonals stay diagonals where B is square: those of A with offset j and of B with offset k are one of the result,
    with offset ``j * B.shape[0] + k``.

    Parameters
    ----------
    a, b : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shapes (m, n) and (p, q)
        On the CPU.
    format : str, optional
        Of the result. By default A's format where that is dia, hm, cdm or mdia and takes at most eight times the bytes
        of csr; otherwise hm or mdia, whichever takes fewer bytes, within the same limit; otherwise csr.
    device : str, optional
        Where the result goes: ``"cpu"``, the default, or ``"cuda"``, ...
    max_bytes : int, optional
        Limit for the result and what is there while it is made; by default what is free.

    Returns
    -------
    sparse matrix, shape (m p, n q)
        Of the dtype that a product has. Symmetric, periodic and 16-bit storage is unpacked.

    Raises
    ------
    ValueError
        For factors on a GPU: they are read on the host; for arrays that have not two dimensions.
    TypeError
        For factors that are no matrices of numbers.
    MemoryError
        With the bytes, where the result does not fit.

    Notes
    -----
    Cost: each element of the result is written once for each pair of diagonals that meets there, and copied once where
    the format is not dia.

    Examples
    --------
    The Laplacian of a grid of 2 x 3 points:

    >>> import numpy as np, diagsparse as ds
    >>> x, y = (ds.hm_array(ds.gallery.stencil(3, (n,))) for n in (2, 3))
    >>> ds.kron(x, np.eye(3)) + ds.kron(np.eye(2), y)
    <hm_array 6 x 6 float64: 5 diagonals from -3 to 3, 22 stored, 264 B, cpu>

    Strings of Pauli matrices:

    >>> X, Z = ds.array([[0.0, 1], [1, 0]]), ds.array([[1.0, 0], [0, -1]])
    >>> ds.kron(ds.kron(Z, X), ds.eye(1000))
    <dia_array 4000 x 4000 float64: 2 diagonals from -1000 to 1000, 6000 stored, 64.0 KB, cpu>

    A flip of every one of 16 spins has 65536 diagonals, each with one entry:

    >>> from functools import reduce
    >>> reduce(ds.kron, [X] * 16)
    <csr_array 65536 x 65536 float64: 65536 stored, 1.3 MB, cpu>
    """
    left, right = (_factor(x, name) for x, name in ((a, "A"), (b, "B")))
    target = place(device) if device is not None else CPU
    by_diagonals = left._family == right._family == "diagonals" and right.shape[0] == right.shape[1]
    named = None if format is None else format_class(format).format
    first = named or _own(left, left.shape[0] * right.shape[0], left.shape[1] * right.shape[1])
    if by_diagonals and FORMATS[first]._family == "diagonals" and (named or _few(first, _summary(left, right))):
        made: SparseArray = _by_diagonals(left, right, max_bytes)
    else:
        dtype = np.result_type(left.dtype, right.dtype)
        rows_a, rows_b = left.to_scipy("csr"), right.to_scipy("csr")
        memory.require(rows_a.nnz * rows_b.nnz * (dtype.itemsize + 8), max_bytes, "kron: the entries")
        made = FORMATS[COMMON](sp.kron(rows_a, rows_b, "csr").astype(dtype, copy=False))
        first = named or _by_default(first, made._summary())
    return made.asformat(first, max_bytes=max_bytes).to(target.name)


def _factor(x: Any, name: str) -> SparseArray:
    """Return a factor as ours, not packed."""
    require_matrix(x, "kron", name)
    made = array(x)
    if made.device != "cpu":
        raise ValueError(
            f'kron: {name} is on {made.device}, and factors are read on the host; {name}.to("cpu"), and '
            f'device="{made.device}" for the result'
        )
    return unpacked(made)


def _own(left: SparseArray, rows: int, cols: int) -> str:
    """Return the format of A, or hm where that is cdm, which is square only."""
    return "hm" if left.format == "cdm" and rows != cols else left.format


def _by_default(own: str, s: Summary) -> str:
    """Return the format of a product, where none is named: `own` is that of A."""
    fewest = min(("hm", "mdia"), key=lambda name: FORMATS[name]._forecast(s))
    return next((name for name in (own, fewest) if name in _DIAGONALS and _few(name, s)), COMMON)


def _few(name: str, s: Summary) -> bool:
    """Return whether a format of diagonals is not far larger than csr."""
    return FORMATS[name]._forecast(s) <= _MOST * FORMATS[COMMON]._forecast(s)


def _offsets(a: SparseArray, b: SparseArray) -> np.ndarray:
    """Return the offsets of the product of two matrices by diagonals of which the second one is square, ascending."""
    return np.unique(np.add.outer(b.shape[0] * a.offsets, b.offsets))


def _summary(a: SparseArray, b: SparseArray) -> Summary:
    """Return what forecasts ask of the product of two matrices by diagonals of which the second one is square."""
    (m, n), p = a.shape, b.shape[0]
    entries = a.count_nonzero() * b.count_nonzero()
    return Summary((m * p, n * p), np.result_type(a.dtype, b.dtype).itemsize, entries, offsets=lambda: _offsets(a, b))


def _by_diagonals(a: SparseArray, b: SparseArray, max_bytes: int | None) -> SparseArray:
    """Return the product as dia, of two matrices by diagonals of which the second one is square."""
    (m, n), p = a.shape, b.shape[0]
    memory.require_free(a.nnz * b.nnz * np.result_type(a.dtype, b.dtype).itemsize, "kron: the values")
    offsets = _offsets(a, b)
    dtype = np.result_type(a.dtype, b.dtype)
    memory.require((len(offsets) + 1) * m * p * dtype.itemsize, max_bytes, "kron: the diagonals")
    values = np.zeros((len(offsets), m, p), dtype)
    of_a, of_b = ({k: (max(0, -k), x.diagonal(k)) for k in x.offsets.tolist()} for x in (a, b))
    for j, k in product(of_a, of_b):
        # A[i, i + j] B[r, r + k] lies in row i p + r.
        (i, u), (r, v) = of_a[j], of_b[k]
        part = values[np.searchsorted(offsets, j * p + k), i : i + len(u), r : r + len(v)]
        part += np.multiply.outer(u, v)
    return FORMATS["dia"]((values.reshape(len(offsets), m * p), offsets), shape=(m * p, n * p), align="row")
