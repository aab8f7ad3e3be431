"""The benchmark on a GPU: every kernel of ours against cuSPARSE (and CuPy), timed by events, checked, with floors.

All contenders of a case work on the same values, in memory that lies ready (`plan(..., out=)`), one after another in
one process. The yardstick is a device-to-device copy of the same run, its bytes read plus its bytes written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from . import _bench_cases, _gpu_peers, measure
from ._array import FORMATS, SparseArray
from ._backend import Place, place
from ._bench_cases import BaseCase, band, random, stencil
from ._comparison import finite
from ._construct import array
from ._products import plan_matmul, plan_matvec
from ._sampled import SampledMatmul, SampledMatvec
from .measure import Progress, portion

_SAMPLE = 2e-4  # seconds of calls between two events: their own microsecond must not count
_MOST = 0.3  # seconds of one contender's samples together; three there are always
_FORMATS = ("dia", "hm", "cdm", "csr")
_SLOW = ("sequential",)  # one thread of a GPU: left out above _SLOW_WORK multiply-adds
_SLOW_WORK = 1 << 20


@dataclass(frozen=True)
class Case(BaseCase):
    """A case of the GPU's benchmark."""

    formats: tuple[str, ...] = _FORMATS
    columns: int = 0  #: of x, in C order; 0: it is a vector
    values: str = ""  #: the dtype of A's values, where it is another than that of all else


_stencil = partial(stencil, random_values=True)  # constants compress

CASES = (
    Case("stencil-7-256", "spmv", "matvec", "7-point stencil 256^3", _stencil(7, 256, 256, 256)),
    Case("stencil-5-4096", "spmv", "matvec", "5-point stencil 4096^2", _stencil(5, 4096, 4096)),
    Case("stencil-27-192", "spmv", "matvec", "27-point stencil 192^3", _stencil(27, 192, 192, 192)),
    Case("band-41", "spmv", "matvec", "band, n = 10^6", band(10**6, 41)),
    Case("stencil-7-148", "spmv", "matvec", "7-point stencil 148 x 58 x 148", _stencil(7, 148, 58, 148)),
    Case(
        "stencil-9-columns", "spmm", "matvec", "9-point stencil 2048^2, 8 columns", _stencil(9, 2048, 2048), columns=8
    ),
    Case("band-27-columns", "spmm", "matvec", "band, n = 10^6, 8 columns", band(10**6, 27), columns=8),
    Case(
        "stencil-7-256-narrow",
        "narrow",
        "matvec",
        "7-point stencil 256^3, float32 values",
        _stencil(7, 256, 256, 256),
        values="float32",
    ),
    Case("band-41-narrow", "narrow", "matvec", "band, n = 10^6, float32 values", band(10**6, 41), values="float32"),
    Case("band-11-10240-squared", "spgemm", "matmul", "bands, n = 10240", band(10240, 11)),
    Case("band-41-10240-squared", "spgemm", "matmul", "bands, n = 10240", band(10240, 41)),
    Case("band-11-squared", "spgemm", "matmul", "bands, n = 10^6", band(10**6, 11)),
    Case("band-41-squared", "spgemm", "matmul", "bands, n = 10^6", band(10**6, 41)),
    Case("stencil-7-148-squared", "spgemm", "matmul", "7-point stencils 148 x 58 x 148", _stencil(7, 148, 58, 148)),
    Case("random-109-35", "random", "matmul", "random diagonals, n = 10^4", random(10_000, 109), random(10_000, 35)),
    *(
        Case(f"random-{d}", "random", "matmul", "random diagonals, n = 10^4", random(10_000, d))
        for d in (200, 300, 400, 600)
    ),
    Case("small-vector", "small", "matvec", "band, n = 1000", band(1000, 5, least=64)),
    Case("small-product", "small", "matmul", "bands, n = 1000", band(1000, 5, least=64)),
)


def cases(name: str | None = None) -> list[Case]:
    """Return the cases of a group, or those whose names start so; all by default."""
    return _bench_cases.chosen(CASES, name, " on a GPU")


