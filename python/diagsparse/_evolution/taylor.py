"""Exponentials of any matrix by Taylor series, for parts of the time.

A. H. Al-Mohy and N. J. Higham, *Computing the action of the matrix exponential, with an application to exponential
integrators*, SIAM J. Sci. Comput. 33 (2011), 488-511. Instead of estimates of the norms of powers, their bounds by the
powers of a matrix of absolute values are used here; and where the spectrum lies in the left half plane, the parts are
as long as the exponential of the center makes up for the growth of the terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from .._backends.types import is_narrow
from .vectors import Vectors

_MOST_POWERS = 6  # whose norms are bounded
_PER_POWER = 8  # products of an evolution for which another power is worth its two products
_ROOM = 16  # rounding errors, times eps, that the tolerance of a part may be as small as
_LONGEST = {4: 40.0, 8: 100.0}  # radius times the length of a part, at most, by the bytes of a real number: its terms
# grow up to the exponential of it


class Powers(NamedTuple):
    """``norm((A - center I)^k) <= radius^k`` for all k >= `least`, in the 2-norm."""

    radius: float
    least: int


class Disc(NamedTuple):
    """The center of Gershgorin's circles, and bounds of the powers of a matrix around it."""

    center: complex
    powers: tuple[Powers, ...]

    @property
    def radius(self) -> float:
        """The least of the radii."""
        return min(p.radius for p in self.powers)


class Step(NamedTuple):
    """How a step is computed: in so many parts, each with so many terms."""

    parts: int
    terms: int


@lru_cache(maxsize=256)
def _terms(radius: float, log_tol: float) -> int:
    """Return the order of the last term; those of all later ones, radius^k / k!, add up to at most the tolerance."""
    if radius == 0:
        return 1
    k = np.arange(1, int(2.8 * radius) + 80)
    later = np.exp(np.minimum(k * np.log(radius) - gammaln(k + 1) - log_tol, 100.0))
    return max(1, int(np.argmax(np.cumsum(later[::-1])[::-1] <= 1)))


def disc(a: Any, v: Vectors, length: float, factor: complex, tol: float, dtype: np.dtype) -> tuple[Disc, int]:
    """Return bounds for an evolution over a time, and the products that they took.

    ``norm(B^k)^2 <= norm(|B|^k e, inf) norm(e^T |B|^k, inf)`` for a vector e of ones, and with the bounds d of
    ``norm(B^p)^(1/p)`` for two successive powers p and p + 1, ``norm(B^k)^(1/k)`` is at most the larger one for all
    k >= p (p - 1).
    """
    diagonal = np.asarray(a.diagonal()).astype(np.result_type(a.dtype, float))
    real, imag = ((part.min() + part.max()) / 2 for part in (diagonal.real, diagonal.imag))
    center = complex(real, imag)
    sizes = abs(a)
    sizes = sizes.astype(np.float32) if is_narrow(sizes.dtype) else sizes
    on_diagonal = abs(diagonal - center) - abs(diagonal)
    right, left = (_Growth(v, matrix, on_diagonal, a) for matrix in (sizes, sizes.T))
    found: list[Powers] = []
    before = np.inf
    for p in range(1, _MOST_POWERS + 1):
        bound = float(np.exp((right.next() + left.next()) / (2 * p)))
        found.append(Powers(max(bound, before) if p > 1 else bound, max(1, (p - 1) * (p - 2))))
        before = bound
        result = Disc(center, tuple(found))
        if bound == 0 or products([length], result, factor, tol, dtype) <= _PER_POWER * p:
            break
    return result, 2 * p


