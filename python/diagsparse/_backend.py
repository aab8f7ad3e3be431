"""Which compiled module serves which device. The only file that knows both."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from operator import index
from types import ModuleType


def _import_core() -> ModuleType:
    """Import the CPU module with OpenMP's threads told not to spin for long at a barrier.

    By default GNU's OpenMP spins, and where other work shares the processors it then waits on itself. Whoever
    sets OMP_WAIT_POLICY or GOMP_SPINCOUNT decides otherwise; the variable is read once, when the library loads.
    """
    if "OMP_WAIT_POLICY" in os.environ or "GOMP_SPINCOUNT" in os.environ:
        from . import _core
    else:
        os.environ["GOMP_SPINCOUNT"] = "10000"
        try:
            from . import _core
        finally:
            del os.environ["GOMP_SPINCOUNT"]
    return _core


_core = _import_core()


class CudaUnavailable(RuntimeError):
    """The GPU was asked for, and something that it needs is missing; the message says what."""


class CudaError(RuntimeError):
    """A CUDA call failed; the message names the call, the reason, file and line."""


def core(device: str | None) -> ModuleType:
    """Return the module for a device name: ``"cpu"`` (or None) or ``"cuda"``, ``"cuda:1"``, ..."""
    if device is None or device == "cpu":
        return _core
    if not isinstance(device, str):
        raise TypeError(f'device {device!r}: expected "cpu", "cuda" or "cuda:0", "cuda:1", ...')
    if device != "cuda" and not device.startswith("cuda:"):
        raise ValueError(f'device {device!r}: expected "cpu", "cuda" or "cuda:0", "cuda:1", ...')
    raise CudaUnavailable(_missing())


def _missing() -> str:
    """Say what stands between this installation and a GPU."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 'no CUDA driver on this machine (libcuda.so.1 not found); install the NVIDIA driver, or use device="cpu"'
    return 'this build of diagsparse has no CUDA module; use device="cpu"'


def cuda_available() -> bool:
    """Whether ``device="cuda"`` works here. Never raises."""
    return False


def set_num_threads(n: int) -> None:
    """Set how many threads the CPU kernels of this process use.

    Parameters
    ----------
    n : int
        At least 1; a kernel starts no more than it has tasks. The start value is OpenMP's:
        ``OMP_NUM_THREADS`` if set, else the processors. The results have the same bits for every count.
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
    """Return how many threads the next CPU kernel uses."""
    return _core.get_num_threads()


def config() -> dict[str, str]:
    """Return what `show_config` prints: versions, instruction set, threads, devices."""
    import numpy
    import scipy

    from . import __version__

    optional = {}
    for name in ("fast_matrix_market", "matplotlib", "rich", "sparse_dot_mkl", "cupy", "torch"):
        module = sys.modules.get(name)
        optional[name] = getattr(module, "__version__", "loaded") if module else _installed(name)
    return {
        "diagsparse": __version__,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "machine": f"{platform.system()} {platform.machine()}",
        "cpu kernels": f"{_core.instruction_set()}, {_core.get_num_threads()} threads (OpenMP)",
        "cuda": "available" if cuda_available() else _missing(),
        **optional,
    }


def _installed(name: str) -> str:
    from importlib import metadata

    distribution = {"sparse_dot_mkl": "sparse-dot-mkl", "cupy": "cupy-cuda13x"}.get(name, name)
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"


def show_config() -> None:
    """Print versions, the instruction set in use, threads and devices."""
    entries = config()
    width = max(map(len, entries))
    for name, value in entries.items():
        print(f"{name:<{width}}  {value}")
