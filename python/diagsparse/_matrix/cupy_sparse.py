"""Conversions from and to CuPy's sparse matrices, on the GPU. Only `to_cupy` imports CuPy."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .._arrays import device_arrays, owners
from .._backends import memory
from .._backends.backend import CPU, Backend, gpu
from .._backends.types import value_dtype
from . import devices
from .base import Base
from .convert import convert, unpacked
from .summary import Summary, inside
from .workspaces import sorting

_ENTRIES = {"csr": ("indices", "indptr"), "csc": ("indices", "indptr"), "coo": ("row", "col")}


def issparse(x: Any) -> bool:
    """Whether `x` is a sparse matrix or array of CuPy."""
    module: Any = sys.modules.get("cupyx.scipy.sparse")
    return module is not None and hasattr(module, "issparse") and bool(module.issparse(x))


def home(x: Any) -> Backend:
    """Return the GPU of a sparse matrix of CuPy."""
    return gpu(int(x.data.device.id))


def from_sparse(format: Any, a: Any, dtype: Any, max_bytes: int | None) -> Any:
    """Build from a sparse matrix of CuPy, on its GPU."""
    dtype = value_dtype(a.dtype, dtype, format.who)
    backend = home(a)
    if a.format == "dia":
        return _from_dia(format, a, dtype, backend, max_bytes)
    a = a if a.format in _ENTRIES else a.tocsr()
    entries = format.for_entries()
    limit = max_bytes if entries is format else None
    s = Summary(a.shape, dtype.itemsize, a.nnz)
    entries.require(s, limit, backend, temporary=sorting(a.nnz, dtype.itemsize, backend))
    first, second = (_view(getattr(a, name), backend) for name in _ENTRIES[a.format])
    result = devices.entries(entries.name, a.shape, _view(a.data, backend, dtype), first, second, a.format, backend)
    return convert(result, format.name, max_bytes)


def _view(x: Any, backend: Backend, dtype: np.dtype | None = None) -> Any:
    """Return a CuPy array as a `DeviceArray`, converted to `dtype` if it is given."""
    return owners.CuPy.view(backend.core, x if dtype is None else x.astype(dtype, copy=False), backend.index)


def _from_dia(format: Any, a: Any, dtype: np.dtype, backend: Backend, max_bytes: int | None) -> Any:
    """Build from diagonals aligned by column, ``data[d, j] = A[j - offsets[d], j]``."""
    target, offsets = format.for_diagonals(), a.offsets.get().tolist()
    s = Summary(a.shape, dtype.itemsize, a.nnz, offsets=lambda: inside(a.shape, offsets))
    target.require(s, max_bytes, backend)
    view = device_arrays.contiguous(_view(a.data, backend, dtype), dtype)
    result = Base._wrap(backend.core.realigned(target.name, *a.shape, view, offsets))
    return convert(result, format.name, max_bytes)


def from_dense(format: Any, x: Any, dtype: np.dtype, max_bytes: int | None) -> Any:
    """Build from a dense array of CuPy, on its GPU."""
    from cupyx.scipy import sparse

    with sys.modules["cupy"].cuda.Device(x.device.id):
        return from_sparse(format, sparse.csr_matrix(x.astype(dtype, copy=False)), None, max_bytes)


# ---- to CuPy --------------------------------------------------------------------------------------
def to_cupy(a: Any, format: str | None) -> Any:
    """Return a matrix as a `cupyx.scipy.sparse` matrix; see `conversions.to_cupy`."""
    try:
        import cupy
        from cupyx.scipy import sparse
    except ImportError as error:
        raise ImportError(f"to_cupy needs CuPy ({error}): pip install cupy-cuda13x, or cupy-cuda12x") from error

    a = a.to("cuda") if a._backend is CPU else a
    format = format or a._format.nearest
    if format not in (*_ENTRIES, "dia"):
        raise ValueError(f'to_cupy: format {format!r}: expected "csr", "csc", "coo" or "dia"')
    with cupy.cuda.Device(a._backend.index):
        if format == "dia":
            return _to_dia(unpacked(convert(a, a._format.for_diagonals().name)), cupy, sparse)
        plain = a.asformat(format)
        plain = plain.copy() if plain._op else plain
        values, first, second = (cupy.from_dlpack(plain.parts()[name]) for name in ("values", *_ENTRIES[format]))
        if format == "coo":
            result = sparse.coo_matrix((values, (first, second)), shape=plain.shape)
        else:
            small = plain.nnz < 2**31  # CuPy requires one type for both
            parts = (first, second.astype(np.int32)) if small else (first.astype(np.int64), second)
            result = getattr(sparse, f"{format}_matrix")((values, *parts), shape=plain.shape)
            result.has_canonical_format = True
        return result


def _to_dia(a: Any, cupy: Any, sparse: Any) -> Any:
    """Return CuPy's dia_matrix, whose diagonals are aligned by column."""
    spans = a._format.spans(a)
    nbytes = len(spans) * a.shape[1] * a.dtype.itemsize
    memory.require_free(nbytes, "to_cupy: dia_matrix's data", a._backend)
    data = cupy.zeros((len(spans), a.shape[1]), a.dtype)
    for row, (offset, first, values) in zip(data, a._format.diagonals(a), strict=True):
        row[first + offset : first + offset + values.size] = a._format.apply_conjugation(a, cupy.from_dlpack(values))
    return sparse.dia_matrix((data, cupy.asarray(spans[:, 0])), shape=a.shape)
