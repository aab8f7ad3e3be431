"""The experiments of the paper that qband comes from, on this machine: `diagsparse bench tables-002`.

Vooturi and Kothapalli, "Parallel Algorithm for Quasi-Band Matrix-Matrix Multiplication", 2016: products C = A A of the
matrices in its tables 2 and 3, and of synthetic ones of order 16000 (experiments 1 to 3: how full the bands are, how
full the matrix is, and where the remainder lies). The paper's matrices are read where the folder DIAGSPARSE_MATRICES
has them; in their place stand matrices of the same rows, nonzeros, bands and diagonals. On a CPU orders are a quarter
of the paper's. Beyond the paper: double precision, and products with vectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np

from .. import gallery, measure
from .._formats import bands
from .._gallery import quasi
from .._matrix.base import SparseArray
from .._matrix.construct import array
from .._places.backend import CPU, Place
from ..io import read_floats
from ..measure import Progress
from . import bench_summary, gpu_peers, paper_runs, peers
from .exactness import MatvecCheck, vector
from .paper_002_tables import PLANNED, SEGMENTS, TABLES, VECTOR, Printed, markdown, plot_bench, text
from .paper_runs import Contender, planned_matvec, planned_square, seconds_on, square, there
from .sampled import SampledSquare

__all__ = ["NAME", "markdown", "pairs", "plot_bench", "run", "text"]

NAME = "tables-002"
pairs = bench_summary.by_columns("C = A A", (PLANNED, "qband"), {VECTOR: "y = A x"})
ORDER = 16_000
DTYPES = ("float32", "float64")
MUCH = 8  #: times the bytes of csr: dia is left out
_SEARCHES = 10**8  #: of the paper's algorithm on a CPU, at most


@dataclass(frozen=True)
class Experiment:
    """One matrix: of the paper's tables, or a synthetic one with these properties."""

    source: str
    what: str
    printed: Printed | None = None
    options: dict[str, Any] = field(default_factory=dict)  #: of the gallery

    def make(self, scale: float) -> tuple[Any, np.ndarray, bool]:
        """Return the matrix, its bands' diagonals, and whether it stands in for one that is not here."""
        if self.printed is None:
            a = gallery.quasi_band(round(ORDER * scale), seed=0, **self.options)
            return a, _by_bytes(a), False
        if scale == 1 and (path := paper_runs.matrix_files().get(self.what)):
            a = read_floats(path).to_scipy("csr")
            return a, _by_bytes(a), False
        return (*stand_in(self.printed, scale), True)


def _by_bytes(a: Any) -> np.ndarray:
    s = array(a, "csr")._summary()
    return bands.by_bytes(s.shape[0], s.itemsize, s.offsets, s.fill)


