"""Factorizations of the members of a batch, in both layouts, and solving with them."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from .._arrays import owners
from .._arrays.host_dense import as_numpy
from .._backends.backend import CPU
from . import batch_matrix
from .batches import batch_array
from .factors import Solver, require_rows_of_batch, size_text
from .interleaved import interleaved_batch
from .named_errors import shift


class BatchFactorization(Solver):
    """The factors of ``A_i - sigma I`` for all members of a batch: ``F.solve(B)`` solves row i with member i.

    ``F(B)`` and ``F @ B`` do the same. It is not a SciPy operator. It has the attributes of `Factorization`, where
    `shape` is that of each member, and `count`, the number of members.
    """

    def __init__(
        self, batch: batch_array, sigma: complex, method: str | None, once: bool = False, who: str = "factorized"
    ) -> None:
        self.dtype = np.result_type(batch.dtype, np.complex64) if np.iscomplexobj(sigma) else batch.dtype
        self.shape, self.count = batch.shape, batch.count
        self._members = batch.count
        if once and batch._backend is not CPU:
            from . import device_batches  # imported at its first use

            if device_batches.suits(batch, sigma, method):
                self._factors, self._backend = device_batches.BatchInPlace(batch), batch._backend
                self.sigma, self.seconds = sigma, 0.0
                return
        whole = batch_matrix.on_the_diagonal(batch, who)
        self._factor(whole.astype(self.dtype, copy=False), sigma, method, once, who)

    __array_ufunc__ = None  # so that `b @ F` raises TypeError
    _interleaved = False  # whether the members are interleaved

    def __matmul__(self, b: Any) -> Any:
        return self.solve(b)

    def __len__(self) -> int:
        return self.count

    def _fitted(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return require_rows_of_batch(self, shape, self._interleaved)

    def __repr__(self) -> str:
        n = self.shape[0]
        what = f"{self.count} A_i{shift(self.sigma)}, {n} x {n} {self.dtype}"
        return f"<factors of {what}: {self.method}, {size_text(self)}>"


class InterleavedFactorization(BatchFactorization):
    """The same for an `interleaved_batch`: ``F.solve(B)`` solves column i of B, of shape (n, count), with member i."""

    def __init__(
        self, batch: interleaved_batch, sigma: complex, method: str | None, once: bool = False, who: str = "factorized"
    ) -> None:
        if batch._backend is not CPU:
            from . import device_batches  # imported at its first use

            if found := device_batches.interleaved_method(batch, method):
                began = time.perf_counter()
                self.dtype = np.result_type(batch.dtype, np.complex64) if np.iscomplexobj(sigma) else batch.dtype
                self.shape, self.count, self._members = batch.shape, batch.count, batch.count
                self.sigma, self._backend = sigma, batch._backend
                try:
                    with self._naming_errors(f"{who}:"):
                        self._factors = device_batches.interleaved_factors(batch, self.dtype, sigma, found, once)
                except np.linalg.LinAlgError:
                    if found != "cyclic":  # whose tridiagonal part may be singular even if the matrix is not
                        raise
                else:
                    self.seconds, self._interleaved = time.perf_counter() - began, True
                    return
        super().__init__(batch.contiguous(), sigma, method, once, who)

    def _solved(self, b: Any, trans: str) -> Any:
        if self._interleaved:
            return super()._solved(b, trans)
        owners.refuse_gpu_array(b, self._backend, "solve", "b")
        given = as_numpy(b, "solve") if owners.owner_of(b) is None else b
        require_rows_of_batch(self, tuple(given.shape), True)
        return super()._solved(given.T if len(given.shape) == 2 else given, trans).T
