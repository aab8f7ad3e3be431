"""The experiments of the paper that introduced ellcsr, on this machine.

Mahmoud, Hoffmann, Reza, "Developing a New Storage Format and a Warp-Based SpMV Kernel for Configuration Interaction
Sparse Matrices on the GPU", Computation 6(3):45, 2018: ten matrices of order 32768 (tables 3 and 4), their bytes in
each format (table 5), and a product with a vector in double precision, by the paper's kernel in blocks of 16, 32 and 64
threads (tables 6 to 8) and compared with others (table 9). Beyond the paper: its format with 16-bit and 8-bit columns,
and with values in single precision. The paper's matrices are not published: `gallery.ci_matrix` generates ten matrices
with the same counts. The printed times were measured on a K20m, including those of CSR5, which is not implemented here.

The paper states no counts for the matrices of order 1048576 in table 10; with the same density they would need 380 GB.
So larger matrices of that density are timed if they fit in memory, and some rows of a matrix of order 1048576. The time
of the entire matrix is extrapolated from its number of rows.

Each of the ten has 31 million nonzeros, 370 MB in csr, and they are built, converted and timed one after another. With
--quick there are two of order 1024, and the larger ones are smaller, too.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from diagsparse import gallery
from diagsparse._backends.backend import CPU, Backend
from diagsparse._backends.memory import available_bytes
from diagsparse._formats import regions
from diagsparse._matrix.construct import array
from diagsparse._matrix.registry import format_named
from diagsparse._matrix.sparse_array import SparseArray
from diagsparse._study.exactness import MatvecCheck, vector

from .. import prepare
from ..experiment import Clock, Contender, Experiment, NamedRow, Report, fill
from ..timed_columns import Columns
from .paper_003_tables import BLOCKS, BYTES, PAPER, SHORT, SLICES, TABLE_10_ORDER, draw, tables

ORDER = 32_768
LAYOUTS: dict[str, dict[str, int]] = {"sell": {"slice_height": 1024}}  # in addition to the boundary of ellcsr
FORMATS = ("csr", "sell", "jds", "csb", "ell", "ellcsr")
LARGE_FORMATS = ("csr", "ellcsr")  # for the matrices of table 10
LARGE_ORDERS = (65_536, 131_072)  # of matrices that are timed completely if they fit in memory
ROWS = {"cpu": 2048, "cuda": 16_384}  # number of rows that are timed for the order of table 10
_DENSITY = 0.029  # of all matrices
_PEAK = 60  # bytes per nonzero at the peak of the construction and conversion on the host
KERNELS = {  # columns of further kernels of a format: cuSPARSE, and those of the paper
    "csr": {"cusparse": "cuSPARSE", "cusparse_alg1": "cuSPARSE alg1", "cusparse_alg2": "cuSPARSE alg2"},
    "ellcsr": {"warp2": "warp2"} | {f"block_{threads}": name for threads, name in BLOCKS.items()},
}


def _rows(where: Backend, quick: bool) -> Iterator[NamedRow]:
    """Yield the ten matrices, then those of table 10, which have ``rows`` instead of their number, ``matrix``.

    A row contains the ``counts`` of its matrix and ``nbytes`` (format: predicted by the paper's formula, by
    `memory_report`, and allocated).
    """
    order, numbers = (ORDER // 32, range(2)) if quick else (ORDER, range(len(PAPER)))
    for i in numbers:
        yield f"matrix {i + 1}", partial(_run, i, order)
    for n, m in _large(where.name.partition(":")[0], 32 if quick else 1):
        yield f"order {n}" + f", {m} rows" * (m < n), partial(_run_large, n, m)


def _run(i: int, n: int, where: Backend) -> dict[str, Any]:
    a = gallery.ci_matrix(n, seed=i)
    row: dict[str, Any] = {"matrix": i + 1, "n": n, "counts": _counts(a), "nbytes": {}}
    row["slices"] = {"rows": n // SLICES, "nbytes": _sliced(a, n // SLICES)}
    fill(row, _contenders(a, where, row), MatvecCheck(a, vector(n, np.float64)))
    for b in (a, a.astype(np.float32)):
        fill(row, _short(b, where, row), MatvecCheck(b, vector(n, np.float64)))
    return row


def _large(device: str, smaller: int) -> Iterator[tuple[int, int]]:
    """Yield the orders of the matrices of table 10 that fit in memory, and the number of rows that are timed."""
    for n in LARGE_ORDERS[:1] if smaller > 1 else LARGE_ORDERS:
        if _PEAK * _DENSITY * (n // smaller) ** 2 <= available_bytes():
            yield n // smaller, n // smaller
    yield TABLE_10_ORDER // smaller, ROWS[device] // smaller


def _run_large(n: int, m: int, where: Backend) -> dict[str, Any]:
    a = gallery.ci_matrix(n, rows=m, seed=0)
    row: dict[str, Any] = {"n": n, "rows": m, "counts": _counts(a), "nbytes": {}}
    contenders = _contenders(a, where, row, LARGE_FORMATS)
    fill(row, contenders, MatvecCheck(a, vector(n, np.float64)))
    return row


def _contenders(a: Any, where: Backend, row: dict[str, Any], formats: tuple[str, ...] = FORMATS) -> Iterator[Contender]:
    counts, host, seconds = row["counts"], vector(row["n"], np.float64), Clock(where)
    csr, x = array(a, "csr", device=where.name), prepare.on_device(host, where)
    for format in formats:
        layout = LAYOUTS.get(format, {}) | ({"boundary": counts["width"]} if format == "ellcsr" else {})
        predicted = format_named(format).nbytes(csr._summary(), **layout)  # without allocating anything
        A = csr if format == "csr" else csr.asformat(format, **layout)
        if format in BYTES:
            paper = _formula(format, counts, A)
            row["nbytes"][format] = {"paper": paper, "predicted": predicted, "allocated": A.nbytes}
        for name, kernel in _kernels(A):
            yield name, partial(prepare.planned_matvec, A, x, kernel), seconds
    if where is CPU:
        yield "SciPy csr", partial(prepare.called, operator.matmul, a, host), seconds
    elif "sell" in formats:  # with the slice height that needs the fewest bytes
        yield "cuSPARSE sell", lambda: prepare.planned_matvec(csr.asformat("sell"), x, "cusparse"), seconds


def _short(a: Any, where: Backend, row: dict[str, Any]) -> Iterator[Contender]:
    """Yield ellcsr with 16-bit and 8-bit columns and the values of `a`."""
    csr, x = array(a, "csr", device=where.name), prepare.on_device(vector(row["n"], np.float64), where)
    for name, (bits, values) in SHORT.items():
        if values == a.dtype:
            A = csr.asformat("ellcsr", boundary=row["counts"]["width"], column_bits=bits)
            row.setdefault("short", {})[name] = A.nbytes
            yield name, partial(prepare.planned_matvec, A, x, ""), Clock(where)


def _counts(a: Any) -> dict[str, Any]:
    """Return the properties of a matrix in tables 3 and 4."""
    report = regions.report(a, int(0.1 * a.shape[1]), 0)
    return {
        "reference": report.reference.nonzeros,
        "expansion": report.expansion.nonzeros,
        "width": report.reference.longest,  # the same for all rows
        "longest": report.whole.longest,
        "longest_row": report.whole.longest_row,
        "sparsity": [report.reference.sparsity, report.expansion.sparsity, report.whole.sparsity],
    }


def _sliced(a: Any, height: int) -> int:
    """Return the bytes of sliced ell as counted in the paper: slices in ell, without pointers."""
    lengths = np.diff(a.indptr)
    return 12 * height * int(lengths.reshape(-1, height).max(axis=1).sum())


def _formula(format: str, counts: dict[str, Any], A: SparseArray) -> int:
    """Return the bytes by the formulas of section 4.1, with 4-byte indices and 8-byte values."""
    n, nnz = A.shape[0], counts["reference"] + counts["expansion"]
    if format == "csr":
        return 12 * nnz + 4 * (n + 1)
    if format == "ellcsr":
        return 12 * n * counts["width"] + 12 * counts["expansion"] + 3 * 4 * n
    return 12 * (n * counts["longest"] if format == "ell" else A.values.size)


def _agree(row: dict[str, Any]) -> bool:
    """Return whether the predictions are exact, and agree with the paper's formulas except for 8-byte pointers."""
    pointers = 8 * (row.get("rows", row["n"]) + 1)
    return all(
        b["predicted"] == b["allocated"] and abs(b["predicted"] - b["paper"]) <= pointers
        for b in row["nbytes"].values()
    )


def _kernels(A: SparseArray) -> Iterator[tuple[str, str]]:
    """Yield the columns of a format: its default kernel, and the kernels that the paper compares."""
    yield A.format, ""
    for kernel, name in KERNELS.get(A.format, {}).items():
        if kernel in A.kernels("matvec"):
            yield name, kernel


def _add(report: Report) -> None:
    """Treat wrong predictions of bytes as wrong results."""
    report["ok"] &= all(map(_agree, report["rows"]))


TABLES_003 = Experiment("tables-003", __doc__, _rows, tables, draw, columns=Columns("A x", ("ellcsr",)), add=_add)
