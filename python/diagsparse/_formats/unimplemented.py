"""What formats that are not implemented would store: bitmap blocks of other sizes, BSR, BCSD, MSR and VBR.

All bytes are exact, with 4 bytes per column and 8 per pointer, as in the implemented formats.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import TypeAlias

import numpy as np

from .._backends import memory
from .._backends.backend import CPU
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary

BITMAP_SIZES = 4, 8, 16  # rows of a block with a bitmap
BSR_SIZES = 2, 3, 4, 5, 6, 8  # rows of a block of BSR, of which the size with the fewest bytes is reported
BCSD_HEIGHTS = 4, 8, 16, 32  # rows of a block of BCSD, of which the height with the fewest bytes is reported
_COLUMN, _POINTER = 4, 8  # bytes
_SHORT = 2**31  # entries of an array of indices that counts its own entries in 4 bytes

_WINS = {  # the kind of matrices for which the format is suitable
    "bsr": "full square blocks of the same size",
    "bcsd": "diagonals with full segments of some rows",
    "msr": "a full main diagonal that is often used by itself",
    "vbr": "full blocks of different sizes",
}


@dataclass(frozen=True)
class BitmapBlocks:
    """The square blocks of one size that hold entries, and their bytes in the way of `bmsparse_array`."""

    blocks: int
    fill: float  # entries / places in these blocks
    nbytes: int


@dataclass(frozen=True)
class OtherFormat:
    """What a format that is not implemented would store."""

    layout: str  # the size of its blocks, or the number of block rows and columns; "" if it has no blocks
    blocks: int | None
    stored: int  # values, with the zeros that fill up blocks
    nbytes: int
    wins: str  # the kind of matrices for which the format is suitable


_Counts: TypeAlias = tuple[dict[int, BitmapBlocks], dict[str, OtherFormat | None]]


class UnimplementedFormats:
    """The counts of one matrix, computed at the first use; until then the matrix is referenced. Thread-safe.

    Parameters
    ----------
    csr : SparseArray
        In csr on the CPU, no view.

    Raises
    ------
    MemoryError
        By the properties, before they count, where the temporary memory of the counts exceeds what is free.
    """

    def __init__(self, csr: SparseArray) -> None:
        native = csr._matrix
        # A matrix of its own: it does not follow what is written to index arrays of the other one.
        self._csr: SparseArray | None = SparseArray._wrap(native.with_values(native.values))
        self._counts: _Counts | None = None
        self._lock = Lock()

    @property
    def bitmap_blocks(self) -> dict[int, BitmapBlocks]:
        """What blocks with bitmaps would take, by their size; 8 is that of `bmsparse_array`."""
        return self._counted()[0]

    @property
    def others(self) -> dict[str, OtherFormat | None]:
        """What BSR, BCSD, MSR and VBR would store; None stands for MSR of a matrix that is not square.

        Of several sizes of blocks the one with the fewest bytes counts.
        """
        return self._counted()[1]

    def _counted(self) -> _Counts:
        with self._lock:
            if self._counts is None:
                assert self._csr is not None
                self._counts = _count(self._csr)
                self._csr = None
            return self._counts

    def __getstate__(self) -> _Counts:  # a copy or a pickle has the counts, and no matrix
        return self._counted()

    def __setstate__(self, counts: _Counts) -> None:
        self._csr, self._counts, self._lock = None, counts, Lock()


def _count(csr: SparseArray) -> _Counts:
    s, native = csr._summary(), csr._matrix
    memory.require_free(counting_nbytes(s), "analyze: counting the blocks of formats that are not built")
    bitmaps = {size: _with_bitmaps(s, size) for size in BITMAP_SIZES}
    bsr = [_of_blocks("bsr", s, f"{size} x {size}", size, s.blocks(size), size**2) for size in BSR_SIZES]
    counts = zip(BCSD_HEIGHTS, CPU.core.block_diagonals(native, list(BCSD_HEIGHTS)), strict=True)
    bcsd = [_of_blocks("bcsd", s, f"{rows} rows", rows, blocks, rows) for rows, blocks in counts]
    fewest = [min(layouts, key=lambda one: one.nbytes) for layouts in (bsr, bcsd)]
    vbr = _vbr(s, *CPU.core.variable_blocks(native))
    return bitmaps, {"bsr": fewest[0], "bcsd": fewest[1], "msr": _msr(s), "vbr": vbr}


def counting_nbytes(s: Summary) -> int:
    """Return a bound of the temporary memory of these counts: of the largest, for they follow each other.

    A table of all diagonals has 4 bytes each, on several threads at most as many as there are entries. Where there are
    more than 8 diagonals to an entry, the entries are sorted instead, in 8 bytes each.
    """
    diagonals = sum(s.shape)
    in_a_table = diagonals <= 8 * s.entries + 2**16
    return 4 * max(diagonals, s.entries) if in_a_table else 8 * s.entries + 2**16


def _with_bitmaps(s: Summary, size: int) -> BitmapBlocks:
    blocks, rows = s.blocks(size), -(-s.shape[0] // size)
    each = _COLUMN + size**2 // 8 + _POINTER  # and where its values begin
    nbytes = s.entries * s.itemsize + each * blocks + _POINTER * (rows + 2)
    return BitmapBlocks(blocks, s.entries / max(1, blocks * size**2), nbytes)


def _of_blocks(name: str, s: Summary, layout: str, height: int, blocks: int, values: int) -> OtherFormat:
    """Return what blocks of so many rows take, each with a column and so many values."""
    stored, rows = blocks * values, -(-s.shape[0] // height)
    nbytes = stored * s.itemsize + _COLUMN * blocks + _POINTER * (rows + 1)
    return OtherFormat(layout, blocks, stored, nbytes, _WINS[name])


def _msr(s: Summary) -> OtherFormat | None:
    """Return what the main diagonal takes in full, an unused value, and the other entries by rows.

    One array holds the pointers and the columns. So all of them have 4 bytes, unless there are too many entries.
    """
    m, n = s.shape
    if m != n:
        return None
    stored = n + 1 + s.entries - int(s.fill[np.flatnonzero(s.offsets == 0)].sum())
    each = s.itemsize + (_COLUMN if stored < _SHORT else _POINTER)
    return OtherFormat("", None, stored, stored * each, _WINS["msr"])


def _vbr(s: Summary, rows: int, cols: int, blocks: int) -> OtherFormat:
    """Return what full blocks take: of rows, and of columns, that have the same entries as their neighbours."""
    of_rows = (_POINTER + _COLUMN) * (rows + 1)  # where its blocks begin, and which row comes first
    of_blocks = _COLUMN * blocks + _POINTER * (blocks + 1)  # the column of blocks, and where its values begin
    nbytes = s.entries * s.itemsize + of_blocks + of_rows + _COLUMN * (cols + 1)
    return OtherFormat(f"{rows} x {cols} blocks", blocks, s.entries, nbytes, _WINS["vbr"])
