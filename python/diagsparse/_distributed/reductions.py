"""Sums over distributed vectors, with the same bits for any number of processes.

The rows are divided into blocks of `_BLOCK` rows, counted from row 0 whoever has them. A block that several processes
have is added up by the one with its first row, which receives the others' elements. The sums of the blocks are the
leaves of a binary tree: each process adds up the complete subtrees of its blocks, and all processes exchange these few
sums and complete the tree, every one of them in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .ranges import Partition

_BLOCK = 8192  # rows; libraries of linear algebra add up so few elements in one thread
_TAG = 7103


def tree_sum(comm: Any, rows: Partition, sums: Callable[..., Any], *arrays: Any) -> Any:
    """Return the sum over all rows.

    Parameters
    ----------
    rows : Partition
        The rows of each process.
    sums : callable
        ``sums(*arrays)`` is the sum over the rows of arrays with at most a block of rows: a NumPy scalar or array.
    *arrays : array
        The rows of this process.
    """
    first, last = rows.range(comm.rank)
    arrays = tuple(np.asarray(a) for a in arrays)
    head = min(last, -(-first // _BLOCK) * _BLOCK)  # rows before it belong to a block that another process begins
    block = -(-first // _BLOCK)
    parts = [[_rows_of(a, i, last - first) for a in arrays] for i in range(head - first, last - first, _BLOCK)]
    requests = []
    if first < head:
        owner = rows.owner(first // _BLOCK * _BLOCK)
        requests = [comm.isend([np.ascontiguousarray(a[: head - first]) for a in arrays], owner, _TAG)]
    if parts and last % _BLOCK and last < rows.rows:  # the last block continues on the following processes
        stop, pieces = min(rows.rows, -(-last // _BLOCK) * _BLOCK), [parts[-1]]
        for peer in range(comm.rank + 1, rows.processes):
            a, b = rows.range(peer)
            if a >= stop:
                break
            if a < b:
                pieces.append(comm.recv(source=peer, tag=_TAG))
        parts[-1] = [np.concatenate(all_of_it) for all_of_it in zip(*pieces, strict=True)]
    leaves = np.array([sums(*part) for part in parts])
    for request in requests:
        request.wait()
    nodes: dict[int, dict[int, Any]] = {}
    for found in comm.allgather(_subtrees(block, leaves)):
        for level, number, total in found:
            nodes.setdefault(level, {})[number] = total
    count = -(-rows.rows // _BLOCK)
    return _root(nodes, count) if count else sums(*(a[:0] for a in arrays))


def _rows_of(a: Any, begin: int, count: int) -> Any:
    """Return the rows of a block from `begin` on, in C order, on which the order of NumPy's sums depends."""
    return np.ascontiguousarray(a[begin : min(begin + _BLOCK, count)])


def _subtrees(first: int, leaves: Any) -> list[tuple[int, int, Any]]:
    """Return the sums of the largest complete subtrees over these leaves: their level, number in it, and sum."""
    nodes, level, found = leaves, 0, []
    while len(nodes):
        if first % 2:
            found.append((level, first, nodes[0]))
            nodes, first = nodes[1:], first + 1
        if len(nodes) % 2:
            found.append((level, first + len(nodes) - 1, nodes[-1]))
            nodes = nodes[:-1]
        nodes, first, level = nodes[::2] + nodes[1::2], first // 2, level + 1
    return found


def _root(nodes: dict[int, dict[int, Any]], count: int) -> Any:
    """Return the root of the tree with `count` leaves; a node without a sibling moves up to the next level."""
    level = 0
    while count > 1:
        above = nodes.setdefault(level + 1, {})
        for number, total in nodes.get(level, {}).items():
            if number % 2 == 0:
                above[number // 2] = total + nodes[level][number + 1] if number + 1 < count else total
        level, count = level + 1, -(-count // 2)
    return nodes[level][0]
