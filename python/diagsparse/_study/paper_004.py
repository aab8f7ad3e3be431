"""The experiments of the thesis that bmsparse comes from, on this machine: `diagsparse bench tables-004`.

Berger Alvarez, "bmSparse", 2024: squares C = A A of nine matrices, by every kernel of bmsparse, as a first product and
planned, with the stages of the thesis's own (its tables 3.4 and 3.6, its figure 3.2); and products with vectors by how
many nonzeros a block has (its figure 4.7), of the same nine, of blocks that hold from 1 to 64, of matrices of the
gallery, and of all files in the folder DIAGSPARSE_MATRICES. In single precision, as in the thesis, and in double. The
nine are read from that folder where it has them; in their place stand matrices of the same rows, nonzeros and blocks.
The thesis's times of the squares stand beside ours twice, since its tables 3.3 and 3.7 do not agree which matrix has
which. Beside the times of A x stands what share of the memory bandwidth they are: the bytes of A, x and y in that time,
over a copy on a GPU, over reading on a CPU.

The nine have 50 thousand to 9 million nonzeros; the others are a quarter as large on a CPU. With --quick there are two
of each kind, of 3 % of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import measure
from .._formats import bmsparse_array
from .._matrix.base import SparseArray
from .._matrix.construct import array
from .._places.backend import CPU, Place
from ..measure import Progress
from . import bench_summary, gpu_clock, gpu_peers, paper_runs, peers
from .exactness import MatvecCheck, vector
from .paper_004_matrices import BLOCK, Matrix, matrices
from .paper_004_tables import (
    BY_RULE,
    CSR,
    CUPY,
    CUSPARSE,
    FACTOR_BITS,
    MKL,
    PLANNED,
    SCIPY,
    SCIPY_BSR,
    STAGED,
    VECTOR,
    markdown,
    plot_bench,
    text,
)
from .paper_runs import Contender, Prepared, planned_matvec, planned_square, seconds_on, square, there
from .sampled import SampledSquare

__all__ = ["NAME", "markdown", "pairs", "plot_bench", "run", "text"]

NAME = "tables-004"
EXACT = (BY_RULE, "block planned", "block", "row")  #: whose factors are not rounded: the summary compares them
pairs = bench_summary.by_columns("C = A A", EXACT, {VECTOR: "y = A x"})
DTYPES = ("float32", "float64")
MUCH = 8  #: times the bytes of csr: SciPy's bsr is left out
_MOST = 1 << 31  # bytes of a product in SciPy's bsr: it is left out


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
        with its counts, ``kernels`` (operation: those of bmsparse), ``nbytes`` (format: bytes), ``bandwidth`` (bytes a
        second), ``times`` (column: seconds, None where it failed), ``failed`` (column: why), and of squares by the
        thesis's kernels ``stages`` (kernel: stage: seconds); ``left`` counts the rows that Ctrl-C left out.
    """
    made = paper_runs.made_once()
    rows = (
        (f"{matrix.what}, {dtype}", partial(_run, matrix, made, dtype, quick))
        for matrix in matrices(quick, 0.03 if quick else 1.0)
        for dtype in DTYPES
    )
    return paper_runs.run(NAME, rows, device=device, quick=quick, progress=progress)


def _run(
    matrix: Matrix, made: Callable[[Matrix, float], sp.csr_array], dtype: str, quick: bool, where: Place
) -> dict[str, Any]:
    scale = 0.03 if quick else 0.25 if where is CPU and not matrix.printed else 1.0
    a = made(matrix, scale).astype(dtype)
    csr = array(a, "csr", device=where.name)
    A: Any = csr.asformat("bmsparse")
    row: dict[str, Any] = {
        "source": matrix.source, "what": matrix.what, "stands_in": matrix.stands_in, "dtype": dtype,
        "shape": list(a.shape), "nnz": a.nnz, "blocks": A.blocks, "fill": A.mean_fill,
        "thesis": asdict(matrix.printed) if matrix.printed else None,
        "kernels": {op: list(A.kernels(op)) for op in ("matmul", "matvec")},
        "nbytes": {"bmsparse": A.nbytes, CSR: csr.nbytes},
        "bandwidth": gpu_clock.bandwidth(where, 1 << 24 if quick else 1 << 32),
    }  # fmt: skip
    if matrix.printed:
        check_square = SampledSquare(a)
        paper_runs.fill(row, _squares(a, csr, A, where), check_square)
        for kernel in A.kernels("matmul"):
            if kernel in FACTOR_BITS:
                paper_runs.fill(row, _square(A, kernel, where), partial(_rounded_error, check_square, kernel))
        row["stages"] = {kernel: _stages(A, kernel, where) for kernel in A.kernels("matmul") if kernel in STAGED}
    x = vector(a.shape[1], a.dtype)
    check = MatvecCheck(a, x)
    paper_runs.fill(row, _vectors(a, csr, A, x, where), lambda y: check(where.host(y)))
    return row


