"""The experiments of the thesis that introduced bmsparse, on this machine.

Berger Alvarez, "bmSparse", 2024: squares C = A A of nine matrices, by every kernel of bmsparse, as a first product and
planned, with the stages of the thesis's kernels (its tables 3.4 to 3.6, its figures 3.2 and 3.3), and by MKL's csr and
bsr and cuSPARSE's csr (table 3.9); the same for other matrices with more than 100,000 rows (figure 3.4); and products
with vectors for different numbers of nonzeros per block (figures 4.4, 4.6 and 4.7), for the same nine, for blocks with
1 to 64 nonzeros, for matrices of the gallery, and for all files in the folder DIAGSPARSE_MATRICES. In single precision,
as in the thesis, and in double. The nine are read from that folder if it contains them; otherwise they are replaced by
matrices with the same numbers of rows, nonzeros and blocks. The other matrices of the thesis, 112 and 1455 from the
SuiteSparse collection, are replaced by generated families. The printed times of the squares are shown twice, because
tables 3.3 and 3.7 assign them to the matrices differently. The times of A x are reported with the fraction of the
memory bandwidth that they reach: the bytes of A, x and y per second, relative to a copy on a GPU, or to reading on a
CPU.

The nine have 50 thousand to 9 million nonzeros; the others are a quarter as large on a CPU. With --quick, there are two
of each kind, with 3 % of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp

from diagsparse._backends.backend import CPU, Backend
from diagsparse._formats import bmsparse_array
from diagsparse._matrix.construct import array
from diagsparse._matrix.sparse_array import SparseArray
from diagsparse._study import gpu_clock
from diagsparse._study.exactness import MatvecCheck, vector
from diagsparse._study.sampled import SampledMatmul

from .. import prepare
from ..experiment import Clock, Contender, Experiment, NamedRow, cached_maker, fill
from ..timed_columns import Columns
from . import paper_004_peers
from .paper_004_columns import BY_RULE, FACTOR_BITS, FINAL, LARGE, PLANNED, STAGED, VECTOR
from .paper_004_matrices import FILL_BINS, Matrix, matrices
from .paper_004_plots import draw
from .paper_004_tables import head, tables

EXACT = (BY_RULE, "block planned", "block", "row")  #: columns without rounded factors, which the summary compares
DTYPES = ("float32", "float64")


def _rows(where: Backend, quick: bool) -> Iterator[NamedRow]:
    """Yield each matrix in both precisions.

    A row contains counts, ``blocks_by_fill`` (numbers of blocks with 1, 2, 3 to 4, 5 to 8, 9 to 16, 17 to 32, 33 to 63,
    and 64 nonzeros), ``kernels`` (operation: kernels of bmsparse), ``nbytes`` (format: bytes), ``bandwidth`` (bytes per
    second), and for squares by the kernels of the thesis ``stages`` (kernel: stage: seconds).
    """
    make = cached_maker()
    for matrix in matrices(quick, 0.03 if quick else 1.0):
        for dtype in DTYPES:
            yield f"{matrix.what}, {dtype}", partial(_run, matrix, make, dtype, quick)


def _run(
    matrix: Matrix, make: Callable[[Matrix, float], sp.csr_array], dtype: str, quick: bool, where: Backend
) -> dict[str, Any]:
    whole = matrix.printed or matrix.source == "file"
    scale = 0.03 if quick else 0.25 if where is CPU and not whole else 1.0
    a = make(matrix, scale).astype(dtype)
    csr = array(a, "csr", device=where.name)
    A: Any = csr.asformat("bmsparse")
    row: dict[str, Any] = {
        "source": matrix.source, "what": matrix.what, "stands_in": matrix.stands_in, "dtype": dtype,
        "shape": list(a.shape), "nnz": a.nnz, "blocks": A.blocks, "fill": A.mean_fill,
        "blocks_by_fill": np.histogram(np.diff(where.host(A.value_indptr)), FILL_BINS)[0].tolist(),
        "thesis": asdict(matrix.printed) if matrix.printed else None,
        "kernels": {op: list(A.kernels(op)) for op in ("matmul", "matvec")},
        "nbytes": {"bmsparse": A.nbytes, "csr": csr.nbytes},
        "bandwidth": gpu_clock.bandwidth(where, 1 << 24 if quick else 1 << 32),
    }  # fmt: skip
    if matrix.printed:
        _fill_squares(row, a, csr, A, list(A.kernels("matmul")), where)
        row["stages"] = {kernel: _stages(A, kernel, where) for kernel in A.kernels("matmul") if kernel in STAGED}
    elif dtype == DTYPES[0] and a.shape[0] > LARGE * scale:
        _fill_squares(row, a, csr, A, [kernel for kernel in A.kernels("matmul") if kernel == FINAL], where)
    x = vector(a.shape[1], a.dtype)
    contenders = chain(_vectors(csr, A, x, where), paper_004_peers.vectors(a, csr, A, x, where))
    fill(row, contenders, MatvecCheck(a, x))
    return row


def _fill_squares(
    row: dict[str, Any], a: sp.csr_array, csr: SparseArray, A: bmsparse_array, kernels: list[str], where: Backend
) -> None:
    """Add the times of A A by these kernels, by the default kernel, in csr, and by the other libraries."""
    check = SampledMatmul(a, a)
    exact = [kernel for kernel in kernels if kernel not in FACTOR_BITS]
    contenders = chain(_squares(exact, csr, A, where), paper_004_peers.squares(a, csr, A, where))
    fill(row, contenders, check)
    for kernel in kernels:
        if kernel in FACTOR_BITS:
            fill(row, _square(A, kernel, where), partial(_rounded_error, check, kernel))


def _square(A: bmsparse_array, kernel: str, where: Backend) -> Iterator[Contender]:
    seconds = Clock(where, budget=0.1, samples=7)
    yield kernel, partial(prepare.square, A, kernel), seconds
    yield f"{kernel}{PLANNED}", partial(prepare.planned_square, A, kernel), seconds


def _rounded_error(check: SampledMatmul, kernel: str, C: SparseArray) -> float:
    """Return the error divided by its bound, which is larger than for float32 if the factors are rounded."""
    return check(C) * float(np.finfo(np.float32).eps) / 2.0 ** (1 - FACTOR_BITS[kernel])


def _stages(A: bmsparse_array, kernel: str, where: Backend) -> dict[str, float]:
    """Return the seconds of the stages of the fastest of some squares; T7 removes entries that cancelled to zero."""

    def once() -> dict[str, float]:
        C, stages = A.matmul(A, format="bmsparse", kernel=kernel, profile=True)
        for between in ("plan", "allocate"):
            stages.pop(between)
        return stages | {"T7 compact": gpu_clock.time_calls(C.eliminate_zeros, where, 1)[0]}

    return min((once() for _ in range(4)), key=lambda stages: sum(stages.values()))


def _squares(kernels: list[str], csr: SparseArray, A: bmsparse_array, where: Backend) -> Iterator[Contender]:
    seconds = Clock(where, budget=0.1, samples=7)
    for kernel in kernels:
        yield from _square(A, kernel, where)
    yield BY_RULE, partial(prepare.square, A), seconds
    yield "csr", partial(prepare.square, csr), seconds
    yield f"csr{PLANNED}", partial(prepare.planned_square, csr), seconds


def _vectors(csr: SparseArray, A: bmsparse_array, x: np.ndarray, where: Backend) -> Iterator[Contender]:
    seconds = Clock(where, budget=0.05, samples=9)
    z = prepare.on_device(x, where)
    for kernel in A.kernels("matvec"):
        yield f"{kernel}{VECTOR}", partial(prepare.planned_matvec, A, z, kernel), seconds
    yield f"csr{VECTOR}", partial(prepare.planned_matvec, csr, z), seconds


TABLES_004 = Experiment(
    "tables-004", __doc__, _rows, tables, draw, head, Columns("C = A A", EXACT, {VECTOR: "y = A x"})
)
