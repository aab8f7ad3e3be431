"""Arrays of quaternions: real arrays of shape (..., 4), or arrays of the dtype of the package numpy-quaternion."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .._arrays import device_arrays
from .._backends import memory
from .._backends.backend import CPU, Backend
from .._matrix.builders import diags
from .._matrix.construct import array

# What the components of a quaternion x become, as diagonals of a matrix: the offset, and the factor of each row.
J_TIMES = ((2, (-1, 1, 0, 0)), (-2, (0, 0, 1, -1)))  # j x, since j (q0 + q1 i + q2 j + q3 k) = -q2 + q3 i + q0 j - q1 k
WITHOUT_K = ((0, (1, 1, 1, -1)),)  # the sign of k changes: x1 + x2 j becomes x1 + conj(x2) j
_BYTES = 300  # of temporary memory for each quaternion, while such a matrix is built


def has_quaternions(x: Any) -> bool:
    """Whether `x` is a quaternion or an array of quaternions of numpy-quaternion."""
    dtype = getattr(x, "dtype", None)
    return (dtype.type if isinstance(dtype, np.dtype) else type(x)).__name__ == "quaternion"


def as_reals(x: Any) -> np.ndarray:
    """Return quaternions of numpy-quaternion as a real array with a last axis of 4, anything else as an array."""
    if not has_quaternions(x):
        return np.asarray(x)
    return np.array(x)[..., np.newaxis].view(np.float64)


@lru_cache(maxsize=8)
def _change(terms: Any, count: int, dtype: np.dtype, backend: Backend) -> Any:
    """Return the matrix of a change of `count` quaternions: a byte for each, and three numbers for each diagonal."""
    n = 4 * count
    memory.require_free(_BYTES * count, f"quaternion_array: a matrix that changes the signs of {count} quaternions")
    values = {k: np.tile(np.array(row, dtype), count)[max(0, -k) : n - max(0, k)] for k, row in terms}
    return array(diags(values, shape=(n, n), format="dia"), "mdia").to(backend.name)


def changed(terms: Any, x: Any, backend: Backend) -> Any:
    """Return a contiguous array of quaternions, changed: a NumPy array, or a `DeviceArray` on a GPU."""
    matrix = _change(terms, x.size // 4, x.dtype, backend)
    return matrix.matvec(x.reshape((x.size,))).reshape(x.shape)


def reinterpreted(x: Any, shape: tuple[int, ...], dtype: Any, backend: Backend) -> Any:
    """Return a contiguous array with another shape and dtype, on the same memory."""
    if backend is CPU:
        return x.view(dtype).reshape(shape)
    return device_arrays.reinterpreted(backend.core, x, shape, np.dtype(dtype))
