"""Statistics of a matrix for `recommend`: exact ones, estimates of the costly ones, and counts of operations.

Each of them is computed when it is first used.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._backends.backend import CPU
from .._formats import bands
from .._matrix.registry import COMMON, FORMATS
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import SYMMETRIES, Summary
from .costs import Counts, Traversal
from .sample import Sample

_SPARSEST = 40  # elements per entry above which diagonals are not worth it; then not all of them are determined
_BLOCK = 8192  # rows of a block
_MULTIPLIED = 32  # number of rows for which the product is counted
_NEIGHBOURS = 16  # largest number of distances of grid neighbours that are tried as a period
_FEW = 256, 2048  # numbers of rows in which a period is looked for,
_READ = 1 << 15  # and the limit for their entries
_STORED_SYMMETRIES = "symmetric", "hermitian"  # symmetries for which formats store one triangle
FAR_TOO_MANY = "the nonzeros lie on far too many diagonals"


class Statistics:
    """The statistics of a matrix in csr, which must not be a view."""

    def __init__(self, csr: SparseArray) -> None:
        self.csr, self.exact = csr, csr._summary()
        self._sums: dict[bytes, NDArray[np.int64]] = {}

    @cached_property
    def sample(self) -> Sample:
        """Estimates from some thousand entries."""
        return Sample.of(self.csr)

    @cached_property
    def of_diagonals(self) -> bool:
        """Whether a format of diagonals may be worth it: neither the sample nor all rows have far too many."""
        few = _SPARSEST * self.csr.nnz / max(1, self.csr.shape[0])
        return len(self.sample.offsets) <= few and len(self.exact.offsets) <= few

    @cached_property
    def summary(self) -> Summary:
        """The summary that determines the bytes: exact except for the symmetry, computed on first use."""
        exact = self.exact
        return Summary(
            exact.shape, exact.itemsize, exact.stored, entries=lambda: exact.entries, offsets=lambda: exact.offsets,
            fill=lambda: exact.fill, colors=lambda: exact.colors, row_lengths=lambda: exact.row_lengths,
            leading=exact.leading, blocks=exact.blocks,
            slices=exact.positions_in_slices, symmetry=lambda: self.symmetry,
        )  # fmt: skip

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Offsets of the occupied diagonals: all if diagonals may be worth it, otherwise those of the sample."""
        return self.exact.offsets if self.of_diagonals else self.sample.offsets

    @cached_property
    def fill(self) -> NDArray[np.int64]:
        """Entries on each of these diagonals: exact if diagonals may be worth it, otherwise estimated."""
        return self.exact.fill if self.of_diagonals else self.sample.fill

    @cached_property
    def diagonal_elements(self) -> int:
        """Number of elements on the occupied diagonals."""
        return int(bands.lengths(self.csr.shape, self.offsets).sum())

    @cached_property
    def full(self) -> float:
        """Fraction of these elements that are stored; 0 if not all diagonals were determined."""
        return min(1.0, self.csr.nnz / max(1, self.diagonal_elements)) if self.of_diagonals else 0.0

    @cached_property
    def symmetry(self) -> str | None:
        """``"symmetric"``, ``"hermitian"`` or None; on a CPU by sums of hashes, which are almost never wrong."""
        if not self.on_cpu:
            return symmetry if (symmetry := self.exact.symmetry) in _STORED_SYMMETRIES else None
        bits = CPU.core.seeming_symmetries(self.csr._matrix)
        return next((name for bit, name in SYMMETRIES.items() if bits & bit), None)

    @cached_property
    def mirrored(self) -> bool:
        """Whether a symmetric matrix stores the mirror image of every entry; explicit zeros may have none."""
        if self.csr.count_nonzero() == self.csr.nnz:
            return True
        entries = self.csr.to("cpu").to_scipy()
        pattern = sp.csr_array((np.ones(entries.nnz, np.float32), entries.indices, entries.indptr), entries.shape)
        return bool(FORMATS[COMMON].array(pattern)._summary().symmetry == "symmetric")

    @cached_property
    def period(self) -> int | None:
        """Number of rows after which every diagonal repeats, among the likely ones; None if none was found."""
        if not self.of_diagonals or not self.csr.nnz:
            return None
        return next((p for p in self._periods() if self.csr._core.repeats_after(self.csr._matrix, p)), None)

    def _periods(self) -> Iterator[int]:
        """Yield possible periods: that of some rows in the middle, and the distances of neighbours in a grid."""
        m, longest, tried = self.csr.shape[0], 0, 0
        for rows in sorted({min(m, few) for few in _FEW}):
            period, rows_read = self._period_of((m - rows) // 2, rows)
            if period > longest:
                yield (longest := period)
            tried = rows_read // 2  # a shorter one would have been found
        distances = np.unique(abs(self.offsets))
        yield from distances[(distances > max(longest, tried)) & (distances <= m // 2)][:_NEIGHBOURS].tolist()

    def _period_of(self, first: int, rows: int) -> tuple[int, int]:
        """Return the period of the diagonals that cross all of these rows (0 if none), and the number of rows read."""
        parts, host = self.csr._matrix.parts(), self.csr._backend.host
        indptr = host(parts["indptr"][first : first + rows + 1])
        rows = int(np.searchsorted(indptr, indptr[0] + _READ, side="right")) - 1
        indptr = indptr[: rows + 1]
        columns, values = (host(parts[name][indptr[0] : indptr[-1]]) for name in ("indices", "values"))
        lengths = np.diff(indptr).astype(np.int32)
        return CPU.core.period_of_rows(first, self.csr.shape[1], lengths, columns, values), rows

    # ---- operations of products -------------------------------------------------------------------
    @cached_property
    def on_cpu(self) -> bool:
        """Whether the matrix is stored on the CPU."""
        return self.csr._backend is CPU

    @cached_property
    def counts(self) -> Counts:
        """The counts of a product that do not depend on the layout."""
        (m, n), item = self.csr.shape, self.csr.dtype.itemsize
        return Counts(m, self.csr.nnz, self.sample.branches * m, (m + n) * item, item, self.csr.dtype.kind == "c")

    @cached_property
    def at_best(self) -> Traversal:
        """The counts of a product in an ideal format that stores only the values."""
        nnz = self.csr.nnz
        return Traversal(nnz * self.csr.dtype.itemsize, nnz)

    @cached_property
    def at_best_by_rows(self) -> Traversal:
        """The same, with the cache misses on x of products row by row."""
        return self.at_best._replace(lines=self.sample.lines * self.csr.nnz)

    @cached_property
    def bands(self) -> tuple[NDArray[np.int64], int]:
        """Offsets of the diagonals that qband stores as bands, and the number of entries in the remainder."""
        exact, qband = self.exact, cast(Any, FORMATS["qband"])
        known = {"offsets": lambda: self.offsets, "fill": lambda: self.fill}
        chosen, rest = qband.split(Summary(exact.shape, exact.itemsize, exact.stored, **known))
        return chosen, max(0, rest)

    # ---- operations of C = A A --------------------------------------------------------------------
    @cached_property
    def square_counts(self) -> tuple[float, float]:
        """Multiply-adds and entries of C, estimated from some rows, or from the mean row length on a GPU.

        Fetching rows from a GPU would be slow.
        """
        csr = self.csr
        m = max(1, csr.shape[0])
        if not csr.nnz:
            return 0.0, 0.0
        if csr._backend is not CPU:
            return csr.nnz**2 / m, csr.nnz**2 / m / 2
        rows = np.unique(np.linspace(0, m - 1, _MULTIPLIED).astype(int))
        A = csr.to_scipy()
        pattern = sp.csr_array((np.ones(csr.nnz, np.int8), A.indices, A.indptr), shape=csr.shape)
        some = pattern[rows]
        multiplied, product = np.diff(A.indptr)[some.indices].sum(), some @ pattern
        return float(multiplied) * m / len(rows), float(product.nnz) * m / len(rows)

    def sums_of(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the offsets of the product of these diagonals with themselves, ascending."""
        key = offsets.tobytes()
        if key not in self._sums:
            m, n = self.csr.shape
            sums = (offsets[:, np.newaxis] + offsets).ravel()
            sums = sums[(sums > -m) & (sums < n)]
            if len(sums) < m + n:
                self._sums[key] = np.unique(sums)
            else:  # marking diagonals takes less time than sorting
                occurs = np.zeros(m + n, bool)
                occurs[sums + m] = True
                self._sums[key] = np.flatnonzero(occurs) - m
        return self._sums[key]

    def steps(self, diagonals: int) -> int:
        """Return how many diagonals a GPU thread processes; on a CPU, summed over all blocks of rows."""
        return diagonals * (max(1, self.csr.shape[0] // _BLOCK) if self.on_cpu else 1)

    @cached_property
    def longest_row(self) -> float:
        """Length of the longest row, which limits a GPU; 0 on a CPU, where rows are distributed among threads."""
        return 0.0 if self.on_cpu else float(self.exact.longest_row)

    @cached_property
    def spread(self) -> float:
        """Coefficient of variation of the row lengths: their standard deviation divided by their mean."""
        lengths, rows = self.exact.row_lengths.T
        mean = self.csr.nnz / max(1, self.csr.shape[0])
        return float(np.sqrt(((lengths - mean) ** 2) @ rows / max(1, self.csr.shape[0]))) / max(1e-9, mean)

    @cached_property
    def near_the_ends(self) -> float:
        """Fraction of the rows near the ends of diagonals, where tiles of rows are narrow."""
        offsets, m = self.offsets, max(1, self.csr.shape[0])
        reach = int(abs(offsets).max(initial=0))
        return min(m, 2 * reach, 32 * len(offsets)) / m
