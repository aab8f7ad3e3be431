"""Sliced ELLPACK."""

from __future__ import annotations

from .._backends.backend import Backend
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary
from .._matrix.workspaces import sorting
from . import short
from .component import component
from .options import boolean, integer

_HEIGHTS = 32, 16, 8  # of slices, from which the default is selected
_TOLERANCE = 1.02  # higher slices are preferred within this factor of the fewest bytes


class Sell(short.ShortColumns):
    """The layout of `sell_array`."""

    structure = ("indices", "slice_indptr")
    optional = ("row_order", "row_lengths", "bases")
    two_dimensional = ("values", "indices")
    padded = True
    options = {
        "slice_height": integer(1, 1024),
        "sigma": integer(1, 2**31 - 1),
        "row_lengths": boolean,
        "column_bits": short.column_bits,
    }

    def layout(self, a: SparseArray) -> dict[str, int]:
        return super().layout(a) | {"row_lengths": int("row_lengths" in a._matrix.parts())}

    def description(self, a: SparseArray) -> str:
        return f"slices of {a.slice_height}, {super().description(a)}"

    def completed(self, s: Summary, options: dict[str, int]) -> dict[str, int]:
        if "slice_height" in options:
            return options
        nbytes = {height: self.nbytes(s, **options, slice_height=height) for height in _HEIGHTS}
        enough = _TOLERANCE * min(nbytes.values())
        return options | {"slice_height": next(height for height in _HEIGHTS if nbytes[height] <= enough)}

    def positions(self, s: Summary, **options: int) -> int:
        return s.positions_in_slices(self.completed(s, options)["slice_height"], options.get("sigma", 1))

    def nbytes(self, s: Summary, **options: int) -> int:
        (rows, cols), positions, options = s.shape, self.positions(s, **options), self.completed(s, options)
        columns = short.nbytes(options.get("column_bits", 32), cols, 1, positions)
        pointers = 8 * (-(-rows // options["slice_height"]) + 1)
        per_row = 4 * (options.get("row_lengths", 0) + (options.get("sigma", 1) > 1))
        return positions * s.itemsize + columns + pointers + rows * per_row

    def from_csr_workspace(self, s: Summary, backend: Backend, **options: int) -> int:
        sorts = sorting(s.shape[0], s.itemsize, backend) if options.get("sigma", 1) > 1 else 0
        return max(sorts, super().from_csr_workspace(s, backend, **options))


class sell_array(SparseArray):
    """Sliced ELLPACK, SELL-C-sigma: slices of rows, each padded to its own longest row and stored as `ell_array`.

    Parameters
    ----------
    arg : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shape (m, n), or component arrays
        The component arrays are ``(values, indices, slice_indptr[, row_order, row_lengths, bases])``, with None for
        missing optional ones: values and indices of shape (positions / slice_height, slice_height), where the indices
        of a row of the matrix ascend and are followed by -1 in the padding; slice_indptr of shape (slices + 1,), the
        start of each slice, counted in elements; row_order of shape (m,), the row of the matrix that each stored row
        is; row_lengths of shape (m,), in the order of the stored rows. Indices of type uint8 or uint16 are short
        columns, with bases if they cannot represent all columns of the matrix. Values are shared, the other arrays are
        copied.
    shape, dtype, copy, device, max_bytes
        As for `csr_array`; `shape` is required with component arrays.
    slice_height : int, optional
        Rows of a slice, 1 to 1024. The default is the largest of 32, 16 and 8 that needs at most 2 % more bytes than
        the best of them; component arrays determine it. Matrices derived from this one (`A.T.copy()`, `A + B`) choose
        their own.
    sigma : int, default 1
        Rows are sorted by descending length within windows of this many rows, so that the rows of a slice have similar
        lengths. With 1 rows are not sorted; those of derived matrices never are.
    row_lengths : bool, default False
        Whether the length of every row is stored too, in 4 bytes per row. Kernels then need not check for padding.
    column_bits : {32, 16, 8}, default 32
        Bits of a column index. 8 and 16 give short columns, which are relative to a base that 32 consecutive positions
        share: with slices of 32 rows, one entry of each row.

    Raises
    ------
    ValueError, TypeError, MemoryError
        For inconsistent component arrays, columns that are too far apart for `column_bits`, and matrices that do not
        fit into memory.

    Notes
    -----
    Bytes: ``positions (itemsize + 4) + 8 (slices + 1)``, where ``positions`` counts the stored elements and their
    padding; ``4 m`` more for row_order if ``sigma > 1``, and ``4 m`` with row_lengths. With short columns the 4 becomes
    2 or 1, plus ``4 ceil(positions / 32)`` if the matrix has more than 65535 or 255 columns. Padding is never
    multiplied, so that infinities in x do not spread. Products of two matrices are computed in csr.

    Slices as in Monakov, Lokhmotov and Avetisyan (2010); sorting as in Kreutzer, Hager, Wellein, Fehske and Bishop
    (2014).

    Examples
    --------
    >>> import diagsparse as ds
    >>> A = ds.sell_array(ds.gallery.arrow(1000))
    >>> A.slice_height, A.nbytes, ds.memory_report(A)["ell"]
    (8, 120816, 12000000)
    """

    _format = Sell("sell")
    column_bits = short.stored_bits
    bases = component(
        "bases",
        "The smallest column of each chunk of 32 consecutive positions, int32 (chunks,), to which short columns are "
        "relative. None for columns of 32 bits, and for matrices whose columns all fit into the short type.",
    )
    indices = component(
        "indices",
        "Column of every entry, shape (positions / slice_height, slice_height), in the same order as `values`. With "
        "32 bits it is int32, with -1 in the padding; short columns are uint8 or uint16, with the largest number of "
        "the type in the padding.",
    )
    slice_indptr = component(
        "slice_indptr",
        "The position in `values` at which each slice starts, int64 (slices + 1,). The last element is the number of "
        "positions, padding included.",
    )
    row_order = component(
        "row_order",
        "Row of the matrix that each stored row is, int32 (m,). None if rows are not sorted, that is, with sigma=1.",
    )
    row_lengths = component(
        "row_lengths",
        "Number of entries of every stored row, in the order of `row_order`, int32 (m,). None if not stored.",
    )

    @property
    def slice_height(self) -> int:
        """Number of rows of a slice, C in SELL-C-sigma; the last slice has as many, of which some may be padding."""
        return self._matrix.values.shape[1]

    def kernels(self, operation: str = "matvec") -> list[str]:
        """Return the names of the kernels of an operation, the default first; cuSPARSE does not support sorted rows."""
        names = super().kernels(operation)
        return names if "row_order" not in self._matrix.parts() else [name for name in names if name != "cusparse"]
