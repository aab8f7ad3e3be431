"""ELLPACK."""

from __future__ import annotations

from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary
from . import short
from .component import component
from .options import boolean


class Ell(short.ShortColumns):
    """The layout of `ell_array`."""

    structure = ("indices",)
    optional = ("row_lengths", "bases")
    two_dimensional = ("values", "indices")
    padded = True
    options = {"row_lengths": boolean, "column_bits": short.column_bits}

    def layout(self, a: SparseArray) -> dict[str, int]:
        return super().layout(a) | {"row_lengths": int("row_lengths" in a._matrix.parts())}

    def description(self, a: SparseArray) -> str:
        return f"width {a.width}, {super().description(a)}"

    def positions(self, s: Summary, **options: int) -> int:
        return s.longest_row * s.shape[0]

    def nbytes(self, s: Summary, *, row_lengths: int = 0, column_bits: int = 32, **options: int) -> int:
        (m, n), width = s.shape, s.longest_row
        return width * m * s.itemsize + short.nbytes(column_bits, n, width, m) + 4 * m * row_lengths


class ell_array(SparseArray):
    """ELLPACK: all rows are padded to the longest one, and entry w of all rows is contiguous.

    Parameters
    ----------
    arg : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shape (m, n), or component arrays
        The component arrays are ``(values, indices)`` or ``(values, indices, row_lengths)``: values and indices of
        shape (width, m), where the indices of a row ascend and are followed by -1 in the padding; row_lengths of shape
        (m,). Indices of type uint8 or uint16 are short columns. If they cannot represent all columns of the matrix,
        bases follow as the last array, with None in place of missing row_lengths. A dict of the arrays, as from
        `parts`, needs no None. Values are shared, the other arrays are copied.
    shape, dtype, copy, device, max_bytes
        As for `csr_array`; `shape` is required with component arrays.
    row_lengths : bool, default False
        Whether the length of every row is stored too (ELLPACK-R), in 4 bytes per row. Kernels then need not check for
        padding.
    column_bits : {32, 16, 8}, default 32
        Bits of a column index. 8 and 16 give short columns, which are relative to a base that 32 adjacent rows share
        for each entry.

    Raises
    ------
    ValueError, TypeError, MemoryError
        For inconsistent component arrays, columns that are too far apart for `column_bits`, and matrices that do not
        fit into memory.

    Notes
    -----
    Bytes: ``width m (itemsize + 4)``, and ``4 m`` with row_lengths, so that one long row is expensive. With short
    columns the first 4 becomes 2 or 1, plus ``4 width ceil(m / 32)`` if the matrix has more than 65535 or 255 columns.
    Padding is never multiplied, so that infinities in x do not spread. Products of two matrices are computed in csr.

    The layout of the NVIDIA teaching kit's module 10, and of Bell and Garland (2009); row lengths as in Vazquez,
    Ortega, Fernandez and Garzon (2010).

    Examples
    --------
    >>> import diagsparse as ds
    >>> A = ds.ell_array(ds.gallery.tridiagonal(4))
    >>> A.indices
    array([[ 0,  0,  1,  2],
           [ 1,  1,  2,  3],
           [-1,  2,  3, -1]], dtype=int32)
    """

    _format = Ell("ell")
    column_bits = short.stored_bits
    bases = component(
        "bases",
        "The smallest column of each chunk of 32 adjacent rows, int32 (width ceil(m / 32),), to which short columns "
        "are relative. None for columns of 32 bits, and for matrices whose columns all fit into the short type.",
    )
    indices = component(
        "indices",
        "Column of every entry, shape (width, m): those of row i, ascending, are ``indices[:, i]``. With 32 bits it is "
        "int32, with -1 in the padding; short columns are uint8 or uint16, with the largest number of the type in the "
        "padding.",
    )
    row_lengths = component(
        "row_lengths", "Number of entries of every row without padding, int32 (m,). None if not stored."
    )

    @property
    def width(self) -> int:
        """Number of entries of every row, including padding: at least that of the longest row."""
        return self._matrix.values.shape[0]
