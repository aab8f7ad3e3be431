"""Sizes of the factors of bands on a GPU, which forecasts need as well."""

from __future__ import annotations

MOST_REACH = 64  #: the largest distance of a diagonal from the main one


def stored_values(n: int, below: int, above: int) -> int:
    """Return an upper bound for the number of values in the factors of n rows, and temporary ones."""
    block = max(below, above, 1)
    block += block % 2 if block > 8 else 0
    count = -(-n // block)
    return 3 * block * block * (count + count // 2 + count.bit_length()) + 1024
