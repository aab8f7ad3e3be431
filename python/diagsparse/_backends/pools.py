"""Whose memory pool the GPU's memory comes from: our own, CuPy's or PyTorch's."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from .backend import get_backend


def set_memory_pool(pool: str) -> None:
    """Choose the memory pool from which matrices on a GPU take their memory from now on.

    Parameters
    ----------
    pool : {"own", "cupy", "torch"}
        ``"own"`` keeps freed blocks for the next result, beside the pools of other libraries. With ``"cupy"`` or
        ``"torch"`` there is one pool for both, so that neither holds memory which the other needs. What was
        allocated before stays where it is.

    Raises
    ------
    ValueError
        For another name.
    CudaUnavailable
        Where there is no GPU.
    ImportError
        Where the library is not installed.

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
    """Return memory of CuPy's pool that belongs to this stream, and the object that holds it."""
    cuda: Any = sys.modules["cupy"].cuda
    with cuda.Device(device), cuda.ExternalStream(stream, device) if stream else cuda.Stream.null:
        memory = cuda.alloc(nbytes)
    return memory.ptr, memory


class _TorchBlock:
    """Memory of PyTorch's pool, given back at the end of this object."""

    def __init__(self, nbytes: int, device: int, stream: int) -> None:
        self._cuda: Any = sys.modules["torch"].cuda
        self.pointer: int = self._cuda.caching_allocator_alloc(nbytes, device, stream)

    def __del__(self) -> None:
        if hasattr(self, "pointer"):
            self._cuda.caching_allocator_delete(self.pointer)


def _from_torch(nbytes: int, device: int, stream: int) -> tuple[int, Any]:
    """Return memory of PyTorch's pool that belongs to this stream, and the object that holds it."""
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
