"""Which formats suit y = A x: the one rule, which follows from the matrix alone.

What a product moves is A in the format, x and y. The bytes of A count as the format reads them (`_matrix/reading.py`).
The format with the fewest suits, and so do those within 10 % of it, which no measurement could tell apart.
"""

from __future__ import annotations

from dataclasses import dataclass

from .._matrix.base import SparseArray
from .._matrix.registry import FORMATS
from .._show.columns import digits
from .forecasts import memory_report

TIE = 1.1  #: times the fewest bytes that still suit as well


@dataclass(frozen=True)
class Suits:
    """What the rule says of one format."""

    format: str
    nbytes: int | None  #: that A takes; None where the format cannot hold it
    moved_nbytes: int | None  #: by one product
    suits: bool
    why: str


def suits(a: SparseArray) -> list[Suits]:
    """Return what the rule says of every format: those that suit first, then by the bytes as they count."""
    sizes = memory_report(a)
    vectors = sum(a.shape) * a.dtype.itemsize
    counted = {
        name: weight * nbytes + vectors
        for name, nbytes in sizes.items()
        if nbytes is not None and (weight := FORMATS[name]._reading.weight)
    }
    best = min(counted, key=counted.__getitem__)
    moved = {name: None if nbytes is None else nbytes + vectors for name, nbytes in sizes.items()}
    found = {name: Suits(name, sizes[name], moved[name], *_verdict(name, moved, counted, best)) for name in sizes}
    if not a.count_nonzero():
        found = {name: Suits(name, s.nbytes, s.moved_nbytes, False, "nothing is stored") for name, s in found.items()}
    rank = {name: (not s.suits, counted.get(name, 1e300), s.nbytes or 1 << 62) for name, s in found.items()}
    return [found[name] for name in sorted(found, key=rank.__getitem__)]


def _verdict(name: str, moved: dict[str, int | None], counted: dict[str, float], best: str) -> tuple[bool, str]:
    """Return whether a format suits, and why."""
    reading, least, mine = FORMATS[name]._reading, moved[best], moved[name]
    if mine is None or least is None:
        return False, "no: holds square matrices only"
    if name not in counted:
        return False, f"no: {reading.words}"
    if name == best:
        return True, f"yes: the fewest bytes as they are read; {reading.words}"
    if counted[name] <= TIE * counted[best]:
        return True, f"yes: as {best}, within {round(100 * (TIE - 1))} %"
    heavier = (reading.weight or 0) > (FORMATS[best]._reading.weight or 0)
    return False, f"no: moves {digits(mine / max(1, least))}x the bytes of {best}" + f", and {reading.words}" * heavier
