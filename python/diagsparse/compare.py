"""Comparison of all suitable formats for a matrix: products are checked against SciPy's, and timed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from . import measure
from ._backends.backend import CPU, Backend, get_backend, get_num_threads
from ._backends.memory import available_bytes, human
from ._matrix.base import is_from_scipy
from ._matrix.construct import array
from ._matrix.registry import FORMATS
from ._matrix.sparse_array import SparseArray
from ._matrix.validation import private
from ._products.forecasts import convert_nbytes
from ._products.plans import MatmulPlan
from ._study import exactness, gpu_clock, participants
from ._study.changes import Change, Changes
from ._study.comparison import Comparison, Row, Skipped
from ._study.titles import PEERS, TITLES, matrix_name
from .measure import Progress, portion
from .structure import analyze

__all__ = ["Change", "Changes", "Comparison", "Row", "Skipped", "compare"]

_WASTE = 20  # formats that store or multiply more than this many times as much as csr are left out
_SMALL = 20_000_000  # bytes below which no format is left out
_RATE = 2e8  # multiply-adds per second that every format reaches
_COPIED = 1 << 28  # bytes that are copied to measure the memory of a GPU


def compare(
    A: Any,
    *,
    formats: Sequence[str] | None = None,
    ops: Sequence[str] = ("matvec", "matmul"),
    kernels: str | Sequence[str] | None = None,
    against: Sequence[str] | None = None,
    max_bytes: int | None = None,
    budget: float = 0.7,
    device: str | None = None,
    progress: Progress | None = None,
    name: str = "",
) -> Comparison:
    """Compute y = A x and C = A A in every suitable format, check the results against SciPy's, and time them.

    Parameters
    ----------
    A : sparse matrix (of diagsparse or SciPy), shape (m, n), or path of a file for `diagsparse.read`
        Integers and bools become float64. A matrix of diagsparse keeps the options of its layout in its own format, and
        has the default options in all others.
    formats : list of str, optional
        The formats to compare, by default all of `diagsparse.formats()`. Formats that do not support A, or would store
        far more than its nonzeros, are left out, and the result states the reason.
    ops : list of {"matvec", "matmul"}
        The operations. C = A A needs a square matrix.
    kernels : "all" or list of str, optional
        The kernels, by default the default kernel of each format.
    against : list of {"scipy", "mkl", "cusparse", "cupy"}, optional
        The libraries to compare with, by default SciPy, and on a GPU also cuSPARSE. If one of them is not available,
        the result states the reason. SciPy's formats are csr, dia, and bsr if SciPy estimates a block size other than 1
        x 1. SciPy's csr always runs, because all results are checked against it.
    max_bytes : int, optional
        Limit for each matrix, by default 20 times the bytes in csr, but at least 20 MB.
    budget : float
        Seconds of timing for each operation. Products that would take much longer are left out.
    device : str, optional
        ``"cpu"`` or ``"cuda"``.
    progress : callable, optional
        Is called with the fraction that is done, and a description of the current step.
    name : str
        A name for the matrix, by default that of the file.

    Returns
    -------
    Comparison
        ``str()`` returns tables, fastest format first. ``ok`` is whether all results are correct.

    Raises
    ------
    ValueError, TypeError, OSError
        If a name does not exist, if the values are not finite numbers, or if the file cannot be read.

    Examples
    --------
    >>> import diagsparse as ds
    >>> from diagsparse.compare import compare
    >>> result = compare(ds.gallery.stencil(5, 30), formats=["hm", "csr"], ops=["matvec"], budget=0.01)
    >>> result.ok, len(result.rows)
    (True, 3)
    """
    if not budget > 0:
        raise ValueError(f"compare: budget={budget}: expected seconds above 0")
    where = get_backend(device)
    names = _chosen("format", formats, list(FORMATS))
    against = _chosen("library", against, list(PEERS)) if against is not None else list(participants.by_default(where))
    ops = _chosen("operation", ops, list(TITLES))
    csr, given, name = _csr(A, name)
    report, monitor = progress or measure.no_progress, measure.LoadMonitor()
    base = array(csr, "csr", device=device)
    result = Comparison(
        name=name or "matrix",
        shape=base.shape,
        dtype=str(base.dtype),
        nnz=base.nnz,
        device=base.device,
        threads=get_num_threads(),
        bandwidth=gpu_clock.bandwidth(where, _COPIED),
        structure=analyze(csr, rcm=False),
    )
    held: dict[str, tuple[Any, float]] = {}
    for i, format in enumerate(names):
        report(0.2 * i / len(names), f"convert to {format}")
        try:
            held[format] = _convert(base, format, max_bytes, given)
        except (ValueError, MemoryError) as error:
            result.skipped.append(Skipped("convert", format, _reason(error, format)))
    absent = {name: why for name in against if (why := participants.missing(name, where))}
    result.skipped += [Skipped("convert", name, why) for name, why in absent.items()]
    against = [name for name in against if name not in absent]
    bsr, why = participants.scipys_bsr(against, csr)
    result.skipped += [Skipped("convert", "scipy bsr", why)] if why else []
    available = {kernel: None for A, _ in held.values() for op in ops for kernel in A.kernels(op)}
    kernels = None if kernels is None else _chosen("kernel", kernels, [*available, "all"])
    for i, op in enumerate(ops):
        part = portion(report, 0.2 + 0.8 * i / len(ops), 0.8 / len(ops))
        if op == "matvec":
            _run_matvec(result, csr, held, kernels, against, bsr, budget, where, part)
        else:
            _run_matmul(result, csr, held, kernels, against, bsr, budget, max_bytes, where, part)
    result.warning = monitor.warning()
    report(1.0, "done")
    return result


def _chosen(what: str, given: Sequence[str] | None, known: list[str]) -> list[str]:
    given = known if given is None else [given] if isinstance(given, str) else list(given)
    for one in given:
        if one not in known:
            raise ValueError(f'compare: there is no {what} "{one}"; expected one of {", ".join(known)}')
    return given


def _csr(A: Any, name: str) -> tuple[Any, SparseArray | None, str]:
    """Return A as SciPy's csr with a supported dtype, A itself if it is a `SparseArray`, and its name."""
    if isinstance(A, (str, os.PathLike)):
        from .io import read_floats

        name = name or matrix_name(A)
        A = read_floats(A)
    if is_from_scipy(A):
        A = private(A, "compare")[0]
    csr = measure.csr32(A.to_scipy("csr") if isinstance(A, SparseArray) else A)
    if csr.dtype.kind in "iub":
        csr = csr.astype(np.float64)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    if not np.isfinite(csr.data).all():
        raise ValueError(
            f"compare: {name or 'the matrix'} contains NaN or infinite values, so the results cannot be checked"
        )
    return csr, A if isinstance(A, SparseArray) and not A._op else None, name


