"""What a matrix looks like: diagonals, bands, rows, bandwidth, 8 x 8 blocks, symmetry; an order with fewer blocks."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee

from ._formats import bands
from ._matrix.base import SparseArray
from ._matrix.convert import convert
from ._matrix.registry import COMMON, FORMATS
from ._matrix.summary import BLOCK


@dataclass(frozen=True, eq=False)
class Structure:
    """Report of `analyze_structure`: five lines by `str()`, plain numbers, strings and lists by `to_dict()`."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    nnz: int  # stored entries, explicit zeros among them, duplicates summed
    offsets: NDArray[np.int64]  # (D,) of the occupied diagonals, column - row, ascending
    counts: NDArray[np.int64]  # (D,) entries on each
    filled: NDArray[np.float64]  # (D,) entries / length of the diagonal
    half_full: int  # diagonals that are at least half full
    half_full_share: float  # of the entries that lie on them
    constant: int  # diagonals that are full and hold one value
    bands: bands.BandProperties  # of the bands that the rule of the quasi-band paper finds
    row_min: int  # entries in a row
    row_max: int
    row_mean: float
    bandwidth: int  # largest |offset|
    bandwidth_rcm: int | None  # the same after reverse Cuthill-McKee; None: not square, or not asked for
    blocks: int  # occupied 8 x 8 blocks
    blocks_rcm: int | None  # the same after reverse Cuthill-McKee, as above
    block_fill: float  # entries / (64 blocks)
    symmetry: str  # of the values: "symmetric", "hermitian", "skew-symmetric" or "none"

    @property
    def density(self) -> float:
        """Stored entries / all entries."""
        return self.nnz / max(1, self.shape[0] * self.shape[1])

    def to_dict(self) -> dict[str, Any]:
        """All fields, the properties of the bands among them, and the density, ready for JSON."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values |= asdict(values.pop("bands"))
        plain = {name: v.tolist() if isinstance(v, np.ndarray) else v for name, v in values.items()}
        return plain | {"shape": list(self.shape), "dtype": str(self.dtype), "density": self.density}

    def describe(self, name: str = "matrix") -> str:
        """Five aligned lines, the first one headed by `name`."""
        d = len(self.offsets)
        size = f"{self.shape[0]} x {self.shape[1]}   {self.dtype}   {self.nnz} nonzeros"
        span = f", from {self.offsets[0]} to {self.offsets[-1]}" if d else ""
        share = f"{self.half_full} at least half full hold {_percent(self.half_full_share)} of the nonzeros"
        rows = f"{self.row_min} to {self.row_max} nonzeros, mean {self.row_mean:.2f}"
        bandwidth = f"bandwidth {self.bandwidth}{_after(self.bandwidth_rcm)}"
        blocks = f"{BLOCK} x {BLOCK}, {_percent(self.block_fill)} full"
        occupied = f"occupied {self.blocks}{_after(self.blocks_rcm)}"
        width = max(len(rows), len(blocks)) + 4
        lines = (
            (name, f"{size}   {_percent(self.density)} full"),
            ("diagonals", f"{d} occupied{span}; {share}; {self.constant} constant"),
            ("bands", self._bands()),
            ("rows", f"{rows:{width}}{bandwidth}"),
            ("blocks", f"{blocks:{width}}{occupied}   symmetry {self.symmetry}"),
        )
        return "\n".join(f"{label:{max(len(name), 9) + 3}}{line}" for label, line in lines)

    __str__ = describe

    def _bands(self) -> str:
        b = self.bands
        told = f"{b.band_count} with {b.diagonal_count} diagonals, {_percent(b.band_occupancy / 100)} full, hold"
        spread, places = _percent(b.band_spread / 100), _percent(b.nnz_percentage / 100)
        return f"{told} {_percent(b.band_percentage / 100)} of the nonzeros; spread {spread}; {places} of all places"


def analyze_structure(A: Any, *, rcm: bool = True) -> Structure:
    """Report the structure of a matrix of shape (m, n), SciPy's or one of ours on any device.

    Parameters
    ----------
    A : SciPy sparse array or matrix, 2-D, of any dtype; or SparseArray
        Duplicates are summed (in a copy); explicit zeros count as entries, except for symmetry, which compares values
        exactly (NaN differs from itself).  One that is symmetric and hermitian is called "symmetric".  Zeros in a
        format by diagonals are no entries.  Values that are neither floats nor complex are compared as floats.
    rcm : bool
        Find the bandwidth and the blocks after reverse Cuthill-McKee ordering of the pattern of A + A.T (square
        matrices).  This takes several times as long as all the rest.

    Returns
    -------
    Structure
        Found in O(nnz + m + n) time and memory beside the matrix in csr, but for reverse Cuthill-McKee.  Its bands are
        those of Vooturi and Kothapalli (2016): they begin at diagonals with more entries than half of the rows, and
        grow while they are full to 40 %.

    Raises
    ------
    TypeError
        If A is neither a SciPy sparse object nor a SparseArray.
    ValueError
        If A is not 2-D, or has 2^31 rows or columns.

    Examples
    --------
    >>> from diagsparse import gallery
    >>> from diagsparse.structure import analyze_structure
    >>> print(analyze_structure(gallery.stencil(5, (30, 40))))
    matrix      1200 x 1200   float64   5860 nonzeros   0.41 % full
    diagonals   5 occupied, from -40 to 40; 5 at least half full hold 100.0 % of the nonzeros; 3 constant
    bands       3 with 5 diagonals, 99.0 % full, hold 100.0 % of the nonzeros; spread 13.3 %; 0.41 % of all places
    rows        3 to 5 nonzeros, mean 4.88    bandwidth 40, after reverse Cuthill-McKee 31
    blocks      8 x 8, 13.5 % full            occupied 680, after reverse Cuthill-McKee 728   symmetry symmetric
    """
    matrix, given = _as_csr(A, "analyze_structure")
    s, (m, n) = matrix._summary(), matrix.shape
    lengths = bands.lengths((m, n), s.offsets)
    filled, found = s.fill / lengths, s.row_lengths
    half_full = filled >= 0.5
    entries = matrix.to("cpu").to_scipy()
    rows = np.repeat(np.arange(m, dtype=entries.indices.dtype), np.diff(entries.indptr))
    places = _places(entries, _cuthill_mckee(entries)) if rcm and m == n else None
    return Structure(
        shape=(m, n),
        dtype=given,
        nnz=s.entries,
        offsets=s.offsets,
        counts=s.fill,
        filled=filled,
        half_full=int(half_full.sum()),
        half_full_share=float(s.fill[half_full].sum() / max(1, s.entries)),
        constant=int((_same_values(entries, rows, s.offsets) & (s.fill == lengths)).sum()),
        bands=bands.properties((m, n), s.offsets, s.fill, bands.by_occupancy(m, s.offsets, s.fill)),
        row_min=int(found[0, 0]) if len(found) else 0,
        row_max=s.longest_row,
        row_mean=s.entries / max(1, m),
        bandwidth=int(abs(s.offsets).max(initial=0)),
        bandwidth_rcm=None if places is None else int(abs(places[0] - places[1]).max(initial=0)),
        blocks=s.blocks(),
        blocks_rcm=None if places is None else _blocks(*places),
        block_fill=s.entries / max(1, s.blocks() * BLOCK**2),
        symmetry=s.symmetry or "none",
    )


def _require_matrix(A: Any, who: str) -> None:
    if not isinstance(A, SparseArray) and not sparse.issparse(A):
        raise TypeError(f"{who}: A is a {type(A).__name__}, expected a SciPy sparse array or one of ours")
    if A.ndim != 2:
        raise ValueError(f"{who}: A has {A.ndim} dimensions, expected 2")


def _as_csr(A: Any, who: str) -> tuple[SparseArray, np.dtype[Any]]:
    """Return A in csr, on the device where it is, and the type of its values as they were given."""
    _require_matrix(A, who)
    if isinstance(A, SparseArray):
        return convert(A, COMMON), A.dtype
    held = np.result_type(A.dtype, np.float32)
    held = {"g": np.dtype(np.float64), "G": np.dtype(np.complex128)}.get(held.char, held)  # long doubles
    return FORMATS[COMMON](A.astype(held, copy=False)), A.dtype


def _same_values(csr: Any, rows: NDArray[Any], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return of each occupied diagonal whether all of its entries hold one value."""
    diagonal = np.searchsorted(offsets, csr.indices.astype(np.int64) - rows)
    value = np.empty(len(offsets), csr.dtype)
    value[diagonal] = csr.data  # any one of the diagonal's values
    same: NDArray[np.bool_] = np.bincount(diagonal[csr.data != value[diagonal]], minlength=len(offsets)) == 0
    return same


