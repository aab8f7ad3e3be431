"""The machine of a benchmark: its processor and GPU, and the versions of everything that takes part."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from .._backends.backend import CPU, Backend
from .._version import __version__
from . import peers


def hardware(where: Backend) -> dict[str, Any]:
    """Return the processor, its available cores and caches, the memory, and the instruction set of the kernels.

    With the name of a GPU, the memory is that of the GPU.
    """
    found = {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "caches": _caches(),
        "memory_nbytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "instruction_set": CPU.core.instruction_set(),
        "system": f"{platform.system()} {platform.machine()}",
    }
    if where is CPU:
        return found
    _, total = where.core.memory(where.index)
    return found | {"gpu": where.core.device_name(where.index), "memory_nbytes": total}


def versions(where: Backend = CPU) -> dict[str, str | None]:
    """Return the versions of everything that takes part."""
    mkl = peers.mkl()
    found = {
        "diagsparse": __version__,
        **commits(where.core.commit),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "mkl": re.findall(r"\d+\.\d+(?:\.\d+)?", mkl.mkl_get_version_string())[0] if mkl else None,
        "sparse_dot_mkl": mkl.__version__ if mkl else None,
    }
    if where is CPU:
        return found
    cupy, nvmath = peers.cupy(), peers.nvmath()
    return found | {
        "cuda driver": version(where.core.driver_version(), 1000, 10),
        "cuda runtime": version(where.core.runtime_version(), 1000, 10),
        "cusparse": version(where.core.cusparse_version(), 1000, 100, 1),
        "cupy": cupy.__version__ if cupy else None,
        "nvmath": nvmath.__version__ if nvmath else None,
    }


def commits(measured: str) -> dict[str, str]:
    """Return the ``commit`` of the measured module, and that of the CPU module if it differs."""
    return {"commit": measured} | ({} if measured == CPU.core.commit else {"cpu commit": CPU.core.commit})


def version(number: int | None, *units: int) -> str | None:
    """Return 13000 as ``13.0`` for the units 1000 and 10, and 12603 as ``12.6.3`` for 1000, 100 and 1."""
    if number is None:
        return None
    return ".".join(str(number % above // unit) for above, unit in zip((1 << 62, *units), units, strict=False))


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _caches() -> dict[str, str]:
    """Return the size of each data cache of the first core, as reported by the system."""
    sizes = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            level, kind, size = ((folder / name).read_text().strip() for name in ("level", "type", "size"))
        except OSError:
            continue
        if kind != "Instruction":
            sizes[f"L{level}"] = size
    return sizes
