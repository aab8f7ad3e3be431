"""Temporary memory of conversions that several formats have in common."""

from __future__ import annotations

from .._backends.backend import CPU, Backend


def at_most(stored: int, shape: tuple[int, ...]) -> int:
    """Return bytes that are enough in any format, even if every value took a row or a column to itself."""
    return 64 * (stored + 1) * (sum(shape) + 1)


def table_of_diagonals(shape: tuple[int, int], stored: int) -> int:
    """Return the most bytes of a table of all diagonals: 8 each, where it pays (`table_pays` in C++)."""
    return 8 * min(sum(shape), 8 * stored + (1 << 16))


def sorting(entries: int, itemsize: int, backend: Backend) -> int:
    """Return the bytes that are needed beside csr, csc or coo while it is made of entries in any order.

    On the CPU they are counted into their lines, on a GPU sorted by keys: the keys and the places of the values,
    sorted ones, and as much for the sort itself; later the values in the old order and in the new one.
    """
    return 0 if backend is CPU else max(44, 32 + itemsize) * entries
