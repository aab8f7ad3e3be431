"""The libraries with which the benchmarks compare, on both devices."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from .._backends.backend import get_num_threads
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


GpuContender = tuple[str, str, str, Callable[[], Callable[[], Any]]]  # library, format, kernel, preparation of the call


def on_gpu(op: str, columns: int, operands: Callable[[str], tuple[Any, Any]]) -> Iterator[GpuContender]:
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
