"""Arrays on a GPU by the library that owns them: views, allocation, conversion and streams.

No library is imported here: only a caller that has imported one can pass its arrays.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, cast

import numpy as np

from .._backends.backend import CPU, Backend
from .._backends.types import named_dtype
from . import device_arrays, streams

_CUDA = (2, 13)  # DLPack's numbers of device memory and managed memory
_NO_SYNC = -1  # DLPack: no synchronization, as the work follows in the producer's stream


class AnyLibrary:
    """Our `DeviceArray`, and arrays of libraries that have no class below: results are `DeviceArray`s."""

    order: str | None = None  #: the only memory order of the library, None for any

    @staticmethod
    def dtype(x: Any) -> np.dtype:
        """Return the NumPy dtype of the elements."""
        return x.dtype

    @staticmethod
    def device_index(x: Any) -> int:
        """Return the index of the GPU."""
        return int(x.__dlpack_device__()[1]) if hasattr(x, "__dlpack_device__") else 0

    @staticmethod
    def cast(x: Any, dtype: np.dtype) -> Any:
        """Convert from a dtype that `DeviceArray` does not support."""
        return x.astype(dtype)

    @staticmethod
    def view(core: Any, x: Any, device: int) -> Any:
        """Return a `DeviceArray` on the same memory, which the current stream of diagsparse may read."""
        return x if isinstance(x, core.DeviceArray) else core.asarray(x, streams.current(device) or 1)

    @staticmethod
    def empty(backend: Backend, shape: tuple[int, ...], dtype: np.dtype, order: str) -> Any:
        """Return a new array."""
        return backend.core.empty(shape, dtype.name, backend.index, order)

    @staticmethod
    def to_library(backend: Backend, array: Any) -> Any:
        """Return a `DeviceArray` (or an array that `empty` returned) as an array of the library."""
        return array

    @staticmethod
    def finish(backend: Backend) -> None:
        """Make sure that the operands may be freed after the call."""

    @staticmethod
    def stream_getter() -> Callable[[int], Any] | None:
        """Return the library's function from a GPU to its current stream there, None if it has no streams."""
        return None

    @staticmethod
    @contextmanager
    def stream_context(device: int, stream: int) -> Iterator[None]:
        """Make the library allocate and convert in this stream, after the work in its current stream."""
        yield


class CuPy(AnyLibrary):
    """CuPy's arrays."""

    @staticmethod
    def view(core: Any, x: Any, device: int) -> Any:
        return core.asarray(x, _NO_SYNC)

    @staticmethod
    def empty(backend: Backend, shape: tuple[int, ...], dtype: np.dtype, order: str) -> Any:
        cupy: Any = sys.modules["cupy"]
        if cupy.cuda.runtime.getDevice() == backend.index:
            return cupy.ndarray(shape, dtype, order=order)
        with cupy.cuda.Device(backend.index):
            return cupy.ndarray(shape, dtype, order=order)

    @staticmethod
    def to_library(backend: Backend, array: Any) -> Any:
        cupy: Any = sys.modules["cupy"]
        return array if isinstance(array, cupy.ndarray) else cupy.from_dlpack(array)

    @staticmethod
    def stream_getter() -> Callable[[int], Any]:
        return sys.modules["cupy"].cuda.get_current_stream

    @staticmethod
    @contextmanager
    def stream_context(device: int, stream: int) -> Iterator[None]:
        cuda: Any = sys.modules["cupy"].cuda
        with cuda.Device(device):
            target = _cupy_stream(cuda, stream, device) if stream else cuda.Stream.null
            if (before := cuda.get_current_stream(device)).ptr != stream:
                target.wait_event(before.record())
            with target:
                yield


def _cupy_stream(cuda: Any, pointer: int, device: int) -> Any:
    """Return a stream of another library as a CuPy stream."""
    if not hasattr(cuda.Stream, "from_external"):  # before CuPy 14
        return cuda.ExternalStream(pointer, device)
    return cuda.Stream.from_external(_External(pointer))


class _External:
    """A raw pointer with the CUDA stream protocol."""

    def __init__(self, pointer: int) -> None:
        self._pointer = pointer

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._pointer


