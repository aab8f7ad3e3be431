"""What the time of a product follows from: what it goes through, and the nanoseconds of each."""

from __future__ import annotations

from typing import NamedTuple


class Cost(NamedTuple):
    """Nanoseconds of one thread of a CPU, or of a whole GPU."""

    row: float  #: for each row
    position: float  #: for each value that is multiplied
    piece: float = 0.0  #: for each of what `Walk.pieces` counts
    turn: float = 0.0  #: for each row that fills another number of vectors than the one before, unforeseen
    gather: float = 0.0  #: for each line of x that those before did not bring
    step: float = 0.0  #: for each step of a thread: on a GPU on its longest way, on a CPU for each diagonal of a block
    bytes: float = 1.0  #: times as long as they take when read in order; on a GPU
    single: float = 0.5  #: times of the work where values have 4 bytes
    complex: float = 2.0  #: times of the work where they are complex
    rows_each: int = 1  #: rows that a thread needs to have, where several share the work
    convert: float = 3.0  #: for each entry, to be made of csr
    call: float = 0.0  #: of a call on a GPU, beside those of others: a kernel more


class Walk(NamedTuple):
    """What a product goes through in a layout."""

    nbytes: int  #: of the matrix
    positions: float  #: values that are multiplied, padding too
    pieces: float = 0.0  #: what comes beside them: blocks, masks, entries of a rest
    steps: float = 0.0  #: on the longest way that one thread of a GPU goes; diagonals of all blocks of rows on a CPU
    lines: float = 0.0  #: of x that those before did not bring
    laid_out: float = 0.0  #: diagonals that a conversion goes through, on a CPU those of all blocks of rows


class Counts(NamedTuple):
    """What a product goes through in any layout of a matrix."""

    rows: int
    entries: int
    turns: float  #: rows that fill another number of vectors than the one before
    vectors: int  #: bytes of x and y
    itemsize: int
    complex: bool
