"""Exponentials of any matrix by Taylor series, for parts of the time.

A. H. Al-Mohy and N. J. Higham, *Computing the action of the matrix exponential, with an application to exponential
integrators*, SIAM J. Sci. Comput. 33 (2011), 488-511. Instead of estimates of the norms of powers, their bounds by the
powers of a matrix of absolute values are used here; and where states decay, the parts are as long as the exponential of
the center makes up for the growth of the terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from math import frexp, log
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from .._backends.types import is_narrow
from .._products.chains import Recurrence
from . import series
from .bounds import center_of
from .vectors import Vectors

_MOST_POWERS = 6  # whose norms are bounded
_PER_POWER = 8  # products of an evolution for which another power is worth its two products
_ROOM = 4  # times eps and the growth of the terms of a part: its rounding error, which has to stay below the tolerance
_LONGEST = {4: 40.0, 8: 100.0}  # radius times the length of a part, at most, by the bytes of a real number
_FOLDED = 0.5  # factor of each vector: terms grow to the square root of what they would grow to without it
_RESERVE = 7.0  # logarithm of the growth of errors that is made up for, where vectors can grow


class Powers(NamedTuple):
    """``norm((A - center I)^k) <= radius^k`` for all k >= `least`, in the 2-norm."""

    radius: float
    least: int


class Disc(NamedTuple):
    """The center of Gershgorin's circles, and bounds of the powers of a matrix around it."""

    center: complex
    powers: tuple[Powers, ...]
    growth: float  #: a vector grows at most as exp(growth t) with time, and backwards as exp(backwards t)
    backwards: float

    @property
    def radius(self) -> float:
        """The least of the radii."""
        return min(p.radius for p in self.powers)

    def require_finite(self, runs: list[list[float]], factor: complex, size: float, dtype: np.dtype) -> None:
        """Raise OverflowError if an element of this size overflows: states grow at least as exp(-backwards t)."""
        most = float(np.log(np.finfo(dtype).max) - np.log(size)) if 0 < size < np.inf else np.inf
        for time in (run[-1] for run in runs if run):
            exponent = (factor * time).real
            if -abs(exponent) * (self.backwards if exponent > 0 else self.growth) > most:
                raise OverflowError(f"evolve: the state at t = {time:g} is not finite: {dtype} cannot hold it")


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
    center = center_of(diagonal)
    sizes = abs(a)
    sizes = sizes.astype(np.float32) if is_narrow(sizes.dtype) else sizes
    rounding = 8 * float(np.finfo(sizes.dtype).eps)  # of the absolute values, which are subtracted again
    distances = abs(diagonal - center)
    on_diagonal, ones = v.given(distances - (1 - rounding) * abs(diagonal)), v.given(np.ones(len(diagonal)))
    right, left = (_Growth(v, matrix, on_diagonal, ones) for matrix in (sizes, sizes.T))
    found: list[Powers] = []
    bounds: list[float] = []
    growth = backwards = 0.0
    for p in range(1, _MOST_POWERS + 1):
        bounds.append(float(np.exp((right.next() + left.next()) / (2 * p))))
        if p == 1:  # the Hermitian part, by Gershgorin's circles
            radii = a._backend.host(_mean(v, right, left)) - distances
            growth, backwards = float((diagonal.real + radii).max()), float((radii - diagonal.real).max())
            found.append(Powers(bounds[0], 1))
        elif bounds[-1] == 0:
            found.append(Powers(0.0, p))
        elif p > 2:
            found.append(Powers(max(bounds[-2:]), (p - 1) * (p - 2)))
        result = Disc(center, tuple(found), growth, backwards)
        if bounds[-1] == 0 or products([length], result, factor, tol, dtype) <= _PER_POWER * p:
            break
    return result, 2 * p


class _Growth:
    """The logarithm of the largest element of |B|^k e, for k = 1, 2, ..."""

    def __init__(self, v: Vectors, sizes: Any, on_diagonal: Any, ones: Any) -> None:
        self._v, self._sizes, self._on_diagonal = v, sizes, on_diagonal
        self.x, self.exponent = ones, 0  # the vector is 2^exponent x, so that nothing overflows or vanishes

    def next(self) -> float:
        """Return it for the next k, -inf if it is 0."""
        v, y, x = self._v, self._v.empty(self.x.shape, np.dtype(float)), self.x
        v.multiply(self._sizes, x, y)
        v.add_clipped_products(self._on_diagonal, x, y)
        largest = v.largest(y)
        exponent = max(frexp(largest)[1], -1023)  # 2^1024 would be infinite
        self.x = v.empty(y.shape, y.dtype)
        v.combine(2.0**-exponent, y, 0.0, self.x)
        logarithm = float(np.log(largest)) + self.exponent * log(2) if largest else -np.inf
        self.exponent += exponent
        return logarithm


