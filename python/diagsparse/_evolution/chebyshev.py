"""Exponentials of Hermitian matrices by Chebyshev series.

H. Tal-Ezer and R. Kosloff, *An accurate and efficient scheme for propagating the time dependent Schroedinger equation*,
J. Chem. Phys. 81 (1984), 3967-3971.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ive, jv

from .._products.chains import Recurrence, chebyshev_recurrence
from . import series
from .vectors import Vectors

LONGEST, LONGEST_GROWTH = 1e3, 1e5  #: half the width of the spectrum times the length of a step, at most
_ROOM = 64  # rounding errors of a growing series, times eps, that its tolerance may be as small as


class Interval(NamedTuple):
    """The interval of a series: it has all eigenvalues, and ends at most `slack` beyond them."""

    low: float
    high: float
    slack: float
    tiny: float  #: the least number whose inverse is in the range of the dtype

    @property
    def middle(self) -> float:
        return (self.high + self.low) / 2

    @property
    def half(self) -> float:
        """Half of the width; a matrix with a single eigenvalue has an interval, too."""
        return max((self.high - self.low) / 2, 1e-6 * max(abs(self.low), abs(self.high)), self.tiny)


@lru_cache(maxsize=64)
def _sizes(radius: float, oscillating: bool) -> np.ndarray:
    """Return Bessel functions of all orders that count: J of an oscillation, I e^-radius of growth."""
    if not 0 <= radius < np.inf:
        raise OverflowError("evolve: H has eigenvalues so large that the length of a series for them overflows")
    if oscillating:
        return jv(np.arange(int(radius + 15 * radius ** (1 / 3) + 60)), radius)
    return ive(np.arange(int(min(radius + 15 * radius ** (1 / 3), 10 * radius**0.5) + 60)), radius)


def terms(radius: float, tol: float, oscillating: bool) -> int:
    """Return how many products a series needs, so that what is left out is at most `tol` times the vector."""
    left_out = 2 * np.cumsum(abs(_sizes(radius, oscillating))[::-1])[::-1]
    return max(1, int(np.argmax(left_out <= tol)) - 1)


def coefficients(step: float, interval: Interval, factor: complex, tol: float) -> np.ndarray:
    """Return the coefficients of exp(factor step t) for t in the interval; `factor` is 1 or -1j."""
    radius, oscillating = abs(step) * interval.half, factor != 1
    k = terms(radius, tol, oscillating)
    orders = np.arange(k + 1)
    c = np.where(orders == 0, 1.0, 2.0) * _sizes(radius, oscillating)[: k + 1]
    signs = np.where(orders % 2 == 0, 1.0, np.sign(step) or 1.0)
    if not oscillating:
        return c * signs * np.exp(step * interval.middle + radius)
    return c * signs * (-1j) ** (orders % 4) * np.exp(-1j * step * interval.middle)


def _shares(steps: np.ndarray, interval: Interval, tol: float, oscillating: bool) -> tuple[list[int], float]:
    """Return the number of parts of each step, and the tolerance of each part.

    The error of a growing series is relative to the growth at the end of the interval, which may be larger than that of
    the eigenvalues. Their ratio reduces the tolerance of a part, which must not vanish among rounding errors.
    """
    lengths = abs(steps)
    if oscillating:
        counts = np.maximum(1, np.ceil(lengths * (interval.half / LONGEST)))
        return counts.astype(int).tolist(), tol / max(1, counts.sum())
    room = max(1.0, np.log(tol / (_ROOM * np.finfo(float).eps)))
    rate = max(interval.half / LONGEST_GROWTH, interval.slack / room)
    counts = np.maximum(1, np.ceil(lengths * rate))
    share = tol / max(1, counts.sum()) * np.exp(-float((lengths / counts).max(initial=0.0)) * interval.slack)
    return counts.astype(int).tolist(), max(float(share), float(np.finfo(float).eps) / 4)


def products(times: Sequence[float], interval: Interval, tol: float, oscillating: bool) -> int:
    """Return how many products the steps between these times need."""
    steps = np.diff([0.0, *times])
    counts, share = _shares(steps, interval, tol, oscillating)
    return sum(
        count * terms(abs(step) / count * interval.half, share, oscillating)
        for step, count in zip(steps, counts, strict=True)
        if step
    )


def states(
    v: Vectors, A: Any, x: Any, times: Sequence[float], interval: Interval, factor: complex, tol: float,
    done: Callable[[float, int], None],
) -> Iterator[Any]:  # fmt: skip
    """Yield the states at times that go away from 0, as `series.states` does."""
    steps = np.diff([0.0, *times])
    counts, share = _shares(steps, interval, tol, factor != 1)
    scale, shift = 1 / interval.half, -interval.middle / interval.half

    def of_part(i: int, length: float) -> Recurrence:
        return chebyshev_recurrence(coefficients(length, interval, factor, share).tolist(), scale, shift)

    parts = [count if step else 0 for count, step in zip(counts, steps, strict=True)]
    return series.states(v, A, x, times, parts, of_part, done)
