"""The GPU, and the libraries with which the GPU benchmark compares."""

from __future__ import annotations

import importlib
import platform
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from .._backends.backend import CPU, Backend
from .._version import __version__


def cupy() -> Any | None:
    """Return CuPy, or None if it is not installed or does not work."""
    try:
        return importlib.import_module("cupy")
    except ImportError:
        return None


def nvmath() -> Any | None:
    """Return nvmath-python if it has the universal sparse tensor (since version 1.0), otherwise None."""
    try:
        importlib.import_module("nvmath.sparse.ust")
        return importlib.import_module("nvmath")
    except ImportError:
        return None


def hardware(where: Backend) -> dict[str, Any]:
    """Return the name and the memory of the GPU."""
    _, total = where.core.memory(where.index)
    return {
        "gpu": where.core.device_name(where.index),
        "memory_nbytes": total,
        "system": f"{platform.system()} {platform.machine()}",
    }


def versions(where: Backend) -> dict[str, str | None]:
    """Return the versions of all libraries."""
    theirs = {"cupy": cupy(), "nvmath": nvmath()}
    return {
        "diagsparse": __version__,
        **commits(where.core.commit),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "cuda driver": cuda_version(where.core.driver_version()),
        "cuda runtime": cuda_version(where.core.runtime_version()),
        "cusparse": cusparse_version(where.core.cusparse_version()),
    } | {name: module.__version__ if module else None for name, module in theirs.items()}


def commits(measured: str) -> dict[str, str]:
    """Return the ``commit`` of the measured module, and that of the CPU module if it differs."""
    return {"commit": measured} | ({} if measured == CPU.core.commit else {"cpu commit": CPU.core.commit})


def cuda_version(number: int) -> str:
    """Return 13000 as ``13.0``."""
    return f"{number // 1000}.{number % 1000 // 10}"


def cusparse_version(number: int | None) -> str | None:
    """Return 12603 as ``12.6.3``."""
    return None if number is None else f"{number // 1000}.{number % 1000 // 100}.{number % 100}"


Contender = tuple[str, str, str, Callable[[], Callable[[], Any]]]  # library, format, kernel, preparation of the call


def contenders(op: str, columns: int, operands: Callable[[str], tuple[Any, Any]]) -> Iterator[Contender]:
    """Yield the peers that compute A x, A X or A B, with the memory of our operands."""
    if (module := cupy()) is None or op not in ("matvec", "matmul"):
        return

    def prepare(format: str) -> Callable[[], Any]:
        left, other = operands("csr")
        theirs = left.to_cupy(format)
        right = module.from_dlpack(other) if op == "matvec" else other.to_cupy("csr")
        return partial(theirs.__matmul__, right)

    for format in ("dia", "csr") if op == "matvec" else ("csr",):
        yield "cupy", format, "", partial(prepare, format)
    if op == "matvec" and not columns and nvmath() is not None:  # nvmath processes blocks with one thread per diagonal
        yield "nvmath", "dia", "", partial(_universal_tensor, operands, nvmath(), module)


def _universal_tensor(operands: Callable[[str], tuple[Any, Any]], nvmath: Any, cupy: Any) -> Callable[[], Any]:
    """Return nvmath's planned ``y += A x`` with its universal sparse tensor; y is 0 before the first call.

    nvmath supports only beta = 1, and each call synchronizes with the device.
    """
    left, other = operands("csr")
    x = cupy.from_dlpack(other)
    with x.device:
        y = cupy.zeros(left.shape[0], x.dtype)
    tensors = (nvmath.sparse.ust.Tensor.from_package(array) for array in (left.to_cupy("dia"), x, y))
    product = nvmath.sparse.Matmul(*tensors, options={"codegen": True})  # never cuSPARSE
    product.plan()

    def call() -> Any:
        product.execute()
        return y

    return call
