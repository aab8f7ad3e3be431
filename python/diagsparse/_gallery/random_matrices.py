"""Matrices with random values, and some with random positions."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .arguments import Dtype, Format, Seed, checked_dtype, gallery_function, require_fraction, whole_number
from .construction import as_format, random_band, random_values, require_memory, require_memory_for_entries


@gallery_function
def banded(n: int, kl: int, ku: int, *, dtype: Dtype = float, seed: Seed = None, format: Format = None) -> Any:
    """Return a random band matrix.

    Parameters
    ----------
    kl, ku : int
        Numbers of subdiagonals and superdiagonals. Those outside of the matrix are left out.

    Examples
    --------
    >>> from diagsparse import gallery
    >>> gallery.banded(5, 1, 2, seed=0).offsets
    array([-1,  0,  1,  2], dtype=int32)
    """
    n = whole_number("n", n, "an order")
    kl = whole_number("kl", kl, "a count of subdiagonals")
    ku = whole_number("ku", ku, "a count of superdiagonals")
    return random_band(n, np.arange(-min(kl, n), min(ku, n) + 1), dtype, seed, format)


@gallery_function
def triangular(n: int, lower: bool = True, *, dtype: Dtype = float, seed: Seed = None, format: Format = None) -> Any:
    """Return a random matrix with a full triangle, including the main diagonal.

    Parameters
    ----------
    lower : bool
        Whether the lower or the upper triangle is filled.

    Examples
    --------
    >>> from diagsparse import gallery
    >>> gallery.triangular(4, lower=False, seed=0).nnz
    10
    """
    n = whole_number("n", n, "an order")
    return random_band(n, np.arange(1 - n, 1) if lower else np.arange(n), dtype, seed, format)


@gallery_function
def hessenberg(n: int, *, dtype: Dtype = float, seed: Seed = None, format: Format = None) -> Any:
    """Return a random upper Hessenberg matrix: the upper triangle and one subdiagonal.

    Examples
    --------
    >>> from diagsparse import gallery
    >>> gallery.hessenberg(4, seed=0).nnz
    13
    """
    n = whole_number("n", n, "an order")
    return random_band(n, np.arange(-1, n), dtype, seed, format)


@gallery_function
def random_diagonals(
    n: int, count: int, reach: float = 0.25, *, dtype: Dtype = float, seed: Seed = None, format: Format = None
) -> Any:
    """Return a random matrix with full diagonals at random offsets.

    Parameters
    ----------
    count : int
        Number of diagonals.
    reach : float
        Fraction of n that limits the offsets. They are drawn uniformly without replacement from -w to w, where w is
        1.04 reach n, but at most n - 1.

    Notes
    -----
    With the default `reach`, w = 0.26 n and the mean length of 0.87 n fit the structured matrices in tables 1 and 2 of
    Haque, Parvez, Hossain, Algorithms 17(1):31, 2024: the numbers of nonzeros of the factors and of their product.

    Examples
    --------
    >>> from diagsparse import gallery
    >>> gallery.random_diagonals(1000, 9, seed=0).offsets.size
    9
    """
    n, count = whole_number("n", n, "an order"), whole_number("count", count, "a count")
    require_fraction("reach", reach, "n")
    width = min(n - 1, round(1.04 * reach * n))
    if count > (available := max(0, 2 * width + 1)):
        raise ValueError(f"count is {count}, but n = {n} and reach = {reach} allow only {available}")
    require_memory(count * n * checked_dtype(dtype).itemsize + 8 * available)
    rng = np.random.default_rng(seed)
    offsets = np.sort(rng.choice(available, count, replace=False)) - width if count else np.arange(0)
    return random_band(n, offsets, dtype, rng, format)


@gallery_function
def arrow(n: int, *, dtype: Dtype = float, seed: Seed = None, format: Format = None) -> Any:
    """Return a random arrowhead matrix: first row, first column and main diagonal. It occupies all diagonals.

    Returns
    -------
    csr_array, shape (n, n)

    Examples
    --------
    >>> from diagsparse import gallery
    >>> gallery.arrow(4, seed=0).nnz
    10
    """
    n = whole_number("n", n, "an order")
    dtype = checked_dtype(dtype)
    require_memory_for_entries(3 * n, dtype)
    rest, zero = np.arange(1, n), np.zeros(max(n - 1, 0), dtype=int)
    rows, columns = np.concatenate((np.arange(n), zero, rest)), np.concatenate((np.arange(n), rest, zero))
    values = random_values(len(rows), dtype, np.random.default_rng(seed))
    return as_format(sparse.csr_array((values, (rows, columns)), shape=(n, n)), format)
