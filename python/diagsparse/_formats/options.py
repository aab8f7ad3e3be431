"""The options of layouts: what a user may give, and what C++ takes."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np

_LAST = 2**63 - 1  # of int64

Check = Callable[[Any, str], int | None]  # of what a user gives for an option; None where that is no option at all


def _or_none(check: Callable[[Any, str], int]) -> Check:
    """Return the same check, for which None is an option that nobody gave."""
    return lambda value, who: None if value is None else check(value, who)


@_or_none
def yes_or_no(value: Any, who: str) -> int:
    """Return a bool as 0 or 1."""
    if not isinstance(value, bool):
        raise TypeError(f"{who}={value!r}: expected True or False")
    return int(value)


def _integer(value: Any, who: str) -> int:
    """Return a number of things."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{who}={value!r}: expected a whole number")
    return int(value)


def integer(first: int, last: int) -> Check:
    """Return what checks for an integer from `first` to `last`."""

    @_or_none
    def checked(value: Any, who: str) -> int:
        if not first <= (number := _integer(value, who)) <= last:
            raise ValueError(f"{who}={value}: expected {first} to {last}")
        return number

    return checked


count = integer(0, 2**31 - 1)  # of things


def one_of(*numbers: int) -> Check:
    """Return what checks for one of these numbers."""

    @_or_none
    def checked(value: Any, who: str) -> int:
        if (number := _integer(value, who)) not in numbers:
            raise ValueError(f"{who}={value}: expected one of {', '.join(map(str, numbers))}")
        return number

    return checked


def power_of_two(largest: int) -> Check:
    """Return what checks a power of two from 2 to `largest`."""

    @_or_none
    def checked(value: Any, who: str) -> int:
        if not 2 <= (number := _integer(value, who)) <= largest or number & (number - 1):
            raise ValueError(f"{who}={value}: expected a power of two from 2 to {largest}")
        return number

    return checked


def fraction(value: Any, who: str) -> float:
    """Return a number from 0 to 1."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{who}={value!r}: expected a number")
    if not 0 <= (number := float(value)) <= 1:
        raise ValueError(f"{who}={value}: expected a share from 0 to 1")
    return number


def word(*words: str) -> Callable[[Any, str], str]:
    """Return what checks for one of these words."""

    def checked(value: Any, who: str) -> str:
        if not isinstance(value, str) or value not in words:
            raise ValueError(f"{who}={value!r}: expected {' or '.join(repr(each) for each in words)}")
        return value

    return checked


def distinct_integers(value: Any, who: str) -> list[int]:
    """Return different whole numbers, ascending."""
    given = np.asarray(value)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise TypeError(f"{who}={value!r}: expected whole numbers")
    if given.size and (largest := int(given.max())) > _LAST:  # which an int64 would show as a negative number
        raise ValueError(f"{who}: {largest} is more than 2^63 - 1")
    numbers: list[int] = np.unique(given.astype(np.int64)).tolist()
    if len(numbers) < given.size:
        twice = next(number for number in numbers if np.count_nonzero(given == number) > 1)
        raise ValueError(f"{who}: {twice} is given more than once")
    return numbers