def _square(A: bmsparse_array, kernel: str, where: Place) -> Iterator[Contender]:
    seconds = seconds_on(where, budget=0.1, samples=7)
    yield kernel, partial(square, A, kernel), seconds
    yield f"{kernel}{PLANNED}", partial(planned_square, A, kernel), seconds


def _rounded_error(check: SampledSquare, kernel: str, C: SparseArray) -> float:
    """Return the error over its bound, where rounded factors make it so many times that of float32 sums."""
    return check(C) * float(np.finfo(np.float32).eps) / 2.0 ** (1 - FACTOR_BITS[kernel])


def _stages(A: bmsparse_array, kernel: str, where: Place) -> dict[str, float]:
    """Return the seconds of the stages of the quickest of some squares; T7 drops what cancelled to zero."""

    def once() -> dict[str, float]:
        C, stages = A.matmul(A, format="bmsparse", kernel=kernel, profile=True)
        for between in ("plan", "allocate"):
            stages.pop(between)
        return stages | {"T7 compact": gpu_clock.time_calls(C.eliminate_zeros, where, 1)[0]}

    return min((once() for _ in range(4)), key=lambda stages: sum(stages.values()))


def _squares(a: sp.csr_array, csr: SparseArray, A: bmsparse_array, where: Place) -> Iterator[Contender]:
    seconds = seconds_on(where, budget=0.1, samples=7)
    for kernel in A.kernels("matmul"):
        if kernel not in FACTOR_BITS:
            yield from _square(A, kernel, where)
    yield BY_RULE, partial(square, A), seconds
    yield CSR, partial(square, csr), seconds
    yield f"{CSR}{PLANNED}", partial(planned_square, csr), seconds
    if where is not CPU:
        yield CUSPARSE, partial(planned_square, csr, "cusparse"), seconds
        if gpu_peers.cupy() is not None:
            yield CUPY, lambda: square(csr.to_cupy("csr")), seconds
        return
    theirs = measure.csr32(a)
    yield SCIPY, partial(square, theirs), seconds
    if A.matmul(A, format="bmsparse").blocks * BLOCK**2 * a.dtype.itemsize <= _MOST:
        yield SCIPY_BSR, lambda: square(_bsr(a)), seconds
    if mkl := peers.mkl():
        product = partial(mkl.dot_product_mkl, theirs, theirs)
        yield MKL, lambda: (product, product()), seconds


def _vectors(a: sp.csr_array, csr: SparseArray, A: bmsparse_array, x: np.ndarray, where: Place) -> Iterator[Contender]:
    seconds = seconds_on(where, budget=0.05, samples=9)
    z = there(x, where)
    for kernel in A.kernels("matvec"):
        yield f"{kernel}{VECTOR}", partial(planned_matvec, A, z, kernel), seconds
    yield f"{CSR}{VECTOR}", partial(planned_matvec, csr, z), seconds
    if where is not CPU:
        yield f"{CUSPARSE}{VECTOR}", partial(planned_matvec, csr, z, "cusparse"), seconds
        return
    theirs = measure.csr32(a)
    yield f"{SCIPY}{VECTOR}", lambda: (partial(theirs.__matmul__, x), theirs @ x), seconds
    if A.blocks * BLOCK**2 * a.dtype.itemsize <= MUCH * csr.nbytes:
        yield f"{SCIPY_BSR}{VECTOR}", partial(_times_bsr, a, x), seconds
    if mkl := peers.mkl():
        product = partial(mkl.dot_product_mkl, theirs, x)
        yield f"{MKL}{VECTOR}", lambda: (product, product()), seconds


def _bsr(a: sp.csr_array) -> sp.bsr_array:
    """Return SciPy's blocks of a matrix, with zeros up to whole ones."""
    whole = measure.csr32(a).copy()
    whole.resize(*(-(-n // BLOCK) * BLOCK for n in a.shape))
    return whole.tobsr((BLOCK, BLOCK))


def _times_bsr(a: sp.csr_array, x: np.ndarray) -> Prepared:
    bsr = _bsr(a)
    call = partial(bsr.__matmul__, np.concatenate((x, np.zeros(bsr.shape[1] - len(x), x.dtype))))
    return call, call()[: a.shape[0]]
