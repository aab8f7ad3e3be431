"""Matrices with random values, and some with random positions."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .making import (
    Dtype,
    Format,
    Seed,
    as_format,
    checked_dtype,
    random_band,
    random_values,
    room,
    room_for_entries,
    whole,
)


def banded(n: int, kl: int, ku: int, *, dtype: Dtype = float, seed: Seed = None, format: Format = None) -> Any:
    """Return a random band matrix.

    Parameters
    ----------
    n : int
        Order of the matrix.
    kl, ku : int
        Numbers of subdiagonals and superdiagonals. Those outside of the matrix are left out.
    dtype, seed, format
        As for all functions of the gallery.

    Returns
    -------
    dia_array, shape (n, n)
        Or a diagsparse matrix if `format` is given.

    Examples
    --------
    >>> from diagsparse import gallery
    >>> gallery.banded(5, 1, 2, seed=0).offsets
    array([-1,  0,  1,  2], dtype=int32)
    """
    n = whole("banded", "n", n, "an order")
    kl = whole("banded", "kl", kl, "a count of subdiagonals")
    ku = whole("banded", "ku", ku, "a count of superdiagonals")
    return random_band("banded", n, np.arange(-min(kl, n), min(ku, n) + 1), dtype, seed, format)


def triangular(n: int, lower: bool = True, *, dtype: Dtype = float, seed: Seed = None, format: Format = None) -> Any:
    """Return a random matrix with a full triangle, including the main diagonal.

    Parameters
    ----------
    n : int
        Order of the matrix.
    lower : bool
        Whether the lower or the upper triangle is filled.
    dtype, seed, format
        As for all functions of the gallery.

    Returns
    -------
    dia_array, shape (n, n)
        Or a diagsparse matrix if `format` is given.

    Examples
    --------
    >>> from diagsparse import gallery
    >>> gallery.triangular(4, lower=False, seed=0).nnz
    10
    """
    n = whole("triangular", "n", n, "an order")
    return random_band("triangular", n, np.arange(1 - n, 1) if lower else np.arange(n), dtype, seed, format)


def hessenberg(n: int, *, dtype: Dtype = float, seed: Seed = None, format: Format = None) -> Any:
    """Return a random upper Hessenberg matrix: the upper triangle and one subdiagonal.

    Parameters
    ----------
    n : int
        Order of the matrix.
    dtype, seed, format
        As for all functions of the gallery.

    Returns
    -------
    dia_array, shape (n, n)
        Or a diagsparse matrix if `format` is given.

    Examples
    --------
    >>> from diagsparse import gallery
    >>> gallery.hessenberg(4, seed=0).nnz
    13
    """
    n = whole("hessenberg", "n", n, "an order")
    return random_band("hessenberg", n, np.arange(-1, n), dtype, seed, format)


def random_diagonals(
    n: int, count: int, reach: float = 0.25, *, dtype: Dtype = float, seed: Seed = None, format: Format = None
) -> Any:
    """Return a random matrix with full diagonals at random offsets.

    Parameters
    ----------
    n : int
        Order of the matrix.
    count : int
        Number of diagonals.
    reach : float
        Fraction of n that limits the offsets. They are drawn uniformly without replacement from -w to w, where w is
        1.04 reach n, but at most n - 1.
    dtype, seed, format
        As for all functions of the gallery.

    Returns
    -------
    dia_array, shape (n, n)
        Or a diagsparse matrix if `format` is given.

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
    n, count = whole("random_diagonals", "n", n, "an order"), whole("random_diagonals", "count", count, "a count")
    if not 0 <= reach <= 1:
        raise ValueError(f"gallery.random_diagonals: reach is {reach}, expected a fraction of n from 0 to 1")
    width = min(n - 1, round(1.04 * reach * n))
    if count > (available := max(0, 2 * width + 1)):
        raise ValueError(
            f"gallery.random_diagonals: count is {count}, but n = {n} and reach = {reach} allow only {available}"
        )
    room("random_diagonals", count * n * checked_dtype("random_diagonals", dtype).itemsize + 8 * available)
    rng = np.random.default_rng(seed)
    offsets = np.sort(rng.choice(available, count, replace=False)) - width if count else np.arange(0)
    return random_band("random_diagonals", n, offsets, dtype, rng, format)


def arrow(n: int, *, dtype: Dtype = float, seed: Seed = None, format: Format = None) -> Any:
    """Return a random arrowhead matrix: first row, first column and main diagonal. It occupies all diagonals.

    Parameters
    ----------
    n : int
        Order of the matrix.
    dtype, seed, format
        As for all functions of the gallery.

    Returns
    -------
    csr_array, shape (n, n)
        Or a diagsparse matrix if `format` is given.

    Examples
    --------
    >>> from diagsparse import gallery
    >>> gallery.arrow(4, seed=0).nnz
    10
    """
    n = whole("arrow", "n", n, "an order")
    dtype = checked_dtype("arrow", dtype)
    room_for_entries("arrow", 3 * n, dtype)
    rest, zero = np.arange(1, n), np.zeros(max(n - 1, 0), dtype=int)
    rows, columns = np.concatenate((np.arange(n), zero, rest)), np.concatenate((np.arange(n), rest, zero))
    values = random_values(len(rows), dtype, np.random.default_rng(seed))
    return as_format(sparse.csr_array((values, (rows, columns)), shape=(n, n)), format)
