"""The configuration-interaction hybrid: ELLPACK and compressed sparse rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._matrix.base import SparseArray
from .._matrix.convert import convert
from .._matrix.registry import COMMON
from .._matrix.summary import Summary
from .._places.arguments import SYMMETRIES, integer, symmetry_number
from .._places.backend import Place
from . import regions, short
from .mirrored import Mirrored
from .options import count

_LIMITS = {"boundary": "entries", "boundary_column": "column"}  # what each of them limits
_TOGETHER = 4  # of which widths are multiples where columns are short or one triangle leads
_MIRRORED = 4096  # columns that a GPU has room for, in sums of their mirror images
_SPARE = 1.02  # how many times the fewest bytes a boundary may take that is further to the left


class ellcsr_array(Mirrored, short.ShortColumns):
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

    format = "ellcsr"
    _structure = ("ell_indices", "csr_indices", "csr_indptr")
    _optional = ("ell_bases", "csr_bases", "symmetric_columns", "hermitian_columns")
    _two_dimensional = ("ell_indices",)
    _padded = True
    _options = {
        "boundary": count, "boundary_column": count, "column_bits": short.column_bits, "symmetry": symmetry_number,
    }  # fmt: skip

    @property
    def ell_indices(self) -> Any:
        """Column of every leading entry, (m, width), int32 and -1 in the padding, or short; zero-copy."""
        return self.parts()["ell_indices"]

    @property
    def csr_indices(self) -> Any:
        """Column of every other entry, int32 or uint16 (rest,), zero-copy."""
        return self.parts()["csr_indices"]

    @property
    def csr_indptr(self) -> Any:
        """Where the other entries of each row begin, int64 (m + 1,), zero-copy."""
        return self.parts()["csr_indptr"]

    @property
    def ell_bases(self) -> Any:
        """What the columns of each chunk of ell_indices count from, int32, zero-copy; None where it is 0 for all."""
        return self.parts().get("ell_bases")

    @property
    def csr_bases(self) -> Any:
        """What the columns of each chunk of csr_indices count from, int32, zero-copy; None where it is 0 for all."""
        return self.parts().get("csr_bases")

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
            return regions.report(csr, matrix._end_of_leading(csr), matrix.nbytes)
        column = integer(column, "report: column")
        if not 0 <= column <= n:
            raise ValueError(f"report: column={column}: expected 0 to {n}")
        return regions.report(csr, column, matrix.nbytes)

    def _end_of_leading(self, csr: Any) -> int:
        """Return the column behind the last one of an entry that leads; `csr` is this matrix in SciPy's csr."""
        if self._packed:
            return self._mirrored_columns()
        rest = np.diff(self._place.host(self._matrix.parts()["csr_indptr"]))
        last = csr.indptr[1:] - rest - 1  # of the entries of each row that lead
        return int(csr.indices[last[last >= csr.indptr[:-1]]].max(initial=-1)) + 1

    def _mirrored_columns(self) -> int:
        """Return before which column entries lead where they have mirror images."""
        part = self._matrix.parts()[f"{self.symmetry}_columns"]
        return int(self._place.host(part)[0])

    def _again(self, csr: SparseArray) -> SparseArray:
        mirror = self._mirror(csr)
        boundary = {"boundary_column": self._mirrored_columns()} if mirror else {}
        return self._laid_out_as(csr, self._layout() | mirror | boundary)

    def _forecast_of_copy(self, s: Summary) -> int:
        options = self._layout()
        if self._packed:
            options |= {"symmetry": self._matrix.symmetry, "boundary_column": self._mirrored_columns()}
        return type(self)._forecast(s, **options)

    @classmethod
    def _from_csr_beside(cls, s: Summary, place: Place, **options: int) -> int:
        moved = (s.itemsize + 4) * cls._places(s, **options) if options.get("symmetry") else 0  # in another order
        return super()._from_csr_beside(s, place, **options) + moved

    def _to_csr_beside(self, s: Summary) -> int:
        mirrored = 3 * (s.itemsize + 4) * self.nnz + 32 * (self._shape[0] + 1) if self._packed else 0
        return super()._to_csr_beside(s) + mirrored

    def _told(self) -> str:
        triangle = f"{self.symmetry} before column {self._mirrored_columns()}, " if self._packed else ""
        return f"{triangle}width {self.width}, {super()._told()}"

    @classmethod
    def _index_type(cls, name: str, shape: tuple[int, int], given: dict[str, Any]) -> np.dtype:
        if name == "csr_indices":
            return short.index_type(max(short.bits_of(given["ell_indices"]), 16))
        return super()._index_type(name, shape, given)

    @classmethod
    def _completed(cls, s: Summary, options: dict[str, int]) -> dict[str, int]:
        boundaries = {name: value for name, value in options.items() if name in _LIMITS}
        if len(boundaries) == 2:
            given = " and ".join(f"{name}={value}" for name, value in boundaries.items())
            raise ValueError(f"{cls.__name__}: {given}: expected one of them")
        if options.get("symmetry"):
            return cls._completed_mirror(s, options)
        if boundaries:
            return options
        width = s.shortest_row
        return options | {"boundary": width - width % _TOGETHER if options.get("column_bits", 32) < 32 else width}

    @classmethod
    def _completed_mirror(cls, s: Summary, options: dict[str, int]) -> dict[str, int]:
        which = f"{cls.__name__}: symmetry={SYMMETRIES[options['symmetry']]!r}"
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
            return cls._forecast(s, **options, boundary_column=column)

        most = min(n, _MIRRORED)
        best = min((most >> k for k in range(most.bit_length() + 1)), key=nbytes)
        near = {best, *range(best // 4, min(2 * best, most) + 1, max(1, best // 16))}
        enough = _SPARE * min(map(nbytes, near))
        return options | {"boundary_column": min(column for column in near if nbytes(column) <= enough)}

    @classmethod
    def _forecast(cls, s: Summary, **options: int) -> int:
        (m, n), bits = s.shape, options.get("column_bits", 32)
        width, rest = cls._shares(s, **options)
        before = cls._completed(s, options)["boundary_column"] if options.get("symmetry") else n
        columns = short.nbytes(bits, before, m, width) + short.nbytes(max(bits, 16), n, 1, rest)
        return (width * m + rest) * s.itemsize + columns + 8 * (m + 1) + 4 * bool(options.get("symmetry"))

    @classmethod
    def _shares(cls, s: Summary, **options: int) -> tuple[int, int]:
        """Return the width, and how many entries do not lead."""
        bits, options = options.get("column_bits", 32), cls._completed(s, options)
        limits = {_LIMITS[name]: value for name, value in options.items() if name in _LIMITS}
        if options.get("symmetry"):
            longest, leading = s.leading(**limits, lower=1)
            return longest + -longest % _TOGETHER, s.entries - 2 * leading
        width = limits["entries"] if "entries" in limits else s.leading(**limits)[0]
        if bits < 32:
            width += -width % _TOGETHER
        if short.has_bases(bits, s.shape[1]):
            limits["reach"] = short.reach(bits)
        rest = s.beyond(limits["entries"]) if [*limits] == ["entries"] else s.entries - s.leading(**limits)[1]
        return width, rest

    @classmethod
    def _places(cls, s: Summary, **options: int) -> int:
        width, rest = cls._shares(s, **options)
        return width * s.shape[0] + rest
