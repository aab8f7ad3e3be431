"""New arrays on the device of a matrix: of NumPy on the CPU, `DeviceArray`s on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._backends.backend import CPU, Backend


def empty(backend: Backend, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return a new array in C order."""
    if backend is CPU:
        return np.empty(shape, dtype)
    return backend.core.empty(shape, np.dtype(dtype).name, backend.index)


def zeros(backend: Backend, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return a new array of zeros in C order."""
    if backend is CPU:
        return np.zeros(shape, dtype)
    created = empty(backend, shape, dtype)
    created.fill(0)
    return created
