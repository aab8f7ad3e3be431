"""The experiments of the paper that introduced qband, on this machine.

Vooturi and Kothapalli, "Parallel Algorithm for Quasi-Band Matrix-Matrix Multiplication", 2016: products C = A A of the
matrices in its tables 2 and 3, and of synthetic ones of order 16000 (experiments 1 to 3: how full the bands are, how
full the matrix is, and the positions of the remainder). The paper's matrices are read from the folder
DIAGSPARSE_MATRICES if it contains them, and replaced by stand-ins otherwise. On a CPU, the orders of stand-ins are a
quarter of the paper's, but at least 5000.

Every product runs with the default partition, which needs the fewest bytes, and with that of the paper. With the
latter, the paper's algorithm 3 runs as well, stage by stage. Planned products are compared with planned products, and
unplanned ones with those of libraries without plans, with and without the time to partition a csr matrix. Beyond the
paper: double precision, and products with vectors.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np

from diagsparse import gallery, measure
from diagsparse._backends.backend import CPU, Backend
from diagsparse._formats import bands
from diagsparse._matrix.construct import array
from diagsparse._matrix.sparse_array import SparseArray
from diagsparse._products import profile
from diagsparse._study import peers
from diagsparse._study.exactness import MatvecCheck, vector
from diagsparse._study.sampled import SampledMatmul
from diagsparse.io import read_floats

from .. import prepare
from ..experiment import Clock, Contender, Experiment, NamedRow, cached_maker, fill, gpu_squares, matrix_files
from ..prepare import Prepared
from ..timed_columns import Columns
from .paper_002_matrices import TABLES, Printed, stand_in
from .paper_002_tables import ONCE, PLANNED, SEGMENTS, VECTOR, draw, head, tables

ORDER = 16_000
SMALL = 5000  #: least number of rows of a stand-in without --quick, unless the matrix of the paper is smaller
DTYPES = ("float32", "float64")
MUCH = 8  #: dia is left out if it needs more than this many times the bytes of csr
_SEARCHES = 3 * 10**7  #: largest number of searches in the algorithm of the paper on a CPU
_SAMPLES = 3  #: measurements of the stages, or one if they take seconds


@dataclass(frozen=True)
class Operand:
    """A matrix of the experiments."""

    matrix: Any  #: in SciPy's csr
    built: np.ndarray | None = None  #: the offsets of the bands of a stand-in
    other_nnz: int | None = None  #: for a matrix from a file, the nonzeros of A A of its stand-in


@dataclass(frozen=True, eq=False)
class Matrix:
    """A matrix from the tables of the paper, or a synthetic one with these properties."""

    source: str
    what: str
    printed: Printed | None = None
    options: dict[str, Any] = field(default_factory=dict)  #: options of `gallery.quasi_band`

    def make(self, scale: float) -> Operand:
        """Return the matrix; if it is not read from a file, its number of rows is multiplied by `scale`."""
        if self.printed is None:
            return Operand(gallery.quasi_band(round(ORDER * scale), seed=0, **self.options))
        if path := matrix_files().get(self.what):
            other = stand_in(self.printed)[0]
            return Operand(read_floats(path).to_scipy("csr"), None, (other @ other).nnz)
        return Operand(*stand_in(self.printed, scale))

    def scale(self, where: Backend, quick: bool) -> float:
        """Return the number of rows relative to the paper."""
        if quick or where is not CPU:
            return 0.03 if quick else 1.0
        return max(0.25, min(1.0, SMALL / self.printed.rows)) if self.printed else 0.25


def matrices(quick: bool) -> Iterator[Matrix]:
    """Yield the matrices of the experiments and of the tables; only a few if `quick`."""
    shares = (80, 95) if quick else (50, 60, 70, 80, 85, 90, 95, 99)
    for layout in ("random", "row_block", "column_block"):
        for share in shares:
            yield Matrix("experiment 3", f"{layout}, {share} %", None, {"band_percentage": share, "layout": layout})
    for occupancy in (60,) if quick else (50, 60, 70, 80, 90, 100):
        yield Matrix("experiment 1", f"{occupancy} % full", None, {"band_occupancy": occupancy})
    for nnz in (1.0,) if quick else (0.1, 0.25, 0.5, 1.0):
        yield Matrix("experiment 2", f"{nnz} % nonzeros", None, {"nnz_percentage": nnz})
    for source, printed in TABLES.items():
        for one in printed[:2] if quick else printed:
            yield Matrix(source, one.name, one)


def _rows(where: Backend, quick: bool) -> Iterator[NamedRow]:
    """Yield each matrix in both precisions.

    A row contains ``formats`` (column: the format of C), ``partitions`` (name: the properties of its bands; ``"built"``
    are those of a stand-in), ``rest`` (the positions of the remainder of a stand-in), ``product_nnz`` (nonzeros of C,
    None if it does not fit in memory), ``stand_in_product_nnz`` (the same for the stand-in of a matrix from a file),
    and the seconds of one partition and product by ``stages`` (in qband) and ``algorithm`` (of the paper).
    """
    make = cached_maker()
    for e in matrices(quick):
        for dtype in DTYPES:
            yield f"{e.source}: {e.what}, {dtype}", partial(_run, e, partial(make, e, e.scale(where, quick)), dtype)


def _run(one: Matrix, make: Callable[[], Operand], dtype: str, where: Backend) -> dict[str, Any]:
    operand = make()
    a = operand.matrix.astype(dtype)
    csr = array(a, "csr", device=where.name)
    q, papers = (csr.asformat("qband", partition=name) for name in ("bytes", "paper"))
    row: dict[str, Any] = {
        "source": one.source, "what": one.what, "stands_in": operand.built is not None, "dtype": dtype,
        "n": a.shape[0], "nnz": a.nnz, "options": one.options, "formats": {}, "product_nnz": None,
        "stand_in_product_nnz": operand.other_nnz,
        "rest": one.printed.where if one.printed and operand.built is not None else "",
        "paper": asdict(one.printed) if one.printed else None,
        "partitions": _partitions(csr, {"bytes": q.offsets, "paper": papers.offsets, "built": operand.built}),
    }  # fmt: skip
    fill(row, _products(a, csr, q, papers, where, row), SampledMatmul(a, a))
    x = vector(a.shape[1], a.dtype)
    fill(row, _vectors(a, csr, q, x, where), MatvecCheck(a, x))
    row["stages"] = _stages(csr, PLANNED in row["failed"], partition="bytes")
    row["algorithm"] = _stages(csr, not row["times"].get(SEGMENTS), "segments", partition="paper")
    return row


def _partitions(csr: SparseArray, chosen: dict[str, np.ndarray | None]) -> dict[str, Any]:
    s = csr._summary()
    return {
        name: asdict(bands.properties(s.shape, s.offsets, s.fill, np.sort(offsets)))
        for name, offsets in chosen.items()
        if offsets is not None
    }


def _stages(csr: SparseArray, failed: bool, kernel: str | None = None, **partition: Any) -> dict[str, float]:
    """Return the seconds of one partition of A and of the stages of one product in qband; an empty dict if it failed.

    This is the fastest of some samples, because the first one runs with cold caches and new memory. The dict is empty
    as well if a product in qband does not fit in memory, although one in csr may fit.
    """
    samples: list[dict[str, float]] = []
    with suppress(MemoryError):
        while not failed and len(samples) < _SAMPLES and (not samples or sum(samples[-1].values()) < 1):
            start = profile.clock(csr)
            q = csr.asformat("qband", **partition)
            seconds = profile.clock(csr) - start
            samples.append({"partition": seconds} | q.matmul(q, format="qband", kernel=kernel, profile=True)[1])
    return min(samples, key=lambda stages: sum(stages.values()), default={})


def _partitioned_square(csr: SparseArray, partition: str) -> SparseArray:
    q = csr.asformat("qband", partition=partition)
    return q @ q  # type: ignore[no-any-return]


def _products(
    a: Any, csr: SparseArray, q: SparseArray, papers: SparseArray, where: Backend, row: dict[str, Any]
) -> Iterator[Contender]:
    clock = Clock(where, budget=0.1, samples=7)

    def ours(name: str, build: Callable[[], Prepared]) -> Contender:
        def recorded() -> Prepared:
            call, C = build()
            row["formats"][name] = C.format
            if name == "csr planned":
                row["product_nnz"] = C.nnz
            return call, C

        return name, recorded, clock

    for name, partition, A in (("qband", "bytes", q), ("paper", "paper", papers)):
        yield ours(f"{name} planned", partial(prepare.planned_square, A))
        yield ours(name, partial(prepare.square, A))
        yield ours(f"{name} from csr", partial(prepare.called, _partitioned_square, csr, partition))
    if where is not CPU or papers.rest.nnz * len(papers.offsets) <= _SEARCHES:  # type: ignore[attr-defined]
        yield ours(SEGMENTS, partial(prepare.planned_square, papers, "segments"))
    yield ours("csr planned", partial(prepare.planned_square, csr))
    yield ours("csr", partial(prepare.square, csr))
    if where is not CPU:
        yield from gpu_squares(csr, clock, "cuSPARSE")
        return
    theirs = measure.csr32(a)
    yield "SciPy csr", partial(prepare.square, theirs), clock
    if mkl := peers.mkl():
        yield "MKL csr", partial(prepare.called, mkl.dot_product_mkl, theirs, theirs), clock


def _vectors(a: Any, csr: SparseArray, q: SparseArray, x: np.ndarray, where: Backend) -> Iterator[Contender]:
    clock = Clock(where, budget=0.05, samples=9)
    z = prepare.on_device(x, where)
    yield f"qband{VECTOR}", partial(prepare.planned_matvec, q, z), clock
    yield f"csr{VECTOR}", partial(prepare.planned_matvec, csr, z), clock
    if len(csr._summary().offsets) * a.shape[0] * a.dtype.itemsize <= MUCH * csr.nbytes:
        yield f"dia{VECTOR}", lambda: prepare.planned_matvec(csr.asformat("dia"), z), clock
    if where is CPU:
        theirs = measure.csr32(a)
        yield f"SciPy csr{VECTOR}", partial(prepare.called, operator.matmul, theirs, x), clock


TABLES_002 = Experiment(
    "tables-002", __doc__, _rows, tables, draw, head,
    Columns(
        "C = A A", (ONCE,), {" planned": "C = A A, planned", VECTOR: "y = A x"}, {"cuSPARSE": "cuSPARSE planned"}
    ),
)  # fmt: skip
