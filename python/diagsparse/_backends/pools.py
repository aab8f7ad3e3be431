"""The memory pool of GPU matrices: that of diagsparse, CuPy or PyTorch."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from .backend import get_backend


def set_memory_pool(pool: str) -> None:
    """Set the memory pool from which matrices on a GPU are allocated from now on.

    Parameters
    ----------
    pool : {"own", "cupy", "torch"}
        ``"own"`` reuses freed blocks for later results, in addition to the pools of other libraries. With ``"cupy"`` or
        ``"torch"`` both libraries share one pool, so that neither holds memory that the other needs. Memory that was
        allocated before is not moved.

    Raises
    ------
    ValueError
        For any other name.
    CudaUnavailable
        If there is no usable GPU.
    ImportError
        If the library is not installed.

    Examples
    --------
    >>> import diagsparse as ds
    >>> if ds.cuda_available():
    ...     ds.set_memory_pool("own")
    """
    if pool not in _POOLS:
        raise ValueError(f'set_memory_pool: pool {pool!r}: expected "own", "cupy" or "torch"')
    core = get_backend("cuda").core
    if pool != "own":
        import_module(pool)
    core.use_allocator(_POOLS[pool])


def _from_cupy(nbytes: int, device: int, stream: int) -> tuple[int, Any]:
    """Allocate from CuPy's pool for this stream; return the pointer and the object that owns the memory."""
    cuda: Any = sys.modules["cupy"].cuda
    with cuda.Device(device), cuda.ExternalStream(stream, device) if stream else cuda.Stream.null:
        memory = cuda.alloc(nbytes)
    return memory.ptr, memory


class _TorchBlock:
    """Memory of PyTorch's pool, freed with this object."""

    def __init__(self, nbytes: int, device: int, stream: int) -> None:
        self._cuda: Any = sys.modules["torch"].cuda
        self.pointer: int = self._cuda.caching_allocator_alloc(nbytes, device, stream)

    def __del__(self) -> None:
        if hasattr(self, "pointer"):
            self._cuda.caching_allocator_delete(self.pointer)


def _from_torch(nbytes: int, device: int, stream: int) -> tuple[int, Any]:
    """Allocate from PyTorch's pool for this stream; return the pointer and the object that owns the memory."""
    torch: Any = sys.modules["torch"]
    try:
        block = _TorchBlock(nbytes, device, stream)
    except torch.cuda.OutOfMemoryError as error:
        raise MemoryError(str(error)) from error
    return block.pointer, block


_POOLS: dict[str, Callable[[int, int, int], tuple[int, Any]] | None] = {
    "own": None,
    "cupy": _from_cupy,
    "torch": _from_torch,
}