class _Growth:
    """The logarithm of the largest element of |B|^k e, for k = 1, 2, ..."""

    def __init__(self, v: Vectors, sizes: Any, on_diagonal: np.ndarray, a: Any) -> None:
        self._v, self._sizes, self._on_diagonal, self._host = v, sizes, on_diagonal, a._backend.host
        self._x, self._log = np.ones(a.shape[0]), 0.0

    def next(self) -> float:
        """Return it for the next k, -inf if it is 0."""
        y = self._v.empty(self._x.shape, self._x.dtype)
        self._v.multiply(self._sizes, self._v.given(self._x), y)
        x = np.maximum(self._host(y) + self._on_diagonal * self._x, 0)  # rounding errors
        largest = float(x.max())
        if largest == 0:
            return -np.inf
        self._x, self._log = x / largest, self._log + float(np.log(largest))
        return self._log


def _planned(
    steps: np.ndarray, powers: Powers, center: complex, factor: complex, tol: float, dtype: np.dtype
) -> list[Step]:
    """Return how each step is computed.

    The error of a part is at most its share of the tolerance times the vector that it starts from. Its terms grow up to
    exp(radius |step|), and are multiplied by exp(center step): rounding errors grow as the product of both.
    """
    exponents = factor * steps
    lengths, shifts = abs(exponents) * powers.radius, (exponents * center).real
    eps, bytes_of_real = float(np.finfo(dtype).eps), np.dtype(dtype).type(0).real.itemsize
    room = max(1.0, float(np.log(tol / (_ROOM * eps))))
    needed = np.maximum(lengths / _LONGEST[bytes_of_real], (lengths + shifts) / room)
    with np.errstate(all="ignore"):
        counts = np.where(steps == 0, 0, np.maximum(1, np.ceil(needed)))
    if not np.isfinite(counts).all() or counts.sum() > 1e12:
        return [Step(10**9, 10**9)]  # far too many
    log_share = float(np.log(tol / max(1.0, counts.sum())))
    plan = []
    for count, length, shift in zip(counts.astype(int).tolist(), lengths, shifts, strict=True):
        each = max(1, count)
        terms = _terms(float(length / each), log_share - min(0.0, float(shift / each))) if count else 0
        plan.append(Step(count, max(terms, powers.least - 1) if count else 0))
    return plan


def _best(steps: np.ndarray, disc: Disc, factor: complex, tol: float, dtype: np.dtype) -> list[Step]:
    plans = [_planned(steps, powers, disc.center, factor, tol, dtype) for powers in disc.powers]
    return min(plans, key=_total)


def _total(plan: list[Step]) -> int:
    return sum(step.parts * step.terms for step in plan)


def products(times: Sequence[float], disc: Disc, factor: complex, tol: float, dtype: np.dtype) -> int:
    """Return how many products the steps between these times need."""
    return _total(_best(np.diff([0.0, *times]), disc, factor, tol, dtype))


def states(
    v: Vectors, A: Any, x: Any, times: Sequence[float], disc: Disc, factor: complex, tol: float,
    done: Callable[[float, int], None],
) -> Iterator[Any]:  # fmt: skip
    """Yield the states at times that go away from 0; each is valid until the next one is computed.

    ``done(time, products)`` is called after each part.
    """
    steps = np.diff([0.0, *times])
    y, spare, t = v.empty(x.shape, x.dtype), v.empty(x.shape, x.dtype), 0.0  # the first state is needed again
    for step, plan, time in zip(steps, _best(steps, disc, factor, tol, x.dtype), times, strict=True):
        if plan.parts:
            length = step / plan.parts
            recurrence = A._core.Recurrence(*_recurrence(factor * length, disc.center, plan.terms))
            for _ in range(plan.parts):
                v.chain(A, recurrence, x, y)
                x, y, spare = y, spare, y
                t += length
                done(t, plan.terms)
        t = time
        yield x


def _recurrence(h: complex, center: complex, terms: int) -> tuple[list[complex], ...]:
    """Return the factors for ``exp(h A)``: v_(j+1) = h (A - center) v_j / (j + 1), and exp(h center) for each term."""
    j = np.arange(1, terms + 1)
    return (h / j).tolist(), (-h * center / j).tolist(), [0] * terms, [np.exp(h * center)] * (terms + 1)