def _percent(share: float) -> str:
    return f"{100 * share:{'.1f' if share >= 0.01 else '.2g'}} %"


def _after(number: int | None) -> str:
    return "" if number is None else f", after reverse Cuthill-McKee {number}"


# ---- another order of rows ----------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Reordering:
    """An order p of the rows and columns of a square matrix, and its 8 x 8 blocks before and after: of `reordered`."""

    permutation: NDArray[np.int64]  # (n,): row i of the reordered matrix is row permutation[i] of A
    before: int  # occupied 8 x 8 blocks of A
    after: int  # those of the reordered matrix: fewer, or as many where the order is that of A

    def apply(self, A: Any) -> Any:
        """Return ``A[p][:, p]``, where p is the permutation, in A's own format and on its device.

        Parameters
        ----------
        A : SciPy sparse array or matrix, of any dtype; or SparseArray, shape (n, n)
            The matrix that the order was found for, or another one whose rows stand for the same: one with new values,
            or the mass matrix beside a stiffness matrix.

        Returns
        -------
        SciPy sparse array or matrix, or SparseArray
            Of A's class and dtype, with values of its own.  Stored zeros are kept, but for those of diagonals, which
            are stored anew.  One triangle stays one triangle; diagonals with a period are stored in full.

        Raises
        ------
        TypeError
            If A is neither a SciPy sparse object nor a SparseArray.
        ValueError
            If A is not n x n.
        MemoryError
            With the bytes, where the result does not fit: diagonals become many where the blocks become few.

        Notes
        -----
        Takes O(nnz log nnz) time, and a few times the bytes of A in csr.  A matrix on a GPU goes by way of the host.
        """
        _require_matrix(A, "apply")
        p = self.permutation
        if A.shape != (len(p), len(p)):
            raise ValueError(f"apply: A is {A.shape[0]} x {A.shape[1]}, expected {len(p)} x {len(p)}")
        if not isinstance(A, SparseArray):
            return type(A)(A.tocsr()[p][:, p])
        csr = FORMATS[COMMON](convert(A, COMMON).to("cpu").to_scipy()[p][:, p])
        return A._reordered(csr.to(A.device)).astype(A.dtype, copy=False)  # type: ignore[attr-defined]


