"""The versions of installed packages, and the properties of this machine."""

from __future__ import annotations

import platform
import sys
from importlib import metadata
from typing import Any

import numpy as np
import scipy

from .._backends.backend import CPU, cuda_available, gpu, missing
from .._backends.memory import human
from .._version import __version__


def config() -> dict[str, str]:
    """Return the entries that `show_config` prints: versions, instruction set, threads, devices."""
    optional = {}
    for name in ("fast_matrix_market", "matplotlib", "rich", "sparse_dot_mkl", "cupy", "torch"):
        module = sys.modules.get(name)
        optional[name] = getattr(module, "__version__", "loaded") if module else _installed(name)
    return {
        "diagsparse": __version__,
        "commit": CPU.core.commit,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "machine": f"{platform.system()} {platform.machine()}",
        "cpu kernels": f"{CPU.core.instruction_set()}, {CPU.core.get_num_threads()} threads",
        **_devices(),
        **optional,
    }


def _devices() -> dict[str, str]:
    """Return the CUDA versions and the GPUs, or why there are none."""
    if not cuda_available():
        return {"cuda": missing()}
    cuda = gpu(0).core
    sparse = cuda.cusparse_version()
    entries = {
        "cuda": f"available, driver {_version(cuda.driver_version())}, runtime {_version(cuda.runtime_version())}, "
        f"cuSPARSE {'not loaded' if sparse is None else sparse}"
    }
    if cuda.commit != CPU.core.commit:
        entries["cuda commit"] = cuda.commit
    for i in range(cuda.device_count()):
        free, total = cuda.memory(i)
        entries[f"cuda:{i}"] = f"{cuda.device_name(i)}, {human(free)} of {human(total)} free"
    return entries


def _version(number: Any) -> str:
    """Return ``13.0`` for CUDA's 13000."""
    return f"{number // 1000}.{number % 1000 // 10}" if isinstance(number, int) else str(number)


def _installed(name: str) -> str:
    distribution = {"sparse_dot_mkl": "sparse-dot-mkl", "cupy": "cupy-cuda13x"}.get(name, name)
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"


def show_config() -> None:
    """Print versions, the instruction set in use, the number of threads, and the devices."""
    entries = config()
    width = max(map(len, entries))
    for name, value in entries.items():
        print(f"{name:<{width}}  {value}")
