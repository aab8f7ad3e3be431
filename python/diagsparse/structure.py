"""The structure of a matrix: diagonals, bands, rows, bandwidth, 8 x 8 blocks, symmetry, and bytes in each format."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._formats import bands, unimplemented
from ._formats.hm import hm_array
from ._formats.packing import common_period
from ._matrix.base import is_from_scipy
from ._matrix.convert import convert, in_rows
from ._matrix.operands import as_matrix
from ._matrix.reordering import as_sparse_array, count_blocks, cuthill_mckee, permuted_indices
from ._matrix.sparse_array import SparseArray
from ._matrix.summary import BLOCK
from ._products.forecasts import memory_report
from ._show import display, structure_report

_REPEATS = 4  #: times the bytes of csr: if the diagonals need more, no period is looked for
_CELLS = 64  #: cells along the longer side of the picture of the entries


@dataclass(frozen=True, eq=False)
class Structure:
    """The result of `analyze`: `str()` returns a report, `to_dict()` plain values, and `plot` saves a picture.

    Attributes
    ----------
    shape : (int, int)
        The shape of the matrix, (m, n).
    dtype : numpy.dtype
        Of the matrix as it was given.
    nnz : int
        The number of stored entries, including explicit zeros. Duplicates count once.
    offsets : array of int64, shape (D,)
        The occupied diagonals, as column - row, ascending.
    counts : array of int64, shape (D,)
        The number of entries on each of them.
    fill : array of float64, shape (D,)
        The same divided by the length of the diagonal.
    half_full : int
        The number of diagonals of which at least half of the elements are stored.
    half_full_fraction : float
        The entries on these diagonals divided by all entries.
    constant_diagonals : int
        The number of full diagonals whose elements are all equal.
    period : int or None
        The number of rows after which all diagonals repeat: 1 for a Toeplitz matrix, or one without entries. None if
        there is no period, or if the diagonals would need more than four times the bytes of the matrix.
    bands : BandProperties
        The bands as defined by Vooturi and Kothapalli (2016): `nnz_percentage`, `band_percentage`, `band_occupancy`,
        `band_count`, `diagonal_count` and `band_spread`.
    row_lengths : array of int64, shape (k, 2)
        The numbers of entries that rows have, ascending, and how many rows have each of them.
    row_min, row_max, row_mean : int, int, float
        The smallest, largest and mean number of entries in a row.
    bandwidth : int
        The largest distance of an entry from the main diagonal.
    bandwidth_rcm : int or None
        The same after reverse Cuthill-McKee ordering; None if the matrix is not square, and with ``rcm=False``.
    blocks : int
        The number of 8 x 8 blocks that have entries.
    blocks_rcm : int or None
        The same after reverse Cuthill-McKee ordering; None as for `bandwidth_rcm`.
    block_fill : float
        The entries divided by the elements of these blocks, ``64 blocks``.
    symmetry : str
        Of the values: ``"symmetric"``, ``"hermitian"``, ``"skew-symmetric"`` or ``"none"``.
    nbytes : dict
        The bytes in each format, as from `memory_report`; None for formats that do not support the matrix.
    cells : array of int64
        The number of entries in each cell of a grid over the matrix, of the same aspect ratio and at most 64 cells
        along the longer side.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    nnz: int
    offsets: NDArray[np.int64]
    counts: NDArray[np.int64]
    fill: NDArray[np.float64]
    half_full: int
    half_full_fraction: float
    constant_diagonals: int
    period: int | None
    bands: bands.BandProperties
    row_lengths: NDArray[np.int64]
    row_min: int
    row_max: int
    row_mean: float
    bandwidth: int
    bandwidth_rcm: int | None
    blocks: int
    blocks_rcm: int | None
    block_fill: float
    symmetry: str
    nbytes: dict[str, int | None]
    cells: NDArray[np.int64]
    _unimplemented: unimplemented.UnimplementedFormats  # counts for the next two properties, at the first use

    @property
    def bitmap_blocks(self) -> dict[int, unimplemented.BitmapBlocks]:
        """Number, fill and bytes of bitmap blocks of 4 x 4, 8 x 8 and 16 x 16; computed at the first use."""
        return self._unimplemented.bitmap_blocks

    @property
    def other_formats(self) -> dict[str, unimplemented.OtherFormat | None]:
        """What bsr, bcsd, msr and vbr would store, which are not implemented; computed at the first use."""
        return self._unimplemented.others

    @property
    def toeplitz(self) -> bool:
        """Whether all elements of each diagonal are equal."""
        return self.period == 1

    def row_quantile(self, q: float) -> int:
        """Return the number of entries that a fraction `q` of the rows does not exceed; 0.5 gives the median."""
        lengths, rows = self.row_lengths.T
        if not rows.sum():
            return 0
        return int(lengths[np.searchsorted(np.cumsum(rows), q * rows.sum())])

    @property
    def density(self) -> float:
        """Stored entries / all entries."""
        return self.nnz / max(1, self.shape[0] * self.shape[1])

    def to_dict(self) -> dict[str, Any]:
        """Return all fields, including the properties of the bands, and the density as plain values, ready for JSON."""
        names = [field.name for field in fields(self) if field.name not in ("cells", "_unimplemented")]
        values = {name: getattr(self, name) for name in names}
        values |= asdict(values.pop("bands")) | {"bytes": values.pop("nbytes")}
        values["bitmap_blocks"] = {size: asdict(one) for size, one in self.bitmap_blocks.items()}
        values["other_formats"] = {name: one and asdict(one) for name, one in self.other_formats.items()}
        plain = {name: v.tolist() if isinstance(v, np.ndarray) else v for name, v in values.items()}
        return plain | {
            "shape": list(self.shape),
            "dtype": str(self.dtype),
            "density": self.density,
            "toeplitz": self.toeplitz,
        }

    def describe(self, name: str = "matrix") -> str:
        """Return the report as aligned lines, the first of which starts with `name`."""
        lines = structure_report.lines(self, name)
        width = max(len(label) for label, _ in lines) + 3
        return "\n".join(f"{label:{width}}{line}" for label, line in lines)

    def __str__(self) -> str:
        return self.describe()

    def __repr__(self) -> str:
        m, n = self.shape
        return f"<structure of a matrix {m} x {n} {self.dtype}: {self.nnz} nonzeros, {display.diagonals(self.offsets)}>"

    def _repr_html_(self) -> str:
        return structure_report.html(self)

    def plot(self, path: str | Path) -> Path:
        """Save a picture (`.png`, `.svg`, ...) and return its path; needs matplotlib.

        It shows the positions of the entries, how full each diagonal is, and the distribution of the row lengths.
        """
        from .plot import plot_structure

        return plot_structure(self, path)


