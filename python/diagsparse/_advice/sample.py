"""Properties of a matrix that are estimated from a few rows, in much less time than one product.

Windows of consecutive rows are read. They are distributed over the matrix and contain some thousand entries in total.
Their counts are scaled to the entire matrix. A small matrix is read completely.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._backends.backend import CPU
from .._matrix.sparse_array import SparseArray

_ENTRIES = 1 << 13  #: approximate number of entries that are read
_WINDOWS = 8
_ROWS = 64  #: windows begin at and contain multiples of this number of rows, hence complete slices, blocks and masks
_FEW = 4  #: if the windows contain this many times fewer entries than wanted, they are not representative
_LINE = 64  #: bytes of a cache line


@dataclass(frozen=True, eq=False)
class Sample:
    """Estimated properties of a matrix."""

    offsets: NDArray[np.int64]  # of the diagonals with sampled entries, ascending
    fill: NDArray[np.int64]  # entries on each of them, scaled to the entire matrix
    blocks: int  # occupied 8 x 8 blocks, scaled to the entire matrix
    in_full_blocks: float  # fraction of the entries
    masks: float  # occupied masks (32 rows of one diagonal) per entry: 1/32 if diagonals are full
    lines: float  # cache lines of x per entry that the entries just before it have not loaded
    branches: float  # fraction of the rows with another number of SIMD vectors than the previous row

    @classmethod
    def of(cls, csr: SparseArray) -> Sample:
        """Sample a matrix in csr, not a view, on any device."""
        if not csr.nnz:
            return cls(np.zeros(0, np.int64), np.zeros(0, np.int64), 0, 0.0, 0.0, 0.0, 0.0)
        windows, lengths, columns = _read(csr)
        counted: Any = CPU.core.sample(windows, lengths, columns, max(1, _LINE // csr.dtype.itemsize))
        read = max(1, len(columns))
        scale = csr.nnz / read
        return cls(
            offsets=counted["offsets"],
            fill=np.maximum(1, np.rint(counted["counts"] * scale)).astype(np.int64),
            blocks=round(counted["blocks"] * scale),
            in_full_blocks=counted["in_full_blocks"] / read,
            masks=counted["masks"] / read,
            lines=counted["lines"] / read,
            branches=counted["turns"] / max(1, len(lengths)),
        )


def _read(csr: SparseArray) -> tuple[list[tuple[int, int]], NDArray[np.int32], NDArray[np.int32]]:
    """Return windows of rows, the lengths of all of these rows, and the columns of their entries, on the host.

    Only the first entries of long rows are read, so that there are never many more than `_ENTRIES`.
    """
    parts, host = csr._matrix.parts(), csr._backend.host
    windows = _windows(csr.shape[0], csr.nnz)
    ends = [int(host(parts["indptr"][row : row + 1])[0]) for window in windows for row in window]
    if sum(ends[1::2]) - sum(ends[::2]) < min(csr.nnz, _ENTRIES) // _FEW:  # most entries are elsewhere
        windows = _windows_around_entries(host(parts["indptr"]), csr.nnz)
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
    """Return the first row of each window of a matrix with m rows, and the row after its last one."""
    mean = max(1.0, nnz / m)
    rows = max(1, round(_ENTRIES / _WINDOWS / mean / _ROWS)) * _ROWS
    if nnz <= _ENTRIES or rows * _WINDOWS >= m:
        return [(0, m)]
    count = max(2, min(_WINDOWS, round(4 * _ENTRIES / mean / rows)))
    firsts = np.linspace(0, m - rows, count).astype(np.int64) // _ROWS * _ROWS
    return [(first, first + rows) for first in firsts.tolist()]


def _windows_around_entries(indptr: NDArray[np.int64], nnz: int) -> list[tuple[int, int]]:
    """Return windows of rows around entries at equal distances in storage."""
    m = len(indptr) - 1
    rows = np.searchsorted(indptr, np.linspace(0, nnz - 1, _WINDOWS).astype(np.int64), side="right") - 1
    return [(first, min(m, first + _ROWS)) for first in np.unique(rows // _ROWS * _ROWS).tolist()]
