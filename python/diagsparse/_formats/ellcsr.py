"""The configuration-interaction hybrid: ELLPACK and compressed sparse rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._backends.arguments import SYMMETRIES, integer, symmetry_number
from .._backends.backend import Backend
from .._matrix.convert import convert
from .._matrix.registry import COMMON
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary
from . import mirrored, regions, short
from .component import component
from .options import count

_LIMITS = {"boundary": "entries", "boundary_column": "column"}  # what each of them limits
_WIDTH_MULTIPLE = 4  # of which widths are multiples where columns are short or one triangle leads
_MIRRORED = 4096  # columns that a GPU has room for, in sums of their mirror images
_TOLERANCE = 1.02  # how many times the fewest bytes a boundary may take that is further to the left


class Ellcsr(mirrored.Mirrored, short.ShortColumns):
    """The layout of `ellcsr_array`."""

    structure = ("ell_indices", "csr_indices", "csr_indptr")
    optional = ("ell_bases", "csr_bases", "symmetric_columns", "hermitian_columns")
    two_dimensional = ("ell_indices",)
    padded = True
    options = {
        "boundary": count, "boundary_column": count, "column_bits": short.column_bits, "symmetry": symmetry_number,
    }  # fmt: skip

    def end_of_leading(self, a: SparseArray, csr: Any) -> int:
        """Return the column behind the last one of an entry that leads; `csr` is this matrix in SciPy's csr."""
        if a._packed:
            return self.mirrored_columns(a)
        rest = np.diff(a._backend.host(a._matrix.parts()["csr_indptr"]))
        last = csr.indptr[1:] - rest - 1  # of the entries of each row that lead
        return int(csr.indices[last[last >= csr.indptr[:-1]]].max(initial=-1)) + 1

    def mirrored_columns(self, a: SparseArray) -> int:
        """Return before which column entries lead where they have mirror images."""
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
        moved = (s.itemsize + 4) * self.positions(s, **options) if options.get("symmetry") else 0  # in another order
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
            raise ValueError(f"{which}: one triangle is stored of square matrices, got {s.shape[0]} x {n}")
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
        """Return the width, and how many entries do not lead."""
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
    """The leading entries of each row side by side, row after row, the rest of it as in csr.

    Parameters
    ----------
    arg : sparse matrix (ours, SciPy's or CuPy's), dense 2-D array, shape (m, n), or the parts
        The parts are ``(values, ell_indices, csr_indices, csr_indptr)``: ell_indices of shape (m, width), ascending in
        each row (in any order where one triangle leads) and then -1, where its padding begins; csr_indices of shape
        (rest,) and csr_indptr of shape (m + 1,), columns that go on where those of ell_indices end; values of shape (m
        width + rest,), first those of ell_indices, row by row. Index arrays of type uint8 or uint16 are short columns,
        and ell_bases and csr_bases come after the other parts where the columns of the matrix do not fit.
        symmetric_columns or hermitian_columns, of shape (1,), comes last where one triangle leads; None stands for
        parts that are missing before it. A dict of the parts by their names, as from `parts`, needs no None. Values are
        shared, the rest is copied.
    shape : tuple, optional
        Needed with the parts.
    dtype, copy, device, max_bytes
        As for `csr_array`.
    boundary : int, optional
        How many entries of each row lead (algorithm 6 of the paper).
    boundary_column : int, optional
        The column before which entries lead (as the paper's text has it); the row with most of them makes the width.
        Give one of both at most. By default the boundary is the length of the shortest row: as much as fits without
        padding. Matrices that are made of this one (`A.T.copy()`, `A + B`) choose it anew.
    column_bits : {32, 16, 8}, default 32
        Bits of a column. Fewer make short columns, which count from a base that 32 neighbouring places share: of 16
        bits, or of 8 for the entries that lead and 16 for the rest. Where a row's leading entries lie too far apart for
        that, the rest of the row takes over.
    symmetry : {None, "symmetric", "hermitian"}, optional
        Of a matrix that is so: only the entries below the diagonal and before `boundary_column` lead, and each of them
        stands for its mirror image too. The diagonal and the rows and columns from there on are the rest. By default
        some boundaries up to 4096 are tried, and the first one is taken that comes with at most 2 % more bytes than the
        best of them. Columns have 32 or 16 bits.

    Raises
    ------
    ValueError, TypeError, MemoryError
        For both boundaries, parts that do not fit each other, columns of the rest that 16 bits do not reach, values
        without the symmetry, more bytes than there are.

    Notes
    -----
    Bytes: ``(width m + rest) (itemsize + 4) + 8 (m + 1)``. With short columns the width is rounded up to a multiple of
    4, and the 4 become 2, or 1 for what leads, and 4 for each base: ``m ceil(width / 32)`` of what leads where the
    matrix has more columns than the bits can count, and ``ceil(rest / 32)`` where it has more than 65535. With a
    symmetry the width is a multiple of 4 too, and there are 4 bytes more. Products of two matrices are made as
    `csr_array`.

    Mahmoud, Hoffmann and Reza (2018), for matrices of configuration interaction: a dense reference region on the left,
    few entries in the rest.

    Examples
    --------
    >>> import diagsparse as ds
    >>> A = ds.ellcsr_array(ds.gallery.arrow(1000), boundary_column=1)
    >>> A.width, A.csr_indices.size
    (1, 1998)
    """

    _format = Ellcsr("ellcsr")
    symmetry = mirrored.symmetry
    unpacked = mirrored.unpacked
    column_bits = short.stored_bits
    ell_indices = component(
        "ell_indices", "Column of every leading entry, (m, width), int32 and -1 in the padding, or short; zero-copy."
    )
    csr_indices = component("csr_indices", "Column of every other entry, int32 or uint16 (rest,), zero-copy.")
    csr_indptr = component("csr_indptr", "Where the other entries of each row begin, int64 (m + 1,), zero-copy.")
    ell_bases = component(
        "ell_bases",
        "What the columns of each chunk of ell_indices count from, int32, zero-copy; None where it is 0 for all.",
    )
    csr_bases = component(
        "csr_bases",
        "What the columns of each chunk of csr_indices count from, int32, zero-copy; None where it is 0 for all.",
    )

    @property
    def width(self) -> int:
        """Leading entries for which every row has room."""
        return self._matrix.parts()["ell_indices"].shape[1]

    def report(self, column: int | None = None) -> regions.RegionReport:
        """Return how many entries the reference and the expansion region have, their longest rows and their sparsity.

        Parameters
        ----------
        column : int, optional
            The reference region is the columns before this one, 0 to n. By default it ends behind the last column of an
            entry that leads, and with a symmetry at `boundary_column`.

        Returns
        -------
        RegionReport
            ``reference``, ``expansion`` and ``whole``: each has ``nonzeros``, ``longest`` and ``longest_row``, the
            length and the number of its longest row, ``sparsity``, ``row_lengths``, and the columns from ``first`` to
            ``end``. A table by `str()`, plain values by ``to_dict()``. Of a transposed view the regions are those of a
            copy, ``A.T.copy()``, which chooses its boundary anew.

        Raises
        ------
        ValueError, TypeError
            For a column that is no whole number from 0 to n.

        Notes
        -----
        Takes O(nnz) time, and up to twice the bytes of the matrix in csr, on the host.

        Examples
        --------
        >>> import diagsparse as ds
        >>> A = ds.ellcsr_array(ds.gallery.ci_matrix(1000, seed=0), boundary=20)
        >>> found = A.report()
        >>> found.reference.nonzeros, found.reference.end, found.expansion.longest
        (20000, 100, 19)
        >>> round(found.reference.sparsity, 3), round(found.expansion.sparsity, 3)
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
