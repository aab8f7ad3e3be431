"""The contenders of `compare`: formats of diagsparse and other libraries, and their timing on either device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .. import measure
from .._backends.backend import CPU, Backend
from .._matrix.sparse_array import SparseArray
from .._products.plans import MatmulPlan
from ..measure import Contender, Progress, Timing
from . import gpu_clock, peers

_ON_CPU = ("scipy", "mkl")
_SAMPLES = 15  # measurements of a call on a GPU
_WASTE, _SMALL = 40, 2_000_000  # largest number of values of SciPy's dia per entry, unless it has at most _SMALL values


def by_default(where: Backend) -> tuple[str, ...]:
    """Return the libraries that are compared by default."""
    return ("scipy",) if where is CPU else ("scipy", "cusparse")


def missing(name: str, where: Backend) -> str:
    """Return why a library is not available on a device, or "" if it is."""
    if name not in _ON_CPU and where is CPU:
        return "available on a GPU only"
    if name == "mkl" and peers.mkl() is None:
        return "MKL or sparse_dot_mkl is not installed"
    if name == "cupy" and peers.cupy() is None:
        return "CuPy is not installed"
    return ""


def contenders(
    op: str, matrices: dict[str, SparseArray], kernels: list[str] | None, names: Sequence[str], csr: Any, x: Any,
    bsr: Any | None = None,
) -> list[Contender]:  # fmt: skip
    """Return all ways to compute A x or A A: formats of diagsparse by these kernels (None: the default), and peers."""
    ours = [
        measure.by_kernel(A, x if op == "matvec" else A, kernel)
        for A in matrices.values()
        for kernel in _kernels(A, op, kernels)
    ]
    return [*ours, *_others(names, op, csr, matrices, x, bsr)]


def _kernels(A: SparseArray, op: str, kernels: list[str] | None) -> list[str]:
    available = A.kernels(op)
    if kernels is None:  # on a GPU, the plan selects the default
        plans = op == "matmul" and A._backend is not CPU
        chosen = MatmulPlan(A, A, max_bytes=1 << 62).kernel if plans else available[0]
        return [chosen] if chosen in available else available[:1]
    requested = available if "all" in kernels else [name for name in available if name in kernels]
    # A kernel of diagonals that does not support these diagonals is replaced by another one, which is listed once.
    if op == "matvec" or A._format.family != "diagonals":
        return requested
    return list(dict.fromkeys(MatmulPlan(A, A, kernel=name, max_bytes=1 << 62).kernel for name in requested))


def without_dia(names: Sequence[str], csr: Any, matrices: dict[str, SparseArray]) -> list[str]:
    """Return the reason for leaving out SciPy's dia, if it would store far too much; otherwise an empty list."""
    if "scipy" not in names or "dia" not in matrices or not csr.nnz or _scipys_dia_fits(csr, matrices["dia"]):
        return []
    return ["its dia would store a value for each column on each diagonal, far more than csr does"]


def _scipys_dia_fits(csr: Any, ours: SparseArray) -> bool:
    return 0 < len(ours.offsets) * csr.shape[1] <= max(_SMALL, _WASTE * csr.nnz)


def scipys_bsr(names: Sequence[str], csr: Any) -> tuple[Any | None, str]:
    """Return SciPy's bsr with the block size that SciPy estimates, or None and the reason for leaving it out."""
    if "scipy" not in names:
        return None, ""
    bsr = csr.tobsr()
    if bsr.blocksize == (1, 1):
        return None, "SciPy estimates a block size of 1 x 1, which would be the same as csr"
    return bsr, ""


def _others(
    names: Sequence[str], op: str, csr: Any, matrices: dict[str, SparseArray], x: Any, bsr: Any | None
) -> Iterator[Contender]:
    """Yield the peers that compute A x or A A, with SciPy's csr or the memory of our csr, on whose device `x` is.

    SciPy's csr is always among them, and its bsr if it is given.
    """
    ours, vector = matrices.get("csr"), op == "matvec"
    host = x.get() if hasattr(x, "get") else x
    right = host if vector else csr
    yield measure.by_operator("scipy", csr, right)
    if "scipy" in names and "dia" in matrices and _scipys_dia_fits(csr, matrices["dia"]):
        dia = matrices["dia"].to("cpu").to_scipy("dia")
        yield measure.by_operator("scipy", dia, host if vector else dia)
    if bsr is not None:
        yield measure.by_operator("scipy", bsr, host if vector else bsr)
    if "mkl" in names:
        yield from peers.by_mkl(csr, right)
    if ours is None:
        return
    operands = ours, x if vector else ours
    if "cusparse" in names:
        yield Contender("cusparse", "csr", "", measure.by_kernel(*operands, "cusparse").call, operands)
    for library, format, _, prepare in peers.on_gpu(op, 0, lambda _: operands) if "cupy" in names else ():
        if (library, format) == ("cupy", "csr"):
            yield Contender(library, format, "", prepare(), operands)


def time_all(contenders: Sequence[Contender], where: Backend, budget: float, progress: Progress) -> dict[str, Timing]:
    """Time contenders: alternately on the CPU, and by events on a GPU."""
    on_cpu = {c.name: c.call for c in contenders if where is CPU or c.library in _ON_CPU}
    on_gpu = {c.name: c.call for c in contenders if c.name not in on_cpu}
    pause = peers.MKL_SLEEPS if any(c.library == "mkl" for c in contenders) else 0.0
    timing: Any = {"budget": budget, "samples": _SAMPLES, "pause": pause, "progress": progress}
    return gpu_clock.time_all(on_cpu, CPU, **timing) | gpu_clock.time_all(on_gpu, where, **timing)
