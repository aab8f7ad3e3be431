"""The values of a batch, a row for each member, from a user's arrays or matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._arrays import device_arrays, owners
from .._arrays.host_dense import as_numpy
from .._backends import memory
from .._backends.backend import CPU, Backend
from .._backends.types import value_dtype
from .._matrix.construct import in_c_order
from .._matrix.operands import class_name
from .._matrix.sparse_array import SparseArray

_WHO = "batch_array"


def has_batches(x: Any) -> bool:
    """Whether `x` is a matrix of a format that has batches."""
    return isinstance(x, SparseArray) and x._format.batched


def shared(values: Any, like: Any) -> Any:
    """Return the user's values with a row for each member, without a copy if possible."""
    given, backend, dtype = _checked(values, like, _WHO, -1)
    rows = given.shape[0], int(np.prod(given.shape[1:]))
    return _flat(given, rows, dtype, backend, _WHO)


def shared_interleaved(values: Any, like: Any) -> tuple[Any, int]:
    """Return values of interleaved members as a vector, without a copy if possible; and the number of members."""
    who = "interleaved_batch"
    given, backend, dtype = _checked(values, like, who, 0)
    return _flat(given, (int(np.prod(given.shape)),), dtype, backend, who), int(given.shape[-1])


def _checked(values: Any, like: Any, who: str, first: int) -> tuple[Any, Backend, np.dtype]:
    """Return values, their device and dtype; `first` is 0 if the first axis is one of the member, else -1."""
    if not has_batches(like):
        raise TypeError(f"{who}: like is {class_name(like)}, expected a dia_array, hm_array or cdm_array")
    _require_plain(like, "like")
    backend, member = like._backend, like._core.member_shape(like._matrix)
    owners.refuse_gpu_array(values, backend, who)
    given = as_numpy(values, who) if owners.owner_of(values) is None else values
    shape = tuple(given.shape)
    if len(shape) != 1 + len(member) or (shape[1:] if first else shape[:-1]) != member:
        sides = [*map(str, member)]
        expected = ", ".join(["count", *sides] if first else [*sides, "count"])
        raise ValueError(f"{who}: values have shape {shape}, expected ({expected}) for {like!r}")
    return given, backend, value_dtype(owners.dtype_of(given), None, who, argument="values")


def _flat(given: Any, shape: tuple[int, ...], dtype: np.dtype, backend: Backend, who: str) -> Any:
    """Return values in C order, with another shape."""
    if backend is CPU:
        return in_c_order(given, dtype, who).reshape(shape)
    return device_arrays.contiguous(owners.as_device_array(given.reshape(shape), dtype, backend, who, "values"), dtype)


def transposed(backend: Backend, rows: Any) -> Any:
    """Return a copy of the transpose of a 2-D array, in C order."""
    if backend is CPU:
        return np.array(rows.T, order="C")
    result = backend.core.empty(rows.shape[::-1], rows.dtype.name, backend.index)
    result.assign(rows.T)
    return result


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
