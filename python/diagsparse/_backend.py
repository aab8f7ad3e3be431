"""Which compiled module serves which device. The only file that knows both."""

from __future__ import annotations

import ctypes
import platform
import sys
from types import ModuleType

from . import _core


class CudaUnavailable(RuntimeError):
    """The GPU was asked for, and something that it needs is missing; the message says what."""


class CudaError(RuntimeError):
    """A CUDA call failed; the message names the call, the reason, file and line."""


def core(device: str | None) -> ModuleType:
    """Return the module for a device name: ``"cpu"`` (or None) or ``"cuda"``, ``"cuda:1"``, ..."""
    if device is None or device == "cpu":
        return _core
    if device != "cuda" and not device.startswith("cuda:"):
        raise ValueError(f'device {device!r}: expected "cpu", "cuda" or "cuda:0", "cuda:1", ...')
    raise CudaUnavailable(_missing())


def _missing() -> str:
    """Say what stands between this installation and a GPU."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return (
            "no CUDA driver on this machine (libcuda.so.1 not found); "
            'install the NVIDIA driver, or use device="cpu"'
        )
    return 'this build of diagsparse has no CUDA module; use device="cpu"'


def cuda_available() -> bool:
    """Whether ``device="cuda"`` works here. Never raises."""
    return False


def set_num_threads(n: int) -> None:
    """Set how many threads the CPU kernels of this process use.

    Parameters
    ----------
    n : int
        At least 1. The start value is OpenMP's: ``OMP_NUM_THREADS`` if set, else the processors.
        The results have the same bits for every count.
    """
    if not isinstance(n, int) or isinstance(n, bool):
        raise TypeError(f"set_num_threads: got {n!r}, expected an int")
    if n < 1:
        raise ValueError(f"set_num_threads: got {n}, expected at least 1")
    _core.set_num_threads(n)


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
