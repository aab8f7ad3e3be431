"""How formats are compared: every suitable one is built, its products are checked against SciPy's, and timed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .. import measure
from .._backends.backend import CPU, Backend, get_backend, get_num_threads
from .._matrix.base import is_from_scipy
from .._matrix.construct import array
from .._matrix.operands import as_matrix
from .._matrix.registry import FORMATS
from .._matrix.sparse_array import SparseArray
from .._matrix.validation import private
from ..io import read_floats
from ..measure import Progress, portion
from ..structure import analyze
from . import exactness, gpu_clock, participants
from .comparison import Comparison, Row, Skipped
from .suitable_formats import converted, reason, suitable_products
from .titles import PEERS, TITLES, matrix_name

_COPIED = 1 << 28  # bytes that are copied to measure the memory of a GPU


def compared(
    A: Any,
    formats: Sequence[str] | None,
    ops: Sequence[str],
    kernels: str | Sequence[str] | None,
    against: Sequence[str] | None,
    max_bytes: int | None,
    budget: float,
    device: str | None,
    progress: Progress | None,
    name: str,
) -> Comparison:
    """Return what `compare` does, with the same arguments."""
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
    matrices, conversions = dict[str, SparseArray](), dict[str, float]()
    for i, format in enumerate(names):
        report(0.2 * i / len(names), f"convert to {format}")
        try:
            matrices[format], conversions[format] = converted(base, format, max_bytes, given)
        except (ValueError, MemoryError) as error:
            result.skipped.append(Skipped("convert", format, reason(error, format)))
    absent = {name: why for name in against if (why := participants.missing(name, where))}
    result.skipped += [Skipped("convert", name, why) for name, why in absent.items()]
    against = [name for name in against if name not in absent]
    bsr, why = participants.scipys_bsr(against, csr)
    result.skipped += [Skipped("convert", "scipy bsr", why)] if why else []
    available = {kernel: None for A in matrices.values() for op in ops for kernel in A.kernels(op)}
    kernels = None if kernels is None else _chosen("kernel", kernels, [*available, "all"])
    run = _Run(result, csr, matrices, conversions, kernels, against, bsr, budget, max_bytes, where)
    for i, op in enumerate(ops):
        part = portion(report, 0.2 + 0.8 * i / len(ops), 0.8 / len(ops))
        run.products_with_a_vector(part) if op == "matvec" else run.squares(part)
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
        name = name or matrix_name(A)
        A = read_floats(A)
    given = A if isinstance(A, SparseArray) and not A._op else None
    if is_from_scipy(A):
        A = private(A, "compare")[0]
    else:
        A = as_matrix(A, "compare").to("cpu").to_scipy("csr")
    csr = measure.csr32(A)
    if csr.dtype.kind in "iub":
        csr = csr.astype(np.float64)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    if not np.isfinite(csr.data).all():
        raise ValueError(
            f"compare: {name or 'the matrix'} contains NaN or infinite values, so the results cannot be checked"
        )
    return csr, given, name


# ---- the two operations -------------------------------------------------------------------------------------------
@dataclass
class _Run:
    """Runs the operations, and adds the rows to the result."""

    result: Comparison
    csr: Any
    matrices: dict[str, SparseArray]  # by format
    conversions: dict[str, float]  # seconds
    kernels: Any
    against: list[str]
    bsr: Any
    budget: float
    max_bytes: int | None
    where: Backend

    def products_with_a_vector(self, report: Progress) -> None:
        """Compute y = A x."""
        x = exactness.vector(self.csr.shape[1], self.csr.dtype)
        here = x if self.where is CPU else self.where.core.from_host(x, self.where.index)
        check = exactness.MatvecCheck(self.csr, x)
        self._measure("matvec", self.matrices, here, self.csr.nnz, lambda y: check(self.where.host(y)), report)

    def squares(self, report: Progress) -> None:
        """Compute C = A A."""
        m, n = self.csr.shape
        if m != n:
            self.result.skipped.append(Skipped("matmul", "all", f"needs a square matrix, got {m} x {n}"))
            return
        # Each entry of A is multiplied by all entries of one row.
        work = int(np.diff(self.csr.indptr)[self.csr.indices].sum())
        formats = suitable_products(self.result, self.csr, self.matrices, work, self.budget, self.max_bytes)
        if suitable := {format: self.matrices[format] for format in formats}:
            check = partial(_checked, exactness.MatmulCheck(self.csr, self.csr))
            self._measure("matmul", suitable, None, work, check, report)

    def _measure(
        self, op: str, matrices: dict[str, SparseArray], x: Any, work: int, check: Callable[[Any], float],
        report: Progress,
    ) -> None:  # fmt: skip
        """Run each contender once for its check, then all for their times."""
        contenders = participants.contenders(op, matrices, self.kernels, self.against, self.csr, x, self.bsr)
        without_dia = participants.without_dia(self.against, self.csr, matrices)
        self.result.skipped += [Skipped(op, "scipy", why) for why in without_dia]

        def named(fraction: float, what: str) -> None:
            report(fraction, f"{TITLES[op]}: {what}")

        outcomes = measure.run_once(contenders, check, portion(named, 0.0, 0.4))
        times = participants.time_all(contenders, self.where, self.budget, portion(named, 0.4, 0.6))
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
                fraction=outcome.floor_nbytes / timing.median / self.result.bandwidth,
                error=outcome.error,
                conversion=self.conversions[c.format] if ours else 0.0,
            )
            self.result.rows.append(row)


def _checked(check: Callable[[Any], float], result: Any) -> float:
    """Check the result of any library; CuPy matrices are copied to the host."""
    return check(result.get() if hasattr(result, "get") else result)
