"""Short columns: of 8 or 16 bits, that count from a base which 32 neighbouring places share."""

from __future__ import annotations

from typing import Any

import numpy as np

from .options import one_of

column_bits = one_of(8, 16, 32)
_CHUNK = 32


def chunks(lines: int, length: int) -> int:
    """Return how many chunks lines of so many places have."""
    return lines * -(-length // _CHUNK)


def reach(bits: int) -> int:
    """Return how far a column may lie from its base."""
    return 2**31 - 1 if bits == 32 else 2**bits - 2


def has_bases(bits: int, cols: int) -> bool:
    """Whether indices of so many bits count from bases in a matrix of so many columns."""
    return bits < 32 and cols > reach(bits) + 1


def nbytes(bits: int, cols: int, lines: int, length: int) -> int:
    """Return the bytes of indices, and of their bases, on so many lines of places."""
    return lines * length * bits // 8 + has_bases(bits, cols) * 4 * chunks(lines, length)


def bits_of(indices: Any) -> int:
    """Return how many bits the columns in an index array have; all types but the short ones become 32."""
    dtype = np.dtype(indices.dtype)
    return 8 * dtype.itemsize if dtype in (np.uint8, np.uint16) else 32


def index_type(bits: int) -> np.dtype:
    """Return the type of indices of so many bits."""
    return np.dtype({8: np.uint8, 16: np.uint16, 32: np.int32}[bits])
