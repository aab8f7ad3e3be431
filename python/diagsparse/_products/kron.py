"""Kronecker products of small factors, diagonal by diagonal."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._matrix.base import SparseArray
from .._matrix.convert import convert, unpacked
from .._matrix.registry import COMMON, FORMATS, format_class
from .._matrix.summary import NEARLY_FULL, diagonal_length
from .._places import memory
from .._places.backend import CPU, place

_MOST = 8  # times the bytes of csr that diagonals may take, unless a format that stores them was named


def kron(
    a: Any, b: Any, /, format: str | None = None, *, device: str | None = None, max_bytes: int | None = None
) -> SparseArray:
    """Return the Kronecker product of A and B: each element of A is replaced by itself times B.

    Diagonals stay diagonals where B is square: those of A with offset j and of B with offset k are one of the result,
    with offset ``j * B.shape[0] + k``.

    Parameters
    ----------
    a, b : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shapes (m, n) and (p, q)
        On the CPU. What is not ours is taken by diagonals where more than two thirds of these are nonzero.
    format : str, optional
        Of the result. By default factors by diagonals (dia, hm, cdm and mdia) give diagonals: A's format, where B is
        square and this takes at most eight times the bytes of csr, else mdia. Others give hm, mdia or csr, whichever
        takes the fewest bytes.
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
        For factors on a GPU: they are read on the host.
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
    """
    left, right = (_factor(x, name) for x, name in ((a, "A"), (b, "B")))
    target = place(device) if device is not None else CPU
    kind = None if format is None else format_class(format)
    keeps_diagonals = left._family == right._family == "diagonals" and right.shape[0] == right.shape[1]
    to_diagonals = kind is not None and kind._family == "diagonals"
    if keeps_diagonals and (to_diagonals or _worth_their_zeros(left, right)):
        made: SparseArray = _by_diagonals(left, right, max_bytes)
        made = made.asformat(left.format if kind is None else kind.format, max_bytes=max_bytes)
    else:
        dtype = np.result_type(left.dtype, right.dtype)
        rows_a, rows_b = left.to_scipy("csr"), right.to_scipy("csr")
        memory.require(rows_a.nnz * rows_b.nnz * (dtype.itemsize + 8), max_bytes, "kron: the entries")
        rows = FORMATS[COMMON](sp.kron(rows_a, rows_b, "csr").astype(dtype, copy=False))
        named = _default(left, right, rows) if kind is None else kind.format
        made = rows.asformat(named, max_bytes=max_bytes)
    return made.to(target.name)


def _factor(x: Any, name: str) -> SparseArray:
    """Return a factor as ours, not packed."""
    ours = isinstance(x, SparseArray)
    made: SparseArray = x if ours else FORMATS[COMMON](x)
    if made.device != "cpu":
        raise ValueError(
            f'kron: {name} is on {made.device}, and factors are read on the host; {name}.to("cpu"), and '
            f'device="{made.device}" for the result'
        )
    if not ours and made.nnz > NEARLY_FULL * sum(diagonal_length(made.shape, k) for k in made._occupied().tolist()):
        made = convert(made, "hm")
    return unpacked(made)


def _offsets(a: SparseArray, b: SparseArray) -> list[tuple[int, int]]:
    """Return the offsets of the diagonals of A and of B that meet, in pairs."""
    return [(j, k) for j in a.offsets.tolist() for k in b.offsets.tolist()]


def _worth_their_zeros(a: SparseArray, b: SparseArray) -> bool:
    """Return whether the diagonals of the product of two matrices by diagonals hold not too many zeros."""
    dtype, p = np.result_type(a.dtype, b.dtype), b.shape[0]
    diagonals = len({j * p + k for j, k in _offsets(a, b)}) * a.shape[0] * p * dtype.itemsize
    return diagonals <= _MOST * (a.count_nonzero() * b.count_nonzero() * (dtype.itemsize + 4) + 8 * a.shape[0] * p)


def _default(a: SparseArray, b: SparseArray, made: SparseArray) -> str:
    """Return the format of the product of A and B, which is in csr."""
    if all(x.format == "mdia" or x._family == "diagonals" for x in (a, b)):
        return "mdia"
    sizes = {name: FORMATS[name]._forecast(made._summary()) for name in ("hm", "mdia", COMMON)}
    return min(sizes, key=lambda name: sizes[name])


def _by_diagonals(a: SparseArray, b: SparseArray, max_bytes: int | None) -> SparseArray:
    """Return the product as dia, of two matrices by diagonals of which the second one is square."""
    (m, n), p = a.shape, b.shape[0]
    memory.require_free(a.nnz * b.nnz * np.result_type(a.dtype, b.dtype).itemsize, "kron: the values")
    pairs = _offsets(a, b)
    offsets = np.unique(np.array([j * p + k for j, k in pairs], np.int64))
    dtype = np.result_type(a.dtype, b.dtype)
    memory.require((len(offsets) + 1) * m * p * dtype.itemsize, max_bytes, "kron: the diagonals")
    values = np.zeros((len(offsets), m, p), dtype)
    of_a, of_b = ({k: (max(0, -k), x.diagonal(k)) for k in x.offsets.tolist()} for x in (a, b))
    for j, k in pairs:
        # A[i, i + j] B[r, r + k] lies in row i p + r.
        (i, u), (r, v) = of_a[j], of_b[k]
        part = values[np.searchsorted(offsets, j * p + k), i : i + len(u), r : r + len(v)]
        part += np.multiply.outer(u, v)
    return FORMATS["dia"]((values.reshape(len(offsets), m * p), offsets), shape=(m * p, n * p), align="row")