def reordered(A: Any) -> Reordering:
    """Find an order of rows and columns in which a square matrix occupies fewer 8 x 8 blocks.

    This is the reverse Cuthill-McKee order of the pattern of A + A.T where the exact count of blocks falls, else the
    order that A has.  `bmsparse_array` stores these blocks.

    Parameters
    ----------
    A : SciPy sparse array or matrix, of any dtype; or SparseArray, on any device; shape (n, n)
        Explicit zeros count as entries; those in a format by diagonals do not.

    Returns
    -------
    Reordering
        ``permutation``, int64 of shape (n,), and the blocks ``before`` and ``after``; ``apply(A)`` is the reordered
        matrix.

    Raises
    ------
    TypeError
        If A is neither a SciPy sparse object nor a SparseArray.
    ValueError
        If A is not square, not 2-D, or has 2^31 rows.

    Notes
    -----
    Takes O(nnz log nnz) time, on the host.  Only the pattern is reordered.

    Examples
    --------
    >>> import numpy as np
    >>> import diagsparse as ds
    >>> rng = np.random.default_rng(0)
    >>> shuffled = rng.permutation(1000)
    >>> A = ds.bmsparse_array(ds.gallery.banded(1000, 4, 4, seed=0).tocsr()[shuffled][:, shuffled])
    >>> order = ds.reordered(A)
    >>> order.before, order.after
    (6321, 373)

    A product with the reordered matrix takes x in the new order, and gives y in it.  So does a solver with b and x:

    >>> p, B = order.permutation, order.apply(A)
    >>> x, y = rng.random(1000), np.empty(1000)
    >>> y[p] = B @ x[p]
    >>> np.allclose(y, A @ x)
    True
    """
    matrix, _ = _as_csr(A, "reordered")
    m, n = matrix.shape
    if m != n:
        raise ValueError(f"reordered: A is {m} x {n}, expected a square matrix")
    entries, before = matrix.to("cpu").to_scipy(), matrix._summary().blocks()
    order = _cuthill_mckee(entries)
    after = _blocks(*_places(entries, order))
    return Reordering(order, before, after) if after < before else Reordering(np.arange(n), before, before)


def _cuthill_mckee(csr: Any) -> NDArray[np.int64]:
    """Return the reverse Cuthill-McKee order of the pattern of a square matrix and its transpose together."""
    if csr.nnz == 0:
        return np.arange(csr.shape[0])
    pattern = sparse.csr_array((np.ones(csr.nnz, np.int8), csr.indices, csr.indptr), shape=csr.shape)
    order: NDArray[np.int64] = reverse_cuthill_mckee(pattern).astype(np.int64)
    return order


def _places(csr: Any, order: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the row and the column of every entry where row and column order[i] become row and column i."""
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return np.repeat(place, np.diff(csr.indptr)), place[csr.indices]


def _blocks(rows: NDArray[np.int64], columns: NDArray[np.int64]) -> int:
    """Count the 8 x 8 blocks that entries at these places occupy."""
    across = int(columns.max(initial=0)) // BLOCK + 1
    return len(np.unique(rows // BLOCK * across + columns // BLOCK))
