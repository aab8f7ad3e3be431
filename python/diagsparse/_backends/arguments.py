"""Arguments that native code takes as they are: what they have to be is asked before it sees them."""

from __future__ import annotations

from operator import index
from typing import Any


def check_kernel(name: Any, who: str) -> None:
    """Raise TypeError for a kernel that is no name; which names there are, the tables know."""
    if not isinstance(name, str):
        raise TypeError(f"{who}: kernel={name!r}: expected a name")


def integer(value: Any, who: str) -> int:
    """Return an integer of any kind as Python's; `who` ends in what the argument is called."""
    try:
        return index(value)
    except TypeError:
        raise TypeError(f"{who}={value!r}: expected an integer") from None


SYMMETRIES = (None, "symmetric", "hermitian")  # at the numbers that the C++ core has for them


def symmetry_number(value: Any, who: str) -> int:
    """Return the number of a symmetry, 0 for none."""
    if value not in SYMMETRIES:
        raise ValueError(f'{who}={value!r}: expected None, "symmetric" or "hermitian"')
    return SYMMETRIES.index(value)
