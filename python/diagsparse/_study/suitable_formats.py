"""The formats that are suitable for a comparison: those whose matrices and products stay within time and memory."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from .._backends.backend import CPU
from .._backends.memory import available_bytes, human
from .._matrix.sparse_array import SparseArray
from .._products.forecasts import convert_nbytes
from .._products.plans import MatmulPlan
from .comparison import Comparison, Skipped

_WASTE = 20  # formats that store or multiply more than this many times as much as csr are left out
_SMALL = 20_000_000  # bytes below which no format is left out
_RATE = 2e8  # multiply-adds per second that every format reaches


def converted(base: SparseArray, format: str, max_bytes: int | None, given: SparseArray | None) -> tuple[Any, float]:
    """Return A in a format and the seconds of the conversion (the best of a few), or raise the reason why not.

    In its own format, A is returned unchanged.
    """
    itself = given if given is not None and given.format == format else None
    nbytes = convert_nbytes(base, format) if itself is None else itself.nbytes
    _require(nbytes, base.nbytes, max_bytes, "would store", base.nnz * base.dtype.itemsize)
    if itself is not None:
        return itself.to(base.device), 0.0
    result, times = base, [0.0]
    while format != base.format and sum(times) < 0.05 and len(times) < 4:
        start = time.perf_counter()
        result = base.asformat(format)
        if base._backend is not CPU:
            base._core.synchronize(base._backend.index)
        times.append(time.perf_counter() - start)
    return result, min(times[1:], default=0.0)


def _require(nbytes: int, csr_nbytes: int, max_bytes: int | None, what: str, useful: int) -> None:
    limit = max(_WASTE * csr_nbytes, _SMALL) if max_bytes is None else max_bytes
    if nbytes > limit:
        times = nbytes / max(1, useful)
        raise MemoryError(f"{what} {human(nbytes)}, {times:.0f}x the nonzeros (limit {human(limit)}; --max-bytes)")
    if nbytes > (free := available_bytes()):
        raise MemoryError(f"{what} {human(nbytes)}, but only {human(free)} are free")


def reason(error: Exception, format: str) -> str:
    return str(error).removeprefix(f"{format}_array: ").split(";")[0] if isinstance(error, ValueError) else str(error)


def suitable_products(
    result: Comparison, csr: Any, matrices: dict[str, SparseArray], useful: int, budget: float, max_bytes: int | None
) -> Iterator[str]:
    """Yield the formats in which C = A A stays within time and memory; note the reason for the others."""
    n = csr.shape[0]
    if useful > 2 * budget * _RATE:
        reason = f"{useful / 1e9:.2g} G multiply-adds would exceed the time budget of {budget:g} s (--budget)"
        result.skipped.append(Skipped("matmul", "all", reason))
        return
    least = MatmulPlan(matrices["csr"], matrices["csr"], max_bytes=1 << 62) if "csr" in matrices else None
    for format, A in matrices.items():
        try:
            if not A.kernels("matmul"):
                raise ValueError("has no product of its own and multiplies in csr")
            work = A.nnz**2 / max(1, n) if hasattr(A, "offsets") else useful
            if work > max(_WASTE * useful, budget * _RATE / 2):
                raise ValueError(
                    f"would need {work / 1e9:.2g} G multiply-adds, {work / max(1, useful):.0f}x the useful ones"
                )
            plan = least if format == "csr" and least else MatmulPlan(A, A, max_bytes=1 << 62)
            reference = least or plan
            _require(
                plan.nbytes, reference.nbytes, max_bytes, "the result would store", reference.nnz * csr.dtype.itemsize
            )
            yield format
        except (ValueError, MemoryError) as error:
            result.skipped.append(Skipped("matmul", format, str(error)))
