"""What advice asks of a matrix: forecasts' facts, of which the costly ones are estimated, and what products go through.

Nothing is found before somebody asks.
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
from .costs import Counts, Walk
from .sample import Sample

_HOLLOW = 40  # times as many places as entries: beyond that no diagonals pay, and nobody looks for all of them
_BLOCK = 8192  # rows of a block
_MULTIPLIED = 32  # rows whose products are looked at
_NEIGHBOURS = 16  # distances of neighbours in a grid, at most
_FEW = 256, 2048  # rows that are looked at for a period,
_READ = 1 << 15  # and entries of these, at most
_HALVES = "symmetric", "hermitian"  # of which formats store one half
FAR_TOO_MANY = "the nonzeros lie on far too many diagonals"


class Survey:
    """A matrix in csr, which is no view."""

    def __init__(self, csr: SparseArray) -> None:
        self.csr, self.exact = csr, csr._summary()
        self._sums: dict[bytes, NDArray[np.int64]] = {}

    @cached_property
    def sample(self) -> Sample:
        """What some thousand entries tell."""
        return Sample.of(self.csr)

    @cached_property
    def of_diagonals(self) -> bool:
        """Whether a format of diagonals may pay: not where some rows, or then all, tell of far too many."""
        few = _HOLLOW * self.csr.nnz / max(1, self.csr.shape[0])
        return len(self.sample.offsets) <= few and len(self.exact.offsets) <= few

    @cached_property
    def summary(self) -> Summary:
        """The facts that bytes follow from: exact ones, but for the symmetry, each found when it is asked for."""
        exact = self.exact
        return Summary(
            exact.shape, exact.itemsize, exact.stored, entries=lambda: exact.entries, offsets=lambda: exact.offsets,
            fill=lambda: exact.fill, row_lengths=lambda: exact.row_lengths, leading=exact.leading, blocks=exact.blocks,
            slices=exact.positions_in_slices, symmetry=lambda: self.symmetry,
        )  # fmt: skip

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Offsets of the occupied diagonals: all of them where diagonals may pay, else those of the sample."""
        return self.exact.offsets if self.of_diagonals else self.sample.offsets

    @cached_property
    def fill(self) -> NDArray[np.int64]:
        """Entries on each of these diagonals: exact where diagonals may pay, else estimated."""
        return self.exact.fill if self.of_diagonals else self.sample.fill

    @cached_property
    def diagonal_places(self) -> int:
        """Elements on the occupied diagonals."""
        return int(bands.lengths(self.csr.shape, self.offsets).sum())

    @cached_property
    def full(self) -> float:
        """The share of these elements that are stored; 0 where nobody looked for all diagonals."""
        return min(1.0, self.csr.nnz / max(1, self.diagonal_places)) if self.of_diagonals else 0.0

    @cached_property
    def symmetry(self) -> str | None:
        """``"symmetric"`` or ``"hermitian"``, or None; on a CPU by sums of hashes, which nearly never err."""
        if not self.on_cpu:
            return found if (found := self.exact.symmetry) in _HALVES else None
        bits = CPU.core.seeming_symmetries(self.csr._matrix)
        return next((name for bit, name in SYMMETRIES.items() if bits & bit), None)

    @cached_property
    def mirrored(self) -> bool:
        """Whether the mirror image of every entry is stored, of a matrix with a symmetry: zeros may lack theirs."""
        if self.csr.count_nonzero() == self.csr.nnz:
            return True
        entries = self.csr.to("cpu").to_scipy()
        pattern = sp.csr_array((np.ones(entries.nnz, np.float32), entries.indices, entries.indptr), entries.shape)
        return bool(FORMATS[COMMON].array(pattern)._summary().symmetry == "symmetric")

    @cached_property
    def period(self) -> int | None:
        """The rows after which every diagonal repeats, of those that come into question; None: none found."""
        if not self.of_diagonals or not self.csr.nnz:
            return None
        return next((p for p in self._periods() if self.csr._core.repeats_after(self.csr._matrix, p)), None)

    def _periods(self) -> Iterator[int]:
        """Yield what may be a period: that of some rows in the middle, and the distances of neighbours in a grid."""
        m, longest, tried = self.csr.shape[0], 0, 0
        for rows in sorted({min(m, few) for few in _FEW}):
            period, looked_at = self._period_of((m - rows) // 2, rows)
            if period > longest:
                yield (longest := period)
            tried = looked_at // 2  # a shorter one would have been found
        distances = np.unique(abs(self.offsets))
        yield from distances[(distances > max(longest, tried)) & (distances <= m // 2)][:_NEIGHBOURS].tolist()

    def _period_of(self, first: int, rows: int) -> tuple[int, int]:
        """Return after how many of some rows the diagonals repeat that lie in all of them, 0: no; and how many rows."""
        parts, host = self.csr._matrix.parts(), self.csr._backend.host
        indptr = host(parts["indptr"][first : first + rows + 1])
        rows = int(np.searchsorted(indptr, indptr[0] + _READ, side="right")) - 1
        indptr = indptr[: rows + 1]
        columns, values = (host(parts[name][indptr[0] : indptr[-1]]) for name in ("indices", "values"))
        lengths = np.diff(indptr).astype(np.int32)
        return CPU.core.period_of_rows(first, self.csr.shape[1], lengths, columns, values), rows

    # ---- what products go through -----------------------------------------------------------------
    @cached_property
    def on_cpu(self) -> bool:
        """Whether the matrix lies on a CPU."""
        return self.csr._backend is CPU

    @cached_property
    def counts(self) -> Counts:
        """What a product goes through in any layout."""
        (m, n), item = self.csr.shape, self.csr.dtype.itemsize
        return Counts(m, self.csr.nnz, self.sample.turns * m, (m + n) * item, item, self.csr.dtype.kind == "c")

    @cached_property
    def at_best(self) -> Walk:
        """What a product goes through in a format that adds nothing to the values."""
        nnz = self.csr.nnz
        return Walk(nnz * self.csr.dtype.itemsize, nnz)

    @cached_property
    def bands(self) -> tuple[NDArray[np.int64], int]:
        """The diagonals that qband stores as such, and how many entries are the rest."""
        exact, made = self.exact, cast(Any, FORMATS["qband"])
        found = {"offsets": lambda: self.offsets, "fill": lambda: self.fill}
        chosen: NDArray[np.int64] = made.split(Summary(exact.shape, exact.itemsize, exact.stored, **found))[0]
        beside = ~np.isin(self.offsets, chosen)
        return chosen, round(self.csr.nnz * float(self.fill[beside].sum()) / max(1, int(self.fill.sum())))

    # ---- what C = A A goes through ----------------------------------------------------------------
    @cached_property
    def square_counts(self) -> tuple[float, float]:
        """Multiply-adds, and entries of C, as some rows tell; on a GPU, from which rows are slow to fetch, the mean."""
        csr = self.csr
        m = max(1, csr.shape[0])
        if not csr.nnz:
            return 0.0, 0.0
        if csr._backend is not CPU:
            return csr.nnz**2 / m, csr.nnz**2 / m / 2
        rows = np.unique(np.linspace(0, m - 1, _MULTIPLIED).astype(int))
        whole = csr.to_scipy()
        pattern = sp.csr_array((np.ones(csr.nnz, np.int8), whole.indices, whole.indptr), shape=csr.shape)
        some = pattern[rows]
        met, made = np.diff(whole.indptr)[some.indices].sum(), some @ pattern
        return float(met) * m / len(rows), float(made.nnz) * m / len(rows)

    def sums_of(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the offsets of the product of some diagonals with themselves, ascending."""
        key = offsets.tobytes()
        if key not in self._sums:
            m, n = self.csr.shape
            found = np.unique(offsets[:, np.newaxis] + offsets)
            self._sums[key] = found[(found > -m) & (found < n)]
        return self._sums[key]

    def met(self, diagonals: int) -> int:
        """Return how many diagonals a thread of a GPU goes through; on a CPU all blocks of rows, each meeting all."""
        return diagonals * (max(1, self.csr.shape[0] // _BLOCK) if self.on_cpu else 1)

    @cached_property
    def longest_row(self) -> float:
        """The steps of the thread with the longest row; on a CPU threads share rows out, and nobody asks."""
        return 0.0 if self.on_cpu else float(self.exact.longest_row)

    @cached_property
    def spread(self) -> float:
        """How much the lengths of the rows differ: their standard deviation over their mean."""
        lengths, rows = self.exact.row_lengths.T
        mean = self.csr.nnz / max(1, self.csr.shape[0])
        return float(np.sqrt(((lengths - mean) ** 2) @ rows / max(1, self.csr.shape[0]))) / max(1e-9, mean)

    @cached_property
    def near_the_ends(self) -> float:
        """The share of the rows in which diagonals begin or end, and tiles of rows are narrow."""
        offsets, m = self.offsets, max(1, self.csr.shape[0])
        reach = int(abs(offsets).max(initial=0))
        return min(m, 2 * reach, 32 * len(offsets)) / m