# ---- suitable formats ---------------------------------------------------------------------------------------------
def _convert(
    base: SparseArray, format: str, max_bytes: int | None, given: SparseArray | None
) -> tuple[Any, float]:  # fmt: skip
    """Return A in a format and the seconds of the conversion (the best of a few), or raise the reason why not.

    In its own format, A is returned unchanged.
    """
    itself = given if given is not None and given.format == format else None
    nbytes = convert_nbytes(base, format) if itself is None else itself.nbytes
    _limit(nbytes, base.nbytes, max_bytes, "would store", base.nnz * base.dtype.itemsize)
    if itself is not None:
        return itself.to(base.device), 0.0
    converted, times = base, [0.0]
    while format != base.format and sum(times) < 0.05 and len(times) < 4:
        start = time.perf_counter()
        converted = base.asformat(format)
        if base._backend is not CPU:
            base._core.synchronize(base._backend.index)
        times.append(time.perf_counter() - start)
    return converted, min(times[1:], default=0.0)


def _limit(nbytes: int, csr_nbytes: int, max_bytes: int | None, what: str, useful: int) -> None:
    limit = max(_WASTE * csr_nbytes, _SMALL) if max_bytes is None else max_bytes
    if nbytes > limit:
        times = nbytes / max(1, useful)
        raise MemoryError(f"{what} {human(nbytes)}, {times:.0f}x the nonzeros (limit {human(limit)}; --max-bytes)")
    if nbytes > (free := available_bytes()):
        raise MemoryError(f"{what} {human(nbytes)}, but only {human(free)} are free")


def _reason(error: Exception, format: str) -> str:
    return str(error).removeprefix(f"{format}_array: ").split(";")[0] if isinstance(error, ValueError) else str(error)


