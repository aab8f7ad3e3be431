"""The union of several matrices: one structure, which stores every position that one of them stores."""

from __future__ import annotations

from typing import Any, NamedTuple


class Run(NamedTuple):
    """Consecutive values of the union, and the terms that have values there.

    ``pieces`` are pairs of a position among the values of a term, and the number of the term.
    """

    first: int
    length: int
    pieces: list[tuple[int, int]]


class Union(NamedTuple):
    """A structure, and the values of each term as far as it needs them."""

    matrix: Any  #: of zeros, real, in the precision of the terms
    values: list[Any]  #: of each term, an array on the device
    runs: list[Run]
