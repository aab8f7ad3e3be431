"""Local arrays: NumPy's on the host, CuPy's on a GPU."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from .._arrays import host_dense


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
    return nullcontext() if device == "cpu" else _cupy().cuda.Device(_index(device))


def host(x: Any) -> Any:
    """Return an array on the host."""
    return x if isinstance(x, (np.ndarray, np.generic)) else x.get()


def as_local(x: Any, device: str, who: str) -> Any:
    """Return the rows of a vector as an array of the library of this device, without a copy if they are there."""
    if device == "cpu":
        return host_dense.as_numpy(x, who)
    cupy = _cupy()
    if not isinstance(x, cupy.ndarray):
        x = cupy.from_dlpack(x) if hasattr(x, "__dlpack__") and not isinstance(x, np.ndarray) else cupy.asarray(x)
    _require_gpu(x, device, who, "x")
    return x


def checked_output(out: Any, shape: tuple[int, ...], dtype: np.dtype, device: str, who: str) -> None:
    """Raise ValueError or TypeError unless `out` is an array on this device for a result of this shape and dtype."""
    if device == "cpu":
        host_dense.checked_output(out, shape, dtype, who)
        return
    if not isinstance(out, _cupy().ndarray):
        raise TypeError(f"{who}: out is {type(out).__name__}, expected an array of CuPy")
    _require_gpu(out, device, who, "out")
    host_dense.check_output(out.shape, out.dtype, shape, dtype, who)


def _require_gpu(x: Any, device: str, who: str, name: str) -> None:
    if x.device.id != _index(device):
        raise ValueError(f"{who}: {name} is on cuda:{x.device.id}, expected {device}")


def _index(device: str) -> int:
    return int(device.partition(":")[2] or 0)


def _cupy() -> Any:
    try:
        import cupy
    except ImportError as error:
        raise ImportError(f"distributed vectors on GPUs need CuPy ({error})") from None
    return cupy
