"""What a matrix looks like: its diagonals, rows, bandwidth, 8 x 8 blocks and symmetry."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee

BLOCK = 8


@dataclass(frozen=True, eq=False)
class Structure:
    """Report of `analyze_structure`: four lines by `str()`, plain numbers, strings and lists by `to_dict()`."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    nnz: int  # stored entries, explicit zeros among them, duplicates summed
    offsets: NDArray[np.int64]  # (D,) of the occupied diagonals, column - row, ascending
    counts: NDArray[np.int64]  # (D,) entries on each
    filled: NDArray[np.float64]  # (D,) entries / length of the diagonal
    half_full: int  # diagonals that are at least half full
    half_full_share: float  # of the entries that lie on them
    constant: int  # diagonals that are full and hold one value
    row_min: int  # entries in a row
    row_max: int
    row_mean: float
    bandwidth: int  # largest |offset|
    bandwidth_rcm: int | None  # the same after reverse Cuthill-McKee; None: not square, or not asked for
    blocks: int  # occupied 8 x 8 blocks
    block_fill: float  # entries / (64 blocks)
    symmetry: str  # of the values: "symmetric", "hermitian", "skew-symmetric" or "none"

    @property
    def density(self) -> float:
        """Stored entries / all entries."""
        return self.nnz / max(1, self.shape[0] * self.shape[1])

    def to_dict(self) -> dict[str, Any]:
        """All fields and the density, ready for JSON."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        plain = {name: v.tolist() if isinstance(v, np.ndarray) else v for name, v in values.items()}
        return plain | {"shape": list(self.shape), "dtype": str(self.dtype), "density": self.density}

    def describe(self, name: str = "matrix") -> str:
        """Four aligned lines, the first one headed by `name`."""
        d = len(self.offsets)
        size = f"{self.shape[0]} x {self.shape[1]}   {self.dtype}   {self.nnz} nonzeros"
        span = f", from {self.offsets[0]} to {self.offsets[-1]}" if d else ""
        share = f"{self.half_full} at least half full hold {_percent(self.half_full_share)} of the nonzeros"
        rows = f"{self.row_min} to {self.row_max} nonzeros, mean {self.row_mean:.2f}"
        rcm = "" if self.bandwidth_rcm is None else f", after reverse Cuthill-McKee {self.bandwidth_rcm}"
        blocks = f"{BLOCK} x {BLOCK}: {self.blocks} occupied, {_percent(self.block_fill)} full"
        width = max(len(rows), len(blocks)) + 4
        lines = (
            (name, f"{size}   {_percent(self.density)} full"),
            ("diagonals", f"{d} occupied{span}; {share}"),
            ("rows", f"{rows:{width}}bandwidth {self.bandwidth}{rcm}"),
            ("blocks", f"{blocks:{width}}symmetry {self.symmetry}   constant diagonals {self.constant} of {d}"),
        )
        return "\n".join(f"{label:{max(len(name), 9) + 3}}{line}" for label, line in lines)

    __str__ = describe


def analyze_structure(A: Any, *, rcm: bool = True) -> Structure:
    """Report the structure of a SciPy sparse array or matrix of shape (m, n), any dtype.

    Parameters
    ----------
    A : SciPy sparse array or matrix, 2-D
        Duplicates are summed (in a copy); explicit zeros count as entries, except for symmetry, which compares values
        exactly (NaN differs from itself).  One that is symmetric and hermitian is called "symmetric".
    rcm : bool
        Find the bandwidth after reverse Cuthill-McKee ordering of the pattern of A + A.T (square matrices).  This takes
        several times as long as all the rest.

    Returns
    -------
    Structure
        Found in O(nnz + m + n) time and memory, but for reverse Cuthill-McKee.

    Raises
    ------
    TypeError
        If A is not a SciPy sparse object.
    ValueError
        If A is not 2-D.

    Examples
    --------
    >>> from diagsparse import gallery
    >>> from diagsparse.structure import analyze_structure
    >>> print(analyze_structure(gallery.stencil(5, (30, 40))))
    matrix      1200 x 1200   float64   5860 nonzeros   0.41 % full
    diagonals   5 occupied, from -40 to 40; 5 at least half full hold 100.0 % of the nonzeros
    rows        3 to 5 nonzeros, mean 4.88          bandwidth 40, after reverse Cuthill-McKee 31
    blocks      8 x 8: 680 occupied, 13.5 % full    symmetry symmetric   constant diagonals 3 of 5
    """
    if not sparse.issparse(A):
        raise TypeError(f"analyze_structure: A is a {type(A).__name__}, expected a SciPy sparse array")
    if A.ndim != 2:
        raise ValueError(f"analyze_structure: A has {A.ndim} dimensions, expected 2")
    csr = sparse.csr_array(A)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    m, n = csr.shape
    lengths = np.diff(csr.indptr)
    rows = np.repeat(np.arange(m, dtype=csr.indices.dtype), lengths)
    offsets, counts, constant = _diagonals(csr, rows)
    filled = counts / _lengths(m, n, offsets)
    half_full = filled >= 0.5
    blocks = _count_blocks(csr, rows)
    return Structure(
        shape=(m, n),
        dtype=csr.dtype,
        nnz=csr.nnz,
        offsets=offsets,
        counts=counts,
        filled=filled,
        half_full=int(half_full.sum()),
        half_full_share=float(counts[half_full].sum() / max(1, csr.nnz)),
        constant=constant,
        row_min=int(lengths.min()) if m else 0,
        row_max=int(lengths.max(initial=0)),
        row_mean=csr.nnz / max(1, m),
        bandwidth=int(abs(offsets).max(initial=0)),
        bandwidth_rcm=_bandwidth_rcm(csr, rows) if rcm and m == n else None,
        blocks=blocks,
        block_fill=csr.nnz / max(1, blocks * BLOCK**2),
        symmetry=_symmetry(csr, offsets, counts),
    )


def _percent(share: float) -> str:
    return f"{100 * share:{'.1f' if share >= 0.01 else '.2g'}} %"


def _diagonals(csr: Any, rows: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Offsets of the occupied diagonals, entries on each, and how many are full with a single value."""
    m, n = csr.shape
    shifted = csr.indices.astype(np.int64) - rows + (m - 1)
    if m + n <= 4 * csr.nnz + 2**16:
        table = np.bincount(shifted, minlength=max(0, m + n - 1))
        occupied = np.flatnonzero(table)
        counts = table[occupied]
        table[occupied] = np.arange(len(occupied))
        diagonal = table[shifted]
    else:  # hardly any entries in a huge shape
        occupied, diagonal, counts = np.unique(shifted, return_inverse=True, return_counts=True)
    offsets = occupied - (m - 1)
    value = np.empty(len(offsets), csr.dtype)
    value[diagonal] = csr.data  # any one of the diagonal's values
    differing = np.bincount(diagonal[csr.data != value[diagonal]], minlength=len(offsets))
    return offsets, counts, int(((counts == _lengths(m, n, offsets)) & (differing == 0)).sum())


