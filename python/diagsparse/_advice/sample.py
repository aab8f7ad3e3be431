"""What a few rows tell of a whole matrix: facts that forecasts ask for, estimated in much less than one product.

Windows of rows that lie behind one another are read, as many all over the matrix as have some thousand entries
together. What is counted in them is scaled to the whole. A small matrix is read whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._backends.backend import CPU
from .._matrix.sparse_array import SparseArray

_ENTRIES = 1 << 13  #: that are read
_WINDOWS = 8
_ROWS = 64  #: a window is a multiple of so many, and begins at one: slices, blocks and masks are seen whole
_FEW = 4  #: times fewer entries than wanted, in windows that do not stand for the whole
_LINE = 64  #: bytes of a line of the caches


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of a matrix, and what lies in them."""

    offsets: NDArray[np.int64]  # of the diagonals that were met, ascending
    fill: NDArray[np.int64]  # entries on each, scaled to the whole matrix
    blocks: int  # occupied 8 x 8 blocks of the whole matrix
    in_full_blocks: float  # share of the entries
    masks: float  # pieces of 32 rows of one diagonal that an entry occupies: 1/32 where diagonals are full
    lines: float  # lines of x that an entry needs which those just before it did not
    turns: float  # share of the rows that fill another number of vectors than the row before: no branch foresees them

    @classmethod
    def of(cls, csr: SparseArray) -> Sample:
        """Read a matrix in csr, which is no view, on any device."""
        if not csr.nnz:
            return cls(np.zeros(0, np.int64), np.zeros(0, np.int64), 0, 0.0, 0.0, 0.0, 0.0)
        windows, lengths, columns = _read(csr)
        found: Any = CPU.core.sample(windows, lengths, columns, max(1, _LINE // csr.dtype.itemsize))
        read = max(1, len(columns))
        scale = csr.nnz / read
        return cls(
            offsets=found["offsets"],
            fill=np.maximum(1, np.rint(found["counts"] * scale)).astype(np.int64),
            blocks=round(found["blocks"] * scale),
            in_full_blocks=found["in_full_blocks"] / read,
            masks=found["masks"] / read,
            lines=found["lines"] / read,
            turns=found["turns"] / max(1, len(lengths)),
        )


def _read(csr: SparseArray) -> tuple[list[tuple[int, int]], NDArray[np.int32], NDArray[np.int32]]:
    """Return windows of rows, the lengths of all of these rows, and the columns of their entries; on the host.

    Of long rows the first entries stand for all, so that there are never many more than `_ENTRIES`.
    """
    parts, host = csr._matrix.parts(), csr._backend.host
    windows = _windows(csr.shape[0], csr.nnz)
    ends = [int(host(parts["indptr"][row : row + 1])[0]) for window in windows for row in window]
    if sum(ends[1::2]) - sum(ends[::2]) < min(csr.nnz, _ENTRIES) // _FEW:  # they lie elsewhere
        windows = _where_entries_are(host(parts["indptr"]), csr.nnz)
    most = csr.nnz if csr.nnz <= _ENTRIES else max(_ROWS, 4 * _ENTRIES // sum(last - first for first, last in windows))
    lengths, columns = [], []
    for first, last in windows:
        pointer = host(parts["indptr"][first : last + 1])
        read = np.diff(pointer)
        lengths.append(np.minimum(read, most).astype(np.int32))
        if read.max(initial=0) <= most:
            columns.append(host(parts["indices"][pointer[0] : pointer[-1]]))
        else:
            rows = zip(pointer.tolist(), lengths[-1].tolist(), strict=False)
            columns += [host(parts["indices"][begin : begin + count]) for begin, count in rows if count]
    return windows, np.concatenate(lengths), np.concatenate(columns)


def _windows(m: int, nnz: int) -> list[tuple[int, int]]:
    """Return the first rows, and those after the last, of windows of a matrix of m rows."""
    mean = max(1.0, nnz / m)
    rows = max(1, round(_ENTRIES / _WINDOWS / mean / _ROWS)) * _ROWS
    if nnz <= _ENTRIES or rows * _WINDOWS >= m:
        return [(0, m)]
    count = max(2, min(_WINDOWS, round(4 * _ENTRIES / mean / rows)))
    firsts = np.linspace(0, m - rows, count).astype(np.int64) // _ROWS * _ROWS
    return [(first, first + rows) for first in firsts.tolist()]


def _where_entries_are(indptr: NDArray[np.int64], nnz: int) -> list[tuple[int, int]]:
    """Return windows of rows about entries that lie equally far apart in storage."""
    m = len(indptr) - 1
    rows = np.searchsorted(indptr, np.linspace(0, nnz - 1, _WINDOWS).astype(np.int64), side="right") - 1
    return [(first, min(m, first + _ROWS)) for first in np.unique(rows // _ROWS * _ROWS).tolist()]
