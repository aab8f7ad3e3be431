"""Kronecker products of small factors, diagonal by diagonal."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._matrix.base import SparseArray
from .._matrix.construct import array
from .._matrix.convert import unpacked
from .._matrix.registry import COMMON, FORMATS, format_class
from .._places import memory
from .._places.backend import CPU, place


def kron(
    a: Any, b: Any, /, format: str | None = None, *, device: str | None = None, max_bytes: int | None = None
) -> SparseArray:
    """Return the Kronecker product of A and B: each element of A is replaced by itself times B.

    Diagonals stay diagonals where B is square: those of A with offset j and of B with offset k are one of the result,
    with offset ``j * B.shape[0] + k``.

    Parameters
    ----------
    a, b : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shapes (m, n) and (p, q)
        On the CPU. What is not ours is taken by diagonals where these are nearly full.
    format : str, optional
        Of the result. By default A's, where it and B are stored by diagonals and B is square; mdia, where one is and
        the other is mdia or stored by diagonals; else hm or csr, whichever takes fewer bytes.
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
    """
    left, right = (_factor(x, name) for x, name in ((a, "A"), (b, "B")))
    target = place(device) if device is not None else CPU
    kind = None if format is None else format_class(format)
    if left._family == right._family == "diagonals" and right.shape[0] == right.shape[1]:
        made: SparseArray = _by_diagonals(left, right, max_bytes)
        made = made.asformat(left.format if kind is None else kind.format, max_bytes=max_bytes)
    else:
        dtype = np.result_type(left.dtype, right.dtype)
        memory.require(left.nnz * right.nnz * (dtype.itemsize + 8), max_bytes, "kron: the entries")
        rows = FORMATS[COMMON](sp.kron(left.to_scipy("csr"), right.to_scipy("csr"), "csr").astype(dtype, copy=False))
        formats = {x.format if x._family != "diagonals" else None for x in (left, right)}
        named = kind.format if kind is not None else "mdia" if formats - {None} == {"mdia"} else None
        made = array(rows) if named is None else rows.asformat(named, max_bytes=max_bytes)
    return made.to(target.name)


def _factor(x: Any, name: str) -> SparseArray:
    made = array(x)
    if made.device != "cpu":
        raise ValueError(
            f'kron: {name} is on {made.device}, and factors are read on the host; {name}.to("cpu"), and '
            f'device="{made.device}" for the result'
        )
    return unpacked(made)


def _by_diagonals(a: SparseArray, b: SparseArray, max_bytes: int | None) -> SparseArray:
    """Return the product as dia, of two matrices by diagonals of which the second one is square."""
    (m, n), p = a.shape, b.shape[0]
    memory.require_free(a.nnz * b.nnz * np.result_type(a.dtype, b.dtype).itemsize, "kron: the values")
    pairs = [(j, k) for j in a.offsets.tolist() for k in b.offsets.tolist()]
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
