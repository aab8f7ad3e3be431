"""The memory that formats would need that are not implemented: bitmap blocks of other sizes, BSR, BCSD, MSR and VBR.

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
BSR_SIZES = 2, 3, 4, 5, 6, 8  # rows of a block; the size with the fewest bytes is reported
BCSD_HEIGHTS = 4, 8, 16, 32  # rows of a block; the height with the fewest bytes is reported
_COLUMN, _POINTER = 4, 8  # bytes
_MAX_SHORT = 2**31  # entries of an array whose positions have 4 bytes

_SUITABLE_FOR = {
    "bsr": "full square blocks of the same size",
    "bcsd": "diagonals with full segments of some rows",
    "msr": "a full main diagonal that is often used by itself",
    "vbr": "full blocks of different sizes",
}


@dataclass(frozen=True)
class BitmapBlocks:
    """The nonempty square blocks of one size, and their bytes if they are stored as in `bmsparse_array`.

    Attributes
    ----------
    blocks : int
        The number of blocks that have entries.
    fill : float
        The entries divided by the elements of these blocks.
    nbytes : int
        The bytes of the matrix in blocks of this size.
    """

    blocks: int
    fill: float
    nbytes: int


@dataclass(frozen=True)
class OtherFormat:
    """The memory that a format would need that is not implemented.

    Attributes
    ----------
    layout : str
        The size of its blocks, or the number of block rows and columns; "" if it has no blocks.
    blocks : int or None
        The number of blocks, None if it has none.
    stored : int
        The number of values, including zeros in blocks.
    nbytes : int
        The bytes of the matrix in this format.
    suitable_for : str
        The kind of matrices that the format is made for.
    """

    layout: str
    blocks: int | None
    stored: int
    nbytes: int
    suitable_for: str


_Counts: TypeAlias = tuple[dict[int, BitmapBlocks], dict[str, OtherFormat | None]]


class UnimplementedFormats:
    """The counts of a csr matrix on the CPU, computed at the first use; until then the matrix is referenced.

    It is thread-safe. The properties raise MemoryError if the temporary memory of the counts does not fit.
    """

    def __init__(self, csr: SparseArray) -> None:
        native = csr._matrix
        # A separate matrix, which does not change if index arrays of the other one are written to.
        self._csr: SparseArray | None = SparseArray._wrap(native.with_values(native.values))
        self._counts: _Counts | None = None
        self._lock = Lock()

    @property
    def bitmap_blocks(self) -> dict[int, BitmapBlocks]:
        """Blocks with bitmaps, by their size; those of `bmsparse_array` have size 8."""
        return self._counted()[0]

    @property
    def others(self) -> dict[str, OtherFormat | None]:
        """BSR, BCSD, MSR and VBR, with the block size that needs the fewest bytes; MSR is None if not square."""
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
    memory.require_free(counting_nbytes(s), "analyze: counting the blocks of formats that are not implemented")
    bitmaps = {size: _with_bitmaps(s, size) for size in BITMAP_SIZES}
    bsr = [_of_blocks("bsr", s, f"{size} x {size}", size, s.blocks(size), size**2) for size in BSR_SIZES]
    counts = zip(BCSD_HEIGHTS, CPU.core.block_diagonals(native, list(BCSD_HEIGHTS)), strict=True)
    bcsd = [_of_blocks("bcsd", s, f"{rows} rows", rows, blocks, rows) for rows, blocks in counts]
    fewest = [min(layouts, key=lambda one: one.nbytes) for layouts in (bsr, bcsd)]
    vbr = _vbr(s, *CPU.core.variable_blocks(native))
    return bitmaps, {"bsr": fewest[0], "bcsd": fewest[1], "msr": _msr(s), "vbr": vbr}


def counting_nbytes(s: Summary) -> int:
    """Return an upper bound of the temporary memory of these counts, which run one after the other.

    A table of all diagonals needs 4 bytes per diagonal, with several threads for at most as many as there are entries.
    If there are more than 8 diagonals per entry, the entries are sorted instead, in 8 bytes each.
    """
    diagonals = sum(s.shape)
    in_a_table = diagonals <= 8 * s.entries + 2**16
    return 4 * max(diagonals, s.entries) if in_a_table else 8 * s.entries + 2**16


def _with_bitmaps(s: Summary, size: int) -> BitmapBlocks:
    blocks, rows = s.blocks(size), -(-s.shape[0] // size)
    each = _COLUMN + size**2 // 8 + _POINTER  # to its values
    nbytes = s.entries * s.itemsize + each * blocks + _POINTER * (rows + 2)
    return BitmapBlocks(blocks, s.entries / max(1, blocks * size**2), nbytes)


def _of_blocks(name: str, s: Summary, layout: str, height: int, blocks: int, values: int) -> OtherFormat:
    """Return the memory of blocks with this number of rows and of values, and a column each."""
    stored, rows = blocks * values, -(-s.shape[0] // height)
    nbytes = stored * s.itemsize + _COLUMN * blocks + _POINTER * (rows + 1)
    return OtherFormat(layout, blocks, stored, nbytes, _SUITABLE_FOR[name])


def _msr(s: Summary) -> OtherFormat | None:
    """Return the memory of the full main diagonal, an unused value, and the other entries by rows.

    One array has the pointers and the columns, so that all have 4 bytes, unless there are too many entries.
    """
    m, n = s.shape
    if m != n:
        return None
    stored = n + 1 + s.entries - int(s.fill[np.flatnonzero(s.offsets == 0)].sum())
    each = s.itemsize + (_COLUMN if stored < _MAX_SHORT else _POINTER)
    return OtherFormat("", None, stored, stored * each, _SUITABLE_FOR["msr"])


def _vbr(s: Summary, rows: int, cols: int, blocks: int) -> OtherFormat:
    """Return the memory of full blocks of adjacent rows, and of adjacent columns, with the same entries."""
    of_rows = (_POINTER + _COLUMN) * (rows + 1)  # the start of its blocks, and its first row
    of_blocks = _COLUMN * blocks + _POINTER * (blocks + 1)  # its first column, and the start of its values
    nbytes = s.entries * s.itemsize + of_blocks + of_rows + _COLUMN * (cols + 1)
    return OtherFormat(f"{rows} x {cols} blocks", blocks, s.entries, nbytes, _SUITABLE_FOR["vbr"])
