"""How the rows of a process are multiplied: which of them need the halo, and over which elements of x."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .._backends.types import product_dtypes
from .._matrix.sparse_array import SparseArray
from .._products.matvec_plan import MatvecPlan
from .._products.products import plan_matvec
from . import columns
from .arrays import module_of
from .collective import requested
from .exchange import Selection, exchange_by
from .halo import Exchange, Halo, halo_of
from .ranges import Partition, Ranges

Block = Sequence[SparseArray]  # the matrices that the rows of a process are the sum of
_FEWER = 0.75  # fraction of the elements from which single elements are exchanged instead of whole ranges


@dataclass
class Piece:
    """Consecutive rows of a process, over the elements of x that they need."""

    rows: slice
    columns: Ranges
    plans: tuple[MatvecPlan, ...]  # of the matrices that it is the sum of

    def multiply(self, x: Any, out: Any, alpha: complex, beta: complex) -> None:
        """Compute its rows of ``alpha A x + beta out``."""
        for plan in self.plans:
            plan(x, out=out[self.rows], alpha=alpha, beta=beta)
            beta = 1


class Plan:
    """The rows of a process in at most three pieces: those that need no halo, and those before and after them.

    The rows without halo are multiplied by the rows of x that the process has. The others are multiplied by a copy of
    the elements that they need, into which the halo is received.

    Attributes
    ----------
    interior : list of Piece
        None or one.
    boundary : list of Piece
        Up to two, over the same columns.
    report : Halo
        What is exchanged.
    reach : (int, int)
        How far below and above the main diagonal of the whole matrix the diagonals of these rows are; (0, 0) for csr
        and qband.
    """

    def __init__(
        self, block: SparseArray, rows: Partition, cols: Partition, comm: Any, device: str, engine: str
    ) -> None:
        self.device = device
        self.comm, self.shape, self.dtype, self.format = comm, (rows.rows, cols.rows), block.dtype, block.format
        me, (first, last) = comm.rank, rows.range(comm.rank)
        self.own = own = cols.range(me)
        parts = columns.components(block)
        self.reach = _reach(parts, first)
        clean = columns.interior(parts, own) if comm.size > 1 else (0, last - first)
        others = [(a, b) for a, b in ((0, clean[0]), (clean[1], last - first)) if a < b]
        self.needed = Ranges.all(columns.needed(one, a, b) for one in parts for a, b in others)
        receives, sends, self.report = self._exchanges(parts, rows, cols, clean, others)
        inside = [clean] if clean[0] < clean[1] or not others else []
        self.interior = self._pieces(parts, inside, Ranges([own[0]], [own[1]]))
        self.boundary = self._pieces(parts, others, self.needed)
        self._messages = exchange_by(
            engine,
            comm,
            [(peer, self.needed.positions(part)) for peer, part in receives],
            [(peer, part.shifted(-own[0])) for peer, part in sends],
        )
        part = self.needed.within(*own)
        self._own_elements = Selection(self.needed.positions(part)), Selection(part.shifted(-own[0]))
        self._halo_of_last: Any = None

    @property
    def pieces(self) -> list[Piece]:
        """All pieces, in the order of their rows."""
        return sorted([*self.interior, *self.boundary], key=lambda piece: piece.rows.start)

    def _pieces(self, block: Block, ranges: list[tuple[int, int]], over: Ranges) -> list[Piece]:
        made = []
        for a, b in ranges:
            rows = [one if (a, b) == (0, one.shape[0]) else one[a:b] for one in block]
            if list(over) != [(0, self.shape[1])]:
                rows = [columns.relabelled(one, over.position, over.size) for one in rows]
            made.append(Piece(slice(a, b), over, tuple(plan_matvec(one.to(self.device)) for one in rows)))
        return made

    def _exchanges(self, block: Block, rows: Partition, cols: Partition, clean: Any, parts: Any) -> Any:
        """Return what is received and sent, each as a list of (process, columns), and the halo that reports it.

        For full diagonals, both follow from the offsets of all processes. Otherwise a process asks the others for the
        elements that its masks or indices need, if these are fewer than the offsets tell.
        """
        me, comm, itemsize = self.comm.rank, self.comm, self.dtype.itemsize
        first = rows.range(me)[0]
        if self.format in ("dia", "hm"):
            k = columns.offsets_of(block[0])
            everyone = comm.allgather(k - first)  # offsets in the whole matrix
            union = np.unique(np.concatenate(everyone))
            halo = halo_of(me, everyone, union, self.shape, rows, cols, itemsize)
            received = [(e.peer, Ranges.of(e.receive)) for e in halo.exchanges if e.received]
            return received, [(e.peer, Ranges.of(e.send)) for e in halo.exchanges if e.sent], halo
        possible = self.needed.without(*self.own)
        stored = Ranges.all(columns.occupied(one, a, b) for one in block for a, b in parts).without(*self.own)
        none, exchanges = Ranges([], []), []
        asked, needed = {}, dict(cols.by_owner(stored))
        for peer, part in cols.by_owner(possible):
            few = needed.get(peer, none)
            if few.size:
                asked[peer] = few if few.size < _FEWER * part.size else part
        answers = requested(comm, asked)
        for peer in sorted({*asked, *answers}):
            receive, send = asked.get(peer, none), answers.get(peer, none)
            exchanges.append(Exchange(peer, receive.outline(), send.outline(), receive.size, send.size))
        halo = Halo(me, self.shape, rows, cols, (first + clean[0], first + clean[1]), self.needed, exchanges, itemsize)
        return list(asked.items()), list(answers.items()), halo

    # ---- products ---------------------------------------------------------------------------------
    def memory(self, x: Any, out: Any) -> tuple[Any, Any]:
        """Return memory for the result, `out` if it is given, and for the elements that boundary rows need."""
        return self._empty(x) if out is None else out, self._buffer(x)

    def product(self, x: Any, out: Any, halo: Any, alpha: complex, beta: complex) -> Any:
        """Return ``alpha A x + beta out`` for the rows of this process; `x` are the rows of x that it has.

        `out` and `halo` are what `memory` returns.
        """
        pending = self._messages.start(x, halo)
        sends: list[Any] = []
        try:
            try:
                for piece in self.interior:
                    piece.multiply(x, out, alpha, beta)
                to, of = self._own_elements
                to.put(of.take(x), halo)
            finally:  # after an error, too: the next product must not receive these messages
                sends = self._messages.receive(pending, halo)
            for piece in self.boundary:
                piece.multiply(halo, out, alpha, beta)
        finally:
            self._messages.finish(sends)
        return out

    def _empty(self, x: Any) -> Any:
        count = sum(piece.rows.stop - piece.rows.start for piece in self.pieces)
        return module_of(self.device).empty((count, *x.shape[1:]), product_dtypes(self.dtype, x.dtype)[1], _order(x))

    def _buffer(self, x: Any) -> Any:
        """Return memory for the elements that boundary rows need; that of the last product if it fits."""
        shape = (self.needed.size, *x.shape[1:])
        last, order = self._halo_of_last, _order(x)
        if last is None or last.shape != shape or last.dtype != x.dtype or not last.flags[f"{order}_CONTIGUOUS"]:
            # Elements that are not received are multiplied by zeros, so they must not be infinite.
            self._halo_of_last = module_of(self.device).zeros(shape, x.dtype, order)
        return self._halo_of_last

    # ---- the rows as one matrix -------------------------------------------------------------------
    def local(self) -> SparseArray:
        """Return the rows of this process with all columns, on the host."""
        rows = sum(piece.rows.stop - piece.rows.start for piece in self.pieces)
        found = []
        for matrices in zip(*([plan.matrix.to("cpu") for plan in piece.plans] for piece in self.pieces), strict=True):
            if len(self.pieces) == 1 and list(self.pieces[0].columns) == [(0, self.shape[1])]:
                found.append(matrices[0])
                continue
            placed = zip(self.pieces, matrices, strict=True)
            parts = [columns.Placed(one, piece.rows.start, piece.columns.element) for piece, one in placed]
            found.append(columns.put_together(parts, (rows, self.shape[1])))
        return columns.composed(self.format, found)


def _reach(block: Block, first: int) -> tuple[int, int]:
    k = columns.offsets_of(block[0]) if len(block) == 1 else None
    return (0, 0) if k is None or not len(k) else (max(0, first - int(k.min())), max(0, int(k.max()) - first))


def _order(x: Any) -> Literal["C", "F"]:
    """Return the order of memory of a block of vectors."""
    return "F" if x.ndim == 2 and x.flags.f_contiguous and not x.flags.c_contiguous else "C"
