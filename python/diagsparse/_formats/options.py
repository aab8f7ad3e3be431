"""Checks of the layout options of formats. Each returns the option as native code expects it, or raises."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np

_INT64_MAX = 2**63 - 1

Check = Callable[[Any, str], int | None]
"""``check(value, who)``: None means that the option was not passed; `who` starts the message of an error."""


def _integers(allowed: Callable[[int], bool], expected: str) -> Check:
    """Return a check for the integers that `allowed` accepts; `expected` describes them in errors."""

    def check(value: Any, who: str) -> int | None:
        if value is None:
            return None
        if not isinstance(value, Integral) or isinstance(value, bool):
            raise TypeError(f"{who}={value!r}: expected an integer")
        if not allowed(int(value)):
            raise ValueError(f"{who}={value}: expected {expected}")
        return int(value)

    return check


def integer(first: int, last: int) -> Check:
    """Return a check for an integer from `first` to `last`."""
    return _integers(lambda number: first <= number <= last, f"{first} to {last}")


count = integer(0, 2**31 - 1)


def one_of(*numbers: int) -> Check:
    """Return a check for one of these integers."""
    return _integers(lambda number: number in numbers, f"one of {', '.join(map(str, numbers))}")


def power_of_two(largest: int) -> Check:
    """Return a check for a power of two from 2 to `largest`."""
    return _integers(
        lambda number: 2 <= number <= largest and not number & (number - 1), f"a power of two from 2 to {largest}"
    )


def boolean(value: Any, who: str) -> int | None:
    """Return a bool as 0 or 1."""
    if value is not None and not isinstance(value, bool):
        raise TypeError(f"{who}={value!r}: expected True or False")
    return None if value is None else int(value)


def fraction(value: Any, who: str) -> float:
    """Return a number from 0 to 1 as a float."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{who}={value!r}: expected a number")
    if not 0 <= float(value) <= 1:
        raise ValueError(f"{who}={value}: expected a fraction from 0 to 1")
    return float(value)


def choice(*names: str) -> Callable[[Any, str], str]:
    """Return a check for one of these strings."""

    def check(value: Any, who: str) -> str:
        if not isinstance(value, str) or value not in names:
            raise ValueError(f"{who}={value!r}: expected {' or '.join(map(repr, names))}")
        return value

    return check


def distinct_integers(value: Any, who: str) -> list[int]:
    """Return distinct integers in ascending order."""
    given = np.asarray(value)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise TypeError(f"{who}={value!r}: expected a list of integers")
    if given.size and (largest := int(given.max())) > _INT64_MAX:  # uint64 values would become negative
        raise ValueError(f"{who}: {largest} is more than 2^63 - 1")
    numbers, counts = np.unique(given.astype(np.int64), return_counts=True)
    if (counts > 1).any():
        raise ValueError(f"{who}: {numbers[counts > 1][0]} is given more than once")
    result: list[int] = numbers.tolist()
    return result
