"""Powers and Chebyshev series of a distributed matrix times a vector, with one exchange for several steps.

A process that has the rows ``[a, b)`` of x, and those at a distance of up to ``s`` times the reach of the matrix on
both sides, computes s steps without an exchange: in each step, the rows at its ends that need others become invalid. It
also needs the rows of the matrix there. This halo of depth s saves s - 1 exchanges, and costs the products with the
additional rows (J. Demmel, M. Hoemmen, M. Mohiyuddin, K. Yelick, *Avoiding communication in sparse matrix
computations*, IPDPS 2008).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._backends.arguments import integer
from .._products.products import plan_matvec
from .arrays import array_module
from .collective import together
from .exchange import exchange_by
from .matrix import DistributedArray
from .ranges import Ranges
from .rows import fetched
from .vector import Vector

_LATENCY, _BANDWIDTH = 5e-6, 5e9  # seconds of an exchange between machines, and bytes per second that a process reads
_DEEPEST = 32
_BY_DIAGONALS = ("dia", "hm", "mdia")  # formats whose offsets tell how far an element of x reaches


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
    k = integer(k, "distributed.deep_halo: k")
    if D.comm.size == 1:
        return DeepHalo(max(k, 1), 0, "one process exchanges nothing")
    if D.format not in _BY_DIAGONALS:
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
    """Return the additional rows of some steps: after each, `below` and `above` fewer are valid."""
    return (below + above) * steps * (steps - 1) // 2


def power_multiply(D: DistributedArray, x: Vector, k: int, *, steps: int | None = None) -> Vector:
    """Return ``D^k x``.

    Every process has to call this.

    Parameters
    ----------
    D : DistributedArray, shape (n, n)
        The matrix.
    x : Vector, shape (n,) or (n, p)
        A vector, or a block of them, with the rows of D.
    k : int
        The power, at least 0.
    steps : int, optional
        Steps that are computed after each exchange; by default as many as `deep_halo` recommends.

    Returns
    -------
    Vector

    Raises
    ------
    ValueError, TypeError
        On all processes, if D is not square, ranges of rows do not fit, `k` is negative or no integer, or `steps` is
        not 1 and the format has no offsets, or `steps` is less than 1.

    Notes
    -----
    The same bits for any number of processes and steps. With ``steps > 1``, each process needs memory for the rows of D
    in the halo; they are fetched at the first call and cached.

    Examples
    --------
    >>> import diagsparse as ds
    >>> from diagsparse import distributed
    >>> D = distributed.from_global(ds.gallery.tridiagonal(6, format="hm"))
    >>> x = distributed.vector(D, lambda first, last: [float(i == 0) for i in range(first, last)])
    >>> distributed.power_multiply(D, x, 2).gather()
    array([ 5., -4.,  1.,  0.,  0.,  0.])
    """
    k = together(D.comm, lambda: _checked("power_multiply", D, x, k, steps))
    return _recurrence(D, x, [1.0] * k, [0.0] * k, [0.0] * k, None, steps)


def chebyshev_multiply(
    D: DistributedArray, x: Vector, coefficients: Any, *, domain: tuple[float, float] = (-1.0, 1.0),
    steps: int | None = None,
) -> Vector:  # fmt: skip
    """Return the Chebyshev series ``sum_j c_j T_j(D') x``, where ``D'`` is D with `domain` mapped to [-1, 1].

    Every process has to call this.

    Parameters
    ----------
    D : DistributedArray, shape (n, n)
        The matrix.
    x : Vector, shape (n,) or (n, p)
        A vector, or a block of them, with the rows of D.
    coefficients : array_like, shape (k + 1,)
        The coefficients ``c_0``, ..., ``c_k``, real or complex.
    domain : (float, float)
        An interval that contains the eigenvalues of D; it is mapped to [-1, 1].
    steps : int, optional
        Steps that are computed after each exchange; by default as many as `deep_halo` recommends.

    Returns
    -------
    Vector
        With NumPy's result type of D, x and the coefficients.

    Raises
    ------
    ValueError, TypeError
        On all processes, as for `power_multiply`, and for coefficients or a domain that are none.

    Notes
    -----
    The same bits for any number of processes and steps. It computes k products, and needs memory for four more vectors.

    Examples
    --------
    >>> from diagsparse import distributed, gallery
    >>> D = distributed.from_global(gallery.tridiagonal(6))
    >>> x = distributed.vector(D, 1.0)
    >>> distributed.chebyshev_multiply(D, x, [0, 1], domain=(0, 4)).gather()  # (D - 2) x / 2
    array([-0.5, -1. , -1. , -1. , -1. , -0.5])
    """
    who = "chebyshev_multiply"

    def checked() -> tuple[Any, float, float]:
        _checked(who, D, x, 0, steps)
        c, (low, high) = np.asarray(coefficients), domain
        if c.ndim != 1 or not len(c) or c.dtype.kind not in "iufc":
            raise ValueError(f"distributed.{who}: coefficients of shape {c.shape}, expected a list of numbers")
        if not high - low:
            raise ValueError(f"distributed.{who}: domain={domain}, expected two different numbers")
        return c, 2 / (high - low), -(high + low) / (high - low)

    c, scale, shift = together(D.comm, checked)
    k = len(c) - 1
    alpha, beta = [2 * scale] * k, [2 * shift] * k
    if k:
        alpha[0], beta[0] = scale, shift
    return _recurrence(D, x, alpha, beta, [0.0] + [-1.0] * (k - 1) if k else [], c, steps)


def _checked(who: str, D: DistributedArray, x: Any, k: Any, steps: Any) -> int:
    if D.shape[0] != D.shape[1]:
        raise ValueError(f"distributed.{who}: a {D.shape[0]} x {D.shape[1]} matrix, expected a square one")
    if not isinstance(x, Vector) or x._rows != D._cols:
        raise ValueError(f"distributed.{who}: x is {x!r}, expected a vector with the rows of {D!r}")
    if (count := integer(k, f"distributed.{who}: k")) < 0:
        raise ValueError(f"distributed.{who}: k={count}, expected at least 0")
    if steps is not None and (deep := integer(steps, f"distributed.{who}: steps")) != 1:
        if deep < 1:
            raise ValueError(f"distributed.{who}: steps={deep}, expected at least 1")
        if D.format not in _BY_DIAGONALS:
            raise ValueError(f"distributed.{who}: steps={deep} for a {D.format}_array, whose reach is not known")
    return count


def _recurrence(D: Any, x: Vector, alpha: Any, beta: Any, gamma: Any, c: Any, steps: int | None) -> Vector:
    """Return the sum of ``c_j t_j``, or the last ``t_j``, if c is None.

    The vectors are ``t_0 = x`` and ``t_{j+1} = alpha_j D t_j + beta_j t_j + gamma_j t_{j-1}``.
    """
    k = len(alpha)
    steps = min(k, deep_halo(D, k).steps if steps is None else integer(steps, "steps")) if D.comm.size > 1 else 1
    dtype = np.result_type(D.dtype, x.dtype, *([] if c is None else [np.result_type(c, np.float32(0))]))
    multiply, window = D.matvec, None
    t, before = Vector(x.local.astype(dtype), x._rows, x.comm, x.device), None
    if steps > 1:
        window = _Window.of(D, steps)
        multiply = window.multiply
        t = window.widened(t)
    total = None if c is None else c[0] * _own(t, window)
    for j in range(k):
        if window is not None and j and j % steps == 0:
            t = window.widened(window.own(t))
            before = window.widened(window.own(before)) if any(gamma) else None
        if gamma[j]:
            before *= gamma[j]
            new = multiply(t, out=before, alpha=alpha[j], beta=1)
        else:
            new = multiply(t, alpha=alpha[j]) if alpha[j] != 1 else multiply(t)
        if beta[j]:
            new += beta[j] * t
        t, before = new, t
        if total is not None:
            total += c[j + 1] * _own(t, window)
    result = _own(t, window) if total is None else total
    return result.copy()


def _own(t: Any, window: Any) -> Vector:
    return t if window is None else window.own(t)


class _Window:
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
    def of(cls, D: DistributedArray, steps: int) -> _Window:
        """Return the window for some steps, which is cached."""
        cached = D.__dict__.setdefault("_windows", {})
        if steps not in cached:
            cached.clear()
            cached[steps] = cls(D, steps)
        return cached[steps]

    def widened(self, x: Vector) -> Any:
        """Return the rows of the window of a vector, as an array."""
        local = array_module(x.local).ascontiguousarray(x.local)
        wide = array_module(local).zeros((self.last - self.first, *local.shape[1:]), local.dtype)
        pending = self._messages.start(local, wide)
        wide[self.inside] = local
        self._messages.finish(pending, wide)
        return wide

    def own(self, wide: Any) -> Vector:
        """Return the rows of the process."""
        return Vector(wide[self.inside], self.D._rows, self.D.comm, self.D.device)

    def multiply(self, x: Any, **options: Any) -> Any:
        return self.plan(x, **options)
