"""ELLPACK."""

from __future__ import annotations

from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary
from . import short
from .component import component
from .options import yes_or_no


class Ell(short.ShortColumns):
    """The layout of `ell_array`."""

    structure = ("indices",)
    optional = ("row_lengths", "bases")
    two_dimensional = ("values", "indices")
    padded = True
    options = {"row_lengths": yes_or_no, "column_bits": short.column_bits}

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
    """ELLPACK: every row padded to the longest one; entry w of all rows lie side by side.

    Parameters
    ----------
    arg : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shape (m, n), or the parts
        The parts are ``(values, indices)`` or ``(values, indices, row_lengths)``: values and indices of shape
        (width, m), indices ascending in each row and then -1, where its padding begins; row_lengths of shape (m,).
        Indices of type uint8 or uint16 are short columns; where the columns of the matrix do not fit, bases come last,
        with None in the place of missing row_lengths; a dict of the parts by their names, as from `parts`,
        needs no None. Values are shared, the rest is copied.
    shape : tuple, optional
        Needed with the parts.
    dtype, copy, device, max_bytes
        As for `csr_array`.
    row_lengths : bool, default False
        Whether the length of every row is stored too (ELLPACK-R): 4 bytes a row, and kernels need not look for the
        padding.
    column_bits : {32, 16, 8}, default 32
        Bits of a column. Fewer make short columns, which count from a base that 32 neighbouring rows share for each of
        their entries.

    Raises
    ------
    ValueError, TypeError, MemoryError
        For parts that do not fit each other, columns that so few bits do not reach, more bytes than there are.

    Notes
    -----
    Bytes: ``width m (itemsize + 4)``, and ``4 m`` with row_lengths: one long row makes all of them long. With short
    columns the first 4 becomes 2 or 1, and ``4 width ceil(m / 32)`` come in addition where the matrix has more columns
    than the bits can count, 65535 or 255. Padding is never multiplied, so infinities in x stay where they belong.
    Products of two matrices are made as `csr_array`.

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
        "bases", "What the columns of each chunk count from, int32, zero-copy; None where they are no offsets."
    )
    indices = component(
        "indices", "Column of every entry, (width, m), int32 and -1 in the padding, or short; zero-copy."
    )
    row_lengths = component(
        "row_lengths", "Entries of every row, int32 (m,), zero-copy; None where they are not stored."
    )

    @property
    def width(self) -> int:
        """Entries for which every row has room."""
        return self._matrix.values.shape[0]