def analyze(A: Any, *, rcm: bool = True) -> Structure:
    """Report the structure of a matrix.

    Parameters
    ----------
    A : SparseArray on any device, SciPy sparse array or matrix, or dense array, shape (m, n)
        Any dtype. Duplicates are summed in a copy. Explicit zeros count as entries in formats by rows, columns or
        coordinates, but not in formats by diagonals. Symmetry is tested by comparing values exactly, so NaN differs
        from itself, and explicit zeros do not matter. A matrix that is both symmetric and Hermitian counts as
        symmetric. Integers and bools are compared as floats.
    rcm : bool
        Also compute the bandwidth and the number of blocks after reverse Cuthill-McKee ordering of the pattern of
        A + A.T, for square matrices. This takes about as long as the rest of the report.

    Returns
    -------
    Structure
        The report. Its bands are those of Vooturi and Kothapalli (2016): a band starts at a diagonal with more entries
        than half the number of rows, and grows as long as at least 40 % of it is full. ``other_formats`` is what BSR,
        BCSD, MSR and VBR would store, which are not implemented.

    Raises
    ------
    TypeError
        If A is not a matrix of numbers.
    ValueError
        If A is not 2-D, or has 2^31 or more rows or columns.
    MemoryError
        If A is packed and does not fit in memory in full. The message states the number of bytes.

    Notes
    -----
    Except for reverse Cuthill-McKee, the report needs O(nnz + m + n) time and memory in addition to the matrix in csr.
    ``other_formats`` and ``bitmap_blocks`` are computed when they are first used, which includes printing the report.
    Until then the report holds a reference to the matrix in csr. Computing them needs 8 bytes per entry, or 4 per row
    and column if this is more, and raises MemoryError if this memory is not available.

    Examples
    --------
    >>> import diagsparse as ds
    >>> print(ds.analyze(ds.gallery.stencil(5, (30, 40))))
    matrix      1200 x 1200   float64   5860 nonzeros   0.41 % full
    diagonals   5 occupied, from -40 to 40; 5 at least half full, with 100.0 % of the nonzeros; 3 constant
    bands       3 with 5 diagonals, 99.0 % full, with 100.0 % of the nonzeros; spread 13.3 %
    rows        3 to 5 nonzeros, mean 4.88, median 5    bandwidth 40, after reverse Cuthill-McKee 31
    blocks      8 x 8, 13.5 % full                      680 occupied, after reverse Cuthill-McKee 728
    bitmaps     1420 of 4 x 4 (69.2 KB), 680 of 8 x 8 (61.7 KB), 485 of 16 x 16 (68.8 KB)
    values      symmetric; every diagonal repeats after 40 rows
    bytes       hm 47.4 KB, mdia 48.0 KB, cdm 48.0 KB, dia 48.0 KB, csr 79.9 KB (17 formats in all)
    others      bsr 2 x 2 109 KB, bcsd 32 rows 49.2 KB, msr 70.3 KB, vbr 136 KB (not implemented)
    """
    A = A if isinstance(A, SparseArray) or is_from_scipy(A) else as_matrix(A, "analyze")
    given = as_sparse_array(A, "analyze")
    matrix = in_rows(given, "analyze")
    s, (m, n) = matrix._summary(), matrix.shape
    lengths = bands.lengths((m, n), s.offsets)
    fill, row_lengths = s.fill / lengths, s.row_lengths
    half_full = fill >= 0.5
    host = matrix.to("cpu")
    host = host.copy() if host._op else host
    entries = host.to_scipy()
    rows = np.repeat(np.arange(m, dtype=entries.indices.dtype), np.diff(entries.indptr))
    positions = permuted_indices(entries, cuthill_mckee(entries)) if rcm and m == n else None
    return Structure(
        shape=(m, n),
        dtype=A.dtype,
        nnz=s.entries,
        offsets=s.offsets,
        counts=s.fill,
        fill=fill,
        half_full=int(half_full.sum()),
        half_full_fraction=float(s.fill[half_full].sum() / max(1, s.entries)),
        constant_diagonals=int((_same_values(entries, rows, s.offsets) & (s.fill == lengths)).sum()),
        bands=bands.properties((m, n), s.offsets, s.fill, bands.by_occupancy(m, s.offsets, s.fill)),
        period=_period(matrix),
        row_lengths=row_lengths,
        row_min=int(row_lengths[0, 0]) if len(row_lengths) else 0,
        row_max=s.longest_row,
        row_mean=s.entries / max(1, m),
        bandwidth=int(abs(s.offsets).max(initial=0)),
        bandwidth_rcm=None if positions is None else int(abs(positions[0] - positions[1]).max(initial=0)),
        blocks=s.blocks(),
        blocks_rcm=None if positions is None else count_blocks(*positions),
        block_fill=s.entries / max(1, s.blocks() * BLOCK**2),
        symmetry=s.symmetry or "none",
        nbytes=memory_report(given),
        cells=_in_cells(entries),
        _unimplemented=unimplemented.UnimplementedFormats(host),
    )


