"""Sizes of the factors of bands on a GPU, which forecasts need as well."""

from __future__ import annotations

MOST_REACH = 64  #: the largest distance of a diagonal from the main one
_SMALL_BLOCKS = (2, 3, 5, 8)  # rows of a block; larger ones have an even number


def stored_values(n: int, below: int, above: int) -> int:
    """Return an upper bound for the number of values in the factors of n rows, and temporary ones."""
    reach = max(below, above)
    block = next((rows for rows in _SMALL_BLOCKS if rows >= reach), reach + reach % 2)
    count = -(-n // block)
    return 3 * block * block * (count + count // 2 + count.bit_length()) + 1024
