"""The members of a batch as one matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import device_arrays, new
from .._backends import memory
from .._backends.backend import CPU, Backend
from .._matrix.registry import format_named
from .._matrix.sparse_array import SparseArray


def on_the_diagonal(batch: Any, who: str) -> SparseArray:
    """Return the block diagonal matrix of the members of a `batch_array`, in dia."""
    n, count, backend, dtype = batch.shape[1], batch.count, batch._backend, batch.dtype
    rows, order = batch._matrix.values, count * n
    starts = diagonal_starts(batch) if order else {}
    offsets = list(starts)
    memory.require_free(len(offsets) * order * dtype.itemsize, f"{who}: {count} members as one matrix", backend)
    data = new.zeros(backend, (len(offsets), order), dtype)
    for i, k in enumerate(offsets):
        shape = count, n - abs(k)
        into = window(backend, data, i * order + max(0, -k), shape, n)
        assign(into, window(backend, rows, starts[k], shape, rows.shape[1]))
    return format_named("dia").array((data, offsets), shape=(order, order), align="row")


def nonzeros(batch: Any) -> dict[int, int]:
    """Return how many elements of all members are not zero, by the offset of their diagonal; the batch is not copied.

    On a GPU, one diagonal at a time is.
    """
    if batch._interleaved:
        summary, count = batch._all._summary(), batch.count
        offsets, fill = (summary.offsets // count).tolist(), summary.fill.tolist()
        return dict(zip(offsets, fill, strict=True))
    n, order = batch.shape[0], batch.count * batch.shape[0]
    if not order:
        return {}
    if batch._backend is CPU:
        return {k: int(np.count_nonzero(elements(batch, k))) for k in diagonal_starts(batch)}
    found = {}
    for k in diagonal_starts(batch):
        data = new.zeros(batch._backend, (1, order), batch.dtype)
        assign(window(batch._backend, data, max(0, -k), (batch.count, n - abs(k)), n), elements(batch, k))
        alone = format_named("dia").array((data, [k]), shape=(order, order), align="row")
        found[k] = int(alone._summary().fill.sum())
    return found


def elements(batch: Any, k: int) -> Any:
    """Return the elements on a diagonal of all members, or None if it is not stored: (count, n - |k|), a view.

    If the members are interleaved, they are copied, and have the shape (n - |k|, count).
    """
    if batch._interleaved:
        stored = k * batch.count in batch._all.offsets
        return batch._all.diagonal(k * batch.count).reshape(-1, batch.count) if stored else None
    starts, values = diagonal_starts(batch), batch._matrix.values
    shape = batch.count, batch.shape[0] - abs(k)
    return window(batch._backend, values, starts[k], shape, values.shape[1]) if k in starts else None


def diagonal_starts(batch: Any) -> dict[int, int]:
    """Return the offset of each diagonal, and the position of its first element among the values of a member.

    `batch` may also be a matrix.
    """
    a = getattr(batch, "_all", batch)
    return {offset: start for offset, _, _, start in a._format.spans(a).tolist()}


def window(backend: Backend, array: Any, at: int, shape: tuple[int, int], step: int) -> Any:
    """Return a view of an array in C order that starts at an element, with `step` elements between rows."""
    flat, item = array.ravel()[at:], array.itemsize
    if backend is CPU:
        return np.lib.stride_tricks.as_strided(flat, shape, (step * item, item))
    return device_arrays.strided(backend.core, flat, shape, (step * item, item))


def assign(to: Any, values: Any) -> None:
    """Write values of the same shape to an array on either device."""
    if isinstance(to, np.ndarray):
        to[...] = values
    else:
        to.assign(values)
