"""Rows of a matrix over fewer columns: the elements that they do not need are left out of x.

A diagonal of the rows needs one range of consecutive columns, which lies in one of the ranges of `Ranges`. Over the
concatenation of these ranges it is a diagonal again, with another offset, and the order of the offsets stays the same.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from .._matrix.construct import array
from .._matrix.convert import convert
from .._matrix.registry import FORMATS
from .._matrix.sparse_array import SparseArray
from .._matrix.stacking import vstack
from .needed import interior_rows, needed_columns
from .ranges import Ranges, runs_of

LOCAL_FORMATS = ("dia", "hm", "mdia", "csr", "qband")
_INSTEAD = {"cdm": "hm"}  # what other formats are converted to; those that are not listed, to csr


def local_matrix(block: Any) -> SparseArray:
    """Return the rows of a process in one of the local formats: a matrix of SciPy's in hm if it is a dia_array."""
    if not isinstance(block, SparseArray):
        kind = "hm" if getattr(block, "format", "") == "dia" else "csr"
        block = array(block, kind)
    block = block.to("cpu")
    if block._packed:
        block = block.unpacked()
    if block.format not in LOCAL_FORMATS:
        block = convert(block, _INSTEAD.get(block.format, "csr"))
    return block.copy() if block._op else block


def components(block: SparseArray) -> tuple[SparseArray, ...]:
    """Return the matrices that a local matrix is the sum of: a quasi-band matrix has bands and a rest."""
    return (block.bands, convert(block.rest, "csr")) if block.format == "qband" else (block,)


def composed(format: str, components: Sequence[SparseArray]) -> SparseArray:
    """Return the matrix with these components; the inverse of `components`."""
    if format != "qband":
        return components[0]
    bands, rest = components  # an element of the rest may be on a diagonal that only the bands of another process have
    return FORMATS["qband"].array(convert(bands, "csr") + rest, offsets=bands.offsets.tolist())


def rows_of(block: SparseArray, first: int, last: int) -> SparseArray:
    """Return some rows of a local matrix; those of a quasi-band matrix keep its bands."""
    if (first, last) == (0, block.shape[0]):
        return block
    return composed(block.format, [one[first:last] for one in components(block)])


def offsets_of(component: SparseArray) -> Any:
    """Return the offsets of a matrix of diagonals, ascending; None for rows of indices."""
    if component.format == "csr":
        return None
    return np.sort(np.asarray(component._format.occupied(component), np.int64))


def needed(component: SparseArray, first: int, last: int) -> Ranges:
    """Return the columns that the rows ``[first, last)`` need, as far as the offsets tell, or the indices."""
    if component.format == "csr":
        return runs_of(np.unique(component.indices[component.indptr[first] : component.indptr[last]]))
    return needed_columns(offsets_of(component), component.shape, first, last)


def occupied(component: SparseArray, first: int, last: int) -> Ranges:
    """Return the columns in which the rows ``[first, last)`` have stored elements."""
    if component.format == "mdia" and first < last:
        component, last, first = convert(component[first:last], "csr"), last - first, 0
    return needed(component, first, last)


def interior(block: Sequence[SparseArray], own: tuple[int, int]) -> tuple[int, int]:
    """Return the longest range of rows whose elements are all in the columns `own`."""
    (m, n), k, rows = block[0].shape, [np.zeros(0, np.int64)], np.zeros(0, np.int64)
    for one in block:
        if one.format == "csr":
            outside = np.flatnonzero((one.indices < own[0]) | (one.indices >= own[1]))
            rows = np.searchsorted(one.indptr, outside, "right") - 1
        else:
            k.append(offsets_of(one))
    return interior_rows(np.concatenate(k), (m, n), (0, m), own, runs_of(np.unique(rows)))


@dataclass(frozen=True)
class Placed:
    """A matrix as a part of a larger one: its first row there, and the number of each of its columns there.

    `column` is called with arrays. It preserves the order of columns, and consecutive columns in which a diagonal has
    consecutive elements remain consecutive.
    """

    matrix: SparseArray
    row: int
    column: Callable[[Any], Any]


def put_together(parts: list[Placed], shape: tuple[int, int]) -> SparseArray:
    """Return the matrix of these parts, which do not overlap: one above another, or side by side."""
    one = parts[0].matrix
    if one.format in ("dia", "hm"):
        runs = [
            (int(part.column(row + k)) - row - part.row, row + part.row, values)
            for part in parts
            for k, row, values in part.matrix._format.runs(part.matrix)
        ]
        return one._format.from_runs(shape, one.dtype, runs)
    if all(part.matrix.shape[0] == shape[0] for part in parts):
        moved = [relabelled(part.matrix, part.column, shape[1]) for part in parts]
        return reduce(operator.add, moved)
    return vstack([relabelled(part.matrix, part.column, shape[1]) for part in parts], format=one.format)


def relabelled(rows: SparseArray, column: Callable[[Any], Any], cols: int) -> SparseArray:
    """Return a matrix with other columns, as in `Placed`, and the same values, which are shared if possible."""
    shape = (rows.shape[0], cols)
    if rows.format in ("dia", "hm"):
        return put_together([Placed(rows, 0, column)], shape)
    parts = dict(rows.parts())
    if "offsets" in parts:
        k = np.asarray(parts["offsets"], np.int64)
        row = np.maximum(0, -k)  # of the first element of each diagonal
        parts["offsets"] = column(row + k) - row
    if "indices" in parts:
        parts["indices"] = column(parts["indices"])
    return FORMATS[rows.format].array(parts, shape=shape)
