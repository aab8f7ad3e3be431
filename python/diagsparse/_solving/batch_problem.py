"""What the choice of a method for the systems of a batch depends on."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from .._backends.backend import CPU
from .._matrix.summary import Summary
from .._products import batch_matrix, method_choice
from .problem import Problem


class _BlockDiagonal:
    """What is known of the block diagonal matrix of all members, which is not built."""

    format = "dia"

    def __init__(self, batch: Any, counts: dict[int, int]) -> None:
        order = batch.count * batch.shape[0]
        self.shape, self.dtype, self.device, self._backend = (order, order), batch.dtype, batch.device, batch._backend
        self._counts = counts

    def _summary(self) -> Summary:
        offsets, fill = np.array(list(self._counts), np.int64), np.array(list(self._counts.values()), np.int64)
        stored = int(fill.sum())
        return Summary(self.shape, self.dtype.itemsize, stored, offsets=lambda: offsets, fill=lambda: fill)


class BatchProblem(Problem):
    """The properties of the block diagonal matrix of all members, which are solved together."""

    grid = None  # grids are for multigrid, which solves single matrices

    def __init__(self, batch: Any) -> None:
        self._stored = dict(sorted(batch_matrix.nonzeros(batch).items()))
        whole: Any = _BlockDiagonal(batch, self._stored)
        super().__init__(whole)
        self.members, self._batch = batch.count, batch

    @cached_property
    def counts(self) -> dict[int, int]:
        """Number of elements on each diagonal of the members that has any, by its offset."""
        return {k: count for k, count in self._stored.items() if count}

    @cached_property
    def direct(self) -> str:
        """The method of `factorized`."""
        if self._batch._interleaved and self._batch._backend is not CPU:
            from .._products.device_batches import interleaved_method  # imported at its first use

            if found := interleaved_method(self._batch, None):
                return found
        return method_choice.default_method(self.A, *self.reach, max(1, self.members))

    @cached_property
    def symmetric(self) -> bool:
        """Whether all members are equal to their transposes, up to rounding; for matrices on the CPU."""
        difference = total = 0.0
        for k in self.counts:
            one, other = (batch_matrix.elements(self._batch, j) for j in (k, -k))
            if one is None or other is None:
                return False
            with np.errstate(all="ignore"):
                difference += float((abs(one - other) ** 2).sum())
                total += float((abs(one) ** 2).sum())
        return bool(np.isfinite(total)) and difference <= self.most_asymmetry**2 * total

    @cached_property
    def positive_diagonal(self) -> bool:
        """Whether all elements of the main diagonals are positive; for matrices on the CPU."""
        main = batch_matrix.elements(self._batch, 0)
        return main is not None and bool((main > 0).all())

    @cached_property
    def factor_entries(self) -> int:
        """Values in the factors of a band in the given order, which a solver that reorders rows does not exceed."""
        below, above = self.reach
        return self.n * (2 * below + above + 1)