def _suitable_products(
    result: Comparison, csr: Any, held: dict[str, tuple[Any, float]], useful: int, budget: float, max_bytes: int | None
) -> Iterator[str]:
    """Yield the formats in which C = A A stays within time and memory; note the reason for the others."""
    n = csr.shape[0]
    if useful > 2 * budget * _RATE:
        reason = f"{useful / 1e9:.2g} G multiply-adds would exceed the time budget of {budget:g} s (--budget)"
        result.skipped.append(Skipped("matmul", "all", reason))
        return
    least = MatmulPlan(held["csr"][0], held["csr"][0], max_bytes=1 << 62) if "csr" in held else None
    for format, (A, _) in held.items():
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
            _limit(
                plan.nbytes, reference.nbytes, max_bytes, "the result would store", reference.nnz * csr.dtype.itemsize
            )
            yield format
        except (ValueError, MemoryError) as error:
            result.skipped.append(Skipped("matmul", format, str(error)))


# ---- the two operations -------------------------------------------------------------------------------------------
def _run_matvec(
    result: Comparison, csr: Any, held: dict[str, Any], kernels: Any, against: list[str], bsr: Any, budget: float,
    where: Backend, report: Progress,
) -> None:  # fmt: skip
    x = exactness.vector(csr.shape[1], csr.dtype)
    z = x if where is CPU else where.core.from_host(x, where.index)
    check = exactness.MatvecCheck(csr, x)
    matrices = {name: A for name, (A, _) in held.items()}
    contenders = participants.contenders("matvec", matrices, kernels, against, csr, z, bsr)
    result.skipped += [Skipped("matvec", "scipy", why) for why in participants.without_dia(against, csr, matrices)]
    _measure(result, "matvec", csr.nnz, contenders, lambda y: check(where.host(y)), held, budget, where, report)


def _run_matmul(
    result: Comparison, csr: Any, held: dict[str, Any], kernels: Any, against: list[str], bsr: Any, budget: float,
    max_bytes: Any, where: Backend, report: Progress,
) -> None:  # fmt: skip
    m, n = csr.shape
    if m != n:
        result.skipped.append(Skipped("matmul", "all", f"needs a square matrix, got {m} x {n}"))
        return
    work = int(np.diff(csr.indptr)[csr.indices].sum())  # an entry of A is multiplied by all entries of one row
    suits = {format: held[format] for format in _suitable_products(result, csr, held, work, budget, max_bytes)}
    if not suits:
        return
    matrices = {name: A for name, (A, _) in suits.items()}
    contenders = participants.contenders("matmul", matrices, kernels, against, csr, None, bsr)
    result.skipped += [Skipped("matmul", "scipy", why) for why in participants.without_dia(against, csr, matrices)]
    check = exactness.MatmulCheck(csr, csr)
    _measure(result, "matmul", work, contenders, partial(_checked, check), held, budget, where, report)


def _checked(check: Callable[[Any], float], result: Any) -> float:
    """Check the result of any library; CuPy matrices are copied to the host."""
    return check(result.get() if hasattr(result, "get") else result)


def _measure(
    result: Comparison,
    op: str,
    work: int,
    contenders: list[measure.Contender],
    check: Callable[[Any], float],
    held: dict[str, tuple[Any, float]],
    budget: float,
    where: Backend,
    report: Progress,
) -> None:
    """Run each contender once for its check, then all for their times."""

    def named(share: float, what: str) -> None:
        report(share, f"{TITLES[op]}: {what}")

    outcomes = measure.run_once(contenders, check, portion(named, 0.0, 0.4))
    times = participants.time_all(contenders, where, budget, portion(named, 0.4, 0.6))
    for c in contenders:
        outcome, timing = outcomes[c.name], times[c.name]
        ours = c.library == "diagsparse"
        row = Row(
            op=op,
            format=c.format if ours else c.library,
            kernel=c.kernel if ours else c.format,
            work=work,
            seconds=timing.median,
            best=timing.best,
            ratio=times["scipy csr"].median / timing.median,
            nbytes=measure.nbytes(c.operands[0]) if op == "matvec" else outcome.result_nbytes,
            floor_nbytes=outcome.floor_nbytes,
            fraction=outcome.floor_nbytes / timing.median / result.bandwidth,
            error=outcome.error,
            conversion=held[c.format][1] if ours else 0.0,
        )
        result.rows.append(row)
