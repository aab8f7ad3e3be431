"""The options of layouts: what a user may give, and what C++ takes."""

from __future__ import annotations

from numbers import Integral
from typing import Any


def yes_or_no(value: Any, who: str) -> int:
    """Return a bool as 0 or 1."""
    if not isinstance(value, bool):
        raise TypeError(f"{who}={value!r}: expected True or False")
    return int(value)


def count(value: Any, who: str) -> int:
    """Return a number of things, 0 or more."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{who}={value!r}: expected a number")
    if not 0 <= (number := int(value)) < 2**31:
        raise ValueError(f"{who}={value}: expected 0 to 2^31 - 1")
    return number
