"""What is asked of the plan of a product."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class Pair(NamedTuple):
    """A product in a sum of products: ``factor A B``."""

    a: Any
    b: Any
    factor: int = 1


class Request(NamedTuple):
    """How a product is planned, by the kernels of a format."""

    kernel: str = ""  #: of that format; "": what it chooses
    max_bytes: int | None = None
    triangle: int = 0  #: of the result; `_sums.TRIANGLES` has the numbers
    extra_offsets: Sequence[int] = ()  #: diagonals that the result stores beside those of the product
    other_order: int = 0  #: 1 to add B A, -1 to subtract it; granted where the plan says that it has `both_orders`
    repeated: bool = False  #: the plan is the user's, and may run many times
    symmetry: int = 0  #: of the result, of which one half is made; `options.SYMMETRIES` has the numbers
    on_stage: Callable[[str], None] | None = None  #: called with the name of each stage that has ended
