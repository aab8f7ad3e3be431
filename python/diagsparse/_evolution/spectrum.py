"""Intervals with the eigenvalues of a linear combination of matrices, for any coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import chebyshev
from .bounds import STEPS, bounds
from .vectors import Vectors

_SHARE = 20  # for each product to find an interval, there are at least this many others
_WORTH = 0.95  # an interval that is not narrower than this part of what was known gains little
_MOST = 64  # intervals that are kept


class Spectrum:
    """Bounds of the eigenvalues of ``M = c0 A0 + c1 A1 + ...``, which is Hermitian.

    If M has its eigenvalues in [low, high], and A_k in [low_k, high_k], then M + d A_k has them in the sum of the first
    interval and d times the second one (Weyl). This holds for every M whose interval is known. Now and then, an
    interval is computed by the Lanczos process.

    Parameters
    ----------
    terms : list of (low, high)
        The intervals of the terms; of those that are not Hermitian (-r, r), where r is at least their 2-norm.
    sizes : list of float
        Bounds of the 2-norms of the terms, without any doubt.
    tiny : float
        As in `chebyshev.Interval`.
    certain : bool
        Whether no intervals are computed by the Lanczos process, which are probable only.
    """

    def __init__(self, terms: list[tuple[float, float]], sizes: list[float], tiny: float, certain: bool) -> None:
        self.terms, self.sizes, self.tiny, self.certain = np.array(terms), np.array(sizes), tiny, certain
        # Coefficients for which an interval is known, and its ends; at first those of zero.
        self._at, self._low, self._high = np.zeros((1, len(terms))), np.zeros(1), np.zeros(1)
        self._since, self._wait = 0, _SHARE * STEPS  # products since the last interval was computed, and until the next
        self.products = 0  # that intervals took

    def size(self, coefficients: np.ndarray) -> float:
        """Return a bound of the 2-norm."""
        return float(abs(coefficients) @ self.sizes)

    def half(self, coefficients: np.ndarray) -> float:
        """Return half the width of the interval."""
        low, high = self._ends(coefficients)
        return max((high - low) / 2, self.tiny)

    def _ends(self, coefficients: np.ndarray) -> tuple[float, float]:
        change = coefficients - self._at
        if change.dtype.kind == "c" and change.imag.any():
            reach = abs(change) @ abs(self.terms).max(axis=1)
            return float((self._low - reach).max()), float((self._high + reach).min())
        ends = change.real[:, :, None] * self.terms
        low, high = self._low + ends.min(axis=2).sum(axis=1), self._high + ends.max(axis=2).sum(axis=1)
        return float(low.max()), float(high.min())

    def interval(self, v: Vectors, coefficients: np.ndarray, matrix: Any) -> chebyshev.Interval:
        """Return the interval of the matrix with these coefficients."""
        if not self.certain and self._since >= self._wait and len(self._at) < _MOST:
            before = self.half(coefficients)
            low, high, _ = bounds(matrix, v, self.size(coefficients))
            self._at = np.vstack([self._at, coefficients])
            self._low, self._high = np.append(self._low, low), np.append(self._high, high)
            self._since, self.products = 0, self.products + min(STEPS, matrix.shape[0])
            if (high - low) / 2 > _WORTH * before:
                self._wait *= 2
        low, high = self._ends(coefficients)
        if low > high:  # by rounding, for a single eigenvalue
            low = high = (low + high) / 2
        return chebyshev.Interval(low, high, (high - low) / 2, self.tiny)

    def used(self, products: int) -> None:
        """Count products of the evolution."""
        self._since += products
