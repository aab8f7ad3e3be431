"""Kronecker products of small factors, diagonal by diagonal."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._backends import memory
from .._backends.backend import CPU, get_backend
from .._matrix.construct import array
from .._matrix.convert import unpacked
from .._matrix.operands import require_matrix
from .._matrix.registry import COMMON, FORMATS, default_format, format_named
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary

_DIAGONALS = "dia", "hm", "cdm", "mdia"
# Limit for the bytes of the result by diagonals, relative to csr. It includes zeros on the diagonals of the factors,
# which multiply; when matrices are stacked (_matrix/stacking.py), only added zeros count.
_MAX_RATIO = 8
_PAIR_NBYTES = 40  # bytes per pair of diagonals while they are listed: int64 sums, sorted sums, and their positions


def kron(
    a: Any, b: Any, /, format: str | None = None, *, device: str | None = None, max_bytes: int | None = None
) -> SparseArray:
    """Return the Kronecker product of A and B, in which each element of A is multiplied by B.

    If B is square, the result has diagonals too: the diagonals of A with offset j and of B with offset k give one with
    offset ``j * B.shape[0] + k``.

    Parameters
    ----------
    a, b : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shapes (m, n) and (p, q)
        The factors, on the CPU.
    format : str, optional
        The format of the result. By default that of A, if A is a `dia_array`, `hm_array`, `cdm_array` or `mdia_array`
        and the result then needs at most eight times the bytes of csr (hm for cdm, if the result is not square);
        otherwise hm, mdia or csr, whichever needs the fewest bytes.
    device : str, optional
        The device of the result, by default ``"cpu"``.
    max_bytes : int, optional
        Limit for the result and the temporary memory; by default the free memory.

    Returns
    -------
    sparse matrix, shape (m p, n q)
        It has the dtype of a product. Symmetric, periodic and 16-bit storage is unpacked.

    Raises
    ------
    ValueError
        For factors on a GPU, arrays that are not two-dimensional, and results with more rows or columns than the format
        can index.
    TypeError
        For factors that are neither sparse matrices nor arrays of numbers.
    MemoryError
        If the result does not fit; nothing of its size is allocated before.

    Notes
    -----
    Each element of the result is written once, and copied once if the format is not dia. Factors in other formats, and
    diagonals that would need more than eight times the bytes of csr in dia, are multiplied by SciPy, with about twice
    the memory of the result in csr.

    Examples
    --------
    The Laplacian on a grid of 2 x 3 points:

    >>> import numpy as np, diagsparse as ds
    >>> x, y = (ds.hm_array(ds.gallery.stencil(3, (n,))) for n in (2, 3))
    >>> ds.kron(x, np.eye(3)) + ds.kron(np.eye(2), y)
    <hm_array 6 x 6 float64: 5 diagonals from -3 to 3, 22 stored, 264 B, cpu>

    Strings of Pauli matrices:

    >>> X, Z = ds.array([[0.0, 1], [1, 0]]), ds.array([[1.0, 0], [0, -1]])
    >>> ds.kron(ds.kron(Z, X), ds.eye(1000))
    <dia_array 4000 x 4000 float64: 2 diagonals from -1000 to 1000, 6000 stored, 64.0 KB, cpu>

    The flip of all 16 spins of a chain has 65536 diagonals with one entry each:

    >>> from functools import reduce
    >>> reduce(ds.kron, [X] * 16)
    <csr_array 65536 x 65536 float64: 65536 stored, 1.3 MB, cpu>
    """
    left, right = (_factor(x, name) for x, name in ((a, "A"), (b, "B")))
    target = get_backend(device) if device is not None else CPU
    chosen = None if format is None else format_named(format).name
    result: SparseArray | None = None
    if _by_diagonals(left, right):
        pairs = _Pairs(left, right, max_bytes)
        chosen = chosen or _by_default(a, pairs.summary, pairs.least_bytes())
        if chosen == "dia" or (FORMATS[chosen].family == "diagonals" and pairs.nearly_full()):
            result = pairs.product()
    if result is None:
        result = _by_rows(left, right, max_bytes)
        chosen = chosen or _by_default(a, result._summary())
    return result.asformat(chosen, max_bytes=max_bytes).to(target.name)


def _factor(x: Any, name: str) -> SparseArray:
    """Return a factor as one of our matrices, unpacked."""
    require_matrix(x, "kron", name)
    result = array(x)
    if result.device != "cpu":
        raise ValueError(
            f'kron: {name} is on {result.device}, but factors are read on the host; pass {name}.to("cpu"), and '
            f'device="{result.device}" for the result'
        )
    return unpacked(result)


def _by_diagonals(a: SparseArray, b: SparseArray) -> bool:
    """Whether the diagonals of the product are products of a diagonal of A and a diagonal of B."""
    return a._format.family == b._format.family == "diagonals" and b.shape[0] == b.shape[1]


def _by_default(a: Any, s: Summary, least: int = 0) -> str:
    """Return the default format of a product: that of A if it is diagonal and within the limit, else the smallest.

    Every diagonal format needs at least `least` bytes. If this exceeds the limit, offsets are not computed.
    """
    own = a.format if isinstance(a, SparseArray) else COMMON
    if FORMATS[own].family == "diagonals":
        own = a._format.format_for_shape(s.shape).name
    if (first := default_format(s.shape)) is not FORMATS[COMMON]:  # too large for the indices of csr
        return own if own in _DIAGONALS else first.name
    rows = FORMATS[COMMON].nbytes(s)
    if least > _MAX_RATIO * rows:
        return COMMON
    if own in _DIAGONALS and FORMATS[own].nbytes(s) <= _MAX_RATIO * rows:
        return own
    return min(("hm", "mdia", COMMON), key=lambda name: FORMATS[name].nbytes(s))


def _by_rows(a: SparseArray, b: SparseArray, max_bytes: int | None) -> SparseArray:
    """Return the product as csr, computed by SciPy via coo."""
    shape, dtype = (a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]), np.result_type(a.dtype, b.dtype)
    rows: Any = FORMATS[COMMON]
    rows.check_shape(shape, CPU.core)
    nbytes = 2 * a._format.entries(a) * b._format.entries(b) * (dtype.itemsize + 8) + 8 * (shape[0] + 1)
    memory.require(nbytes, max_bytes, "kron: the entries")
    result = sp.kron(a.to_scipy("csr"), b.to_scipy("csr"), "csr")
    return rows.array(result.astype(dtype, copy=False))


class _Pairs:
    """The pairs of a diagonal of A (offset j) and one of B (offset k, p x p): each contributes to diagonal j p + k.

    As -p < k < p, at most two pairs share a diagonal: (j, k) and (j + 1, k - p).
    """

    def __init__(self, a: SparseArray, b: SparseArray, max_bytes: int | None = None) -> None:
        self.a, self.b, (m, n), self.p = a, b, a.shape, b.shape[0]
        self.shape, self.dtype = (m * self.p, n * self.p), np.result_type(a.dtype, b.dtype)
        self.max_bytes, self.of_a, self.of_b = max_bytes, a._format.occupied(a), b._format.occupied(b)
        self.fill_of_a, self.fill_of_b = a._format.fill(a), b._format.fill(b)
        entries = int(self.fill_of_a.sum()) * int(self.fill_of_b.sum())
        self.summary = Summary(self.shape, self.dtype.itemsize, entries, offsets=self._offsets, fill=self._fill)

    def _sums(self) -> np.ndarray:
        return np.add.outer(self.p * self.of_a, self.of_b).ravel()

    def _offsets(self) -> np.ndarray:
        least = min(self.least_bytes(), FORMATS[COMMON].nbytes(self.summary))  # of the product, in any format
        memory.require(self._table() + least, self.max_bytes, "kron: the product and the list of its diagonals")
        return np.unique(self._sums())

    def _table(self) -> int:
        """Return the bytes that are needed to list the diagonals."""
        return _PAIR_NBYTES * len(self.of_a) * len(self.of_b)

    def _fill(self) -> np.ndarray:
        which = np.searchsorted(self.summary.offsets, self._sums())
        entries = np.multiply.outer(self.fill_of_a, self.fill_of_b).ravel()
        return np.bincount(which, entries, len(self.summary.offsets)).astype(np.int64)

    def _count(self, of_a: np.ndarray, of_b: np.ndarray) -> int:
        """Return the number of diagonals that pairs of these offsets contribute to, without listing them."""
        shared = len(np.intersect1d(of_a, of_a + 1)) * len(np.intersect1d(of_b, of_b + self.p))
        return len(of_a) * len(of_b) - shared

    def least_bytes(self) -> int:
        """Return a lower bound of the bytes of the product in every diagonal format."""
        count, (rows, cols) = self._count(self.of_a[self.fill_of_a > 0], self.of_b[self.fill_of_b > 0]), self.shape
        short = min(count, 2 * min(rows, cols))  # at most two diagonals of each length, in two corners
        positions = short * short // 4 + (count - short) * min(rows, cols)
        masks = count * (rows // 8)  # of mdia, a bit for each row
        return min(positions * self.dtype.itemsize, self.summary.entries * self.dtype.itemsize + masks) + 8 * count

    def in_dia(self) -> int:
        """Return the bytes of the product as dia."""
        each = self.shape[0] * self.dtype.itemsize + 8
        return self._count(self.of_a, self.of_b) * each

    def nearly_full(self) -> bool:
        """Whether dia, from which other diagonal formats are converted, is within the limit."""
        return self.in_dia() <= _MAX_RATIO * FORMATS[COMMON].nbytes(self.summary)

    def product(self) -> SparseArray:
        """Return the product as dia."""
        m, p = self.a.shape[0], self.p
        nbytes = self.in_dia() + m * p * self.dtype.itemsize + self._table()  # and the product of one pair
        memory.require(nbytes, self.max_bytes, "kron: the diagonals")
        offsets = self.summary.offsets
        values = np.zeros((len(offsets), m, p), self.dtype)
        of_a, of_b = (
            {k: (max(0, -k), x.diagonal(k)) for k in x._format.occupied(x).tolist()} for x in (self.a, self.b)
        )
        for j, k in product(of_a, of_b):
            # A[i, i + j] B[r, r + k] is in row i p + r.
            (i, u), (r, v) = of_a[j], of_b[k]
            part = values[np.searchsorted(offsets, j * p + k), i : i + len(u), r : r + len(v)]
            part += np.multiply.outer(u, v)
        values = values.reshape(len(offsets), m * p)
        return FORMATS["dia"].array((values, offsets), shape=self.shape, align="row")
