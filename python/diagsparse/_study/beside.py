"""Who takes part in `compare`: our formats and who stands beside them; and the clock for all, on either device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from .. import measure
from .._backends.backend import CPU, Backend
from .._matrix.sparse_array import SparseArray
from .._products.plans import MatmulPlan
from ..measure import Contender, Progress, Timing
from . import gpu_clock, gpu_peers, peers

_ON_CPU = ("scipy", "mkl")
_SAMPLES = 15  # of a call on a GPU
_WASTE, _PLACES = 40, 2_000_000  # places of SciPy's dia for each entry, at most; so many are never too many


def by_default(where: Backend) -> tuple[str, ...]:
    """Return who stands beside us where nobody is named."""
    return ("scipy",) if where is CPU else ("scipy", "cusparse")


def missing(name: str, where: Backend) -> str:
    """Return why a library cannot take part there, "" if it can."""
    if name not in _ON_CPU and where is CPU:
        return "available on a GPU only"
    if name == "mkl" and peers.mkl() is None:
        return "MKL or sparse_dot_mkl is not installed"
    if name == "cupy" and gpu_peers.cupy() is None:
        return "CuPy is not installed"
    return ""


def contenders(
    op: str, held: dict[str, SparseArray], kernels: list[str] | None, names: Sequence[str], csr: Any, x: Any,
    bsr: Any | None = None,
) -> list[Contender]:  # fmt: skip
    """Return all that compute A x, or A A: our formats by these kernels (None: the default one), and the others."""
    ours = [
        measure.by_kernel(A, x if op == "matvec" else A, kernel)
        for A in held.values()
        for kernel in _kernels(A, op, kernels)
    ]
    return [*ours, *_others(names, op, csr, held, x, bsr)]


def _kernels(A: SparseArray, op: str, kernels: list[str] | None) -> list[str]:
    there = A.kernels(op)
    if kernels is None:  # on a GPU a plan chooses
        plans = op == "matmul" and A._backend is not CPU
        chosen = MatmulPlan(A, A, max_bytes=1 << 62).kernel if plans else there[0]
        return [chosen] if chosen in there else there[:1]
    asked = there if "all" in kernels else [name for name in there if name in kernels]
    # A kernel of diagonals that cannot multiply these leaves it to another one, which is listed once.
    if op == "matvec" or A._format.family != "diagonals":
        return asked
    return list(dict.fromkeys(MatmulPlan(A, A, kernel=name, max_bytes=1 << 62).kernel for name in asked))


def without_scipys_dia(names: Sequence[str], csr: Any, held: dict[str, SparseArray]) -> list[str]:
    """Return why SciPy's dia takes no part where it would store far too much; nothing where it does."""
    if "scipy" not in names or "dia" not in held or not csr.nnz or _scipys_dia_fits(csr, held["dia"]):
        return []
    return ["its dia would store a value for each column on each diagonal, far more than csr does"]


def _scipys_dia_fits(csr: Any, ours: SparseArray) -> bool:
    return 0 < len(ours.offsets) * csr.shape[1] <= max(_PLACES, _WASTE * csr.nnz)


def scipys_bsr(names: Sequence[str], csr: Any) -> tuple[Any | None, str]:
    """Return SciPy's bsr with blocks of the size that SciPy estimates, or None and why it takes no part."""
    if "scipy" not in names:
        return None, ""
    made = csr.tobsr()
    if made.blocksize == (1, 1):
        return None, "SciPy estimates a block size of 1 x 1, which would be the same as csr"
    return made, ""


def _others(
    names: Sequence[str], op: str, csr: Any, held: dict[str, SparseArray], x: Any, bsr: Any | None
) -> Iterator[Contender]:
    """Yield how others compute A x, or A A, on SciPy's csr and on the memory of ours; `x` is where our matrices are.

    SciPy's csr is always among them, its bsr where it is given.
    """
    ours, vector = held.get("csr"), op == "matvec"
    host = x.get() if hasattr(x, "get") else x
    right = host if vector else csr
    yield measure.by_operator("scipy", csr, right)
    if "scipy" in names and "dia" in held and _scipys_dia_fits(csr, held["dia"]):
        dia = held["dia"].to("cpu").to_scipy("dia")
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
    for library, format, _, prepare in gpu_peers.contenders(op, 0, lambda _: operands) if "cupy" in names else ():
        if (library, format) == ("cupy", "csr"):
            yield Contender(library, format, "", prepare(), operands)


def time_all(found: Sequence[Contender], where: Backend, budget: float, progress: Progress) -> dict[str, Timing]:
    """Time them: in turns on the CPU; on a GPU by its own clock, those of the CPU apart."""
    on_cpu = [where is CPU or c.library in _ON_CPU for c in found]
    pause = peers.MKL_SLEEPS if any(c.library == "mkl" for c in found) else 0.0
    calls = {c.name: c.call for c, here in zip(found, on_cpu, strict=True) if here}
    times = measure.time_calls(calls, budget=budget, pause=pause, progress=progress)
    for c in (c for c, here in zip(found, on_cpu, strict=True) if not here):
        progress(0.5, f"time {c.name}")
        taken = gpu_clock.time_calls(c.call, where, _SAMPLES)
        times[c.name] = Timing(median(taken), min(taken), len(taken))
    return times
