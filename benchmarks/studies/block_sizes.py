"""Blocks with bitmaps of 4 x 4, 8 x 8 and 16 x 16, counted.

The format bmsparse has blocks of 8 x 8. Its thesis leaves other sizes to future work. This study counts their entries
per block for the matrices of `python -m benchmarks advice`, the bytes with a column, a bitmap and a pointer for each
block, and for C = A A the pairs of multiplied blocks, with the multiply-adds of all elements. Nothing is timed.

The matrices in the folder DIAGSPARSE_MATRICES are included. With --quick, all matrices of the gallery are small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from statistics import geometric_mean
from typing import Any

import numpy as np
import scipy.sparse as sp

from diagsparse import measure
from diagsparse._backends.backend import Backend
from diagsparse._formats import unimplemented
from diagsparse._matrix.construct import array
from diagsparse._matrix.registry import COMMON
from diagsparse._products.forecasts import memory_report
from diagsparse._show import columns

from ..experiment import Experiment, NamedRow
from ..pictures import BLUE, GREY, ORANGE, curves, label, new_figure
from ..tables import Row, Tables, machine, table
from .advice_matrices import matrices

SIZES = tuple(map(str, unimplemented.BITMAP_SIZES))  # keys in JSON are strings
USUAL = "8"
OTHERS = tuple(size for size in SIZES if size != USUAL)
FILLS = (0, 5, 12, 32)  # lower limits of the groups of matrices, in mean entries per 8 x 8 block


def _rows(where: Backend, quick: bool) -> Iterator[NamedRow]:
    """Yield the matrices.

    A row contains ``shape`` and ``nnz``, the bytes in ``csr``, the ``fewest`` bytes and their format (``in``), the
    ``work`` of A A (None if A is not square), and ``sizes``: for each size ``blocks``, ``nbytes``, and ``pairs`` of
    A A.
    """
    return ((name, partial(_row, make)) for name, make in matrices(large=False, quick=quick))


def _row(make: Any, where: Backend) -> dict[str, Any]:
    A = measure.csr32(make())
    A.sum_duplicates()
    ours = array(A, COMMON)
    counted, nbytes_of = unimplemented.UnimplementedFormats(ours).bitmap_blocks, memory_report(ours)
    fewest = min((nbytes, name) for name, nbytes in nbytes_of.items() if nbytes is not None)
    square = A.shape[0] == A.shape[1]
    lengths = np.diff(A.indptr)
    return {
        "shape": list(A.shape),
        "nnz": A.nnz,
        "csr": ours.nbytes,
        "fewest": fewest[0],
        "in": fewest[1],
        "work": int(lengths[A.indices].sum()) if square else None,
        "sizes": {
            str(size): {"blocks": one.blocks, "nbytes": one.nbytes, "pairs": _pairs(A, size) if square else None}
            for size, one in counted.items()
        },
    }


def _pairs(A: Any, size: int) -> int:
    """Return the number of pairs of blocks that are multiplied in A A: each block with all blocks of one row."""
    rows = np.repeat(np.arange(A.shape[0]) // size, np.diff(A.indptr))
    shape = tuple(-(-n // size) for n in A.shape)
    blocks = sp.coo_array((np.ones(A.nnz, np.int8), (rows, A.indices // size)), shape=shape).tocsr()
    return int(np.diff(blocks.indptr)[blocks.indices].sum())


# ---- tables and the picture ---------------------------------------------------------------------------------------
def _per_block(row: Row, size: str = USUAL) -> float:
    return row["nnz"] / max(1, row["sizes"][size]["blocks"])


def _block_work(row: Row, size: str) -> int:
    """Return the multiply-adds of A A by blocks: of all elements in every pair."""
    return int(row["sizes"][size]["pairs"] * int(size) ** 3)


def _nbytes(row: Row, layout: str) -> int:
    """Return the bytes in csr, or in blocks of a size."""
    return int(row["csr"] if layout == "csr" else row["sizes"][layout]["nbytes"])


def _of(layout: str) -> str:
    return layout if layout == "csr" else f"{layout} x {layout}"


def _tables(report: Row) -> Tables:
    yield "Geometric means of groups of matrices, by the entries of an 8 x 8 block", _groups(report)
    yield "Matrix by matrix", table(report["rows"], {
        "matrix": "{name}", "nonzeros": "{nnz:,}",
        **{f"entries a block, {_of(size)}": partial(_digits, _per_block, size) for size in SIZES},
        "bytes a nonzero, csr": partial(_digits, _per_nonzero, "csr"),
        **{f"the same, {_of(size)}": partial(_digits, _per_nonzero, size) for size in SIZES},
        "fewest of all formats": lambda row: f"{row['in']} {columns.digits(row['fewest'] / max(1, row['nnz']))}",
        **{f"elements multiplied for each multiply-add of A A, {_of(size)}": partial(_wasted, size) for size in SIZES},
    })  # fmt: skip


def _digits(value: Callable[[Row, str], float], layout: str, row: Row) -> str:
    return columns.digits(value(row, layout))


def _per_nonzero(row: Row, layout: str) -> float:
    return _nbytes(row, layout) / max(1, row["nnz"])


def _wasted(size: str, row: Row) -> str:
    return columns.digits(_block_work(row, size) / row["work"]) if row["work"] else ""


def _groups(report: Row) -> list[list[str]]:
    """Return a table of groups of matrices: other sizes and csr relative to 8 x 8."""
    relative: list[tuple[str, str, Callable[[Row, str], float]]] = [
        *(("bytes", layout, _nbytes) for layout in (*OTHERS, "csr")),
        *(("pairs", size, lambda row, size: row["sizes"][size]["pairs"]) for size in OTHERS),
        *(("elements", size, _block_work) for size in OTHERS),
    ]
    cells = [["entries a block", "matrices", *(f"{what} of {_of(name)} / 8 x 8" for what, name, _ in relative)]]
    for first, after in zip(FILLS, [*FILLS[1:], np.inf], strict=True):
        rows = [row for row in report["rows"] if row["nnz"] and first <= _per_block(row) < after]
        squares = [row for row in rows if row["work"]]
        means = [
            columns.digits(geometric_mean(value(row, name) / value(row, USUAL) for row in some)) if some else ""
            for what, name, value in relative
            for some in [rows if what == "bytes" else squares]
        ]
        if rows:
            cells.append([f"{first} to {after}" if after < np.inf else f"{first} and more", str(len(rows)), *means])
    return cells


def _draw(report: Row) -> Any:
    """Draw the bytes of other sizes and of csr relative to 8 x 8, over the entries per block."""
    figure = new_figure(6, 3.6)
    axes = figure.subplots()
    series = {
        _of(name): (partial(_relative_nbytes, name), ".", color)
        for name, color in zip((*OTHERS, "csr"), (BLUE, ORANGE, GREY), strict=True)
    }
    curves(axes, [row for row in report["rows"] if row["nnz"]], _per_block, series)
    axes.axhline(1, color="black", lw=0.5)
    label(axes, "entries of an 8 x 8 block on average", "bytes / those of 8 x 8", log="x")
    axes.legend(fontsize=7)
    return figure


def _relative_nbytes(layout: str, row: Row) -> float:
    return _nbytes(row, layout) / _nbytes(row, USUAL)


BLOCK_SIZES = Experiment(
    "block-sizes", __doc__, _rows, _tables, _draw, partial(machine, dtypes="float64 where nothing else is said"),
    pairs=lambda report: iter(()), timed=lambda report: iter(()), only_cpu=True,
)  # fmt: skip
