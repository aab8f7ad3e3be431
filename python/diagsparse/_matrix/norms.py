"""Norms of a matrix: `norm`."""

from __future__ import annotations

from math import inf, sqrt
from typing import Any

import numpy as np

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
    A is read once or twice. For a matrix with a period, only the stored values are read, on the host.

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


def root_of_squares(a: Any) -> float:
    """Return the root of the sum of squares of values >= 0, scaled if squares overflow or underflow."""
    limits = np.finfo(a.dtype)
    total = float(a.multiply(a).sum())
    lowest = float(limits.tiny / limits.eps) * a.nnz  # below it, squares may have underflowed
    if lowest <= total < inf or total != total:
        return sqrt(total)
    factor = 2.0 ** ((1 if total < lowest else -1) * (3 * limits.maxexp // 4))  # exact; no square leaves the range
    scaled = a * factor
    return sqrt(float(scaled.multiply(scaled).sum())) / factor
