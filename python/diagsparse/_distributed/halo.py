"""The halo of a matrix of diagonals: which elements of x the rows of a process need, and from which processes.

Row r of a matrix with the offsets k needs the elements ``r + k`` of x, so the rows ``[a, b)`` need the ranges
``[a + k, b + k)``, cut to the matrix. All processes know the offsets and the partition of the rows, and so each of them
computes what it receives and what it has to send without asking the others, and without reading a single value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._backends.arguments import integer
from .._backends.memory import human
from .._formats.options import distinct_integers
from .._show import display
from .._show.columns import columns as aligned
from . import drawing
from .needed import boundary_columns, interior_rows
from .ranges import Partition, Ranges, checked_partition, checked_shape


@dataclass(frozen=True)
class Exchange:
    """What a process exchanges with another one for a product: ranges of columns, that is, of elements of x.

    Attributes
    ----------
    peer : int
        Rank of the other process.
    receive, send : list of (int, int)
        Ranges ``(first, last)`` of elements that are received from it and sent to it.
    received, sent : int
        Their numbers of elements. Fewer are exchanged than the ranges contain if a mask or a row of indices shows that
        the others are not needed.
    """

    peer: int
    receive: list[tuple[int, int]]
    send: list[tuple[int, int]]
    received: int
    sent: int


class Halo:
    """The halo of one process: the elements of x that its rows need, and the exchange that provides them.

    Printing it gives a table; in Jupyter it is drawn.

    Attributes
    ----------
    process, processes : int
        Rank of this process, and the number of processes.
    shape : (int, int)
        Shape of the matrix.
    row_range, column_range : (int, int)
        Rows of the matrix, and elements of x, that this process has.
    interior : (int, int)
        Rows that are multiplied while the halo is exchanged, because they need no element of it.
    needed : list of (int, int)
        Ranges of the elements of x that the other rows need, those of this process included.
    exchanges : list of Exchange
        One for each process with which elements are exchanged, by rank.
    itemsize : int
        Bytes of an element of x.
    """

    def __init__(
        self, process: int, shape: tuple[int, int], rows: Partition, cols: Partition, interior: tuple[int, int],
        needed: Ranges, exchanges: list[Exchange], itemsize: int,
    ) -> None:  # fmt: skip
        self.process, self.processes, self.shape, self.itemsize = process, rows.processes, shape, itemsize
        self.row_range, self.column_range = rows.range(process), cols.range(process)
        self._cols = cols  # for drawings
        self.interior, self.needed, self.exchanges = interior, list(needed), exchanges

    @property
    def peers(self) -> list[int]:
        """Ranks of the processes with which elements are exchanged."""
        return [e.peer for e in self.exchanges]

    @property
    def receive_nbytes(self) -> int:
        """Bytes that are received for a product with one vector."""
        return self.itemsize * sum(e.received for e in self.exchanges)

    @property
    def send_nbytes(self) -> int:
        """Bytes that are sent for a product with one vector."""
        return self.itemsize * sum(e.sent for e in self.exchanges)

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes as a dictionary of numbers, lists and strings, for JSON."""
        names = ("process", "processes", "shape", "row_range", "column_range", "interior", "needed", "itemsize")
        return {name: getattr(self, name) for name in names} | {
            "exchanges": [vars(e) for e in self.exchanges],
            "receive_nbytes": self.receive_nbytes, "send_nbytes": self.send_nbytes,
        }  # fmt: skip

    def summary(self) -> str:
        """Return one line of text."""
        first, last = self.row_range
        inside = 100 * (self.interior[1] - self.interior[0]) / (last - first) if last > first else 100
        return (
            f"process {self.process} of {self.processes}: rows {first} to {last}, {inside:.3g} % of them interior; "
            f"receives {human(self.receive_nbytes)} and sends {human(self.send_nbytes)}, "
            f"{display.counted(len(self.exchanges), 'peer')}"
        )

    def __str__(self) -> str:
        head = ["peer", "receives", "bytes", "sends", "bytes"]
        rows = [
            [str(e.peer), _ranges(e.receive), human(e.received * self.itemsize), _ranges(e.send),
             human(e.sent * self.itemsize)]
            for e in self.exchanges
        ]  # fmt: skip
        return "\n".join([self.summary(), *(aligned([head, *rows], "><><>") if rows else [])])

    def __repr__(self) -> str:
        return f"<halo of {self.summary()}>"

    def _repr_html_(self) -> str:
        return display.page(self.summary(), [drawing.halos([self])])


