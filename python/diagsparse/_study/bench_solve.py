"""``diagsparse bench solve``: set-up and solution of systems, in diagsparse and in other libraries, timed and checked.

Contenders are timed by the clock of the host, on a GPU until the device has finished. Iterative methods reduce the
residual by 10^8. The error of each solution is computed from it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from statistics import median
from typing import Any

import numpy as np

from .. import measure
from .._backends.backend import CPU, Backend, get_backend, get_num_threads
from .._matrix.construct import array
from ..measure import Progress
from . import solvers, steps
from .bench_solve_cases import SolveCase, batch_of, solve_cases
from .comparison import finite

Row = dict[str, Any]
LIMIT = 1e-12  #: largest backward error of a direct method that counts as right
_MOST = 5  # times that a contender is timed
_LONG = 5.0  # seconds after which it does not run a second time, for which the first one warms up


def run(
    name: str = "solve",
    *,
    device: str = "cpu",
    quick: bool = False,
    budget: float | None = None,
    progress: Progress | None = None,
) -> Row:
    """Run the benchmark and return its report as plain values.

    Parameters
    ----------
    name : str
        "solve", or how the names of cases start.
    device : str
        ``"cpu"``, ``"cuda"``, ``"cuda:1"``, ...
    quick : bool
        Use small sizes, as a test; the times are not meaningful.
    budget : float, optional
        Seconds of timing for each contender; it is timed once at least, and five times at most. It runs once before, to
        warm up; if this takes more than five seconds, its time counts, and the contender does not run again.
    progress : callable, optional
        Is called with the fraction that is done, and a description of the current step.

    Returns
    -------
    dict
        ``experiment``, ``device``, ``hardware``, ``versions``, ``date``, ``quick``, ``threads``, ``warning``, ``ok``,
        ``interrupted``, ``left``, and ``rows``: a dict for each case and contender with the seconds of the ``setup``
        and the ``solution``, their sum ``seconds``, the ``residual`` norm(b - A x) / norm(b), the ``backward`` error,
        and why it ``failed``.

    Raises
    ------
    ValueError
        If no case has this name.
    """
    where = get_backend(device)
    chosen = solve_cases(name, where.name.partition(":")[0])
    spent = (0.0 if quick else 2.0) if budget is None else budget
    report = steps.report(
        [(case.name, partial(rows_of, case, where, 1e-3 if quick else 1.0, spent)) for case in chosen],
        where, quick, progress,
    )  # fmt: skip
    report["versions"] |= {"pyamg": _version("pyamg")}
    ok = all(row["ok"] for row in report["rows"] if row["library"] == "diagsparse")
    return {"experiment": "solve", "name": name, "threads": get_num_threads(), "ok": ok} | report


def rows_of(case: SolveCase, where: Backend, scale: float, budget: float, report: Progress) -> Iterator[Row]:
    """Yield the rows of a case: every contender."""
    report(0.0, f"{case.name}: make")
    S, count = case.make(scale), case.count(scale)
    n = S.shape[0]
    rng = np.random.default_rng(1)
    b = rng.uniform(0.5, 1.5, (count, n) if count else n)
    A = batch_of(S, count).to(where.name) if count else array(S, "hm", device=where.name)
    contenders = list(solvers.contenders(case, S, A, b, where))
    for i, contender in enumerate(contenders):
        report((i + 0.5) / len(contenders), f"{case.name}: {contender.name}")
        fields = {"case": case.name, "what": case.what, "shape": list(S.shape), "diagonals": len(S.offsets),
                  "members": count, "library": contender.library, "method": contender.method}  # fmt: skip
        yield fields | _timed(contender, partial(_errors, S, b), where, budget)
    if where is not CPU:
        where.core.trim(where.index)


def _timed(
    contender: solvers.Contender, errors: Callable[[Any], tuple[float, float]], where: Backend, budget: float
) -> Row:
    """Return the times and errors of one contender."""
    row: Row = {"ok": False} | dict.fromkeys(("setup", "solution", "seconds", "residual", "backward", "failed"))
    try:
        x, *first = _once(contender, where)  # compiles kernels, and fills caches
        times = [first] if sum(first) > _LONG else []
        while (len(times) < _MOST and sum(map(sum, times)) < budget) or not times:
            x, *seconds = _once(contender, where)
            times.append(seconds)
        residual, backward = errors(contender.read(x))
        row |= dict(zip(("setup", "solution"), map(median, zip(*times, strict=True)), strict=True))
        row |= {"seconds": median(map(sum, times)), "residual": finite(residual), "backward": finite(backward)}
        row["ok"] = bool(residual <= solvers.REDUCTION * 1.01 if contender.iterative else backward <= LIMIT)
    except Exception as failure:  # limits of a peer are part of the comparison
        row["failed"] = f"{type(failure).__name__}: {failure}"[:300]
    return row


def _once(contender: solvers.Contender, where: Backend) -> tuple[Any, float, float]:
    """Return the solution, and the seconds of the set-up and of solving."""
    began = _now(where)
    ready = contender.prepare()
    half = _now(where)
    x = contender.solve(ready)
    return x, half - began, _now(where) - half


def _now(where: Backend) -> float:
    """Return the time, after all work on the device has finished."""
    if where is not CPU:
        where.core.synchronize(where.index)
    return time.perf_counter()


def _errors(S: Any, b: Any, x: Any) -> tuple[float, float]:
    """Return the relative residual in the 2-norm and the backward error in the maximum norm, the largest of a batch."""
    csr = measure.csr32(S)
    factors = np.linspace(1, 2, len(b))[:, np.newaxis] if b.ndim == 2 else 1.0
    residual = b - factors * (csr @ x.T).T
    norm = float(abs(csr).sum(axis=1).max())
    size = (factors * norm * abs(x) if b.ndim == 2 else norm * abs(x)).max(axis=-1) + abs(b).max(axis=-1)
    lengths = np.linalg.norm(residual, axis=-1) / np.linalg.norm(b, axis=-1)
    return float(np.max(lengths)), float(np.max(abs(residual).max(axis=-1) / size))


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
