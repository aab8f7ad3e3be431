"""A hybrid format for configuration interaction: ELLPACK and compressed sparse rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._backends.arguments import SYMMETRIES, integer, symmetry_number
from .._backends.backend import Backend
from .._matrix.convert import convert
from .._matrix.registry import COMMON
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary
from . import packing, regions, short
from .component import component
from .mirrored import Mirrored
from .options import count

_LIMITS = {"boundary": "entries", "boundary_column": "column"}  # the limit of leading entries that each option sets
_WIDTH_MULTIPLE = 4  # widths are multiples of it with short columns or a symmetry
_MIRRORED = 4096  # columns for which a GPU can accumulate the sums of mirror images in shared memory
_TOLERANCE = 1.02  # a boundary further to the left is preferred within this factor of the fewest bytes


class Ellcsr(Mirrored, short.ShortColumns):
    """The layout of `ellcsr_array`."""

    structure = ("ell_indices", "csr_indices", "csr_indptr")
    optional = ("ell_bases", "csr_bases", "symmetric_columns", "hermitian_columns")
    two_dimensional = ("ell_indices",)
    padded = True
    options = {
        "boundary": count, "boundary_column": count, "column_bits": short.column_bits, "symmetry": symmetry_number,
    }  # fmt: skip

    def end_of_leading(self, a: SparseArray, csr: Any) -> int:
        """Return the end of the columns of leading entries; `csr` is this matrix as a SciPy csr."""
        if a._packed:
            return self.mirrored_columns(a)
        rest = np.diff(a._backend.host(a._matrix.parts()["csr_indptr"]))
        last = csr.indptr[1:] - rest - 1  # the last leading entry of each row
        return int(csr.indices[last[last >= csr.indptr[:-1]]].max(initial=-1)) + 1

    def mirrored_columns(self, a: SparseArray) -> int:
        """Return the column before which entries lead and represent their mirror images, too."""
        part = a._matrix.parts()[f"{a.symmetry}_columns"]
        return int(a._backend.host(part)[0])

    def rebuilt_from_csr(self, a: SparseArray, csr: SparseArray) -> SparseArray:
        mirror = self.mirror(a, csr)
        boundary = {"boundary_column": self.mirrored_columns(a)} if mirror else {}
        return self.from_csr_as(csr, self.layout(a) | mirror | boundary)

    def forecast_of_copy(self, a: SparseArray, s: Summary) -> int:
        options = self.layout(a)
        if a._packed:
            options |= {"symmetry": a._matrix.symmetry, "boundary_column": self.mirrored_columns(a)}
        return self.nbytes(s, **options)

    def from_csr_workspace(self, s: Summary, backend: Backend, **options: int) -> int:
        moved = (s.itemsize + 4) * self.positions(s, **options) if options.get("symmetry") else 0  # reordered
        return super().from_csr_workspace(s, backend, **options) + moved

    def to_csr_workspace(self, a: SparseArray, s: Summary) -> int:
        mirrored = 3 * (s.itemsize + 4) * a.nnz + 32 * (a._shape[0] + 1) if a._packed else 0
        return super().to_csr_workspace(a, s) + mirrored

    def description(self, a: SparseArray) -> str:
        triangle = f"{a.symmetry} before column {self.mirrored_columns(a)}, " if a._packed else ""
        return f"{triangle}width {a.width}, {super().description(a)}"

    def index_type(self, name: str, shape: tuple[int, int], given: dict[str, Any]) -> np.dtype:
        if name == "csr_indices":
            return short.index_type(max(short.bits_of(given["ell_indices"]), 16))
        return super().index_type(name, shape, given)

    def completed(self, s: Summary, options: dict[str, int]) -> dict[str, int]:
        boundaries = {name: value for name, value in options.items() if name in _LIMITS}
        if len(boundaries) == 2:
            given = " and ".join(f"{name}={value}" for name, value in boundaries.items())
            raise ValueError(f"{self.who}: {given}: expected one of them")
        if options.get("symmetry"):
            return self.completed_mirror(s, options)
        if boundaries:
            return options
        width = s.shortest_row
        return options | {"boundary": width - width % _WIDTH_MULTIPLE if options.get("column_bits", 32) < 32 else width}

    def completed_mirror(self, s: Summary, options: dict[str, int]) -> dict[str, int]:
        which = f"{self.who}: symmetry={SYMMETRIES[options['symmetry']]!r}"
        if "boundary" in options:
            raise ValueError(f"{which} and boundary={options['boundary']}: expected boundary_column")
        if options.get("column_bits") == 8:
            raise ValueError(f"{which} and column_bits=8: expected 16 or 32")
        n = s.shape[1]
        if s.shape[0] != n:
            raise ValueError(f"{which}: expected a square matrix, got {s.shape[0]} x {n}")
        if "boundary_column" in options:
            return options | {"boundary_column": min(n, options["boundary_column"])}

        def nbytes(column: int) -> int:
            return self.nbytes(s, **options, boundary_column=column)

        most = min(n, _MIRRORED)
        best = min((most >> k for k in range(most.bit_length() + 1)), key=nbytes)
        near = {best, *range(best // 4, min(2 * best, most) + 1, max(1, best // 16))}
        enough = _TOLERANCE * min(map(nbytes, near))
        return options | {"boundary_column": min(column for column in near if nbytes(column) <= enough)}

    def nbytes(self, s: Summary, **options: int) -> int:
        (m, n), bits = s.shape, options.get("column_bits", 32)
        width, rest = self.split(s, **options)
        before = self.completed(s, options)["boundary_column"] if options.get("symmetry") else n
        columns = short.nbytes(bits, before, m, width) + short.nbytes(max(bits, 16), n, 1, rest)
        return (width * m + rest) * s.itemsize + columns + 8 * (m + 1) + 4 * bool(options.get("symmetry"))

    def split(self, s: Summary, **options: int) -> tuple[int, int]:
        """Return the width, and the number of entries that do not lead."""
        bits, options = options.get("column_bits", 32), self.completed(s, options)
        limits = {_LIMITS[name]: value for name, value in options.items() if name in _LIMITS}
        if options.get("symmetry"):
            longest, leading = s.leading(**limits, lower=1)
            return longest + -longest % _WIDTH_MULTIPLE, s.entries - 2 * leading
        width = limits["entries"] if "entries" in limits else s.leading(**limits)[0]
        if bits < 32:
            width += -width % _WIDTH_MULTIPLE
        if short.has_bases(bits, s.shape[1]):
            limits["reach"] = short.reach(bits)
        rest = s.beyond(limits["entries"]) if [*limits] == ["entries"] else s.entries - s.leading(**limits)[1]
        return width, rest

    def positions(self, s: Summary, **options: int) -> int:
        width, rest = self.split(s, **options)
        return width * s.shape[0] + rest


class ellcsr_array(SparseArray):
    """The leading entries of each row in ELLPACK, stored by rows, and the remaining entries in csr.

    Parameters
    ----------
    arg : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shape (m, n), or component arrays
        The component arrays are ``(values, ell_indices, csr_indices, csr_indptr)``: ell_indices of shape (m, width),
        ascending in each row (in any order with a symmetry) and followed by -1 in the padding; csr_indices of shape
        (rest,) and csr_indptr of shape (m + 1,), for the entries of each row after those of ell_indices; values of
        shape (m width + rest,), first those of ell_indices, row by row. Index arrays of type uint8 or uint16 are short
        columns; if they cannot represent all columns of the matrix, ell_bases and csr_bases follow. With a symmetry,
        symmetric_columns or hermitian_columns, of shape (1,), is the last array, with None for missing arrays before
        it. A dict of the arrays, as from `parts`, needs no None. Values are shared, the other arrays are copied.
    shape, dtype, copy, device, max_bytes
        As for `csr_array`; `shape` is required with component arrays.
    boundary : int, optional
        The number of leading entries of each row (algorithm 6 of the paper).
    boundary_column : int, optional
        The column before which entries are leading (as in the paper's text); the maximum of a row is the width. Pass at
        most one of the two. By default the boundary is the length of the shortest row, so that there is no padding.
        Matrices derived from this one (`A.T.copy()`, `A + B`) choose their own boundary.
    column_bits : {32, 16, 8}, default 32
        Bits of a column index. 16 and 8 give short columns, which are relative to a base that 32 adjacent positions
        share; with 8, the remaining entries have 16 bits. If leading entries of a row are too far apart, the remaining
        part of the row starts there.
    symmetry : {None, "symmetric", "hermitian"}, optional
        For matrices with this symmetry: only entries below the diagonal and before `boundary_column` are leading, and
        each of them also represents its mirror image. The diagonal, and the rows and columns from `boundary_column` on,
        are stored in csr. By default several boundaries up to 4096 are compared, and the smallest one within 2 % of the
        fewest bytes is used. Columns have 32 or 16 bits.

    Raises
    ------
    ValueError, TypeError, MemoryError
        For both boundaries, inconsistent component arrays, remaining columns that are too far apart for 16 bits, values
        without the symmetry, and matrices that do not fit into memory.

    Notes
    -----
    Bytes: ``(width m + rest) (itemsize + 4) + 8 (m + 1)``. With short columns the width is rounded up to a multiple of
    4, and the 4 bytes of a column become 2, or 1 for leading entries with 8 bits. Bases have 4 bytes: there are
    ``m ceil(width / 32)`` of them for leading entries if the matrix has more columns than the bits can represent, and
    ``ceil(rest / 32)`` if it has more than 65535. With a symmetry the width is a multiple of 4 as well, and there are 4
    additional bytes. Products of two matrices are computed in csr.

    Mahmoud, Hoffmann and Reza (2018), for matrices of configuration interaction, with a dense reference region on the
    left and few entries elsewhere.

    Examples
    --------
    >>> import diagsparse as ds
    >>> A = ds.ellcsr_array(ds.gallery.arrow(1000), boundary_column=1)
    >>> A.width, A.csr_indices.size
    (1, 1998)
    """

    _format = Ellcsr("ellcsr")
    symmetry = property(packing.symmetry)
    column_bits = short.stored_bits
    ell_indices = component(
        "ell_indices", "Column of every leading entry, (m, width), int32 and -1 in the padding, or short."
    )
    csr_indices = component("csr_indices", "Column of every other entry, int32 or uint16 (rest,).")
    csr_indptr = component("csr_indptr", "Start of the other entries of each row, int64 (m + 1,).")
    ell_bases = component(
        "ell_bases", "Base of the columns of each chunk of ell_indices, int32; None if columns are absolute."
    )
    csr_bases = component(
        "csr_bases", "Base of the columns of each chunk of csr_indices, int32; None if columns are absolute."
    )

    @property
    def width(self) -> int:
        """Number of leading entries of a row, including padding."""
        return self._matrix.parts()["ell_indices"].shape[1]

    def report(self, column: int | None = None) -> regions.RegionReport:
        """Return the number of entries, the longest row and the sparsity of the reference and the expansion region.

        Parameters
        ----------
        column : int, optional
            The end of the columns of the reference region, 0 to n. By default it is the end of the columns of leading
            entries, and with a symmetry `boundary_column`.

        Returns
        -------
        RegionReport
            It has the regions ``reference``, ``expansion`` and ``whole``, each with ``nonzeros``, ``longest`` and
            ``longest_row`` (the length and the number of its longest row), ``sparsity``, ``row_lengths``, and the
            columns from ``first`` to ``end``. `str()` gives a table, ``to_dict()`` plain values. For a transposed view,
            the regions are those of the copy ``A.T.copy()``, which chooses its own boundary.

        Raises
        ------
        ValueError, TypeError
            If `column` is not an integer from 0 to n.

        Notes
        -----
        The cost is O(nnz) time, and up to twice the bytes of the matrix in csr, on the host.

        Examples
        --------
        >>> import diagsparse as ds
        >>> A = ds.ellcsr_array(ds.gallery.ci_matrix(1000, seed=0), boundary=20)
        >>> report = A.report()
        >>> report.reference.nonzeros, report.reference.end, report.expansion.longest
        (20000, 100, 19)
        >>> round(report.reference.sparsity, 3), round(report.expansion.sparsity, 3)
        (0.8, 0.99)
        """
        matrix: Any = self.copy() if self._op & 1 else self
        csr, n = convert(matrix, COMMON).to("cpu").to_scipy(), matrix.shape[1]
        if column is None:
            return regions.report(csr, matrix._format.end_of_leading(matrix, csr), matrix.nbytes)
        column = integer(column, "report: column")
        if not 0 <= column <= n:
            raise ValueError(f"report: column={column}: expected 0 to {n}")
        return regions.report(csr, column, matrix.nbytes)
