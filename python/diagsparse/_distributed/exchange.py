"""The exchange of the elements of x that a product needs from other processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .ranges import Ranges

_TAG = 7101
_SLICES = 16  # ranges up to which elements are copied range by range


class Selection:
    """Positions in a vector, in ascending order, which one message fills or consists of."""

    def __init__(self, positions: Ranges) -> None:
        self.size, self.slices = positions.size, [slice(a, b) for a, b in positions]
        self.indices = None
        if len(self.slices) > _SLICES:
            steps = np.ones(self.size, np.int64)
            steps[positions.begin[1:-1]] = positions.starts[1:] - positions.stops[:-1] + 1
            steps[0] = positions.starts[0]
            self.indices = np.cumsum(steps)

    def take(self, x: Any) -> Any:
        """Return these elements of a vector, or rows of a block, in C order: a view if they are contiguous."""
        if self.indices is not None:
            return np.ascontiguousarray(x[self.indices])
        if len(self.slices) == 1:
            return np.ascontiguousarray(x[self.slices[0]])
        return np.concatenate([x[one] for one in self.slices])

    def target(self, x: Any) -> Any:
        """Return an array that receives a message: a view of `x` if that is possible, otherwise a new one."""
        if len(self.slices) == 1 and (view := x[self.slices[0]]).flags.c_contiguous:
            return view
        return np.empty((self.size, *x.shape[1:]), x.dtype)

    def put(self, message: Any, x: Any) -> None:
        """Store the elements of a message, unless `target` was a view."""
        if np.may_share_memory(message, x):
            return
        if self.indices is not None:
            x[self.indices] = message
            return
        begin = 0
        for one in self.slices:
            x[one] = message[begin : (begin := begin + one.stop - one.start)]


Pending = tuple[Any, Selection | None, Any]  # a request, what it receives, and its message


class Exchanges:
    """The messages of a product, which are the same for every x.

    Attributes
    ----------
    receives, sends : list of (int, Selection)
        The other process, and which elements of the halo it sends, or which elements of x it gets.
    """

    def __init__(self, comm: Any, receives: Sequence[tuple[int, Ranges]], sends: Sequence[tuple[int, Ranges]]) -> None:
        self.comm = comm
        self.receives = [(peer, Selection(positions)) for peer, positions in receives]
        self.sends = [(peer, Selection(positions)) for peer, positions in sends]

    def start(self, x: Any, halo: Any) -> list[Pending]:
        """Start the exchange of the rows `x` of this process; what is received is for `halo`.

        Return what `finish` needs.
        """
        pending: list[Pending] = []
        for peer, selection in self.receives:
            message = selection.target(halo)
            pending.append((self.comm.Irecv(_bytes(message), peer, _TAG), selection, message))
        for peer, selection in self.sends:
            message = selection.take(x)
            pending.append((self.comm.Isend(_bytes(message), peer, _TAG), None, message))
        return pending

    def finish(self, pending: list[Pending], halo: Any) -> None:
        """Wait until all messages have arrived, and store them in `halo`."""
        for request, selection, message in pending:
            request.Wait()
            if selection is not None:
                selection.put(message, halo)


def _bytes(message: Any) -> Any:
    return message.reshape(-1).view(np.uint8)