def _mean(v: Vectors, one: _Growth, other: _Growth) -> Any:
    """Return the mean of the vectors of both."""
    y = v.empty(one.x.shape, one.x.dtype)
    v.combine(2.0 ** (one.exponent - 1), one.x, 0.0, y)
    v.combine(2.0 ** (other.exponent - 1), other.x, 1.0, y)
    return y


def _planned(
    steps: np.ndarray, powers: Powers, disc: Disc, factor: complex, tol: float, dtype: np.dtype
) -> list[Step] | None:
    """Return how each step is computed, None if there would be far too many parts.

    The error of a part is at most its share of the tolerance times the vector that it starts from, or times what this
    vector can become. Terms grow up to exp(radius |step|), and are multiplied by exp(center step): rounding errors grow
    as the product of both, and those of a product with A are relative to the center, if it is farther than the radius.
    """
    exponents = factor * steps
    lengths, shifts = abs(exponents) * powers.radius, (exponents * disc.center).real
    eps, bytes_of_real = float(np.finfo(dtype).eps), np.dtype(dtype).type(0).real.itemsize
    cancelled = max(1.0, abs(disc.center) / powers.radius) if powers.radius else 1.0  # of products, by the center
    room = max(1.0, float(np.log(tol / (_ROOM * eps * cancelled))))
    with np.errstate(all="ignore"):
        needed = np.maximum(lengths / _LONGEST[bytes_of_real], (lengths + shifts) / room)
        counts = np.where(steps == 0, 0, np.maximum(1, np.ceil(needed)))
        rates = np.where(exponents.real > 0, disc.growth, disc.backwards)
        grown = float(np.nan_to_num(np.maximum(0, abs(exponents.real) * rates)).sum())
    if not counts.sum() < 1e12:
        return None
    log_share = max(float(np.log(tol / max(1.0, counts.sum()))) - min(grown, _RESERVE), float(np.log(eps / 4)))
    plan = []
    for count, length, shift in zip(counts.astype(int).tolist(), lengths, shifts, strict=True):
        each = max(1, count)
        terms = _terms(float(length / each), log_share - min(0.0, float(shift / each))) if count else 0
        plan.append(Step(count, max(terms, powers.least - 1) if count else 0))
    return plan


def _best(steps: np.ndarray, disc: Disc, factor: complex, tol: float, dtype: np.dtype) -> list[Step] | None:
    """Return the plan with the fewest products; None if there is none."""
    plans = [_planned(steps, powers, disc, factor, tol, dtype) for powers in disc.powers]
    return min((plan for plan in plans if plan is not None), key=_total, default=None)


def _total(plan: list[Step]) -> int:
    return sum(step.parts * step.terms for step in plan)


def products(times: Sequence[float], disc: Disc, factor: complex, tol: float, dtype: np.dtype) -> float:
    """Return how many products the steps between these times need, inf if there are far too many."""
    plan = _best(np.diff([0.0, *times]), disc, factor, tol, dtype)
    return np.inf if plan is None else _total(plan)


def states(
    v: Vectors, A: Any, x: Any, times: Sequence[float], disc: Disc, factor: complex, tol: float,
    done: Callable[[float, int], None],
) -> Iterator[Any]:  # fmt: skip
    """Yield the states at times that go away from 0, as `series.states` does."""
    plan = _best(np.diff([0.0, *times]), disc, factor, tol, x.dtype) or []

    def of_part(i: int, length: float) -> Recurrence:
        return _recurrence(factor * length, disc.center, plan[i].terms)

    return series.states(v, A, x, times, [step.parts for step in plan], of_part, done)


def _recurrence(h: complex, center: complex, terms: int) -> Recurrence:
    """Return the factors for ``exp(h A)``: v_(j+1) = f h (A - center) v_j / (j + 1), and exp(h center) / f^j.

    Without the factor f < 1, the vectors of a part in which all decays would grow beyond the range of single precision.
    """
    j = np.arange(1, terms + 1)
    alpha = _FOLDED * h / j
    c = np.exp(h * center - np.log(_FOLDED) * np.arange(terms + 1))
    return Recurrence(alpha.tolist(), (-alpha * center).tolist(), [0] * terms, c.tolist())
