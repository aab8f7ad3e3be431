"""Rows of a distributed matrix that belong to other processes."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from .._matrix.sparse_array import SparseArray
from . import columns
from .collective import requested
from .ranges import Ranges

DistributedArray: TypeAlias = Any  # of a module above

_TAG = 7105


def fetched(D: DistributedArray, wanted: Ranges) -> SparseArray:
    """Return rows of the whole matrix one after another, on the host, as a matrix with all columns.

    Every process has to call this, with the rows that it wants.
    """
    comm, rows, first = D.comm, D._rows, D.row_range[0]
    local = columns.components(D._plan.local())
    asked = dict(rows.by_owner(wanted))
    answers = requested(comm, {peer: part for peer, part in asked.items() if peer != comm.rank})
    sends = [
        comm.isend([_rows(local, a - first, b - first) for a, b in part], peer, _TAG) for peer, part in answers.items()
    ]
    parts: list[tuple[int, list[SparseArray]]] = []
    for peer, part in asked.items():
        own = peer == comm.rank
        blocks = [_rows(local, a - first, b - first) for a, b in part] if own else comm.recv(source=peer, tag=_TAG)
        parts += [(a, block) for (a, _), block in zip(part, blocks, strict=True)]
    for send in sends:
        send.wait()
    if not parts:
        return columns.composed(D.format, _rows(local, 0, 0))
    found = []
    for i in range(len(local)):
        placed = [columns.Placed(block[i], int(wanted.position(a)), np.asarray) for a, block in parts]
        found.append(columns.put_together(placed, (wanted.size, D.shape[1])))
    return columns.composed(D.format, found)


def _rows(block: Any, first: int, last: int) -> list[SparseArray]:
    return [one[first:last] for one in block]
