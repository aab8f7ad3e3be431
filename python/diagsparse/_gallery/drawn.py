"""Matrices whose values, and places, are random."""

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
    """Random band of order `n` with `kl` subdiagonals and `ku` superdiagonals (those beyond the corner are left out).

    >>> from diagsparse import gallery
    >>> gallery.banded(5, 1, 2, seed=0).offsets
    array([-1,  0,  1,  2], dtype=int32)
    """
    n = whole("banded", "n", n, "an order")
    kl = whole("banded", "kl", kl, "a count of subdiagonals")
    ku = whole("banded", "ku", ku, "a count of superdiagonals")
    return random_band("banded", n, np.arange(-min(kl, n), min(ku, n) + 1), dtype, seed, format)


def triangular(n: int, lower: bool = True, *, dtype: Dtype = float, seed: Seed = None, format: Format = None) -> Any:
    """Random full triangle of order `n`, lower or upper, main diagonal included.

    >>> from diagsparse import gallery
    >>> gallery.triangular(4, lower=False, seed=0).nnz
    10
    """
    n = whole("triangular", "n", n, "an order")
    return random_band("triangular", n, np.arange(1 - n, 1) if lower else np.arange(n), dtype, seed, format)


def hessenberg(n: int, *, dtype: Dtype = float, seed: Seed = None, format: Format = None) -> Any:
    """Random upper Hessenberg matrix of order `n`: the upper triangle and one subdiagonal.

    >>> from diagsparse import gallery
    >>> gallery.hessenberg(4, seed=0).nnz
    13
    """
    n = whole("hessenberg", "n", n, "an order")
    return random_band("hessenberg", n, np.arange(-1, n), dtype, seed, format)


def random_diagonals(
    n: int, count: int, reach: float = 0.25, *, dtype: Dtype = float, seed: Seed = None, format: Format = None
) -> Any:
    """Random matrix of order `n` with `count` full diagonals, at random offsets up to about +-`reach` n.

    The offsets are drawn uniformly without replacement from -w ... w, where w = 1.04 reach n, at most n - 1.  With the
    default reach, w = 0.26 n and a mean length of 0.87 n fit the structured matrices in tables 1 and 2 of Haque,
    Parvez, Hossain, Algorithms 17(1):31, 2024: the counts of nonzeros of the factors and of their product.

    >>> from diagsparse import gallery
    >>> gallery.random_diagonals(1000, 9, seed=0).offsets.size
    9
    """
    n, count = whole("random_diagonals", "n", n, "an order"), whole("random_diagonals", "count", count, "a count")
    if not 0 <= reach <= 1:
        raise ValueError(f"gallery.random_diagonals: reach is {reach}, expected a share of n from 0 to 1")
    width = min(n - 1, round(1.04 * reach * n))
    if count > (available := max(0, 2 * width + 1)):
        raise ValueError(f"gallery.random_diagonals: count is {count}, but n = {n}, reach = {reach} leave {available}")
    room("random_diagonals", count * n * checked_dtype("random_diagonals", dtype).itemsize + 8 * available)
    rng = np.random.default_rng(seed)
    offsets = np.sort(rng.choice(available, count, replace=False)) - width if count else np.arange(0)
    return random_band("random_diagonals", n, offsets, dtype, rng, format)


def arrow(n: int, *, dtype: Dtype = float, seed: Seed = None, format: Format = None) -> Any:
    """Random arrowhead of order `n`: first row, first column and main diagonal (a `csr_array`), diagonals' worst case.

    >>> from diagsparse import gallery
    >>> gallery.arrow(4, seed=0).nnz
    10
    """
    n = whole("arrow", "n", n, "an order")
    kept = checked_dtype("arrow", dtype)
    room_for_entries("arrow", 3 * n, kept)
    rest, zero = np.arange(1, n), np.zeros(max(n - 1, 0), dtype=int)
    rows, columns = np.concatenate((np.arange(n), zero, rest)), np.concatenate((np.arange(n), rest, zero))
    values = random_values(len(rows), kept, np.random.default_rng(seed))
    return as_format(sparse.csr_array((values, (rows, columns)), shape=(n, n)), format)
