"""The transpose of a distributed matrix, by an exchange of columns."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import partial
from typing import Any

from .._matrix.convert import convert
from .._matrix.sparse_array import SparseArray
from . import columns
from .columns import local_matrix
from .ranges import Partition, Ranges
from .rows import sent

_TAG = 7102


def transposed(comm: Any, local: SparseArray, rows: Partition, cols: Partition) -> SparseArray:
    """Return the rows of the transpose that belong to this process: the columns of the matrix in its range.

    Every process sends the columns of each other one from its own rows, if they have elements there.
    """
    block = columns.components(local)
    asked = cols.by_owner(Ranges.all(columns.needed(one, 0, one.shape[0]) for one in block))
    sends = {p for p, _ in asked if p != comm.rank}
    sources = [p for p, sent in enumerate(comm.alltoall([p in sends for p in range(comm.size)])) if sent]
    requests = sent(comm, {p: [_columns(block, cols.range(p))] for p in sends}, _TAG, "T: columns of other processes")
    found = {p: comm.recv(source=p, tag=_TAG)[0] for p in sources}
    first, last = cols.range(comm.rank)
    found[comm.rank] = _columns(block, (first, last))
    for request in requests:
        request.wait()
    result = []
    for i, one in enumerate(block):
        parts = []
        for p, received in sorted(found.items()):
            rows_of_p = local_matrix(convert(received[i].T, one.format))
            parts.append(columns.Placed(rows_of_p, 0, partial(operator.add, rows.range(p)[0])))
        result.append(columns.put_together(parts, (last - first, rows.rows)))
    return columns.composed(local.format, result)


def _columns(block: Sequence[SparseArray], range: tuple[int, int]) -> list[SparseArray]:
    return [one[:, range[0] : range[1]] for one in block]
