"""Requirements of the CUDA module outside of this package: the driver, and NVIDIA's libraries from their wheels."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

CUSPARSE = "libcusparse.so.12"  # the name that CUDA 12 and 13 share
_NEEDED_BY_IT = "libnvJitLink.so.*"


def driver_found() -> bool:
    """Whether NVIDIA's driver is installed."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def preload() -> None:
    """Load cuSPARSE from NVIDIA's wheels, if they are installed, because the loader does not search them."""
    for folders in _wheel_folders():
        paths = [path for name in (_NEEDED_BY_IT, CUSPARSE) for folder in folders for path in folder.glob(name)]
        try:
            for path in paths:
                ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)
        except OSError:
            continue
        if paths:
            return


def _wheel_folders() -> Iterator[list[Path]]:
    """Yield the library folders of the wheels of each CUDA version, the newest version first."""
    spec = find_spec("nvidia")  # a namespace package, with a folder for each location that wheels are installed to
    for root in map(Path, (spec.submodule_search_locations or ()) if spec else ()):
        yield [root / "cu13" / "lib"]
        yield [root / "nvjitlink" / "lib", root / "cusparse" / "lib"]


@cache
def cudss() -> Any:
    """Return the bindings of NVIDIA's cuDSS, or the exception that importing them raised."""
    try:
        bindings = import_module("nvmath.bindings.cudss")
        bindings.get_property(0)  # loads the library
        import_module("cuda.bindings.runtime")
    except Exception as error:  # loading a library can fail in many ways
        return error
    return bindings


def cuda_runtime() -> Any:
    """Return NVIDIA's bindings of the CUDA runtime, which are installed with those of cuDSS."""
    return import_module("cuda.bindings.runtime")
