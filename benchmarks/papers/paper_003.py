"""The experiments of the paper that ellcsr comes from, on this machine.

Mahmoud, Hoffmann, Reza, "Developing a New Storage Format and a Warp-Based SpMV Kernel for Configuration Interaction
Sparse Matrices on the GPU", Computation 6(3):45, 2018: ten matrices of order 32768 (tables 3 and 4), what they take in
each format (table 5), and a product with a vector in double precision, by the paper's kernel in blocks of 16, 32 and 64
threads (tables 6 to 8) and beside others (table 9). Beyond the paper: its format with short columns, and with values in
single precision. The paper's matrices are not published: `gallery.ci_matrix` makes
ten of their counts. Its times come from a K20m, those of CSR5 too, of which there is no implementation here.

The matrices of order 1048576 in table 10 have no counts in the paper; of the same density they would take 380 GB. So
larger matrices of that density are timed as far as they fit, and of order 1048576 some rows: the whole takes as many
times as long as it has rows more.

Each of the ten has 31 million nonzeros, 370 MB in csr, and is made, laid out and timed in turn. With --quick there are
two, of order 1024, and the larger ones are smaller, too.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from functools import partial
from itertools import chain
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

from ..experiment import Clock, Contender, Experiment, NamedRow, Report, called, fill, planned_matvec, there
from ..timed_columns import Columns
from .paper_003_tables import BLOCKS, BYTES, PAPER, SCIPY, SHORT, SLICES, TABLE_10_ORDER, draw, tables

ORDER = 32_768
LAYOUTS: dict[str, dict[str, int]] = {"sell": {"slice_height": 1024}}  # and the boundary of ellcsr
FORMATS = ("csr", "sell", "jds", "csb", "ell", "ellcsr")
LARGE_FORMATS = ("csr", "ellcsr")  # of the matrices of table 10
LARGE_ORDERS = (65_536, 131_072)  # that are timed whole where they fit
ROWS = {"cpu": 2048, "cuda": 16_384}  # that are timed of the order in table 10
_DENSITY = 0.029  # of all of them
_AT_ONCE = 60  # bytes of a nonzero, while a matrix is made and laid out on the host
KERNELS = {  # of a format, by name: what they are compared with, and the paper's
    "csr": {"cusparse": "cuSPARSE", "cusparse_alg1": "cuSPARSE alg1", "cusparse_alg2": "cuSPARSE alg2"},
    "ellcsr": {"warp2": "warp2"} | {f"block_{threads}": name for threads, name in BLOCKS.items()},
}


def _rows(where: Backend, quick: bool) -> Iterator[NamedRow]:
    """Yield the ten matrices, then those of table 10, which have ``rows`` in the place of their number, ``matrix``.

    A row has the ``counts`` of its matrix and ``nbytes`` (format: predicted by the paper's formula, by
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
    single = a.astype(np.float32)
    for b, contenders in (
        (a, chain(_contenders(a, where, row), _short(a, where, row))),
        (single, _short(single, where, row)),
    ):
        fill(row, contenders, partial(_error, where, MatvecCheck(b, vector(n, np.float64))))
    return row


def _large(device: str, smaller: int) -> Iterator[tuple[int, int]]:
    """Yield the orders of the matrices of table 10 that fit into memory, and how many of their rows are timed."""
    for n in LARGE_ORDERS[:1] if smaller > 1 else LARGE_ORDERS:
        if _AT_ONCE * _DENSITY * (n // smaller) ** 2 <= available_bytes():
            yield n // smaller, n // smaller
    yield TABLE_10_ORDER // smaller, ROWS[device] // smaller


def _run_large(n: int, m: int, where: Backend) -> dict[str, Any]:
    a = gallery.ci_matrix(n, rows=m, seed=0)
    row: dict[str, Any] = {"n": n, "rows": m, "counts": _counts(a), "nbytes": {}}
    contenders = _contenders(a, where, row, LARGE_FORMATS)
    fill(row, contenders, partial(_error, where, MatvecCheck(a, vector(n, np.float64))))
    return row


def _error(where: Backend, check: MatvecCheck, y: Any) -> float:
    return check(where.host(y))


def _contenders(a: Any, where: Backend, row: dict[str, Any], formats: tuple[str, ...] = FORMATS) -> Iterator[Contender]:
    counts, host, seconds = row["counts"], vector(row["n"], np.float64), Clock(where)
    csr, x = array(a, "csr", device=where.name), there(host, where)
    for format in formats:
        layout = LAYOUTS.get(format, {}) | ({"boundary": counts["width"]} if format == "ellcsr" else {})
        told = _told(csr, format, layout)
        A = csr if format == "csr" else csr.asformat(format, **layout)
        if format in BYTES:
            row["nbytes"][format] = {"paper": _formula(format, counts, A), "told": told, "allocated": A.nbytes}
        for name, kernel in _kernels(A):
            yield name, partial(planned_matvec, A, x, kernel), seconds
    if where is CPU:
        yield SCIPY, partial(called, operator.matmul, a, host), seconds
    elif "sell" in formats:  # in slices of the height that is chosen by the bytes
        yield "cuSPARSE sell", lambda: planned_matvec(csr.asformat("sell"), x, "cusparse"), seconds


def _short(a: Any, where: Backend, row: dict[str, Any]) -> Iterator[Contender]:
    """Yield ellcsr with short columns, of the values that `a` has."""
    csr, x = array(a, "csr", device=where.name), there(vector(row["n"], np.float64), where)
    for name, (bits, values) in SHORT.items():
        if values == a.dtype:
            A = csr.asformat("ellcsr", boundary=row["counts"]["width"], column_bits=bits)
            row.setdefault("short", {})[name] = A.nbytes
            yield name, partial(planned_matvec, A, x, ""), Clock(where)


def _counts(a: Any) -> dict[str, Any]:
    """Return what tables 3 and 4 say of a matrix."""
    found = regions.report(a, int(0.1 * a.shape[1]), 0)
    return {
        "reference": found.reference.nonzeros,
        "expansion": found.expansion.nonzeros,
        "width": found.reference.longest,  # of each row: all have as many
        "longest": found.whole.longest,
        "longest_row": found.whole.longest_row,
        "sparsity": [found.reference.sparsity, found.expansion.sparsity, found.whole.sparsity],
    }


def _sliced(a: Any, height: int) -> int:
    """Return the bytes of sliced ell by the paper's way of counting: slices that are ell, without pointers."""
    lengths = np.diff(a.indptr)
    return 12 * height * int(lengths.reshape(-1, height).max(axis=1).sum())


def _told(csr: SparseArray, format: str, layout: dict[str, int]) -> int:
    """Return the bytes that a format says beforehand, with nothing allocated."""
    return format_named(format).nbytes(csr._summary(), **layout)


def _formula(format: str, counts: dict[str, Any], A: SparseArray) -> int:
    """Return the bytes by the formulas of section 4.1, with 4 bytes for an index and 8 for a value."""
    n, nnz = A.shape[0], counts["reference"] + counts["expansion"]
    if format == "csr":
        return 12 * nnz + 4 * (n + 1)
    if format == "ellcsr":
        return 12 * n * counts["width"] + 12 * counts["expansion"] + 3 * 4 * n
    return 12 * (n * counts["longest"] if format == "ell" else A.values.size)


def _agree(row: dict[str, Any]) -> bool:
    """Whether every format allocates what it says, and that is the paper's formula but for pointers of 8 bytes."""
    pointers = 8 * (row.get("rows", row["n"]) + 1)
    return all(b["told"] == b["allocated"] and abs(b["told"] - b["paper"]) <= pointers for b in row["nbytes"].values())


def _kernels(A: SparseArray) -> Iterator[tuple[str, str]]:
    """Yield the columns of a format: its default, and by name what the paper compares."""
    yield A.format, ""
    for kernel, name in KERNELS.get(A.format, {}).items():
        if kernel in A.kernels("matvec"):
            yield name, kernel


def _add(report: Report) -> None:
    """Take bytes that do not agree for wrong results."""
    report["ok"] &= all(map(_agree, report["rows"]))


TABLES_003 = Experiment("tables-003", __doc__, _rows, tables, draw, columns=Columns("A x", ("ellcsr",)), add=_add)
