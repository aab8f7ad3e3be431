"""The inputs of the performance model: how often a product performs each operation, and the nanoseconds of each."""

from __future__ import annotations

from typing import NamedTuple


class Cost(NamedTuple):
    """Nanoseconds of each operation, on one thread of a CPU or on an entire GPU."""

    row: float  #: for each row
    position: float  #: for each multiplied value
    extra: float = 0.0  #: for each item that `Traversal.extras` counts
    branch: float = 0.0  #: for each mispredicted branch: a row with more or fewer SIMD vectors than the previous one
    gather: float = 0.0  #: for each cache line of x that previous entries have not loaded
    step: float = 0.0  #: for each step: of the longest thread on a GPU, for each diagonal of a block of rows on a CPU
    bytes: float = 1.0  #: slowdown of memory traffic relative to a contiguous read, on a GPU
    single: float = 0.5  #: factor of the work for 4-byte values
    complex: float = 2.0  #: factor of the work for complex values
    rows_each: int = 1  #: least number of rows per thread
    convert: float = 3.0  #: for each entry, to convert from csr
    call: float = 0.0  #: of a call on a GPU with one more kernel launch than others


class Traversal(NamedTuple):
    """How often a product performs each operation in a layout."""

    nbytes: int  #: of the matrix
    positions: float  #: multiplied values, including padding
    extras: float = 0.0  #: additional items, depending on the format: blocks, masks, entries of the remainder
    steps: float = 0.0  #: of the longest thread of a GPU; diagonals, summed over all blocks of rows, on a CPU
    lines: float = 0.0  #: cache lines of x that previous entries have not loaded
    converted: float = 0.0  #: diagonals that a conversion traverses, on a CPU summed over all blocks of rows


class Counts(NamedTuple):
    """The counts of a product that do not depend on the layout."""

    rows: int
    entries: int
    branches: float  #: rows with another number of SIMD vectors than the previous row
    vectors: int  #: bytes of x and y
    itemsize: int
    complex: bool
