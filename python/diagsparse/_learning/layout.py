"""The positions of diagonals, which stay fixed while values change: offsets, shape, and the rows of each diagonal.

Diagonals are stored as in `dia_array`: ``values[k, i] = A[i, i + offsets[k]]``.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import Any


def checked_shape(shape: Any, who: str) -> tuple[int, int]:
    """Return a shape as two integers; raise TypeError or ValueError for anything else."""
    try:
        m, n = map(index, shape)
    except (TypeError, ValueError):
        raise TypeError(f"{who}: shape {shape!r}: expected two integers") from None
    if m < 0 or n < 0:
        raise ValueError(f"{who}: shape {shape!r}: expected no negative numbers")
    return m, n


def checked_offsets(offsets: Iterable[Any], shape: tuple[int, int], who: str) -> tuple[int, ...]:
    """Return offsets as a tuple of integers; raise TypeError or ValueError if they repeat or lie outside."""
    try:
        found = tuple(map(index, offsets))
    except TypeError:
        raise TypeError(
            f"{who}: offsets {offsets!r}: expected integers that are known when a function is traced"
        ) from None
    m, n = shape
    if repeated := sorted({k for k in found if found.count(k) > 1}) if len(set(found)) < len(found) else ():
        raise ValueError(f"{who}: offsets {list(found)} repeat {repeated[0]}; each diagonal may be given once")
    if found and 0 in shape:
        raise ValueError(f"{who}: offset {found[0]}: a {m} x {n} matrix has no diagonals")
    if outside := [k for k in found if not -m < k < n]:
        raise ValueError(f"{who}: offset {outside[0]} is outside {1 - m}..{n - 1} of a {m} x {n} matrix")
    return found


def check_values(given: tuple[int, ...], offsets: tuple[int, ...], shape: tuple[int, int], who: str) -> None:
    """Raise ValueError unless values have a row for each diagonal, with an element for each row of the matrix."""
    expected = len(offsets), shape[0]
    if tuple(given) != expected:
        raise ValueError(
            f"{who}: values have shape {tuple(given)}, but {len(offsets)} offsets of a {shape[0]} x {shape[1]} matrix "
            f"need {expected}"
        )


def rows_of(offset: int, shape: tuple[int, int]) -> tuple[int, int]:
    """Return the first row that a diagonal crosses, and the one after the last."""
    first = max(0, -offset)
    return first, max(first, min(shape[0], shape[1] - offset))


def union(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """Return the offsets of a sum of two matrices."""
    return a if a == b else tuple(sorted({*a, *b}))


def of_product(a: tuple[int, ...], b: tuple[int, ...], rows: int, columns: int) -> tuple[int, ...]:
    """Return the offsets of a product of two matrices."""
    return tuple(sorted({i + j for i in a for j in b if -rows < i + j < columns}))
