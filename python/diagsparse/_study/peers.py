"""The machine, and the libraries with which the CPU benchmark compares."""

from __future__ import annotations

import importlib
import os
import platform
import re
import sys
from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from .._backends.backend import _core, get_num_threads
from .._version import __version__
from ..measure import Contender

MKL_SLEEPS = 0.003  #: seconds after which the threads of MKL no longer occupy the processors


@lru_cache(maxsize=1)
def mkl() -> Any | None:
    """Return the module `sparse_dot_mkl`, or None if it or MKL itself is not installed."""
    os.environ.setdefault("KMP_BLOCKTIME", "1")  # otherwise, MKL's threads spin for 200 ms
    libraries = sorted(Path(sys.prefix, "lib").glob("libmkl_rt.so*"))  # installed by pip, unknown to the loader
    if libraries:
        os.environ.setdefault("MKL_RT", str(libraries[0]))
    try:
        return importlib.import_module("sparse_dot_mkl")
    except ImportError:
        return None


def by_mkl(csr: Any, right: Any) -> Iterator[Contender]:
    """Yield MKL's ``csr @ right`` with the same number of threads, if MKL is installed."""
    if module := mkl():
        module.mkl_set_num_threads(get_num_threads())
        yield Contender("mkl", "csr", "", partial(module.dot_product_mkl, csr, right), (csr, right))


def hardware() -> dict[str, Any]:
    """Return the processor, its available cores and caches, the memory, and the instruction set of the kernels."""
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "caches": _caches(),
        "memory_nbytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "instruction_set": _core.instruction_set(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def versions() -> dict[str, str | None]:
    """Return the versions of everything that takes part."""
    module = mkl()
    return {
        "diagsparse": __version__,
        "commit": _core.commit,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "mkl": re.findall(r"\d+\.\d+(?:\.\d+)?", module.mkl_get_version_string())[0] if module else None,
        "sparse_dot_mkl": module.__version__ if module else None,
    }


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
