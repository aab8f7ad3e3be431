"""What the choice of a method depends on: where the elements of a matrix are, its symmetry, its grid, its fill."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from itertools import product
from math import log2, prod
from typing import Any, NamedTuple, cast

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

from .._backends import memory
from .._backends.backend import CPU
from .._matrix.convert import convert
from .._matrix.norms import norm
from .._matrix.sparse_array import SparseArray
from .._multigrid import grids
from .._products import method_choice

_ENVELOPE_BYTES = 64  # for each element, of the graph of a matrix and its copies
_ROUNDING = 1e-6  # relative to the main diagonal, up to which it dominates


class _Positions(NamedTuple):
    """All that `grids.shapes` reads of a matrix."""

    shape: tuple[int, int]
    offsets: Sequence[int]


class Problem:
    """The properties of a square matrix that decide how its systems are solved, each computed when it is first used."""

    members = 0  #: of a batch, 0 for a single matrix
    most_asymmetry = 1e-10  #: norm(A - A.T) relative to norm(A), up to which A counts as symmetric

    def __init__(self, A: SparseArray) -> None:
        self.A, self.n, self.itemsize = A, A.shape[0], A.dtype.itemsize

    @property
    def on_cpu(self) -> bool:
        """Whether the matrix is on the CPU."""
        return self.A._backend is CPU

    @cached_property
    def counts(self) -> dict[int, int]:
        """Number of elements on each diagonal that has any, by its offset."""
        summary = self.A._summary()
        some = summary.fill > 0
        return dict(zip(summary.offsets[some].tolist(), summary.fill[some].tolist(), strict=True))

    @property
    def nnz(self) -> int:
        """Number of elements."""
        return sum(self.counts.values())

    @cached_property
    def reach(self) -> tuple[int, int]:
        """The largest distances of an element below and above the main diagonal."""
        return method_choice.reach(self.A)

    @cached_property
    def direct(self) -> str:
        """The method of `factorized`."""
        return method_choice.default_method(self.A, *self.reach, 1)

    # ---- grids -----------------------------------------------------------------------------------
    @cached_property
    def grid(self) -> tuple[int, ...] | None:
        """The shape of the grid whose points are coupled to neighbours only, as far as the positions can say."""
        if self.n < 2 or not 1 < len(self.counts) <= grids.MOST_DIAGONALS:
            return None
        offsets = [k for k in self.counts if k]
        shapes = grids.shapes(cast(Any, _Positions(self.A.shape, offsets)))
        return next((shape for shape in shapes if self._fits(shape)), None)

    def _fits(self, shape: tuple[int, ...]) -> bool:
        """Whether no diagonal has more elements than a grid has pairs of neighbours at this distance."""
        strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
        most: Counter[int] = Counter()
        moves = [sorted({0, 1, -1, size - 1, 1 - size}) if size > 2 else range(1 - size, size) for size in shape]
        for step in product(*moves):
            pairs = prod(size - abs(move) for size, move in zip(shape, step, strict=True))
            most[sum(move * stride for move, stride in zip(step, strides, strict=True))] += pairs
        return all(count <= most[k] for k, count in self.counts.items())

    @cached_property
    def symmetric(self) -> bool:
        """Whether A is equal to its transpose, up to rounding."""
        if any(self.counts.get(-k) != count for k, count in self.counts.items()):
            return False
        if getattr(self.A, "symmetry", None) == "symmetric":
            return True
        size = norm(self.A)
        return bool(np.isfinite(size)) and norm(self.A - self.A.T) <= self.most_asymmetry * size

    @cached_property
    def positive_diagonal(self) -> bool:
        """Whether all elements of the main diagonal are positive; they are not read from a GPU."""
        if not self.on_cpu:
            return self.counts.get(0, 0) == self.n
        return bool((self.A.diagonal() > 0).all())

    @cached_property
    def negative_diagonal(self) -> bool:
        """Whether all elements of the main diagonal are negative; False for a matrix on a GPU."""
        return self.on_cpu and self.n > 0 and bool((self.A.diagonal() < 0).all())

    @cached_property
    def others(self) -> float:
        """The largest sum of absolute off-diagonal values of a row, relative to the one on the main diagonal."""
        main, sums = abs(self.A.diagonal()), self.A._format.absolute_sums(self.A, 1)
        if sums.shape != main.shape:  # equal sums are there once
            main, sums = main.min(keepdims=True), sums.max(keepdims=True)
        with np.errstate(all="ignore"):
            return float(np.max((sums - main) / main, initial=0.0))

    # ---- fill ------------------------------------------------------------------------------------
    @cached_property
    def factor_entries(self) -> int:
        """Estimated number of values in the factors of a direct solver that reorders the rows and columns.

        For a grid it is what nested dissection needs, and twice as much if SuperLU has to exchange rows; otherwise the
        envelope after the reverse Cuthill-McKee order; and never more than a band in the given order.
        """
        below, above = self.reach
        band = self.n * (2 * below + above + 1)
        if self.grid is not None:
            pivoting = self.on_cpu and not self.others <= 1 + _ROUNDING
            return int(min(band, self.n * _entries_per_point(self.grid) / (1 if pivoting else 2)))
        return int(min(band, 2 * self._envelope(), self.n * self.n))

    @property
    def factor_operations(self) -> float:
        """Multiply-adds of this factorization: half of the values of each row, squared."""
        return self.factor_entries**2 / max(1, self.n) / 2

    def _envelope(self) -> int:
        """Return how many elements lie between the first element of each row and the main diagonal.

        If the memory for another order does not suffice, it is that of the given order.
        """
        if not self.n:
            return 0
        if not memory.fits(_ENVELOPE_BYTES * self.nnz, None):
            return self.n * (1 + max(self.reach))
        rows = convert(self.A, "csr").to("cpu").to_scipy()
        pattern = sp.csr_array((np.ones(rows.nnz, np.int8), rows.indices, rows.indptr), rows.shape)
        both = sp.csr_array(pattern + pattern.T)
        order = reverse_cuthill_mckee(both, symmetric_mode=True)
        position = np.empty(self.n, np.int64)
        position[order] = np.arange(self.n)
        entries = both.tocoo()
        first = np.arange(self.n)
        np.minimum.at(first, position[entries.coords[0]], position[entries.coords[1]])
        return int((np.arange(self.n) - first + 1).sum())


def _entries_per_point(grid: Sequence[int]) -> float:
    """Return the values per point in the factors of a grid with nested dissection, fitted to those of SuperLU."""
    small, middle = (1, *sorted(grid))[-3:-1] if len(grid) > 1 else (1, 1)
    plane = 7 * log2(max(2, middle)) * 2 * small**2
    return min(plane, 1.2 * small * middle) if small > 1 else plane
