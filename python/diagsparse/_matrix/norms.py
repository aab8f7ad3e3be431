"""Norms of a matrix: `norm`."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isnan, sqrt
from typing import Any

import numpy as np

from .._backends.backend import CPU
from .construct import array


def norm(A: Any, ord: Any = None) -> float:
    """Return a norm of a matrix, on its device.

    Parameters
    ----------
    A : sparse matrix (ours, SciPy's or CuPy's)
    ord : {None, "fro", 1, -1, inf, -inf}
        None and "fro" give the Frobenius norm, 1 and inf the largest sum of absolute values of a column or row, -1 and
        -inf the smallest.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        For any other `ord`. For the 2-norm, use ``scipy.sparse.linalg.svds(A, k=1)``.

    Notes
    -----
    A is read once or twice. Sums of absolute values have the precision and the range of the dtype of A, and at least
    single precision; the sum of squares is in double precision. Norms of a matrix without rows or columns are 0, the
    smallest of no sums is inf. For a matrix with a period, only the stored values are read, on the host.

    Examples
    --------
    >>> import diagsparse as ds
    >>> ds.norm(ds.eye(9)), ds.norm(ds.gallery.tridiagonal(5), 1)
    (3.0, 4.0)
    """
    a = array(A)
    if ord in (None, "fro"):
        return a._format.frobenius_norm(a)
    if ord in (1, -1, np.inf, -np.inf):
        sums = a._format.absolute_sums(a, 0 if ord in (1, -1) else 1)
        return float((sums.max if ord > 0 else sums.min)(initial=0 if ord > 0 else np.inf))
    raise ValueError(f'norm: ord={ord!r}: expected None, "fro", 1, -1, inf or -inf; svds(A, k=1) has the 2-norm')


def of_matrix(a: Any) -> float:
    """Return the Frobenius norm of a matrix of values >= 0, which may be on a GPU."""

    def squares(factor: float) -> float:
        scaled = a if factor == 1 else a * factor
        return float(scaled.multiply(scaled).sum())

    return _root(squares, a.dtype, a.nnz)


def of_arrays(values: list[np.ndarray]) -> float:
    """Return the root of the sum of squares of all elements of one-dimensional arrays."""

    def squares(factor: float) -> float:
        return CPU.core.sum_of_squares(parts, factor)

    if not values:
        return 0.0
    real = values[0].real.dtype
    parts = [np.ascontiguousarray(some.view(real)) for some in values]
    with np.errstate(all="ignore"):
        result = _root(squares, real, sum(some.size for some in values))
        if isnan(result) and values[0].dtype.kind == "c":  # the absolute value of inf + nan i is inf
            parts = [abs(some) for some in values]
            result = _root(squares, real, sum(some.size for some in values))
    return result


def _root(squares: Callable[[float], float], dtype: np.dtype, count: int) -> float:
    """Return the root of a sum of `count` squares, scaled if squares overflow or underflow.

    `squares` returns the sum for values that are multiplied by a number first.
    """
    limits = np.finfo(dtype)
    total = squares(1)
    lowest = float(limits.tiny / limits.eps) * count  # below it, squares may have underflowed
    if lowest <= total < inf or isnan(total):
        return sqrt(total)
    factor = 2.0 ** ((1 if total < lowest else -1) * (3 * limits.maxexp // 4))  # exact; no square leaves the range
    return sqrt(squares(factor)) / factor