def _lengths(m: int, n: int, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    lengths: NDArray[np.int64] = np.minimum(m + np.minimum(offsets, 0), n - np.maximum(offsets, 0))
    return lengths


def _count_blocks(csr: Any, rows: NDArray[Any]) -> int:
    m, n = (-(-size // BLOCK) for size in csr.shape)
    columns = csr.indices // BLOCK
    if n > 4 * csr.nnz + 2**16:  # hardly any entries in a huge shape
        return len(np.unique(rows // BLOCK * np.int64(n) + columns))
    # In the block rows' transpose, entries of one block are neighbours: no sort is needed.
    starts = np.append(csr.indptr[:-1:BLOCK], csr.nnz)
    csc = sparse.csr_array((np.ones(csr.nnz, np.int8), columns, starts), shape=(m, n)).tocsc()
    first = np.ones(csr.nnz + 1, bool)
    np.not_equal(csc.indices[1:], csc.indices[:-1], out=first[1:-1])
    first[csc.indptr] = True  # of each block column; the last one stands past the end
    return int(first[:-1].sum())


def _bandwidth_rcm(csr: Any, rows: NDArray[Any]) -> int:
    if csr.nnz == 0:
        return 0
    pattern = sparse.csr_array((np.ones(csr.nnz, np.int8), csr.indices, csr.indptr), shape=csr.shape)
    order = reverse_cuthill_mckee(pattern)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return int(abs(place[rows] - place[csr.indices]).max())


def _symmetry(csr: Any, offsets: NDArray[np.int64], counts: NDArray[np.int64]) -> str:
    """Square only: the arrays of A as CSC are those of A.T as CSR."""
    if csr.shape[0] != csr.shape[1]:
        return "none"
    if not csr.data.all():
        csr = csr.copy()
        csr.eliminate_zeros()
    elif not (np.array_equal(offsets, -offsets[::-1]) and np.array_equal(counts, counts[::-1])):
        return "none"
    csc = csr.tocsc()
    if not (np.array_equal(csr.indptr, csc.indptr) and np.array_equal(csr.indices, csc.indices)):
        return "none"
    if np.array_equal(csr.data, csc.data):
        return "symmetric"
    if csr.dtype.kind == "c" and np.array_equal(csr.data, csc.data.conj()):
        return "hermitian"
    return "skew-symmetric" if csr.dtype.kind in "ifc" and np.array_equal(csr.data, -csc.data) else "none"
