"""Temporary memory of conversions, for several formats."""

from __future__ import annotations

from .._backends.backend import CPU, Backend


def at_most(stored: int, shape: tuple[int, ...]) -> int:
    """Return an upper bound of the bytes in any format, even if every value had a row or a column of its own."""
    return 64 * (stored + 1) * (sum(shape) + 1)


def table_of_diagonals(shape: tuple[int, int], stored: int) -> int:
    """Return the most bytes of a table of all diagonals: 8 each, if there is one (`table_is_worthwhile` in C++)."""
    return 8 * min(sum(shape), 8 * stored + (1 << 16))


def sorting(entries: int, itemsize: int, backend: Backend) -> int:
    """Return the temporary bytes of building csr, csc or coo from entries in any order.

    On the CPU entries are distributed by counting. On a GPU they are sorted by keys: this needs two buffers for keys
    and positions of values, and the values in both orders.
    """
    return 0 if backend is CPU else (33 + itemsize) * entries
