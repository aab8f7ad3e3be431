"""Forecasts of palettes, as src/cpp/formats/mdia/palette.cpp chooses them, and what two matrices share of theirs."""

from __future__ import annotations

import numpy as np

from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary

_AUTOMATIC = 2  # the default
_SMALL = 1 << 16  # elements of a matrix that gets no palette by default
_ROWS = 32  # of a block
_COLORS, _BITS = np.array([1, 2, 4, 16]), np.array([0, 1, 2, 4, 8])  # sizes of tables, and bits of a code


def most_bits(bits: np.ndarray, elements: np.ndarray, total: int) -> int:
    """Return how many bits the codes of diagonals have at most, by default.

    Parameters
    ----------
    bits, elements : ndarray of int
        Of the diagonals that tables make smaller.
    total : int
        The elements of the matrix.
    """
    return 1 if 4 * int(elements[bits > 1].sum()) > total else 8


def nbytes(s: Summary, stored: np.ndarray, plain: int, wanted: int | None) -> int:
    """Return the bytes of masked diagonals.

    Parameters
    ----------
    stored : ndarray of bool
        Which of the occupied diagonals are stored.
    plain : int
        The bytes without a palette.
    wanted : int, optional
        The option `palette`.
    """
    wanted = _AUTOMATIC if wanted is None else wanted
    elements = s.fill[stored]
    if not wanted or not len(elements) or (wanted == _AUTOMATIC and elements.sum() < _SMALL):
        return plain
    colors = s.colors[stored]
    bits = _BITS[np.searchsorted(_COLORS, colors)]
    saved = s.itemsize * (elements - colors) - 4 * bits * -(-s.shape[0] // _ROWS)
    coded = (colors > 0) & (saved > 0)
    if wanted == _AUTOMATIC:
        coded &= bits <= most_bits(bits[coded], elements[coded], int(elements.sum()))
    fewer = int(saved[coded].sum()) - 8 * (len(elements) + 1)
    enough = 4 * fewer >= plain if wanted == _AUTOMATIC else fewer > 0
    return plain - fewer if enough else plain


def are_shared(a: SparseArray, b: SparseArray) -> bool:
    """Return whether two matrices, neither of them a view, share all arrays of a palette except for the values."""
    if a._op or b._op or not (a._matrix.palette and b._matrix.palette):
        return False
    return a._core.overlap(a._matrix.parts()["table_indptr"], b._matrix.parts()["table_indptr"])


def why_not_written(a: SparseArray) -> str:
    """Return why the values of a matrix with a palette are not written one by one, and what to do instead."""
    remedy = f'A = A.asformat("{a.format}", palette=False) first, or A *= 2 for all values'
    return f"{a!r} has a palette, in which a stored value represents several elements; write {remedy}"
