"""Sums, multiples and products of pairs. A + B j times C + D j follows from j z = conj(z) j and j j = -1."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._matrix.elementwise_functions import is_scalar
from .arrays import as_reals, has_quaternions
from .pairs import Pair, joined


def combined(pair: Pair, other: Pair, sign: int) -> Pair:
    """Return the sum of two pairs, or with ``sign=-1`` their difference."""
    (a, b), (c, d) = pair, other
    return joined(_sum(a, c, 1, sign), _sum(b, d, 1, sign))


def _sum(a: Any, b: Any, alpha: complex, beta: complex) -> Any:
    """Return ``alpha a + beta b`` on the union of their structures: elements that become 0 stay stored."""
    return a._format.combined(a, b, alpha, beta, zeros=True)


def product(pair: Pair, other: Pair, format: str | None) -> Pair:
    """Return (A C - B conj(D)) + (A D + B conj(C)) j."""
    (a, b), (c, d) = pair, other
    first = _sum(a.matmul(c, format=format), b.matmul(d.conj(), format=format), 1, -1)
    return joined(first, _sum(a.matmul(d, format=format), b.matmul(c.conj(), format=format), 1, 1))


def is_quaternion(x: Any) -> bool:
    """Whether `x` can scale a matrix: a number, four components, or a quaternion of numpy-quaternion."""
    sequence = isinstance(x, (tuple, list, np.ndarray)) or has_quaternions(x)
    return is_scalar(x) or (sequence and as_reals(x).shape == (4,))


def scaled(pair: Pair, factor: Any, left: bool, who: str) -> Pair:
    """Return q Q if `left` is set, else Q q."""
    c, d = _halves(factor, who)
    a, b = pair
    if d == 0 and c.imag == 0:
        return a * c.real, b * c.real
    if left:
        return joined(_sum(a, b.conj(), c, -d), _sum(b, a.conj(), c, d))
    return joined(_sum(a, b, c, -d.conjugate()), _sum(a, b, d, c.conjugate()))


def _halves(factor: Any, who: str) -> tuple[complex, complex]:
    """Return the complex numbers c and d of a quaternion c + d j."""
    values = as_reals(factor)
    if values.ndim == 0 and values.dtype.kind in "iubfc":
        return complex(values), 0j
    if values.dtype.kind not in "iubf":
        raise TypeError(f"{who}: the factor is {factor!r}, expected a number or four real components")
    q = values.astype(np.float64).tolist()
    return complex(*q[:2]), complex(*q[2:])
