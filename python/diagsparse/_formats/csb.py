"""Compressed sparse blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._backends.backend import Backend
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary
from .._matrix.workspaces import sorting
from .component import component
from .format import Format
from .options import power_of_two

_MAX_BLOCK = 1 << 16
_SMALL = 256  # largest block whose indices have one byte
_BLOCK_COST = 256  # the approximate cost of a block in a product, in bytes that could be read meanwhile
_BLOCKS = [1 << bits for bits in range(1, 17)]


class Csb(Format):
    """The layout of `csb_array`."""

    structure = ("local_row", "local_col", "block_indptr")
    options = {"block": power_of_two(_MAX_BLOCK)}

    def layout(self, a: SparseArray) -> dict[str, int]:
        return {"block": a.block}

    def description(self, a: SparseArray) -> str:
        return f"block {a.block}, "

    def index_type(self, name: str, shape: tuple[int, int], given: dict[str, Any]) -> np.dtype:
        if name == "block_indptr":
            return np.dtype(np.int64)
        return _local_type(_block_of(shape, given["block_indptr"].shape[0] - 1))

    def completed(self, s: Summary, options: dict[str, int]) -> dict[str, int]:
        def cost(block: int) -> int:
            return self.nbytes(s, block=block) + (_BLOCK_COST - 8) * _count(s.shape, block)

        return options or {"block": min(reversed(_BLOCKS), key=cost)}

    def nbytes(self, s: Summary, **options: int) -> int:
        blocks = _count(s.shape, self.completed(s, options)["block"])
        index = 1 if blocks >= _count(s.shape, _SMALL) else 2  # larger blocks are fewer
        return s.entries * (s.itemsize + 2 * index) + 8 * (blocks + 1)

    def from_csr_workspace(self, s: Summary, backend: Backend, **options: int) -> int:
        return sorting(s.entries, s.itemsize, backend)

    def to_csr_workspace(self, a: SparseArray, s: Summary) -> int:
        return sorting(s.entries, s.itemsize, a._backend)

    def bound(self, s: Summary, **options: int) -> int:
        return super().bound(s, **options) + self.nbytes(s.at_most(), **options)


class csb_array(SparseArray):
    """Compressed sparse blocks: the matrix is divided into square blocks, and entries have indices within their block.

    Parameters
    ----------
    arg : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shape (m, n), or component arrays
        The component arrays are ``(values, local_row, local_col, block_indptr)``: the first three of shape (nnz,),
        block_indptr of shape (blocks + 1,). Blocks are numbered row by row, and the entries of a block are sorted by
        rows. Values are shared, the other arrays are copied.
    shape, dtype, copy, device, max_bytes
        As for `csr_array`; `shape` is required with component arrays.
    block : int, optional
        Rows and columns of a block, a power of two from 2 to 65536. The default minimizes the bytes, where each block
        counts as 256 bytes; of equal sizes it is the larger one. If a smaller size gives the same blocks, that one is
        used. With component arrays the size follows from the number of blocks; if `block` is passed as well, the matrix
        is converted to it.

    Notes
    -----
    Bytes: ``nnz (itemsize + 2 index) + 8 (blocks + 1)``, where an index has 1 byte in blocks of up to 256 rows and
    columns, else 2. The default is 256 or 65536, unless the matrix is smaller. ``A.T @ x`` reads memory in the same way
    as ``A @ x``. Products of two matrices are computed in csr.

    The format of Buluc, Fineman, Frigo, Gilbert and Leiserson (2009), with entries sorted by rows; block and local
    indices as in Mahmoud, Hoffmann and Reza (2018).

    Examples
    --------
    >>> import diagsparse as ds
    >>> A = ds.csb_array(ds.gallery.tridiagonal(4), block=2)
    >>> A.local_row, A.local_col
    (array([0, 0, 1, 1, 1, 0, 0, 0, 1, 1], dtype=uint8), array([0, 1, 0, 1, 0, 1, 0, 1, 0, 1], dtype=uint8))
    >>> A.block_indptr
    array([ 0,  4,  5,  6, 10])
    """

    _format = Csb("csb")
    local_row = component("local_row", "Row of every entry within its block, uint8 or uint16 (nnz,).")
    local_col = component("local_col", "Column of every entry within its block, uint8 or uint16 (nnz,).")
    block_indptr = component("block_indptr", "Start of each block, row by row of blocks, int64 (blocks + 1,).")

    @property
    def block(self) -> int:
        """Rows and columns of a block."""
        block = _block_of((self._matrix.rows, self._matrix.cols), self.blocks)
        assert block is not None
        return block

    @property
    def blocks(self) -> int:
        """Number of blocks, including empty ones."""
        return self._matrix.parts()["block_indptr"].shape[0] - 1


def _count(shape: tuple[int, int], block: int) -> int:
    """Return the number of blocks, including those cut off by the edges."""
    m, n = shape
    return -(-m // block) * -(-n // block)


def _block_of(shape: tuple[int, int], blocks: int) -> int | None:
    """Return the smallest block size that divides a matrix of this shape into this number of blocks."""
    return next((block for block in _BLOCKS if _count(shape, block) == blocks), None)


def _local_type(block: int | None) -> np.dtype:
    """Return the type of the indices within a block."""
    return np.dtype(np.uint8 if block and block <= _SMALL else np.uint16)
