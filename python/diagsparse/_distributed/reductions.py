"""Sums over distributed vectors, with the same bits for any number of processes.

The rows are divided into blocks of `_BLOCK` rows, counted from row 0 whoever has them. A block that several processes
have is added up by the one with its first row, which receives the others' elements. The sums of the blocks are the
leaves of a binary tree: each process adds up the complete subtrees of its blocks, and all processes exchange these few
sums and complete the tree, every one of them in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .arrays import array_module, current, host
from .ranges import Partition

_BLOCK = 8192  # rows; libraries of linear algebra add up so few elements in one thread
_TAG = 7103


class Reduction(NamedTuple):
    """A sum over rows: of a block of arrays on the host, and the terms of the sum on a GPU."""

    on_host: Callable[..., Any]
    terms: Callable[..., Any]


SUM = Reduction(lambda x: x.sum(axis=0), lambda x: x)
DOT = Reduction(lambda x, y: np.vdot(x, y) if x.ndim == 1 else (x.conj() * y).sum(axis=0), lambda x, y: x.conj() * y)


def tree_sum(comm: Any, rows: Partition, reduction: Reduction, *arrays: Any, device: str = "cpu") -> Any:
    """Return the sum over all rows of distributed arrays, of which `arrays` are the rows of this process."""
    (first, last), n = rows.range(comm.rank), rows.rows
    begin = min(last, -(-first // _BLOCK) * _BLOCK)  # the rows before belong to a block that another process begins
    end = max(begin, last // _BLOCK * _BLOCK)  # the rows from here on are a part of a block
    requests, pieces = [], []
    if first < begin:
        part = [np.ascontiguousarray(host(a[: begin - first])) for a in arrays]
        requests = [comm.isend(part, rows.owner(first // _BLOCK * _BLOCK), _TAG)]
    if end < last:
        pieces = [[np.ascontiguousarray(host(a[end - first :])) for a in arrays]]
        for peer in range(comm.rank + 1, rows.processes):
            a, b = rows.range(peer)
            if a >= min(n, end + _BLOCK):
                break
            if a < b:
                pieces.append(comm.recv(source=peer, tag=_TAG))
    with current(device):
        leaves = list(_blocks(reduction, [a[begin - first : end - first] for a in arrays]))
        if pieces:
            together = [np.concatenate(parts) for parts in zip(*pieces, strict=True)]
            leaves += list(_blocks(reduction, [array_module(arrays[0]).asarray(a) for a in together]))
    for request in requests:
        request.wait()
    nodes: dict[int, dict[int, Any]] = {}
    for found in comm.allgather(_subtrees(begin // _BLOCK, np.array(leaves))):
        for level, number, total in found:
            nodes.setdefault(level, {})[number] = total
    return _root(nodes, -(-n // _BLOCK)) if n else reduction.on_host(*(host(a) for a in arrays))


def _blocks(reduction: Reduction, arrays: list[Any]) -> Any:
    """Return the sum of each block of rows, on the host; the last one may be shorter."""
    count = len(arrays[0])
    if not count:
        return []
    if isinstance(arrays[0], np.ndarray):
        starts = range(0, count, _BLOCK)  # C order, on which the order of NumPy's sums depends
        return [reduction.on_host(*(np.ascontiguousarray(a[i : i + _BLOCK]) for a in arrays)) for i in starts]
    # Halves are added to each other, since the order of CuPy's sums depends on the number of blocks.
    xp, terms = array_module(arrays[0]), reduction.terms(*arrays)
    blocks = xp.zeros((-(-count // _BLOCK) * _BLOCK, *terms.shape[1:]), terms.dtype)
    blocks[:count] = terms
    blocks = blocks.reshape(-1, _BLOCK, *terms.shape[1:])
    while (half := blocks.shape[1] // 2) > 0:
        blocks = blocks[:, :half] + blocks[:, half:]
    return blocks[:, 0].get()


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
