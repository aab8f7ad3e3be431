"""Sliced ELLPACK."""

from __future__ import annotations

from .._backends.backend import Backend
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary
from .._matrix.workspaces import sorting
from . import short
from .component import component
from .options import integer, yes_or_no

_HEIGHTS = 32, 16, 8  # of slices, from which one is chosen
_TOLERANCE = 1.02  # how many times the fewest bytes a higher one may take


class Sell(short.ShortColumns):
    """The layout of `sell_array`."""

    structure = ("indices", "slice_indptr")
    optional = ("row_order", "row_lengths", "bases")
    two_dimensional = ("values", "indices")
    padded = True
    options = {
        "slice_height": integer(1, 1024),
        "sigma": integer(1, 2**31 - 1),
        "row_lengths": yes_or_no,
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
        temporary = options.get("row_lengths", 0) + (options.get("sigma", 1) > 1)
        return positions * s.itemsize + columns + pointers + 4 * rows * temporary

    def from_csr_workspace(self, s: Summary, backend: Backend, **options: int) -> int:
        sorts = sorting(s.shape[0], s.itemsize, backend) if options.get("sigma", 1) > 1 else 0
        return max(sorts, super().from_csr_workspace(s, backend, **options))


class sell_array(SparseArray):
    """Sliced ELLPACK, SELL-C-sigma: slices of rows, each padded to its own longest row and stored as `ell_array`.

    Parameters
    ----------
    arg : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shape (m, n), or the parts
        The parts are ``(values, indices, slice_indptr)``, after which row_order, row_lengths and bases may come, or a
        dict of them, as from `parts`:
        values and indices of shape (places / slice_height, slice_height), indices ascending in each row of the matrix
        and then -1, where its padding begins; slice_indptr of shape (slices + 1,), where each slice begins, in
        elements; row_order of shape (m,), which row of the matrix each stored row is; row_lengths of the stored rows.
        Indices of type uint8 or uint16 are short columns; where the columns of the matrix do not fit, they need bases.
        In a tuple None stands for an array that is missing before another one. Values are shared, the rest is copied.
    shape : tuple, optional
        Needed with the parts.
    dtype, copy, device, max_bytes
        As for `csr_array`.
    slice_height : int, optional
        Rows of a slice, 1 to 1024; parts tell their own. By default the largest of 32, 16 and 8 with at most 2 % more
        bytes than the best of them. Matrices that are made of this one (`A.T.copy()`, `A + B`) choose it anew.
    sigma : int, default 1
        In each window of so many rows these are sorted by descending length, so that rows of one slice are about
        equally long; 1: rows stay in their order, as do those of matrices that are made of this one.
    row_lengths : bool, default False
        Whether the length of every row is stored too: 4 bytes a row, and kernels need not look for the padding.

    column_bits : {32, 16, 8}, default 32
        Bits of a column. Fewer make short columns, which count from a base that 32 neighbouring places share: in slices
        of 32 rows one entry of each.

    Raises
    ------
    ValueError, TypeError, MemoryError
        For parts that do not fit each other, columns that so few bits do not reach, more bytes than there are.

    Notes
    -----
    Bytes: ``places (itemsize + 4) + 8 (slices + 1)``, ``4 m`` for row_order where sigma > 1, and ``4 m`` with
    row_lengths. With short columns the 4 of a place becomes 2 or 1, and ``4 ceil(places / 32)`` come in addition where
    the matrix has more columns than the bits can count, 65535 or 255. Padding is never multiplied, so infinities in x
    do not spread. Products of two matrices are computed in csr.

    The slices are those of Monakov, Lokhmotov and Avetisyan (2010), the sorting that of Kreutzer, Hager, Wellein,
    Fehske and Bishop (2014).

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
        "bases", "What the columns of each chunk count from, int32, zero-copy; None where they are no offsets."
    )
    indices = component(
        "indices",
        "Column of every entry, slice_height elements a row, int32 and -1 in the padding, or short; zero-copy.",
    )
    slice_indptr = component("slice_indptr", "Where each slice starts, in elements, int64 (slices + 1), zero-copy.")
    row_order = component(
        "row_order",
        "Row of the matrix that is stored at each place, int32 (m,), zero-copy; None where they are in their order.",
    )
    row_lengths = component(
        "row_lengths", "Entries of every stored row, int32 (m,), zero-copy; None where they are not stored."
    )

    @property
    def slice_height(self) -> int:
        """Rows of a slice."""
        return self._matrix.values.shape[1]

    def kernels(self, operation: str = "matvec") -> list[str]:
        """Return the names of the kernels of an operation, the default first; cuSPARSE's takes no sorted rows."""
        names = super().kernels(operation)
        return names if "row_order" not in self._matrix.parts() else [name for name in names if name != "cusparse"]
