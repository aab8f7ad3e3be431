"""Blocks with bitmaps of 4 x 4, 8 x 8 and 16 x 16, counted.

The format bmsparse has blocks of 8 x 8. Its thesis leaves other sizes to future work. This study counts their entries
per block for the matrices of `python -m benchmarks advice`, the bytes with a column, a bitmap and a pointer for each
block, and for C = A A the pairs of multiplied blocks, with the multiply-adds of all elements. Nothing is timed.

The matrices in the folder DIAGSPARSE_MATRICES are included. With --quick, all matrices of the gallery are small.
"""

from __future__ import annotations

from collections.abc import Iterator
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
from diagsparse._study.figures import BLUE, GREY, ORANGE, logarithmic, new_figure

from ..experiment import Experiment, NamedRow
from ..tables import Tables, machine
from .advice_matrices import matrices

SIZES = tuple(map(str, unimplemented.BITMAP_SIZES))  # keys in JSON are strings
USUAL = "8"
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
    counted, held = unimplemented.UnimplementedFormats(ours).bitmap_blocks, memory_report(ours)
    fewest = min((nbytes, name) for name, nbytes in held.items() if nbytes is not None)
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


# ---- tables -------------------------------------------------------------------------------------------------------
def _per_block(row: dict[str, Any], size: str = USUAL) -> float:
    return row["nnz"] / max(1, row["sizes"][size]["blocks"])


def _tables(report: dict[str, Any]) -> Tables:
    yield "Geometric means of groups of matrices, by the entries of an 8 x 8 block", _groups(report)
    yield "Matrix by matrix", _each(report)


def _groups(report: dict[str, Any]) -> list[list[str]]:
    """Return a table of groups of matrices: other sizes and csr relative to 8 x 8."""
    others = [size for size in SIZES if size != USUAL]
    names = [f"{size} x {size}" for size in others]
    cells = [
        ["entries a block", "matrices", *(f"bytes of {name} / 8 x 8" for name in [*names, "csr"])]
        + [f"{what} of {name} / 8 x 8" for what in ("pairs", "places") for name in names]
    ]
    for first, after in zip(FILLS, [*FILLS[1:], np.inf], strict=True):
        rows = [row for row in report["rows"] if row["nnz"] and first <= _per_block(row) < after]
        if not rows:
            continue
        bytes_of = [[row["sizes"][size]["nbytes"] / row["sizes"][USUAL]["nbytes"] for row in rows] for size in others]
        bytes_of.append([row["csr"] / row["sizes"][USUAL]["nbytes"] for row in rows])
        squares = [row for row in rows if row["work"]]
        pairs = [[row["sizes"][size]["pairs"] / row["sizes"][USUAL]["pairs"] for row in squares] for size in others]
        positions = [[_block_work(row, size) / _block_work(row, USUAL) for row in squares] for size in others]
        group = f"{first} to {after}" if after < np.inf else f"{first} and more"
        means = [columns.digits(geometric_mean(ratios)) if ratios else "" for ratios in [*bytes_of, *pairs, *positions]]
        cells.append([group, str(len(rows)), *means])
    return cells


def _block_work(row: dict[str, Any], size: str) -> int:
    """Return the multiply-adds of A A by blocks: of all elements in every pair."""
    return int(row["sizes"][size]["pairs"] * int(size) ** 3)


def _each(report: dict[str, Any]) -> Iterator[list[str]]:
    names = [f"{size} x {size}" for size in SIZES]
    yield [
        "matrix", "nonzeros", *(f"entries a block, {name}" for name in names), "bytes a nonzero, csr",
        *(f"the same, {name}" for name in names), "fewest of all formats",
        *(f"places multiplied for each multiply-add of A A, {name}" for name in names),
    ]  # fmt: skip
    for row in report["rows"]:
        nnz, square = max(1, row["nnz"]), row["work"]
        yield [
            row["name"],
            f"{row['nnz']:,}",
            *(columns.digits(_per_block(row, size)) for size in SIZES),
            columns.digits(row["csr"] / nnz),
            *(columns.digits(row["sizes"][size]["nbytes"] / nnz) for size in SIZES),
            f"{row['in']} {columns.digits(row['fewest'] / nnz)}",
            *(columns.digits(_block_work(row, size) / square) if square else "" for size in SIZES),
        ]


# ---- picture ------------------------------------------------------------------------------------------------------
def _draw(report: dict[str, Any]) -> Any:
    """Draw the bytes of other sizes and of csr relative to 8 x 8, over the entries per block."""
    figure = new_figure(6, 3.6)
    axes = figure.subplots()
    rows = [row for row in report["rows"] if row["nnz"]]
    at = [_per_block(row) for row in rows]
    drawn = [(f"{size} x {size}", [row["sizes"][size]["nbytes"] for row in rows]) for size in SIZES if size != USUAL]
    drawn.append(("csr", [row["csr"] for row in rows]))
    for (name, nbytes), color in zip(drawn, (BLUE, ORANGE, GREY), strict=True):
        ratios = [n / row["sizes"][USUAL]["nbytes"] for n, row in zip(nbytes, rows, strict=True)]
        axes.plot(at, ratios, ".", color=color, label=name)
    axes.axhline(1, color="black", lw=0.5)
    axes.set_xlabel("entries of an 8 x 8 block on average")
    axes.set_ylabel("bytes / those of 8 x 8")
    logarithmic(axes, "x")
    axes.legend(fontsize=7)
    return figure


BLOCK_SIZES = Experiment(
    "block-sizes", __doc__, _rows, _tables, _draw, partial(machine, dtypes="float64 where nothing else is said"),
    pairs=lambda report: iter(()), timed=lambda report: iter(()), only_cpu=True,
)  # fmt: skip
