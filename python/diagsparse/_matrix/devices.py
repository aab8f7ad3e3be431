"""Copies between devices, and construction from arrays on a GPU."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .._arrays import device_arrays, owners
from .._backends import memory
from .._backends.backend import CPU, Backend, gpu
from .base import Base


# ---- copies between devices -----------------------------------------------------------------------
def moved(a: Any, target: Backend) -> Any:
    """Return a copy of `a` on another device; the copy of a view is a view."""
    what = f"to: {a.format}_array {a.shape[0]} x {a.shape[1]} {a.dtype} on {target.name}"
    memory.require_free(a.nbytes, what, target)
    return a._wrap(a._format.moved(a, target, partial(copied_array, source=a._backend, target=target)), a._op)


def copied_array(part: Any, source: Backend, target: Backend) -> Any:
    """Return a copy of an array on another device, after synchronizing; between GPUs it does not pass the host."""
    if isinstance(part, np.ndarray) or target is CPU:
        here = source.host(part)
        return here if target is CPU else target.core.from_host(np.ascontiguousarray(here), target.index)
    part = device_arrays.contiguous(part, part.dtype)
    result = target.core.empty(part.shape, part.dtype.name, target.index)
    source.core.synchronize(source.index)  # the copy runs in a stream of the target
    result.assign(part)
    target.core.synchronize(target.index)  # before the memory of the source may be reused
    return result


# ---- construction from arrays on a GPU ------------------------------------------------------------
def on_gpu(arg: tuple[Any, ...]) -> bool:
    """Whether some of these component arrays are on a GPU."""
    return any(owners.owner_of(part) is not None for part in _flat(arg))


def _flat(arg: tuple[Any, ...]) -> list[Any]:
    return [part for given in arg for part in (given if isinstance(given, tuple) else (given,))]


def home(arg: tuple[Any, ...]) -> Backend:
    """Return the GPU of the first component array that is on one."""
    owned = ((owners.owner_of(part), part) for part in _flat(arg))
    owner, part = next((owner, part) for owner, part in owned if owner is not None)
    return gpu(owner.device_index(part))


def entries(
    format: str, shape: tuple[int, int], values: Any, first: Any, second: Any, layout: str, backend: Backend
) -> Any:
    """Return the matrix of these entries, sorted and summed; the arrays are on the GPU, as in the format `layout`."""
    parts = (device_arrays.contiguous(part, part.dtype) for part in (values, first, second))
    return Base._wrap(backend.core.entries(format, *shape, *parts, layout))
