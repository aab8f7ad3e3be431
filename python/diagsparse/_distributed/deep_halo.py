"""Halos of several steps: how deep the one of a chain of products should be, and the rows in it.

A process that has the rows ``[a, b)`` of x, and those at a distance of up to ``s`` times the reach of the matrix on
both sides, computes s steps without an exchange: in each step, the rows at its ends that need others become invalid. It
also needs the rows of the matrix there. This halo of depth s saves s - 1 exchanges, and costs the products with the
additional rows (J. Demmel, M. Hoemmen, M. Mohiyuddin, K. Yelick, *Avoiding communication in sparse matrix
computations*, IPDPS 2008).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._backends.arguments import integer
from .._products.products import plan_matvec
from .arrays import array_module
from .collective import same, together
from .exchange import exchange_by
from .matrix import DistributedArray, require_distributed
from .ranges import Ranges
from .rows import fetched
from .vector import Vector

_LATENCY, _BANDWIDTH = 5e-6, 5e9  # seconds of an exchange between machines, and bytes per second that a process reads
_DEEPEST = 32
BY_DIAGONALS = ("dia", "hm", "mdia")  # formats whose offsets tell how far an element of x reaches


@dataclass(frozen=True)
class DeepHalo:
    """How many steps of a chain of products are computed after each exchange, and why.

    Attributes
    ----------
    steps : int
        Steps for each exchange.
    extra_rows : int
        Most rows that a process multiplies in addition, added up over these steps.
    reason : str
        One sentence.
    """

    steps: int
    extra_rows: int
    reason: str


def deep_halo(D: DistributedArray, k: int, *, latency: float = _LATENCY, bandwidth: float = _BANDWIDTH) -> DeepHalo:
    """Return how many of k steps `power_multiply` and `chebyshev_multiply` compute for each exchange.

    Parameters
    ----------
    D : DistributedArray, shape (n, n)
        The matrix.
    k : int
        Number of steps.
    latency : float
        Seconds that an exchange takes at least.
    bandwidth : float
        Bytes of memory that a process reads per second.

    Returns
    -------
    DeepHalo
        The number of steps with the least predicted time: that of the exchanges, ``latency * ceil(k / steps)``, and of
        the additional rows.

    Notes
    -----
    The result is the same on every process, and all of them have to call this. Several steps are possible for matrices
    of diagonals in dia, hm and mdia, if the halo is not deeper than the rows of any process.

    Examples
    --------
    >>> from diagsparse import distributed, gallery
    >>> D = distributed.from_global(gallery.tridiagonal(1000))
    >>> distributed.deep_halo(D, 20).reason  # in a program with one process
    'one process exchanges nothing'
    """
    require_distributed(D, "deep_halo")

    def checked() -> int:
        steps = integer(k, "distributed.deep_halo: k")
        if steps < 0 or not latency >= 0 or not bandwidth > 0:
            given = f"k={steps}, latency={latency}, bandwidth={bandwidth}"
            raise ValueError(f"distributed.deep_halo: {given}: expected numbers >= 0, and a positive bandwidth")
        return steps

    k = together(D.comm, checked)
    same(D.comm, (k, latency, bandwidth), "deep_halo: k, latency and bandwidth")
    if D.comm.size == 1:
        return DeepHalo(max(k, 1), 0, "one process exchanges nothing")
    if D.format not in BY_DIAGONALS:
        return DeepHalo(1, 0, f"the reach of {D.format}_array is not known")
    found = D.comm.allgather((*D._plan.reach, D.row_range[1] - D.row_range[0], D.nbytes))
    below, above = max(one[0] for one in found), max(one[1] for one in found)
    fewest = min((rows for _, _, rows, _ in found if rows), default=0)
    per_row = max(nbytes / max(1, rows) for _, _, rows, nbytes in found)

    def seconds(s: int) -> float:
        return latency * -(-k // s) + -(-k // s) * _extra(s, below, above) * per_row / bandwidth

    candidates = [s for s in range(1, min(k, _DEEPEST) + 1) if s * max(below, above) <= fewest] or [1]
    best = min(candidates, key=seconds)
    extra = _extra(best, below, above)
    if best == 1:
        why = (
            "the halo would be deeper than the rows of a process"
            if len(candidates) == 1 and k > 1
            else "additional rows would take longer than the exchanges that they save"
        )
    else:
        why = f"{-(-k // best)} instead of {k} exchanges, for {extra} additional rows each"
    return DeepHalo(best, extra, why)


def _extra(steps: int, below: int, above: int) -> int:
    """Return the additional rows of some steps, each of which multiplies all rows of the window."""
    return (below + above) * steps * steps if steps > 1 else 0


class Window:
    """The rows of a process and those around it, up to a distance, as a matrix of its own."""

    def __init__(self, D: DistributedArray, steps: int) -> None:
        comm, n, (first, last) = D.comm, D.shape[0], D.row_range
        below, above = (max(one) * steps for one in zip(*comm.allgather(D._plan.reach), strict=True))
        ranges = [(max(0, a - below), min(n, b + above)) if a < b else (a, a)
                  for a, b in (D._rows.range(p) for p in range(comm.size))]  # fmt: skip
        self.D, (self.first, self.last) = D, ranges[comm.rank]
        whole = fetched(D, Ranges.union([self.first], [self.last]))
        matrix = whole[:, self.first : self.last]
        self.plan = plan_matvec(matrix.to(D.device))
        self.inside = slice(first - self.first, last - self.first)
        around = Ranges.union([self.first], [self.last]).without(first, last) if first < last else Ranges([], [])
        receives = [(p, part.shifted(-self.first)) for p, part in D._rows.by_owner(around)]
        sends = []
        for p, (a, b) in enumerate(ranges):
            part = Ranges.union([a], [b]).within(first, last)
            if p != comm.rank and part.size:
                sends.append((p, part.shifted(-first)))
        self._messages = exchange_by(D.engine, comm, receives, sends)

    @classmethod
    def of(cls, D: DistributedArray, steps: int) -> Window:
        """Return the window for some steps, which is cached."""
        if steps not in D._windows:
            D._windows.clear()
            D._windows[steps] = cls(D, steps)
        return D._windows[steps]

    def widened(self, *vectors: Vector) -> list[Any]:
        """Return the rows of the window of some vectors, as arrays, by one exchange."""
        started = []
        for x in vectors:
            local = array_module(x.local).ascontiguousarray(x.local)
            wide = array_module(local).zeros((self.last - self.first, *local.shape[1:]), local.dtype)
            started.append((local, wide, self._messages.start(local, wide)))
        for local, wide, pending in started:
            wide[self.inside] = local
            self._messages.finish(self._messages.receive(pending, wide))
        return [wide for _, wide, _ in started]

    def own(self, wide: Any) -> Vector:
        """Return the rows of the process."""
        return Vector(wide[self.inside], self.D._rows, self.D.comm, self.D.device)

    def multiply(self, x: Any, out: Any, alpha: complex, beta: complex) -> Any:
        """Return ``alpha A x + beta out`` for the rows of the window; those at its ends are wrong."""
        return self.plan(x, out=out, alpha=alpha, beta=beta)
