"""The GPU and the libraries that its benchmark compares with."""

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
    """Return CuPy, or None where it is not installed or does not work."""
    try:
        return importlib.import_module("cupy")
    except ImportError:
        return None


def nvmath() -> Any | None:
    """Return nvmath-python where it has the universal sparse tensor, which came with 1.0; else None."""
    try:
        importlib.import_module("nvmath.sparse.ust")
        return importlib.import_module("nvmath")
    except ImportError:
        return None


def hardware(where: Backend) -> dict[str, Any]:
    """Return the GPU and the memory that it has."""
    _, total = where.core.memory(where.index)
    return {
        "gpu": where.core.device_name(where.index),
        "memory_nbytes": total,
        "system": f"{platform.system()} {platform.machine()}",
    }


def versions(where: Backend) -> dict[str, str | None]:
    """Return the versions of everything that takes part."""
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
    """Return the ``commit`` of the module that was measured, and that of the CPU's module where it is another one."""
    return {"commit": measured} | ({} if measured == CPU.core.commit else {"cpu commit": CPU.core.commit})


def cuda_version(number: int) -> str:
    """Return 13000 as ``13.0``."""
    return f"{number // 1000}.{number % 1000 // 10}"


def cusparse_version(number: int | None) -> str | None:
    """Return 12603 as ``12.6.3``."""
    return None if number is None else f"{number // 1000}.{number % 1000 // 100}.{number % 100}"


Contender = tuple[str, str, str, Callable[[], Callable[[], Any]]]  # library, format, kernel, what prepares the call


def contenders(op: str, columns: int, operands: Callable[[str], tuple[Any, Any]]) -> Iterator[Contender]:
    """Yield what others make of A x, A X or A B, on our operands' memory; nothing for what none of them computes."""
    if (module := cupy()) is None or op not in ("matvec", "matmul"):
        return

    def prepare(format: str) -> Callable[[], Any]:
        left, other = operands("csr")
        theirs = left.to_cupy(format)
        right = module.from_dlpack(other) if op == "matvec" else other.to_cupy("csr")
        return partial(theirs.__matmul__, right)

    for format in ("dia", "csr") if op == "matvec" else ("csr",):
        yield "cupy", format, "", partial(prepare, format)
    if op == "matvec" and not columns and nvmath() is not None:  # blocks it gives to one thread for each diagonal
        yield "nvmath", "dia", "", partial(_universal_tensor, operands, nvmath(), module)


def _universal_tensor(operands: Callable[[str], tuple[Any, Any]], nvmath: Any, cupy: Any) -> Callable[[], Any]:
    """Return nvmath's planned ``y += A x`` on its universal sparse tensor; y is 0 before the first call.

    It has no other beta than 1, and each call waits for the device.
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
