"""The GPU and the libraries that its benchmark compares with."""

from __future__ import annotations

import importlib
import platform
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ._backend import Place


def cupy() -> Any | None:
    """Return CuPy, or None where it is not installed or does not work."""
    try:
        return importlib.import_module("cupy")
    except ImportError:
        return None


def hardware(where: Place) -> dict[str, Any]:
    """Return the GPU and the memory that it has."""
    _, total = where.core.memory(where.index)
    return {
        "gpu": where.core.device_name(where.index),
        "memory_nbytes": total,
        "system": f"{platform.system()} {platform.machine()}",
    }


def versions(where: Place) -> dict[str, str | None]:
    """Return the versions of everything that takes part."""
    from . import __version__

    module = cupy()
    return {
        "diagsparse": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "cuda driver": cuda_version(where.core.driver_version()),
        "cuda runtime": cuda_version(where.core.runtime_version()),
        "cusparse": cusparse_version(where.core.cusparse_version()),
        "cupy": module.__version__ if module else None,
    }


def cuda_version(number: int) -> str:
    """Return 13000 as ``13.0``."""
    return f"{number // 1000}.{number % 1000 // 10}"


def cusparse_version(number: int | None) -> str | None:
    """Return 12603 as ``12.6.3``."""
    return None if number is None else f"{number // 1000}.{number % 1000 // 100}.{number % 100}"


def contenders(
    op: str, operands: Callable[[str], tuple[Any, Any]]
) -> Iterator[tuple[str, str, str, Callable[[], Any]]]:
    """Yield CuPy's ``A @ x`` or ``A @ B`` in its csr and, for a vector, its dia format; on our operands' memory."""
    if (module := cupy()) is None:
        return

    def prepare(format: str) -> Any:
        left, other = operands("csr")
        theirs = left.to_cupy(format)
        right = module.from_dlpack(other) if op == "matvec" else other.to_cupy("csr")
        return partial(theirs.__matmul__, right), None

    for format in ("dia", "csr") if op == "matvec" else ("csr",):
        yield "cupy", format, "", partial(prepare, format)
