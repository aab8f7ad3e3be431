"""The values of a batch, a row for each member, from a user's arrays or matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._arrays import owners
from .._arrays.host_dense import as_numpy
from .._backends import memory
from .._backends.backend import CPU
from .._backends.types import value_dtype
from .._matrix.sparse_array import SparseArray

_WHO = "batch_array"


def has_batches(x: Any) -> bool:
    """Whether `x` is a matrix of a format that has batches."""
    return isinstance(x, SparseArray) and x._format.batched


def shared(values: Any, like: Any) -> Any:
    """Return the user's values with a row for each member, without a copy if possible."""
    if not has_batches(like):
        raise TypeError(f"{_WHO}: like is {type(like).__name__}, expected a dia_array, hm_array or cdm_array")
    _require_plain(like, "like")
    backend, member = like._backend, like._core.member_shape(like._matrix)
    owners.refuse_gpu_array(values, backend, _WHO)
    owner = owners.owner_of(values)
    given = as_numpy(values, _WHO) if owner is None else values
    if len(given.shape) != 1 + len(member) or tuple(given.shape[1:]) != member:
        expected = ", ".join(["count", *map(str, member)])
        raise ValueError(f"{_WHO}: values have shape {tuple(given.shape)}, expected ({expected}) for {like!r}")
    dtype = value_dtype(owners.dtype_of(given), None, _WHO)
    rows = given.shape[0], int(np.prod(member))
    if backend is CPU:
        return np.require(given, dtype, ["C", "A"]).reshape(rows)
    return owners.contiguous(owners.as_device_array(given.reshape(rows), dtype, backend, _WHO, "values"), dtype)


def stacked(given: Any) -> tuple[Any, SparseArray]:
    """Return the values of these matrices as rows, and the first matrix."""
    if not isinstance(given, Sequence) or not all(map(has_batches, given)):
        raise TypeError(f"{_WHO}: expected (values, like), or a list of dia, hm or cdm matrices")
    if not given:
        raise ValueError(f"{_WHO}: an empty list has no layout; pass (values, like)")
    first = given[0]
    for i, a in enumerate(given):
        _require_plain(a, f"matrix {i}")
        if not _alike(first, a):
            raise ValueError(f"{_WHO}: matrix {i} is {a!r} with another layout than the first, {first!r}")
    backend, size = first._backend, first._matrix.values.size
    memory.require_free(len(given) * size * first.dtype.itemsize, f"{_WHO}: {len(given)} matrices", backend)
    if backend is CPU:
        return np.stack([a._matrix.values.ravel() for a in given]), first
    rows = backend.core.empty((len(given), size), first.dtype.name, backend.index)
    for i, a in enumerate(given):
        rows.ravel()[i * size : (i + 1) * size].assign(a._matrix.values.ravel())
    return rows, first


def _require_plain(a: SparseArray, name: str) -> None:
    if a._packed:
        raise ValueError(f"{_WHO}: {name} is {a!r}, which is packed; {name.split()[0]}.unpacked() stores it in full")
    if a._op:
        raise ValueError(f"{_WHO}: {name} is {a!r}; use .copy()")


def _alike(a: SparseArray, b: SparseArray) -> bool:
    same = (a.format, a.shape, a.dtype, a._backend) == (b.format, b.shape, b.dtype, b._backend)
    return same and np.array_equal(a.parts()[a._format.labels], b.parts()[b._format.labels])
