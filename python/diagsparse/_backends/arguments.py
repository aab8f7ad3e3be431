"""Checks of arguments that are passed to native code unchanged."""

from __future__ import annotations

from operator import index
from typing import Any


def check_kernel(name: Any, who: str) -> None:
    """Raise TypeError for a kernel that is not a string. Native code looks the name up in its tables."""
    if not isinstance(name, str):
        raise TypeError(f"{who}: kernel={name!r}: expected a name")


def integer(value: Any, who: str) -> int:
    """Return an integer of any type as a Python int; `who` ends in the name of the argument."""
    try:
        return index(value)
    except TypeError:
        raise TypeError(f"{who}={value!r}: expected an integer") from None


SYMMETRIES = (None, "symmetric", "hermitian")  # indexed by the numbers of the C++ core


def symmetry_number(value: Any, who: str) -> int:
    """Return the number of a symmetry, 0 for none."""
    if value not in SYMMETRIES:
        raise ValueError(f'{who}={value!r}: expected None, "symmetric" or "hermitian"')
    return SYMMETRIES.index(value)
