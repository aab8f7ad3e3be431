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

# Entries a block from which products are made of blocks: on the CPU or not, by a plan that is kept or not. On a GPU, of
# few blocks, one product is made of blocks from less on.
_ENOUGH = {(True, False): 12, (True, True): 24, (False, False): 8.5, (False, True): 19}
_ENOUGH_OF_FEW, _FEW = 3, 70_000

_OF_BLOCK = 20  # bytes: column, bitmap, and where its values begin


class Bmsparse(OwnProducts):
    """The layout of `bmsparse_array`."""

    narrow = True
    structure = ("block_indptr", "block_col", "bitmap", "value_indptr")

    def description(self, a: SparseArray) -> str:
        return f"{a.blocks} block{'s' * (a.blocks != 1)}, "

    def index_type(self, name: str, shape: tuple[int, int], given: dict[str, Any]) -> np.dtype:
        return np.dtype(np.uint64) if name == "bitmap" else super().index_type(name, shape, given)

    def for_product(self, a: SparseArray, other: SparseArray, repeated: bool, named: bool) -> Format:
        # A product handles pairs of blocks, however few entries they have. AMD EPYC, one thread, 8 x 8 blocks on a grid
        # of 12^3, ms of one product (of a plan's): 19 entries a block 14.8 (10.3), 19.6 (5.5) by csr; 6.4 of them 15.3
        # (10.4) and 5.3 (1.3); 32 of them 13.3 (9.0) and 33 (10.6). H200, us: 8.0 entries in each of 570 000 blocks
        # 1880, 1430 by csr; 9 in each of 440 000 2110 and 2620; 5.7 in each of 90 000 2420 and 1810; 6.4 in each of 54
        # 000 blocks 326 (108), 449 (23) by csr; 6.2 in each of 1.4 million 5140 (2200) and 2990 (490); 14 in each of
        # 150 000 824 (404) and 1560 (283). New values take a plan by csr a conversion more, of 70 us and up.
        assert isinstance(other, bmsparse_array)
        enough = _ENOUGH[a._backend is CPU, repeated]
        if a._backend is not CPU and not repeated and max(a.blocks, other.blocks) < _FEW:
            enough = _ENOUGH_OF_FEW
        return self if named or a.mean_fill * other.mean_fill >= enough**2 else FORMATS[COMMON]

    # ---- what that takes --------------------------------------------------------------------------
    def nbytes(self, s: Summary, **options: int) -> int:
        return s.entries * s.itemsize + _OF_BLOCK * s.blocks(BLOCK) + _pointers(s.shape[0])

    def from_csr_workspace(self, s: Summary, backend: Backend, **options: int) -> int:
        return sorting(s.entries, s.itemsize, backend)

    def to_csr_workspace(self, a: SparseArray, s: Summary) -> int:
        return max(super().to_csr_workspace(a, s), sorting(s.entries, s.itemsize, a._backend))


class bmsparse_array(SparseArray):
    """Blocks of 8 x 8 elements: a bitmap says which of them are stored, and their values lie side by side.

    Parameters
    ----------
    arg : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shape (m, n), or the parts
        The parts are ``(values, block_indptr, block_col, bitmap, value_indptr)``: values of shape (nnz,), block after
        block and row by row within one; block_indptr of shape (ceil(m / 8) + 1,), where each row of blocks begins;
        block_col of shape (blocks,), rising in each row of them; bitmap of shape (blocks,), of which bit
        ``63 - (8 r + c)`` stands for the element in row r and column c of the block; value_indptr of shape
        (blocks + 1,), where the values of each begin. Values are shared, the rest is copied.
    shape : tuple, optional
        Needed with the parts.
    dtype : dtype, optional
        float32, float64, complex64 or complex128. By default integers and bools become float64, with a
        `ConversionWarning`. float16 and bfloat16 values are stored so, and widened in products.
    copy, device, max_bytes
        As for `csr_array`.

    Raises
    ------
    ValueError, TypeError, MemoryError
        For parts that do not fit each other, elements outside of the matrix, empty blocks, more bytes than there are.

    Notes
    -----
    Bytes: ``nnz itemsize + 20 blocks + 8 (ceil(m / 8) + 2)``. That is less than `csr_array` takes from five entries a
    block on.

    ``A @ B`` finds from the bitmaps alone which pairs of blocks meet and what each block of C stores; a plan keeps
    the pairs, 8 bytes each. Elements that cancel to zero stay stored, as they do in `csr_array`; blocks that nothing
    reaches are left out.

    Berger Alvarez, "bmSparse" (thesis, 2024), with a row pointer in the place of 64-bit keys.

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
    block_indptr = component("block_indptr", "Where each row of blocks begins, int64 (ceil(m / 8) + 1,), zero-copy.")
    block_col = component("block_col", "Column of every block, counted in blocks, int32 (blocks,), zero-copy.")
    bitmap = component(
        "bitmap", "Elements that every block stores, row by row from the highest bit, uint64 (blocks,), zero-copy."
    )
    value_indptr = component("value_indptr", "Where the values of every block begin, int64 (blocks + 1,), zero-copy.")

    @property
    def blocks(self) -> int:
        """Count of blocks, none of them empty."""
        return int(self.nbytes - self.nnz * self._dtype.itemsize - _pointers(self._matrix.rows)) // _OF_BLOCK

    @property
    def mean_fill(self) -> float:
        """Entries of a block on average, 1 to 64; 0 without blocks."""
        return self.nnz / max(1, self.blocks)


def _pointers(rows: int) -> int:
    """Return the bytes of where rows of blocks begin, and of where the last block ends."""
    return 8 * (-(-rows // BLOCK) + 2)