def _period(matrix: SparseArray) -> int | None:
    """Return the rows after which all diagonals repeat; None if there is no period, or the test would cost too much."""
    if hm_array._format.nbytes(matrix._summary()) > _REPEATS * max(1, matrix.nbytes):
        return None
    full = convert(matrix, "hm")
    assert isinstance(full, hm_array)
    return common_period(full)


def _in_cells(csr: Any) -> NDArray[np.int64]:
    """Count the entries of a SciPy csr in the cells of a grid of the same aspect ratio, at most `_CELLS` a side."""
    side = max(*csr.shape, 1)
    rows, columns = (min(n, max(1, round(n * min(_CELLS, side) / side))) for n in csr.shape)
    i = np.repeat(np.arange(csr.shape[0], dtype=np.int64) * rows // max(1, csr.shape[0]), np.diff(csr.indptr))
    at = i * columns + csr.indices.astype(np.int64) * columns // max(1, csr.shape[1])
    return np.bincount(at, minlength=rows * columns).reshape(rows, columns)


def _same_values(csr: Any, rows: NDArray[Any], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return for each occupied diagonal whether all of its entries are equal."""
    if csr.nnz == 0:
        return np.zeros(0, bool)
    first, span = int(offsets[0]), int(offsets[-1]) - int(offsets[0]) + 1
    if span <= 8 * csr.nnz:  # a table of all offsets from the first to the last
        at = np.zeros(span, np.intp)
        at[offsets - first] = np.arange(len(offsets))
        diagonal = at[csr.indices.astype(np.int64) - rows - first]
    else:  # such a table would be long compared with the entries
        diagonal = np.searchsorted(offsets, csr.indices.astype(np.int64) - rows)
    value = np.empty(len(offsets), csr.dtype)
    value[diagonal] = csr.data  # any one of the diagonal's values
    same: NDArray[np.bool_] = np.bincount(diagonal[csr.data != value[diagonal]], minlength=len(offsets)) == 0
    return same