def stand_in(printed: Printed, scale: float) -> tuple[Any, np.ndarray]:
    """Return a matrix of the paper's rows, nonzeros, bands and diagonals, and its bands: equally far apart."""
    n = max(4 * printed.diagonals, round(printed.rows * scale))
    count, diagonals = printed.bands, printed.diagonals
    pairs = count * (count * count - 1) / 6  # the sum of distances, where neighbours lie 1 apart
    apart = printed.spread / 100 * n / pairs if printed.spread and pairs else n / (4 * count)
    widths = np.diff(np.arange(count + 1) * diagonals // count)
    apart = max(apart, int(widths.max()) + 1)
    starts = np.rint((np.arange(count) - (count - 1) / 2) * apart).astype(int) - widths // 2
    offsets = np.concatenate([start + np.arange(width) for start, width in zip(starts, widths, strict=True)])
    places = int(bands.lengths((n, n), offsets).sum())
    inside = min(places, round((printed.nnz - printed.outside) * n / printed.rows))
    outside = round(printed.outside * n / printed.rows)
    rng = np.random.default_rng(0)
    return quasi.on_bands(n, offsets, inside, outside, "random", np.dtype(np.float64), rng), offsets


def experiments(quick: bool) -> Iterator[Experiment]:
    """Yield the sweeps and the tables; few of them where it is to be quick."""
    shares = (80, 95) if quick else (50, 60, 70, 80, 85, 90, 95, 99)
    for layout in ("random", "row_block", "column_block"):
        for share in shares:
            yield Experiment("experiment 3", f"{layout}, {share} %", None, {"band_percentage": share, "layout": layout})
    for occupancy in (60,) if quick else (50, 60, 70, 80, 90, 100):
        yield Experiment("experiment 1", f"{occupancy} % full", None, {"band_occupancy": occupancy})
    for nnz in (1.0,) if quick else (0.1, 0.25, 0.5, 1.0):
        yield Experiment("experiment 2", f"{nnz} % nonzeros", None, {"nnz_percentage": nnz})
    for source, printed in TABLES.items():
        for one in printed[:2] if quick else printed:
            yield Experiment(source, one.name, one)


def run(*, device: str = "cuda", quick: bool = False, progress: Progress | None = None) -> dict[str, Any]:
    """Run the experiments and return a report as plain values.

    Parameters
    ----------
    device : str
        ``"cuda"``, ``"cuda:1"``, ..., or ``"cpu"``.
    quick : bool
        Small matrices, to see that it works; the figures mean little.
    progress : callable, optional
        Receives the share that is done, and what is being done.

    Returns
    -------
    dict
        ``experiment``, ``hardware``, ``versions``, ``date``, ``ok`` and ``rows``: a dict for each matrix and precision
        with the ``properties`` of its bands, ``times`` (column: seconds, None where it failed), ``failed`` (column:
        why), and ``stages`` (of one product in qband: seconds); ``left`` counts the rows that Ctrl-C left out.
    """
    scale = 0.03 if quick else 0.25 if device == "cpu" else 1.0
    rows = (
        (f"{e.source}: {e.what}, {dtype}", partial(_run, e, scale, dtype))
        for e in experiments(quick)
        for dtype in DTYPES
    )
    return paper_runs.run(NAME, rows, device=device, quick=quick, progress=progress)


def _run(experiment: Experiment, scale: float, dtype: str, where: Place) -> dict[str, Any]:
    a, offsets, stands_in = experiment.make(scale)
    a = a.astype(dtype)
    csr = array(a, "csr", device=where.name)
    s = csr._summary()
    row: dict[str, Any] = {
        "source": experiment.source, "what": experiment.what, "stands_in": stands_in, "dtype": dtype,
        "n": a.shape[0], "nnz": a.nnz, "options": experiment.options,
        "paper": asdict(experiment.printed) if experiment.printed else None,
        "properties": asdict(bands.properties(s.shape, s.offsets, s.fill, offsets)),
    }  # fmt: skip
    q = csr.asformat("qband", offsets=offsets)
    paper_runs.fill(row, _products(a, csr, q, where), SampledSquare(a))
    x = vector(a.shape[1], a.dtype)
    check_vector = MatvecCheck(a, x)
    paper_runs.fill(row, _vectors(a, csr, q, x, where), lambda y: check_vector(where.host(y)))
    if PLANNED in row["failed"]:
        row["stages"] = {}
    else:  # the quickest of some, since the first one finds nothing in the caches and no memory at hand
        stages = (q.matmul(q, format="qband", profile=True)[1] for _ in range(4))
        row["stages"] = min(stages, key=lambda seconds: sum(seconds.values()))
    return row


def _products(a: Any, csr: SparseArray, q: SparseArray, where: Place) -> Iterator[Contender]:
    seconds = seconds_on(where, budget=0.1, samples=7)

    yield PLANNED, partial(planned_square, q), seconds
    yield "qband", partial(square, q), seconds
    if where is not CPU or q.rest.nnz * len(q.offsets) <= _SEARCHES:  # type: ignore[attr-defined]
        yield SEGMENTS, partial(planned_square, q, "segments"), seconds
    yield "csr planned", partial(planned_square, csr), seconds
    yield "csr", partial(square, csr), seconds
    if where is not CPU:
        yield "cuSPARSE", partial(planned_square, csr, "cusparse"), seconds
        if gpu_peers.cupy() is not None:
            yield "CuPy csr", lambda: square(csr.to_cupy("csr")), seconds
        return
    theirs = measure.csr32(a)
    yield "SciPy csr", partial(square, theirs), seconds
    if mkl := peers.mkl():
        product = partial(mkl.dot_product_mkl, theirs, theirs)
        yield "MKL csr", lambda: (product, product()), seconds


def _vectors(a: Any, csr: SparseArray, q: SparseArray, x: np.ndarray, where: Place) -> Iterator[Contender]:
    seconds = seconds_on(where, budget=0.05, samples=9)
    z = there(x, where)
    yield f"qband{VECTOR}", partial(planned_matvec, q, z), seconds
    yield f"csr{VECTOR}", partial(planned_matvec, csr, z), seconds
    if len(csr._summary().offsets) * a.shape[0] * a.dtype.itemsize <= MUCH * csr.nbytes:
        yield f"dia{VECTOR}", lambda: planned_matvec(csr.asformat("dia"), z), seconds
    if where is CPU:
        theirs = measure.csr32(a)
        yield f"SciPy csr{VECTOR}", lambda: (partial(theirs.__matmul__, x), theirs @ x), seconds
