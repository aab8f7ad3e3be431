"""Products of a batch with vectors and blocks of columns, on the CPU and on a GPU.

A batch multiplies a row (or if interleaved a column) for each member, or one vector for all. Blocks are rows, too,
which have the elements of all columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import device_arrays, device_dense, host_dense, owners, streams
from .._backends.backend import CPU
from .._backends.types import check_scalars, product_dtypes


def product(batch: Any, op: int, x: Any, out: Any, alpha: Any, beta: Any, who: str, stream: Any) -> Any:
    """Return ``alpha op(A_i) x_i + beta out_i`` for all members."""
    if batch._backend is CPU:
        streams.on(CPU, stream, who)  # raises for a stream
        owners.refuse_gpu_array(x, CPU, who)
    if owners.owner_of(x) is None:
        x = host_dense.as_numpy(x, who)
    rows, columns = in_rows(batch, batch.shape[0 if op else 1], x, who)
    task = _Product(batch, op, 1 if columns is None else columns, alpha, beta, who)
    if columns is None:
        return _in_vectors(task, x, out, stream)
    shape = batch.count, batch.shape[1 if op else 0], columns
    if out is None:
        return _in_vectors(task, rows, None, stream).reshape(shape)
    return _into_blocks(task, rows, out, shape, stream)


def in_rows(batch: Any, n: int, x: Any, who: str, name: str = "x") -> tuple[Any, int | None]:
    """Return x with the elements of each member's vector or block in a row, and the number of columns of blocks.

    A vector, or a block for all members, becomes a vector; vectors have None as the number of columns.
    """
    shape, count = tuple(x.shape), batch.count
    if len(shape) == 1 and shape[0] == n:
        return x, None
    if batch._interleaved:
        if shape == (n, count):
            return x, None
        needed = f"({n}, {count}), or ({n},) for all of them; batch.contiguous() also multiplies blocks of columns"
    else:
        if shape == (count, n):
            return x, None
        if len(shape) == 2 and shape[0] == n:
            return x.reshape(n * shape[1]), shape[1]
        if len(shape) == 3 and shape[0] in (1, count) and shape[1] == n:
            columns = shape[2]
            return x.reshape((n * columns,) if shape[0] == 1 else (count, n * columns)), columns
        needed = f"({count}, {n}) or ({count}, {n}, p), or ({n},) or ({n}, p) for all of them"
    members = f"{count} matrices {batch.shape[0]} x {batch.shape[1]}"
    raise ValueError(f"{who}: {name} has shape {shape}, but the batch is {members} and needs {needed}")


def _in_vectors(task: _Product, x: Any, out: Any, stream: Any) -> Any:
    """Multiply by vectors, or by blocks in rows."""
    if task.backend is not CPU:
        return device_dense.multiply(task, x, out, stream)
    wanted, result = task.dtypes(x.shape, x.dtype)
    return task.on_host(x.astype(wanted, copy=False), out, result)


def _into_blocks(task: _Product, x: Any, out: Any, shape: tuple[int, int, int], stream: Any) -> Any:
    """Multiply by blocks in rows, and write the result to out=, an array of three dimensions."""
    rows, owner = (shape[0], shape[1] * shape[2]), owners.owner_of(out)
    given = tuple(getattr(out, "shape", ()))
    if given != shape and hasattr(out, "shape"):
        raise ValueError(f"{task.who}: out has shape {given}, expected {shape}")
    if owner is None:
        host_dense.checked_output(out, shape, task.dtypes(x.shape, owners.dtype_of(x))[1], task.who)
        contiguous = out.flags.c_contiguous and out.flags.aligned
        target = out.reshape(rows) if contiguous else np.array(out, order="C").reshape(rows)
        _in_vectors(task, x, target, stream)
        if not contiguous:
            host_dense.refuse_part_of(task.a._matrix.values, out, task.who, task.backend.core)
            out[...] = target.reshape(shape)
        return out
    owners.refuse_gpu_array(out, task.backend, task.who, "out")
    _in_vectors(task, x, out if owner is owners.Jax else _flat_view(task, out, rows), stream)
    return out


def _flat_view(task: _Product, out: Any, rows: tuple[int, int]) -> Any:
    """Return a `DeviceArray` of two dimensions on the memory of an array of three dimensions on a GPU."""
    given = out.__cuda_array_interface__
    step = np.dtype(given["typestr"]).itemsize
    c_order = rows[1] * step, out.shape[2] * step, step
    strides = zip(out.shape, given.get("strides") or c_order, c_order, strict=True)
    if any(extent > 1 and actual != wanted for extent, actual, wanted in strides):
        raise ValueError(f"{task.who}: out is not in C order")
    return device_arrays.strided(task.backend.core, out, rows, (rows[1] * step, step))


class _Product(device_dense.Product):
    """A product of a batch with vectors, or with blocks whose elements are in rows."""

    def __init__(self, batch: Any, op: int, columns: int, alpha: Any, beta: Any, who: str) -> None:
        m, n = batch.shape[::-1] if op else batch.shape
        super().__init__(batch._all, op, (m * columns, n * columns), alpha, beta, None, who)
        self.count, self.columns = batch.count, columns
        self._interleaved = batch._interleaved

    def _rows(self, n: int) -> tuple[int, int]:
        """Return the shape of vectors of length n for all members."""
        return (n, self.count) if self._interleaved else (self.count, n)

    def dtypes(self, shape: tuple[int, ...], given: np.dtype) -> tuple[np.dtype, np.dtype]:
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
            core.batch_matvec(matrix, self.op, x, y, self.columns, self.alpha, self.beta)

    def _fits(self, array: Any) -> bool:
        """Whether a product can be written to an array."""
        if self._interleaved:
            return array.flags.c_contiguous if isinstance(array, np.ndarray) else device_arrays.is_contiguous(array)
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
                x = device_arrays.strided(core, x, self._rows(x.shape[0]), strides)
            self._multiply(device_arrays.contiguous(x, x.dtype) if self._interleaved else x, y)
        elif y.size:  # the members have no columns
            y.assign(y * self.beta if self.beta != 0 else device_dense.zeros(core, y))
            if not np.isfinite(self.alpha):
                y.fill(np.nan)
        if target is not None and y is not target:
            host_dense.refuse_part_of(self.a._matrix.values, target, self.who, core)
            target.assign(y)