def run(
    name: str | None = None,
    *,
    dtype: Any = np.float64,
    device: str = "cuda",
    quick: bool = False,
    samples: int = 15,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Run the benchmark on a GPU and return its report as plain values.

    Parameters
    ----------
    name : str, optional
        A group ("spmv", "spmm", "narrow", "spgemm", "random", "small"), or how the names of cases start.
    dtype : dtype
        Of all values.
    device : str
        ``"cuda"``, ``"cuda:1"``, ...
    quick : bool
        Small sizes, to see that it works; the figures mean little.
    samples : int
        Timings of each contender; the median is reported.
    progress : callable, optional
        Receives the share that is done, and what is being done.

    Returns
    -------
    dict
        ``device``, ``hardware``, ``versions``, ``date``, ``dtype``, ``quick``, ``ok``, ``copy_bandwidth`` and
        ``rows``: a dict for each case and contender, with the error of those that failed.
    """
    chosen, where = cases(name), place(device)
    rows: list[dict[str, Any]] = []
    speed = copy_bandwidth(where, 1 << 24 if quick else 1 << 32)
    for i, case in enumerate(chosen):
        part = portion(progress or measure.silent, i / len(chosen), 1 / len(chosen))
        rows += _run_case(case, np.dtype(dtype), 0.02 if quick else 1.0, where, samples, speed, part)
        where.core.trim(where.index)
    return {
        "device": "cuda",
        "hardware": _gpu_peers.hardware(where),
        "versions": _gpu_peers.versions(where),
        "date": date.today().isoformat(),
        "dtype": np.dtype(dtype).name,
        "quick": quick,
        "copy_bandwidth": speed,
        "ok": all(row["ok"] for row in rows if row["library"] == "diagsparse" and row["kernel"] != "cusparse"),
        "rows": rows,
    }


# ---- time ---------------------------------------------------------------------------------------------------------
def time_calls(call: Callable[[], Any], where: Place, samples: int) -> list[float]:
    """Return the seconds of one call, `samples` times; each the mean of as many calls as fill 0.2 ms."""
    start, stop = where.core.Event(where.index), where.core.Event(where.index)

    def once(repeats: int) -> float:
        call()  # while the device works on this one, the next calls line up behind it
        start.record()
        for _ in range(repeats):
            call()
        stop.record()
        return stop.since(start) / repeats

    once(1)
    if (one := once(1)) > _MOST:
        return [one]
    repeats = max(1, min(1000, round(_SAMPLE / one)))
    return [once(repeats) for _ in range(max(3, min(samples, round(_MOST / (one * repeats)))))]


def copy_bandwidth(where: Place, nbytes: int) -> float:
    """Return the bytes a second, read plus written, of a device-to-device copy of `nbytes`."""
    one, two = (where.core.empty((nbytes // 8,), "float64", where.index) for _ in range(2))
    one.fill(1.0)
    seconds = median(time_calls(partial(two.assign, one), where, 10))
    return 2 * one.nbytes / seconds


# ---- a case -------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Contender:
    library: str
    format: str
    kernel: str
    call: Callable[[], Any]  #: into memory that lies ready


def _run_case(
    case: Case, dtype: np.dtype, scale: float, where: Place, samples: int, speed: float, report: Progress
) -> list[dict[str, Any]]:
    """Return the row of every contender."""
    report(0.0, f"{case.name}: make")
    A = case.make(scale, 0, np.dtype(case.values or dtype))
    if case.op == "matvec":
        shape = (A.shape[1], case.columns) if case.columns else A.shape[1]
        right: Any = np.random.default_rng(1).uniform(0.5, 1.5, shape).astype(dtype)
        check: Any = SampledMatvec(A, right)
    else:
        right = (case.make_right or case.make)(scale, 1, dtype)
        check = SampledMatmul(A, right)
    fields = {"case": case.name, "group": case.group, "op": case.op, "what": case.what, "shape": list(A.shape),
              "diagonals": len(A.offsets), "work": _work(A, right)}  # fmt: skip
    rows: list[dict[str, Any]] = []
    floor = 0
    contenders = list(_contenders(case, A, right, where))
    for i, (library, format, kernel, prepare) in enumerate(contenders):
        report(i / len(contenders), f"{case.name}: {library} {format} {kernel}")
        row: dict[str, Any] = {**fields, "library": library, "format": format, "kernel": kernel, "ok": False}
        row |= dict.fromkeys(("seconds", "best", "error", "failed"))
        try:
            call, nbytes = prepare()
            made = call()
            if format == "dia" and library == "diagsparse":
                floor = floor or nbytes(made)
            row["error"] = finite(error := check(made))
            seconds = time_calls(call, where, samples)
            row |= {"seconds": median(seconds), "best": min(seconds), "ok": error <= 1}
        except Exception as failure:  # what a peer cannot do is part of the comparison
            row["failed"] = f"{type(failure).__name__}: {failure}"[:300]
        rows.append(row)
        made = call = None
    theirs = next((r["seconds"] for r in rows if r["kernel"] == "cusparse" and r["ok"]), None)
    for row in rows:
        own = row["seconds"]
        row["floor_nbytes"] = floor
        row["fraction"] = floor / own / speed if own and floor else None
        row["vs_cusparse"] = theirs / own if own and theirs else None
    return rows


def _work(A: Any, right: Any) -> int:
    """Return the multiply-adds of the product, taken diagonal by diagonal."""
    rows, inner = A.shape
    a = np.asarray(A.offsets, dtype=np.int64)[:, None]
    if isinstance(right, np.ndarray):
        lengths = (np.minimum(rows, inner - a) - np.maximum(0, -a)) * (right.size // right.shape[0])
    else:
        b = np.asarray(right.offsets, dtype=np.int64)[None, :]
        first = np.maximum(np.maximum(0, -a), -a - b)
        lengths = np.minimum(np.minimum(rows, inner - a), right.shape[1] - a - b) - first
    return int(np.maximum(lengths, 0).sum())


def _floor(A: SparseArray, right: Any, made: Any) -> int:
    """Return the bytes that the case moves at least in the diagonal layout: stored values once, vectors once."""
    if isinstance(made, SparseArray):
        return sum(M.dtype.itemsize * M.nnz for M in ([A, made] if right is A else [A, right, made]))
    return A.dtype.itemsize * A.nnz + right.nbytes + made.nbytes


def _contenders(case: Case, A: Any, right: Any, where: Place) -> Iterator[tuple[str, str, str, Callable[[], Any]]]:
    """Yield library, format, kernel and a function that makes everything ready and returns the call."""
    name = where.name
    kept: dict[str, Any] = {}  # the operands in the format at hand

    def operands(format: str) -> tuple[Any, Any]:
        if format not in kept:
            kept.clear()
            left = array(A, "hm", device=name).asformat(format)
            other = where.core.from_host(right, where.index) if case.op == "matvec" else None
            kept[format] = left, other if other is not None else array(right, "hm", device=name).asformat(format)
        return kept[format]

    def prepare(format: str, kernel: str) -> Any:
        left, other = operands(format)
        if case.op == "matvec":
            plan = plan_matvec(left, kernel=kernel)
            y = where.core.empty(
                (A.shape[0], *right.shape[1:]), np.result_type(left.dtype, right.dtype).name, where.index
            )
            return partial(plan, other, out=y), partial(_floor, left, other)
        product = plan_matmul(left, other, kernel=kernel)
        return partial(product, out=product()), partial(_floor, left, other)

    work = A.nnz * (len(right.offsets) if case.op == "matmul" else 1)
    for format in case.formats:
        if format == "cdm" and A.shape[0] != A.shape[1]:
            continue
        for kernel in where.core.kernels(FORMATS[format].format)[case.op]:
            if kernel in _SLOW and work > _SLOW_WORK:
                continue
            if kernel == "cusparse" and case.values:  # it has one type for all
                continue
            yield "diagsparse", format, kernel, partial(prepare, format, kernel)
    kept.clear()
    yield from _gpu_peers.contenders(case.op, operands)
