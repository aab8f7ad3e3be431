"""How a format is read by y = A x on a CPU. Each class names one of these; `_products/suits.py` has the rule."""

from __future__ import annotations

from typing import NamedTuple


class Reading(NamedTuple):
    """In words, and what each byte that is moved counts beside one that is read in order.

    That follows from the share of the memory's bandwidth that products reach in docs/benchmarks.md. None: a format that
    is made for something else.
    """

    words: str
    weight: float | None


IN_ORDER = Reading("reads values and x in order", 1.0)  # dia, hm, cdm: 0.8 to 0.95 of the bandwidth
BY_INDEX = Reading("reads x by column indices", 4 / 3)  # csr: 0.63 on one thread, 0.85 on two
BY_MASK = Reading("unpacks masks of what is stored", 4 / 3)  # mdia: between csr and hm
BY_BITS = Reading("unpacks the bits of each block", 2.0)  # bmsparse: 1.5 to 2 times csr's time, but for full blocks
ACROSS = Reading("goes through many rows at once, made for GPUs", 2.0)  # ell, hyb, jds: 1.2 to 2 times csr's time
IN_BLOCKS = Reading("adds to y block by block", 2.0)  # csb: 1.3 to 2 times csr's time
BY_ENTRY = Reading("finds the row of each entry", 2.0)  # coo: the slowest of the formats that sum row by row
SCATTERED = Reading("adds to y once an entry, out of order", None)  # csc, coosc: 0.5 of the bandwidth at best
