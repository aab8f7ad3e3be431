"""Local arrays: NumPy's on the host, CuPy's on a GPU."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np


def array_module(x: Any) -> Any:
    """Return the library of an array: numpy or cupy."""
    if isinstance(x, (np.ndarray, np.generic)):
        return np
    return _cupy()


def module_of(device: str) -> Any:
    """Return the library of the vectors on a device."""
    return np if device == "cpu" else _cupy()


def current(device: str) -> AbstractContextManager[Any]:
    """Return a context in which a GPU is CuPy's current one."""
    return nullcontext() if device == "cpu" else _cupy().cuda.Device(int(device.partition(":")[2] or 0))


def host(x: Any) -> Any:
    """Return an array on the host."""
    return x if isinstance(x, (np.ndarray, np.generic)) else x.get()


def as_local(x: Any, device: str) -> Any:
    """Return the rows of a vector as an array of the library of this device, without a copy if they are there."""
    if device == "cpu":
        return np.asarray(x)
    cupy = _cupy()
    if isinstance(x, cupy.ndarray):
        return x
    return cupy.from_dlpack(x) if hasattr(x, "__dlpack__") and not isinstance(x, np.ndarray) else cupy.asarray(x)


def _cupy() -> Any:
    try:
        import cupy
    except ImportError as error:
        raise ImportError(f"distributed vectors on GPUs need CuPy ({error})") from None
    return cupy