class HaloForecast(Sequence[Halo]):
    """The halos of all processes; a sequence of `Halo`.

    Attributes
    ----------
    shape : (int, int)
        Shape of the matrix.
    """

    def __init__(self, shape: tuple[int, int], halos: list[Halo]) -> None:
        self.shape, self._halos = shape, halos

    def __len__(self) -> int:
        return len(self._halos)

    def __getitem__(self, process: Any) -> Any:
        return self._halos[process]

    def __iter__(self) -> Iterator[Halo]:
        return iter(self._halos)

    @property
    def nbytes(self) -> int:
        """Bytes that all processes together receive for a product with one vector."""
        return sum(h.receive_nbytes for h in self)

    def to_dict(self) -> dict[str, Any]:
        """Return the halos as a dictionary, for JSON."""
        return {"shape": self.shape, "nbytes": self.nbytes, "halos": [h.to_dict() for h in self]}

    def summary(self) -> str:
        """Return one line of text."""
        most = max((h.receive_nbytes for h in self), default=0)
        peers = max((len(h.peers) for h in self), default=0)
        return (
            f"halo of a {self.shape[0]} x {self.shape[1]} matrix on {_processes(len(self))}: "
            f"{human(self.nbytes)} in all, at most {human(most)} and {display.counted(peers, 'peer')} for a process"
        )

    def __str__(self) -> str:
        head = ["process", "rows", "interior", "peers", "receives", "sends"]
        rows = [
            [str(h.process), f"{h.row_range[0]} to {h.row_range[1]}", str(h.interior[1] - h.interior[0]),
             " ".join(map(str, h.peers)), human(h.receive_nbytes), human(h.send_nbytes)]
            for h in self
        ]  # fmt: skip
        return "\n".join([self.summary(), *aligned([head, *rows], "><><>>")])

    def __repr__(self) -> str:
        return f"<{self.summary()}>"

    def _repr_html_(self) -> str:
        return display.page(self.summary(), [drawing.halos(self._halos)])


def halo(
    offsets: Any, shape: tuple[int, int], processes: int, *, row_ranges: Any = None, itemsize: int = 8
) -> HaloForecast:
    """Return what every process would receive and send for a product, before anything is built.

    Parameters
    ----------
    offsets : array_like of int, shape (D,)
        Offsets of the diagonals, in any order.
    shape : (int, int)
        Shape (m, n) of the matrix.
    processes : int
        Number of processes.
    row_ranges : sequence of (int, int), optional
        Rows ``(first, last)`` of each process, contiguous and in the order of the ranks; by default equal numbers.
    itemsize : int
        Bytes of an element of the vector.

    Returns
    -------
    HaloForecast
        A sequence with one `Halo` for each process. Printing it gives a table; in Jupyter it is drawn.

    Raises
    ------
    ValueError, TypeError
        If offsets repeat or are outside of the matrix, if there is no process, and for ranges that are not contiguous.

    Notes
    -----
    The cost is ``O(D log D)`` for each process and peer, and does not depend on the number of rows.

    Examples
    --------
    A 5-point stencil on a grid of 1000 x 1000 points needs a grid line from each neighbour:

    >>> from diagsparse import distributed
    >>> print(distributed.halo([-1000, -1, 0, 1, 1000], (10**6, 10**6), 4))
    halo of a 1000000 x 1000000 matrix on 4 processes: 48.0 KB in all, at most 16.0 KB and 2 peers for a process
    process   rows                interior   peers   receives     sends
          0   0 to 250000           249000   1         8.0 KB    8.0 KB
          1   250000 to 500000      248000   0 2      16.0 KB   16.0 KB
          2   500000 to 750000      248000   1 3      16.0 KB   16.0 KB
          3   750000 to 1000000     249000   2         8.0 KB    8.0 KB
    """
    m, n = checked_shape(shape, "halo")
    k = np.asarray(distinct_integers(offsets, "halo: offsets"), np.int64)
    if ((k <= -m) | (k >= n)).any():
        raise ValueError(f"halo: offset {k[(k <= -m) | (k >= n)][0]} is outside of a {m} x {n} matrix")
    if (processes := integer(processes, "halo: processes")) < 1:
        raise ValueError(f"halo: processes={processes}, expected at least 1")
    if (itemsize := integer(itemsize, "halo: itemsize")) < 0:
        raise ValueError(f"halo: itemsize={itemsize}, expected at least 0")
    rows = checked_partition(row_ranges, m, processes, "halo")
    cols = rows if m == n else Partition.equal(n, processes)
    halos = (halo_of(p, [k] * processes, k, (m, n), rows, cols, itemsize) for p in range(processes))
    return HaloForecast((m, n), list(halos))


def halo_of(
    process: int, offsets: Sequence[Any], union: Any, shape: tuple[int, int], rows: Partition, cols: Partition,
    itemsize: int,
) -> Halo:  # fmt: skip
    """Return the halo of one process; ``offsets[p]`` are those of the rows of process p, `union` all of them."""
    interior = interior_rows(offsets[process], shape, rows.range(process), cols.range(process))
    needed = boundary_columns(offsets[process], shape, rows.range(process), interior)
    receives = dict(cols.by_owner(needed.without(*cols.range(process))))
    sends = {}
    first, last = cols.range(process)
    with_offsets = Ranges.union(np.maximum(first - union, 0), np.minimum(last - union, shape[0]))
    for peer, _ in rows.by_owner(with_offsets):
        if peer != process:
            their = interior_rows(offsets[peer], shape, rows.range(peer), cols.range(peer))
            part = boundary_columns(offsets[peer], shape, rows.range(peer), their).within(*cols.range(process))
            if part.size:
                sends[peer] = part
    none = Ranges([], [])
    exchanges = []
    for peer in sorted({*receives, *sends}):
        receive, send = receives.get(peer, none), sends.get(peer, none)
        exchanges.append(Exchange(peer, list(receive), list(send), receive.size, send.size))
    return Halo(process, shape, rows, cols, interior, needed, exchanges, itemsize)


def _ranges(ranges: list[tuple[int, int]]) -> str:
    shown = ", ".join(f"{a} to {b}" for a, b in ranges[:3])
    return f"{shown} and {len(ranges) - 3} more" if len(ranges) > 3 else shown


def _processes(count: int) -> str:
    return "1 process" if count == 1 else f"{count} processes"