class Torch(AnyLibrary):
    """PyTorch's tensors."""

    @staticmethod
    def dtype(x: Any) -> np.dtype:
        return _numpy_dtype(x.dtype)

    @staticmethod
    def cast(x: Any, dtype: np.dtype) -> Any:
        return x.to(getattr(sys.modules["torch"], dtype.name))

    @staticmethod
    def view(core: Any, x: Any, device: int) -> Any:
        if x.requires_grad and sys.modules["torch"].is_grad_enabled():
            raise TypeError("the tensor requires a gradient, which a product here does not pass on; use x.detach()")
        return core.asarray(x.detach().resolve_conj().resolve_neg(), _NO_SYNC)

    @staticmethod
    def empty(backend: Backend, shape: tuple[int, ...], dtype: np.dtype, order: str) -> Any:
        torch: Any = sys.modules["torch"]
        options = {"dtype": getattr(torch, dtype.name), "device": torch.device("cuda", backend.index)}
        transposed = order == "F" and len(shape) == 2
        return torch.empty(shape[::-1], **options).T if transposed else torch.empty(shape, **options)

    @staticmethod
    def to_library(backend: Backend, array: Any) -> Any:
        torch: Any = sys.modules["torch"]
        return array if isinstance(array, torch.Tensor) else torch.from_dlpack(array)

    @staticmethod
    def stream_getter() -> Callable[[int], Any]:
        return cast(Any, sys.modules["torch"])._C._cuda_getCurrentRawStream

    @staticmethod
    @contextmanager
    def stream_context(device: int, stream: int) -> Iterator[None]:
        cuda: Any = sys.modules["torch"].cuda
        target = cuda.ExternalStream(stream, device) if stream else cuda.default_stream(device)
        target.wait_stream(cuda.current_stream(device))
        with cuda.stream(target):
            yield


class Jax(AnyLibrary):
    """JAX's arrays: immutable, in C order."""

    order = "C"

    @staticmethod
    def view(core: Any, x: Any, device: int) -> Any:
        return core.asarray(x, streams.current(device) or 1)

    @staticmethod
    def to_library(backend: Backend, array: Any) -> Any:
        return sys.modules["jax"].dlpack.from_dlpack(array)

    @staticmethod
    def finish(backend: Backend) -> None:
        """Synchronize: JAX may reuse memory before the work in diagsparse's stream is done."""
        backend.core.synchronize(backend.index)


@cache
def _numpy_dtype(torch_dtype: Any) -> np.dtype:
    name = str(torch_dtype).removeprefix("torch.")
    try:
        return named_dtype(name)
    except (TypeError, ImportError):
        raise TypeError(f"{name} values; expected float32, float64, complex64 or complex128") from None


def owner_of(x: Any) -> type[AnyLibrary] | None:
    """Return the library of an array on a GPU, None for anything else; raise TypeError for arrays that JAX traces."""
    if isinstance(x, np.ndarray):
        return None
    modules = sys.modules
    if isinstance(x, getattr(modules.get("cupy"), "ndarray", ())):
        return CuPy
    if isinstance(x, getattr(modules.get("torch"), "Tensor", ())):
        return Torch if cast(Any, x).is_cuda else None
    if isinstance(x, getattr(getattr(modules.get("jax"), "core", None), "Tracer", ())):
        raise TypeError(
            "got an array that JAX traces (jax.jit, grad, vmap, ...), which only its own operations can use; convert "
            "the matrix: diagsparse.jax.from_array(A)"
        )
    if hasattr(type(x), "__dlpack_device__"):
        if x.__dlpack_device__()[0] not in _CUDA:
            return None
        return Jax if isinstance(x, getattr(modules.get("jax"), "Array", ())) else AnyLibrary
    return AnyLibrary if hasattr(x, "__cuda_array_interface__") else None


def refuse_gpu_array(x: Any, backend: Backend, who: str, name: str = "x") -> None:
    """Raise TypeError for an array on a GPU if the matrix is on the cpu."""
    if backend is CPU and owner_of(x) is not None:
        raise TypeError(
            f'{who}: A is on the cpu, {name} on cuda ({type(x).__module__.split(".")[0]}); move one: A.to("cuda"), '
            f"or {name}.get() (CuPy), {name}.cpu() (PyTorch)"
        )


def same_device(view: Any, backend: Backend, who: str, name: str) -> None:
    """Raise ValueError for an array on a different GPU than the matrix."""
    if view.device != backend.index:
        raise ValueError(
            f"{who}: A is on {backend.name}, {name} on cuda:{view.device}; "
            f'move one: A.to("cuda:{view.device}"), or {name} to device {backend.index}'
        )


def dtype_of(x: Any) -> np.dtype:
    """Return the NumPy dtype of any array."""
    owner = owner_of(x)
    return np.asarray(x).dtype if owner is None else owner.dtype(x)


def as_device_array(x: Any, wanted: np.dtype, backend: Backend, who: str, name: str) -> Any:
    """Return any array as a `DeviceArray` of this dtype on a GPU, copied only if it has to be."""
    owner = owner_of(x)
    if owner is None:
        return device_arrays.upload(backend, np.asarray(x).astype(wanted, copy=False))
    fits = owner is AnyLibrary or owner.dtype(x) == wanted
    view = owner.view(backend.core, x if fits else owner.cast(x, wanted), backend.index)
    same_device(view, backend, who, name)
    return view if view.dtype == wanted else view.astype(wanted)
