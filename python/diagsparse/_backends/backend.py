"""The compiled module of each device. This is the only file that knows both modules."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from operator import index
from types import ModuleType
from typing import Any

import numpy as np

from . import libraries

_core: ModuleType = import_module("diagsparse._core")


class CudaUnavailable(RuntimeError):
    """A GPU was requested, but a requirement is missing; the message names it."""


class CudaError(RuntimeError):
    """A CUDA call failed, or would fail in this process; the message says which one and why."""


@dataclass(frozen=True)
class Backend:
    """The device of a matrix: its compiled module, and the index of the device. There is one object per device."""

    core: ModuleType
    index: int

    @cached_property
    def name(self) -> str:
        """``"cpu"``, ``"cuda"``, ``"cuda:1"``, ..."""
        if self.core is _core:
            return "cpu"
        return f"cuda:{self.index}" if self.index else "cuda"

    def host(self, array: Any) -> Any:
        """Return an array of this device as a NumPy array: the array itself, or a copy that synchronizes the GPU."""
        return array if isinstance(array, np.ndarray) else array.get()


CPU = Backend(_core, 0)
_EXPECTED = 'expected "cpu", "cuda" or "cuda:0", "cuda:1", ...'


def get_backend(device: str | None, default: Backend = CPU) -> Backend:
    """Return the backend of a device name, `default` for None.

    Raise CudaUnavailable if the device cannot be used: the message says what is missing and what to install.
    """
    if device is None:
        return default
    if not isinstance(device, str):
        raise TypeError(f"device {device!r}: {_EXPECTED}")
    if device == "cpu":
        return CPU
    number = device.removeprefix("cuda:") if device != "cuda" else "0"
    if not (number.isascii() and number.isdigit()):
        raise ValueError(f"device {device!r}: {_EXPECTED}")
    return gpu(int(number))


@cache
def gpu(index: int) -> Backend:
    """Return the backend of a GPU."""
    core = _cuda()
    count = core.device_count()
    if count == 0:
        raise CudaUnavailable(f"the CUDA driver is installed, but there is no GPU that it can use; {_ON_THE_CPU}")
    if index >= count:
        names = "cuda:0" if count == 1 else f"cuda:0 to cuda:{count - 1}"
        raise CudaUnavailable(f"device 'cuda:{index}': this machine has {names}; use one of these, or {_ON_THE_CPU}")
    return _gpus.setdefault(index, Backend(core, index))


_gpus: dict[int, Backend] = {}  # so that two threads that call `gpu` at once get the same object


def backend_of(matrix: Any) -> Backend:
    """Return the backend of a C++ matrix."""
    return CPU if isinstance(matrix, _core.Matrix) else gpu(matrix.device)


_ON_THE_CPU = 'use device="cpu"'


def _cuda() -> ModuleType:
    """Import the CUDA module; if the loader does not find cuSPARSE, load it from NVIDIA's wheels first."""
    name = "diagsparse._cuda"
    if not libraries.driver_found():
        reason = "no CUDA driver on this machine (libcuda.so.1 not found); install the NVIDIA driver"
        raise CudaUnavailable(f"{reason}, or {_ON_THE_CPU}")
    if find_spec(name) is None:
        reason = "this build of diagsparse has no CUDA module; reinstall it where a CUDA compiler (nvcc) is found"
        raise CudaUnavailable(f"{reason}, or {_ON_THE_CPU}")
    try:
        return import_module(name)
    except ImportError:
        libraries.preload()
    try:
        return import_module(name)
    except ImportError as error:
        reason = f'the CUDA module of diagsparse does not load ({error}); pip install "diagsparse[cuda13]"'
        raise CudaUnavailable(f"{reason} brings NVIDIA's libraries, or {_ON_THE_CPU}") from error


@cache
def missing() -> str:
    """Return why this installation cannot use a GPU, "" if it can."""
    try:
        gpu(0)
    except CudaUnavailable as error:
        return str(error)
    except Exception as error:  # a broken driver must not make `cuda_available` raise
        return f"{type(error).__name__}: {error}"
    return ""


def cuda_available() -> bool:
    """Whether ``device="cuda"`` works here: the CUDA module loads and there is a GPU. Never raises.

    In a process that was forked after a GPU had been used, it is False.

    Examples
    --------
    >>> import diagsparse as ds
    >>> A = ds.array(ds.gallery.tridiagonal(1000)).to("cuda" if ds.cuda_available() else "cpu")
    """
    return not missing()


def _look_again() -> None:
    """Forget which GPUs can be used: in a forked process, none can."""
    gpu.cache_clear()
    missing.cache_clear()


os.register_at_fork(after_in_child=_look_again)


def set_num_threads(n: int) -> None:
    """Set the number of threads that the CPU kernels of this process use.

    Parameters
    ----------
    n : int
        At least 1. A kernel starts no more threads than it has tasks, and no more than there are processors (or 8).
        The initial value is ``OMP_NUM_THREADS`` if set, else the number of processors. Results are bitwise identical
        for every count; they may differ between instruction sets (`show_config` names the one in use).

    Raises
    ------
    TypeError, ValueError
        If `n` is not an integer, or below 1.

    Examples
    --------
    >>> import numpy as np, diagsparse as ds
    >>> before = ds.get_num_threads()
    >>> ds.set_num_threads(1)
    >>> y = ds.eye(1000) @ np.ones(1000)                # by one thread
    >>> ds.set_num_threads(before)
    """
    try:
        if isinstance(n, bool):
            raise TypeError
        count = index(n)
    except TypeError:
        raise TypeError(f"set_num_threads: got {n!r}, expected an integer") from None
    if not 1 <= count < 2**31:
        raise ValueError(f"set_num_threads: got {n}, expected at least 1 (and less than 2^31)")
    _core.set_num_threads(count)


def get_num_threads() -> int:
    """Return the number of threads that CPU kernels may use.

    Examples
    --------
    >>> import diagsparse as ds
    >>> ds.get_num_threads() >= 1
    True
    """
    return _core.get_num_threads()
