"""Rows of a distributed matrix that belong to other processes."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from .._backends.memory import require_free
from .._matrix.sparse_array import SparseArray
from . import columns
from .collective import requested, together
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
    blocks = {peer: [_rows(local, a - first, b - first) for a, b in part] for peer, part in answers.items()}
    sends = sent(comm, blocks, _TAG, "the rows of other processes")
    parts: list[tuple[int, list[SparseArray]]] = []
    for peer, part in asked.items():
        own = peer == comm.rank
        found = [_rows(local, a - first, b - first) for a, b in part] if own else comm.recv(source=peer, tag=_TAG)
        parts += [(a, block) for (a, _), block in zip(part, found, strict=True)]
    for send in sends:
        send.wait()
    if not parts:
        return columns.composed(D.format, _rows(local, 0, 0))
    whole = []
    for i in range(len(local)):
        placed = [columns.Placed(block[i], int(wanted.position(a)), np.asarray) for a, block in parts]
        whole.append(columns.put_together(placed, (wanted.size, D.shape[1])))
    return columns.composed(D.format, whole)


def sent(comm: Any, blocks: dict[int, list[list[SparseArray]]], tag: int, what: str) -> list[Any]:
    """Start to send matrices to other processes, and return the requests.

    Every process has to call this. Raise MemoryError on all of them if what one receives does not fit there twice:
    it is received, and put together.
    """
    nbytes = [sum(one.nbytes for block in blocks.get(p, []) for one in block) for p in range(comm.size)]
    received = sum(comm.alltoall(nbytes))
    together(comm, lambda: require_free(2 * received, what, temporary=received))
    return [comm.isend(block, peer, tag) for peer, block in sorted(blocks.items())]


def _rows(block: Any, first: int, last: int) -> list[SparseArray]:
    return [one[first:last] for one in block]
