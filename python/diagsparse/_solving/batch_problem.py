"""What the choice of a method for the systems of a batch depends on."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from .._backends.backend import CPU
from .._products import method_choice
from .._products.batch_matrix import on_the_diagonal
from .problem import Problem


class BatchProblem(Problem):
    """The properties of the block diagonal matrix of all members, which are solved together."""

    grid = None  # grids are for multigrid, which solves single matrices

    def __init__(self, batch: Any) -> None:
        rows = batch.contiguous() if batch._interleaved else batch
        super().__init__(on_the_diagonal(rows, "recommend"))
        self.members, self._batch = batch.count, batch

    @cached_property
    def direct(self) -> str:
        """The method of `factorized`."""
        if self._batch._interleaved and self._batch._backend is not CPU:
            from .._products.device_batches import interleaved_method  # imported at its first use

            if found := interleaved_method(self._batch, None):
                return found
        return method_choice.default_method(self.A, *self.reach, max(1, self.members))

    @cached_property
    def factor_entries(self) -> int:
        """Values in the factors of a band in the given order, which a solver that reorders rows does not exceed."""
        below, above = self.reach
        return self.n * (2 * below + above + 1)
