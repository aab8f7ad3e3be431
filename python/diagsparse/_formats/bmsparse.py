"""Blocks of 8 x 8 elements with bitmaps."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._backends.backend import CPU, Backend
from .._matrix.registry import COMMON, FORMATS
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import BLOCK, Summary
from .._matrix.workspaces import sorting
from .component import component
from .format import Format
from .own_products import OwnProducts

# Mean entries of a block from which products use the blocks, by (on the CPU, repeated plan). On a GPU the limit is
# lower for a single product with few blocks.
_MIN_FILL = {(True, False): 12, (True, True): 24, (False, False): 8.5, (False, True): 19}
_MIN_FILL_OF_FEW, _FEW = 3, 70_000

_BLOCK_NBYTES = 20  # bytes of the column, the bitmap and the pointer to the values of a block


class Bmsparse(OwnProducts):
    """The layout of `bmsparse_array`."""

    narrow = sampled = True
    structure = ("block_indptr", "block_col", "bitmap", "value_indptr")

    def description(self, a: SparseArray) -> str:
        return f"{a.blocks} block{'s' * (a.blocks != 1)}, "

    def index_type(self, name: str, shape: tuple[int, int], given: dict[str, Any]) -> np.dtype:
        return np.dtype(np.uint64) if name == "bitmap" else super().index_type(name, shape, given)

    def for_product(self, a: SparseArray, other: SparseArray, repeated: bool, named: bool) -> Format:
        # The cost of a pair of blocks does not depend on the number of entries. Times of one product (of a call of its
        # plan) by blocks and by csr. AMD EPYC, one thread, 8 x 8 blocks on a grid of 12^3, in ms: with 19 entries per
        # block 14.8 (10.3) and 19.6 (5.5); with 6.4 entries 15.3 (10.4) and 5.3 (1.3); with 32 entries 13.3 (9.0) and
        # 33 (10.6). H200, in us: 570 000 blocks of 8.0 entries 1880 and 1430; 440 000 of 9 entries 2110 and 2620; 90
        # 000 of 5.7 entries 2420 and 1810; 54 000 of 6.4 entries 326 (108) and 449 (23); 1.4 million of 6.2 entries
        # 5140 (2200) and 2990 (490); 150 000 of 14 entries 824 (404) and 1560 (283). A plan by csr converts new values,
        # which takes 70 us or more.
        assert isinstance(other, bmsparse_array)
        min_fill = _MIN_FILL[a._backend is CPU, repeated]
        if a._backend is not CPU and not repeated and max(a.blocks, other.blocks) < _FEW:
            min_fill = _MIN_FILL_OF_FEW
        return self if named or a.mean_fill * other.mean_fill >= min_fill**2 else FORMATS[COMMON]

    # ---- memory -----------------------------------------------------------------------------------
    def nbytes(self, s: Summary, **options: int) -> int:
        return s.entries * s.itemsize + _BLOCK_NBYTES * s.blocks(BLOCK) + _pointers(s.shape[0])

    def from_csr_workspace(self, s: Summary, backend: Backend, **options: int) -> int:
        return sorting(s.entries, s.itemsize, backend)

    def to_csr_workspace(self, a: SparseArray, s: Summary) -> int:
        return max(super().to_csr_workspace(a, s), sorting(s.entries, s.itemsize, a._backend))


class bmsparse_array(SparseArray):
    """Blocks of 8 x 8 elements, each with a bitmap of its stored elements, whose values are contiguous.

    Parameters
    ----------
    arg : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shape (m, n), or component arrays
        The component arrays are ``(values, block_indptr, block_col, bitmap, value_indptr)``: values of shape (nnz,),
        block by block, and row by row within a block; block_indptr of shape (ceil(m / 8) + 1,), the start of each block
        row; block_col of shape (blocks,), ascending in each block row; bitmap of shape (blocks,), whose bit
        ``63 - (8 r + c)`` represents the element in row r and column c of the block; value_indptr of shape
        (blocks + 1,), the start of the values of each block. Values are shared, the other arrays are copied.
    shape, dtype, copy, device, max_bytes
        As for `dia_array`; `shape` is required with component arrays.

    Raises
    ------
    ValueError, TypeError, MemoryError
        For inconsistent component arrays, elements outside of the matrix, empty blocks, and matrices that do not fit
        into memory.

    Notes
    -----
    Bytes: ``nnz itemsize + 20 blocks + 8 (ceil(m / 8) + 2)``. This is less than in `csr_array` if blocks have at least
    five entries on average.

    ``A @ B`` computes from the bitmaps alone which pairs of blocks are multiplied and which elements each block of C
    stores; a plan stores the pairs, 8 bytes each. Elements that cancel to zero are stored explicitly, as in
    `csr_array`; blocks without contributions are not stored.

    Berger Alvarez, "bmSparse" (thesis, 2024), with row pointers instead of 64-bit keys.

    Examples
    --------
    >>> import diagsparse as ds
    >>> A = ds.bmsparse_array(ds.gallery.tridiagonal(16))
    >>> A.blocks, A.mean_fill
    (4, 11.5)
    >>> f"{A.bitmap[1]:016x}", A.block_col.tolist()
    ('0000000000000080', [0, 1, 0, 1])
    """

    _format = Bmsparse("bmsparse")
    block_indptr = component("block_indptr", "Start of each block row, int64 (ceil(m / 8) + 1,).")
    block_col = component("block_col", "Block column of every block, int32 (blocks,).")
    bitmap = component("bitmap", "Stored elements of every block, row by row from the highest bit, uint64 (blocks,).")
    value_indptr = component("value_indptr", "Start of the values of every block, int64 (blocks + 1,).")

    @property
    def blocks(self) -> int:
        """Number of blocks, none of which are empty."""
        return int(self.nbytes - self.nnz * self._dtype.itemsize - _pointers(self._matrix.rows)) // _BLOCK_NBYTES

    @property
    def mean_fill(self) -> float:
        """Mean number of entries of a block, 1 to 64; 0 without blocks."""
        return self.nnz / max(1, self.blocks)


def _pointers(rows: int) -> int:
    """Return the bytes of the block row pointers, and of the end of the last block."""
    return 8 * (-(-rows // BLOCK) + 2)
