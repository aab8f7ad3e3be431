"""Tridiagonal and cyclic systems of a batch on a GPU, in the layout of the batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._backends.backend import CPU, Backend
from .batch_matrix import diagonal_starts, on_the_diagonal
from .batches import batch_array
from .device_factors import DeviceFactors, RightSide
from .device_members import MANY
from .interleaved import interleaved_batch

_MOST_ROWS = 2**30  # of a member, for the kernels


def suits(batch: batch_array, sigma: complex, method: str | None) -> bool:
    """Whether a batch is solved here, if it is solved once."""
    offsets = set(batch.offsets.tolist())
    tridiagonal = 0 in offsets and {1} <= set(map(abs, offsets)) <= {0, 1} and batch.shape[0] <= _MOST_ROWS
    return tridiagonal and batch._backend is not CPU and sigma == 0 and method in (None, "tridiagonal")


def interleaved_method(batch: interleaved_batch, method: str | None) -> str:
    """Return the method that solves interleaved members without another copy of them, or ""."""
    n, offsets = batch.shape[0], set(map(abs, batch.offsets.tolist()))
    if batch.count < MANY or n > _MOST_ROWS:
        return ""
    if n >= 4 and n - 1 in offsets:
        summary = batch._all._summary()
        offsets = set(abs(summary.offsets[summary.fill > 0] // batch.count).tolist())
    found = ""
    if {1} <= offsets <= {0, 1}:
        found = "tridiagonal"
    elif n >= 4 and {n - 1} <= offsets <= {0, 1, n - 1}:
        found = "cyclic"
    return found if method in (None, found) else ""


def interleaved_factors(
    batch: interleaved_batch, dtype: np.dtype, sigma: complex, method: str, once: bool
) -> DeviceFactors:
    """Return the factors of interleaved members."""
    everything = batch._all.astype(dtype, copy=False)
    return DeviceFactors(everything, sigma, method, batch.count, (1, 1), once, interleaved=True)


@dataclass
class _Whole:
    """What a right-hand side needs to know about the block diagonal matrix of all members."""

    shape: tuple[int, int]
    dtype: np.dtype
    _backend: Backend


class BatchInPlace:
    """A solver for the members of a batch that reads the values of the batch itself, with the layout that they have."""

    method, nbytes, interleaved = "tridiagonal", 0, False

    def __init__(self, batch: batch_array) -> None:
        order = batch.count * batch.shape[0]
        self.matrix = _Whole((order, order), batch.dtype, batch._backend)
        self._batch = batch

    def right_side(self, trans: str, fitted: Callable[..., tuple[int, ...]]) -> RightSide:
        """Return the task of solving for a right-hand side, an array of any library."""
        return RightSide(self, trans, fitted)

    def solve(self, b: Any, x: Any, trans: str) -> None:
        """Write the solutions for `b` to `x`; the arguments are those of `DeviceFactors.solve`."""
        batch = self._batch
        if x is not b and x.shape[1] == 1 and x.dtype == batch.dtype and trans == "N":
            values, starts = batch._matrix.values, diagonal_starts(batch)
            flat = values.ravel()
            diagonals = [flat[starts.get(k, flat.size) :] for k in (-1, 0, 1)]
            stride = values.size // batch.count
            if batch._backend.core.solve_tridiagonal_once(*diagonals, batch.shape[0], stride, b, x):
                return
        whole = on_the_diagonal(batch, "solve")
        DeviceFactors(whole, 0, "tridiagonal", batch.count, (1, 1), once=True).solve(b, x, trans)
