"""The arguments of products and of sums of products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class Pair(NamedTuple):
    """A term ``factor A B`` of a sum of products."""

    a: Any
    b: Any
    factor: int = 1


class Sum(NamedTuple):
    """The sum ``alpha (A_1 B_1 + A_2 B_2 + ...) + beta C``. All operands are unpacked and have the same dtype."""

    who: str  #: the caller, in errors
    pairs: list[Pair]
    c: Any  #: None without C
    alpha: complex
    beta: complex
    triangle: str | None
    kernel: str | None
    out: Any
    max_bytes: int | None


class Request(NamedTuple):
    """The options of a planned product."""

    kernel: str = ""  #: a kernel of the format; "": the default
    max_bytes: int | None = None
    triangle: int = 0  #: of the result; the numbers are in `sums.TRIANGLES`
    extra_offsets: Sequence[int] = ()  #: diagonals that the result stores in addition to those of the product
    other_order: int = 0  #: 1 to add B A, -1 to subtract it; the plan has `both_orders` if its kernel does that
    repeated: bool = False  #: whether the plan belongs to the user and may run many times
    symmetry: int = 0  #: of the result, of which one triangle is computed; an index of `arguments.SYMMETRIES`
    on_stage: Callable[[str], None] | None = None  #: called with the name of each completed stage
