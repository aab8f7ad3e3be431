"""The order of the layouts: which of them fit in memory, and which is the best for a number of products."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from .._backends import memory
from .._matrix.registry import COMMON
from .._matrix.sparse_array import SparseArray
from .candidate import Candidate
from .recommendation import TIE

_CHANGES = 1 / TIE  # largest time relative to the current layout at which another layout is recommended
SAME = 1.05  # among the layouts within this factor of the shortest time, the one with the fewest options is selected


def fitting_layouts(
    layouts: Iterable[Candidate], csr: SparseArray, limit: int | None
) -> tuple[list[Candidate], dict[str, str]]:
    """Return the layouts that fit in memory in addition to csr, and why the others do not."""
    fitting, left_out = [], {}
    free, where = cache(memory.available_bytes), csr._backend
    for one in layouts:
        needed = one.nbytes + csr.nbytes * (one.format != COMMON)
        if memory.fits(needed, limit, where, free):
            fitting.append(one)
        else:
            most = f"{memory.human(free(where))} are free" if limit is None else "max_bytes is less"
            left_out[one.name] = f"its conversion would need {memory.human(needed)}, {most}"
    return fitting, left_out


def with_current(current: Candidate | None, layouts: list[Candidate]) -> list[Candidate]:
    """Return the layouts, with the current one of the matrix in front."""
    return layouts if current is None else [current, *(one for one in layouts if one.name != current.name)]


def _preference(one: Candidate, products: int) -> tuple[float, ...]:
    """Return the sorting key of equally fast layouts: few options, nearly full diagonals, csr, and a short time."""
    return one.complexity, not one.nearly_full, one.format != COMMON, one.total_seconds(products)


def ranked_layouts(layouts: list[Candidate], current: Candidate | None, products: int) -> list[Candidate]:
    """Return the layouts by total time, but the recommended one first.

    Among layouts that are equally fast, one with few options is recommended, among these one that stores nearly full
    diagonals, and otherwise csr.
    """
    by_time = sorted(layouts, key=lambda one: one.total_seconds(products))
    best = by_time[0].total_seconds(products)
    same = [one for one in by_time if one.total_seconds(products) <= SAME * best]
    first = min(same, key=lambda one: _preference(one, products))
    if current is not None and first.total_seconds(products) > _CHANGES * current.total_seconds(products):
        first = current
    return [first, *(one for one in by_time if one is not first)]
