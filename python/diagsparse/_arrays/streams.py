"""The CUDA stream in which work runs: the caller's choice, else the current stream of CuPy or PyTorch.

The compiled CUDA module calls `current` for every operation, and `keep` once for each new stream.
"""

from __future__ import annotations

import sys
import threading
from contextlib import AbstractContextManager, nullcontext
from operator import index
from typing import Any

from .._backends.backend import CPU, Backend


class _ThreadStream(threading.local):
    """The stream that `using` set in this thread: its pointer, and the object that it was taken from."""

    chosen: tuple[int, Any] | None = None


_thread = _ThreadStream()


class using:
    """Run the work of a ``with`` block in a stream; None changes nothing.

    A stream is a CuPy or PyTorch stream, any object with ``__cuda_stream__``, or a raw pointer (0: the default).
    """

    def __init__(self, stream: Any) -> None:
        self._chosen = None if stream is None else (pointer(stream), stream)

    def __enter__(self) -> None:
        self._before = _thread.chosen
        if self._chosen is not None:
            _thread.chosen = self._chosen

    def __exit__(self, *exc: object) -> None:
        _thread.chosen = self._before


_NOTHING: nullcontext[None] = nullcontext()


def on(backend: Backend, stream: Any, who: str) -> AbstractContextManager[None]:
    """Return `using(stream)` for work on a device; raise ValueError for a stream on the cpu."""
    if stream is not None and backend is CPU:
        raise ValueError(f"{who}: stream={stream!r}, but A is on the cpu, and nothing there runs in a stream")
    return _NOTHING if stream is None else using(stream)


def pointer(stream: Any) -> int:
    """Return the raw pointer of a stream; raise TypeError if it is not a stream."""
    if hasattr(stream, "__cuda_stream__"):
        given = stream.__cuda_stream__
        return int((given() if callable(given) else given)[1])  # (version of the protocol, pointer)
    for name in ("ptr", "cuda_stream"):  # CuPy's, PyTorch's
        if hasattr(stream, name):
            return int(getattr(stream, name))
    try:
        return index(stream)
    except TypeError:
        raise TypeError(f"stream={stream!r}: expected a CuPy or PyTorch stream, or a raw pointer") from None


def current(device: int) -> int:
    """Return the pointer of the stream in which work on this GPU runs now; 0 is the default stream."""
    if _thread.chosen is not None:
        return _thread.chosen[0]
    cupy_stream = _cupy_stream(device)
    if cupy_stream is not None and cupy_stream.ptr:
        return int(cupy_stream.ptr)
    torch: Any = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "cuda") and torch.cuda.is_initialized():
        return int(torch._C._cuda_getCurrentRawStream(device))
    return 0


def keep(device: int, pointer: int) -> Any:
    """Return the object that keeps this stream alive, None if there is no such object: it was given as a pointer.

    PyTorch never destroys a stream: it is the object for its streams.
    """
    if _thread.chosen is not None and _thread.chosen[0] == pointer:
        return None if hasattr(_thread.chosen[1], "__index__") else _thread.chosen[1]
    cupy_stream = _cupy_stream(device)
    return cupy_stream if cupy_stream is not None and cupy_stream.ptr == pointer else sys.modules.get("torch")


def _cupy_stream(device: int) -> Any:
    """Return CuPy's current stream on this GPU, None if CuPy is not imported."""
    cuda: Any = getattr(sys.modules.get("cupy"), "cuda", None)
    return cuda.get_current_stream(device) if hasattr(cuda, "get_current_stream") else None
