"""Products of a batch with vectors, a row (or if interleaved a column) for each member, on the CPU and on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import device_dense, host_dense, owners, streams
from .._backends.backend import CPU
from .._backends.types import check_scalars, product_dtypes


def product(batch: Any, op: int, x: Any, out: Any, alpha: Any, beta: Any, who: str, stream: Any) -> Any:
    """Return the rows ``alpha op(A_i) x_i + beta out_i``."""
    task = _Product(batch, op, alpha, beta, who)
    if batch._backend is not CPU:
        return device_dense.multiply(task, x, out, stream)
    streams.on(CPU, stream, who)  # raises for a stream
    owners.refuse_gpu_array(x, CPU, who)
    x = host_dense.as_numpy(x, who)
    wanted, result = task.dtypes(x.shape, x.dtype)
    return task.on_host(x.astype(wanted, copy=False), out, result)


class _Product(device_dense.Product):
    """A product of a batch with vectors."""

    def __init__(self, batch: Any, op: int, alpha: Any, beta: Any, who: str) -> None:
        shape = batch.shape[::-1] if op else batch.shape
        super().__init__(batch._all, op, shape, alpha, beta, None, who)
        self.count = batch.count
        self._interleaved = batch._interleaved

    def _rows(self, n: int) -> tuple[int, int]:
        """Return the shape of vectors of length n for all members."""
        return (n, self.count) if self._interleaved else (self.count, n)

    def dtypes(self, shape: tuple[int, ...], given: np.dtype) -> tuple[np.dtype, np.dtype]:
        n = self.shape[1]
        if shape not in ((n,), self._rows(n)):
            rows, cols = self.shape[::-1] if self.op else self.shape
            raise ValueError(
                f"{self.who}: x has shape {tuple(shape)}, but the batch is {self.count} matrices {rows} x {cols} and "
                f"needs {self._rows(n)}, or ({n},) for all of them"
            )
        wanted, result = product_dtypes(self.a.dtype, given)
        check_scalars(result, self.alpha, self.beta, self.who)
        return wanted, result

    def result_shape(self, x: Any) -> tuple[int, ...]:
        return self._rows(self.shape[0])

    def _multiply(self, x: Any, y: Any) -> None:
        """Write the product to y; x and y have unit strides in the last axis, or if interleaved C order."""
        core, matrix = self.backend.core, self.a._matrix
        if self._interleaved:
            core.matvec(matrix, self.op, x.ravel(), y.ravel(), self.alpha, self.beta, self.kernel)
        else:
            core.batch_matvec(matrix, self.op, x, y, self.alpha, self.beta)

    def _fits(self, array: Any) -> bool:
        """Whether a product can be written to an array."""
        if self._interleaved:
            return array.flags.c_contiguous if isinstance(array, np.ndarray) else owners.is_contiguous(array)
        unit = host_dense.has_unit_stride if isinstance(array, np.ndarray) else device_dense.has_unit_stride
        return unit(array, 1) and not host_dense.overlaps_itself(array)

    def require_out(self, out: Any) -> None:
        """Raise ValueError for beta without out."""
        if out is None and self.beta != 0:
            raise ValueError(f"{self.who}: beta={self.beta} scales out, but no out was given")

    def on_host(self, x: np.ndarray, out: Any, result: np.dtype) -> np.ndarray:
        """Multiply NumPy's array x for a batch on the CPU."""
        self.require_out(out)
        y = target = np.empty(self.result_shape(x), result) if out is None else out
        if out is not None:
            host_dense.checked_output(out, self.result_shape(x), result, self.who)
            if not self._fits(out):
                y = np.array(out, order="C")
        if not host_dense.has_unit_stride(x, x.ndim - 1) or np.may_share_memory(x, y):
            x = np.array(x, order="C")
        if x.size and y.size:
            rows = np.broadcast_to(
                x[:, np.newaxis] if self._interleaved and x.ndim == 1 else x, self._rows(self.shape[1])
            )
            self._multiply(np.ascontiguousarray(rows) if self._interleaved else rows, y)
        else:  # empty sums are 0, and NaN with an infinite alpha
            y[...] = np.nan if not np.isfinite(self.alpha) else self.beta * y if self.beta != 0 else 0
        if y is not target:
            host_dense.refuse_part_of(self.a._matrix.values, target, self.who, self.backend.core)
            target[...] = y
        return target

    def run(self, x: Any, target: Any, make: Any) -> None:
        """Multiply `DeviceArray`s, as `device_dense` calls it."""
        self.require_out(target)
        core = self.backend.core
        if target is None:
            y = make("C")
        else:
            y = target if self._fits(target) else device_dense.gather(core, target, 1)
        if not device_dense.has_unit_stride(x, x.ndim - 1) or (target is not None and core.overlap(target, x)):
            x = device_dense.gather(core, x, 1)
        if x.size and y.size:
            if x.ndim == 1:
                strides = (x.itemsize, 0) if self._interleaved else (0, x.itemsize)
                x = owners.strided(core, x, self._rows(x.shape[0]), strides)
            self._multiply(owners.contiguous(x, x.dtype) if self._interleaved else x, y)
        elif y.size:  # the members have no columns
            y.assign(y * self.beta if self.beta != 0 else device_dense.zeros(core, y))
            if not np.isfinite(self.alpha):
                y.fill(np.nan)
        if target is not None and y is not target:
            host_dense.refuse_part_of(self.a._matrix.values, target, self.who, core)
            target.assign(y)
