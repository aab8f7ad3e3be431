"""Two complex matrices A and B on one structure, from all that a `quaternion_array` is built from: Q = A + B j."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._arrays import new
from .._arrays.host_dense import as_numpy
from .._backends import memory
from .._backends.types import complex_type, floats_for, real_type, value_dtype
from .._matrix import devices
from .._matrix.base import TRANSPOSED, issparse
from .._matrix.construct import array
from .._matrix.convert import unpacked
from .._matrix.operands import as_sparse, require_matrix
from .arrays import as_reals

WHO = "quaternion_array"
Pair = tuple[Any, Any]  # A and B
_EXPECTED = "expected four real matrices, two complex ones, or an array of shape (m, n, 4)"
_BYTES = 100  # of temporary memory for each stored element


def of(arg: Any, format: str | None, dtype: Any, device: str | None) -> Pair:
    """Build a pair from the arguments of the constructor."""
    if dtype is not None and np.dtype(dtype) not in (np.float32, np.float64):
        raise TypeError(f"{WHO}: dtype is {np.dtype(dtype)}, expected float32 or float64, the type of each component")
    matrices = [_checked(x, f"part {i}") for i, x in enumerate(_matrices(arg))]
    if len({x.shape for x in matrices}) > 1:
        raise ValueError(f"{WHO}: the shapes are {', '.join(str(x.shape) for x in matrices)}, expected one shape")
    given = np.result_type(*(x.dtype for x in matrices))
    if len(matrices) == 4 and given.kind == "c":
        raise TypeError(f"{WHO}: four components of {given} values, expected real ones; pass (A, B) for A + B j")
    wanted = value_dtype(given, floats_for(given, None if dtype is None else complex_type(dtype), WHO), WHO)
    ours = [x for x in matrices if issparse(x)]
    if format is None and len({x.format for x in ours}) == 1:
        format = ours[0].format
    if device is None and ours:
        device = ours[0].device
    pair = _on_their_union(matrices, format, complex_type(real_type(wanted)))
    return pair if device is None else moved(pair, device)


def of_complex(matrix: Any) -> Pair:
    """Return the pair of a real or complex matrix and zeros, on its device."""
    a = unpacked(matrix)
    a = a.astype(complex_type(a.dtype))
    values = a._matrix.values
    return a, with_values(a, new.zeros(a._backend, values.shape, values.dtype))


def _matrices(arg: Any) -> Sequence[Any]:
    """Return the four real matrices or the two complex ones that the user has passed."""
    if isinstance(arg, (tuple, list)) and len(arg) in (2, 4) and all(np.ndim(x) == 2 or sp.issparse(x) for x in arg):
        return arg
    if isinstance(arg, np.ndarray):
        reals = as_reals(as_numpy(arg, WHO))
        reals = reals.astype(reals.dtype.newbyteorder("="), copy=False)  # SciPy knows no other bytes
        if reals.ndim == 3 and reals.shape[2] == 4:
            return [reals[:, :, i] for i in range(4)]
        raise ValueError(f"{WHO}: got an array of shape {arg.shape}, {_EXPECTED}")
    given = f"{type(arg).__name__}" + (f" of {len(arg)}" if isinstance(arg, (tuple, list)) else "")
    raise TypeError(f"{WHO}: got {given}, {_EXPECTED}")


def _checked(x: Any, name: str) -> Any:
    """Return a matrix of ours or of SciPy, or a NumPy array."""
    require_matrix(x, WHO, name)
    if sp.issparse(x):
        return x
    sparse = as_sparse(x)  # of CuPy
    return as_numpy(x, WHO) if sparse is None else sparse


def _on_their_union(matrices: Sequence[Any], format: str | None, dtype: np.dtype) -> Pair:
    """Return the pair of four real matrices or two complex ones, on the CPU.

    The structure is that of a matrix whose values are 1, 2, 3, ...: they tell where a format stores each element, so
    that A and B, which may have zeros at different places, receive the same structure.
    """
    m, n = matrices[0].shape
    entries = [_entries(x) for x in matrices]
    memory.require_free(_BYTES * sum(len(keys) for keys, _ in entries), f"{WHO}: a common structure")
    union = np.unique(np.concatenate([keys for keys, _ in entries]))
    numbers = sp.csr_array((np.arange(1.0, len(union) + 1), (union // max(1, n), union % max(1, n))), shape=(m, n))
    like = array(numbers, format)
    positions = like._matrix.values.astype(np.int64)
    parts = np.zeros((2, len(union) + 1), dtype)  # the first element is that of padding
    for i, (keys, values) in enumerate(entries):
        part = parts[2 * i // len(entries)]
        target = part if len(entries) == 2 else (part.imag if i % 2 else part.real)
        target[1 + np.searchsorted(union, keys)] = values
    return with_values(like, parts[0][positions]), with_values(like, parts[1][positions])


def _entries(x: Any) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return row * n + column and the value of every nonzero."""
    coo = sp.coo_array(x.to("cpu").to_scipy() if issparse(x) else x, copy=True)
    coo.sum_duplicates()
    rows, columns = coo.coords
    return rows.astype(np.int64) * x.shape[1] + columns, coo.data


def with_values(like: Any, values: Any, op: int | None = None) -> Any:
    """Return a matrix with the structure of `like`, which both share."""
    return like._wrap(like._matrix.with_values(values), like._op if op is None else op)


def share_structure(a: Any, b: Any) -> bool:
    """Whether two matrices differ only in their values. On a GPU, the call waits for the result."""
    if a.format != b.format or a.shape != b.shape or a.dtype != b.dtype or (a._op ^ b._op) & TRANSPOSED:
        return False
    if a.nnz != b.nnz or a._matrix.values.shape != b._matrix.values.shape:
        return False
    return a._core.same_parts(a._matrix.with_values(b._matrix.values), b._matrix)


def joined(a: Any, b: Any) -> Pair:
    """Return two complex matrices as a pair on one structure; only if it is not the same already, it is built anew."""
    if share_structure(a, b):
        return a, with_values(a, b._matrix.values, b._op)
    return moved(_on_their_union((a, b), a.format, a.dtype), a.device)


def moved(pair: Pair, device: str) -> Pair:
    """Return a pair on a device: itself if it is there already, else a copy, in which both parts share a structure."""
    a, b = pair
    there = a.to(device)
    if there._backend is a._backend:
        return pair
    return there, with_values(there, devices.copied_array(b._matrix.values, b._backend, there._backend), b._op)
