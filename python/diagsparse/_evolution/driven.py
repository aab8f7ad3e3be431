"""Evolution by a matrix that changes with time, ``H(t) = H0 + f(t) H1 + ...``: a commutator-free Magnus integrator.

An elementary step is a product of two exponentials of matrices at its Gauss points, of order 4 (S. Blanes, P. C. Moan,
*Fourth- and sixth-order commutator-free Magnus integrators for linear and non-linear dynamical systems*, Appl. Numer.
Math. 56 (2006), 1519-1537; A. Alvermann, H. Fehske, *High-order commutator-free exponential time-propagation of driven
quantum systems*, J. Comput. Phys. 230 (2011), 5930-5956). It is symmetric in time, so its error has even powers of the
step only. A step is computed as one, as two and, if that pays, as three of them, and extrapolated to order 6 or 8. With
two parts, the error is estimated by the difference from order 4. With three, the errors of orders 4 and 6 are known as
differences, and that of order 8 is assumed to continue the geometric series.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil, sqrt
from typing import Any, NamedTuple

import numpy as np

from .._backends.types import plain_number
from . import chebyshev, krylov
from .bounds import scale_of
from .choice import require_feasible
from .spectrum import Spectrum
from .vectors import Vectors

_POINTS = 0.5 - sqrt(3) / 6, 0.5 + sqrt(3) / 6  # of Gauss, in a step
_WEIGHTS = 0.25 + sqrt(3) / 6, 0.25 - sqrt(3) / 6  # of the matrices at these points, in the first exponential
_ORDERS = {2: 4, 3: 8}  # of the errors that are estimated, by the most parts of a step
_RATIO = 20.0  # at most, between the ratios of the errors of orders 8 and 6, and of orders 6 and 4
_PAIR = 1 / 15  # of the difference S2 - S1, which is added to S2 if steps have up to two parts
_THIRD = 16 / 65  # of S3 - S2, which is added to S3 for order 6
_FIRST = 2.0  # length of the first step, times half the width of the spectrum
_SMALLEST = 1e-15  # of the end time: a shorter step means that no step keeps the tolerance
_ROUNDING = 10  # times eps: an error that is not an error of the step
_SERIES = 0.01  # of the tolerance of a step, for each exponential
_PATIENCE, _DRAW = 2, 1 / 16  # rejections in a row, after which a step may use this part of the reserve
_LARGEST, _LEAST, _SAFETY = 4.0, 0.2, 0.9  # changes of the step
_OVERHEAD = 9  # products of an exponential, in addition to its length times half the width of the spectrum
_EXAMINED = np.linspace(0, 1, 17) ** 2  # of the time, for the length of the first step
_FEWER = 0.7  # of the products of three parts, for which two parts are preferred
_AGAIN = 5  # steps after which it is examined again how many parts are best

Done = Callable[[float, int], None]
Points = list[list[np.ndarray]]  # coefficients at the Gauss points of each part of a step


def _lobatto(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the points of Gauss and Lobatto in [-1, 1], and their weights."""
    last = np.polynomial.Legendre.basis(count - 1)
    points = np.concatenate([[-1.0], np.sort(last.deriv().roots().real), [1.0]])
    return points, 2 / (count * (count - 1) * last(points) ** 2)


_LOBATTO = _lobatto(11)
# Of the results S1, S2, S3 of a step in as many parts, whose errors are sums of the powers 4, 6, ... of 1, 1/2, 1/3.
_EIGHTH = tuple(np.linalg.solve(np.arange(1.0, 4.0) ** -np.array([[0.0], [4.0], [6.0]]), [1.0, 0.0, 0.0]).tolist())
_WHOLE = -_EIGHTH[0], _EIGHTH[2] - (1 + _THIRD)  # of S2 - S1 and S3 - S2, in the difference of orders 8 and 6


def _divided(left: float, most: float) -> float:
    """Return the length of equal steps, which are not longer than `most`, up to rounding."""
    return left / max(1, ceil(left / most - 1e-9)) if left / most < 1e15 else most


def _changed(length: float, h: float, allowed: float, error: float, order: int) -> float:
    """Return the length of the next step, after a step of length h had this error; `length` was possible before."""
    change = _LARGEST if error == 0 else _SAFETY * (allowed / error) ** (1 / order)
    change = max(_LEAST, min(_LARGEST, change)) if np.isfinite(error) else _LEAST
    if error > allowed:
        return h * min(change, _SAFETY)
    return max(length if h < length and change > 1 else 0.0, h * change)


def _cost(parts: int, h: float, half: float) -> float:
    """Return about how many products a step of so many parts needs for each unit of time."""
    return sum(half * h + 2 * _OVERHEAD * count for count in range(1, parts + 1)) / h


class Coefficients(NamedTuple):
    """The coefficients of all terms as functions of time; a constant term has None, and the coefficient 1."""

    functions: list[Callable[[float], Any] | None]

    def __call__(self, t: float) -> np.ndarray:
        """Return the coefficients at a time: float64, or complex128 if one is not real."""
        return np.array([1.0 if f is None else self._number(f, k, t) for k, f in enumerate(self.functions)])

    def require_precision(self, tol: float) -> None:
        """Raise ValueError if the numbers of a function have too few digits for this tolerance."""
        for k, f in enumerate(self.functions):
            given = getattr(f(0.0), "dtype", np.dtype(float)) if f else np.dtype(float)
            if given.kind in "fc" and (eps := float(np.finfo(given).eps)) > tol:
                raise ValueError(
                    f"evolve: the function of term {k} returns {given}, whose precision is {eps:.1e}; "
                    f"tol={tol:g} needs a function in double precision"
                )

    @staticmethod
    def _number(f: Callable[[float], Any], k: int, t: float) -> float | complex:
        given = f(t)
        try:
            number = plain_number(given)
        except (TypeError, ValueError):
            raise TypeError(
                f"evolve: the function of term {k} returned {given!r} at t = {t:g}, expected a number"
            ) from None
        if not np.isfinite(number):
            raise ValueError(
                f"evolve: the function of term {k} returned {number} at t = {t:g}, expected a finite number"
            )
        return number


class Driven:
    """States of ``x' = factor H(t) x``, and how many steps and products they took."""

    def __init__(
        self, combination: Any, coefficients: Coefficients, spectrum: Spectrum, method: str, factor: complex,
        max_step: float | None,
    ) -> None:  # fmt: skip
        self.combination, self.coefficients, self.spectrum = combination, coefficients, spectrum
        self.method, self.factor = method, factor
        self.max_step = np.inf if max_step is None else max_step
        self.interval = chebyshev.Interval(0.0, 0.0, 0.0, 0.0) if factor != 1 else None  # norms have to stay
        self.steps = self.rejected = 0
        self._products = 0

    def states(
        self, v: Vectors, A: Any, x: Any, times: list[float], factor: complex, tol: float, done: Done
    ) -> Iterator[Any]:
        """Yield the states at times that go away from 0; each is valid until the next one is computed.

        ``done(time, products)`` is called after each step.
        """
        end, t, i = times[-1], 0.0, 0
        direction = 1.0 if end >= 0 else -1.0
        while i < len(times) and times[i] == 0:
            yield x
            i += 1
        if i == len(times):
            return
        first = [v.norm(c) for c in v.columns(x)]  # errors of columns are relative to these
        eps = float(np.finfo(x.dtype).eps)
        self.coefficients.require_precision(tol)
        half = max(self.spectrum.half(self.coefficients(end * part)) for part in _EXAMINED)
        require_feasible(half * abs(end))
        lengths = {parts: _FIRST / half for parts in _ORDERS}  # of steps, by the number of their parts
        rate, reserve, failures, since = tol / 2 / abs(end), tol / 2, 0, 0
        while i < len(times):
            left = abs(times[i] - t)
            own = {p: _divided(left, min(length, self.max_step)) for p, length in lengths.items()}
            parts = 2 if since and _cost(2, own[2], half) < _FEWER * _cost(3, own[3], half) else 3
            h = own[parts]
            if h < min(left, _SMALLEST * abs(end)):
                raise np.linalg.LinAlgError(f"evolve: no step from t = {t:g} on keeps tol={tol:g}")
            until = times[i] if h == left else t + direction * h
            allowed = max(rate * h + (_DRAW * reserve if failures > _PATIENCE else 0.0), _ROUNDING * eps)
            gauss = {count: self._at_points(t, until - t, count) for count in range(1, parts + 1)}
            errors = dict.fromkeys(_ORDERS, self._unresolved(t, until - t, gauss))
            if errors[parts] <= allowed:
                share = max(_SERIES * rate * h, eps / 4)
                new, found = self._extrapolated(v, x, until - t, gauss, share, first)
                errors = {p: errors[p] + error for p, error in found.items()}
            for p, error in errors.items():
                lengths[p] = _changed(lengths[p], h, allowed, error, _ORDERS[p])
            if errors[parts] <= allowed:
                reserve -= max(0.0, min(errors[parts] - rate * h, reserve))
                failures, self.steps, since = 0, self.steps + 1, (since + 1) % _AGAIN
                t, x = until, new
                self._tell(done, t)
                while i < len(times) and times[i] == t:
                    yield x
                    i += 1
            else:
                failures, self.rejected = failures + 1, self.rejected + 1
                self._tell(done, t)

    def _extrapolated(
        self, v: Vectors, x: Any, h: float, gauss: dict[int, Points], tol: float, first: list[float]
    ) -> tuple[Any, dict[int, float]]:
        """Return the state after a step, and estimates of its error for two parts, and for three if there are."""
        s1, s2 = (self._in_parts(v, x, gauss[count], h / count, tol) for count in (1, 2))
        v.combine(1.0, s2, -1.0, s1)  # s2 - s1
        errors = {2: _PAIR * self._relative(v, s1, x, first)}
        if len(gauss) == 2:
            v.combine(_PAIR, s1, 1.0, s2)
            return s2, errors
        s3 = self._in_parts(v, x, gauss[3], h / 3, tol)
        v.combine(1.0, s3, -1.0, s2)  # s3 - s2
        v.combine(_THIRD, s2, 1.0, s3)
        v.combine(_WHOLE[1], s2, _WHOLE[0], s1)
        sixth = self._relative(v, s1, x, first)
        errors[3] = sixth * min(1.0, _RATIO * sixth / errors[2]) if errors[2] else sixth
        v.combine(1.0, s1, 1.0, s3)
        return s3, errors

    def _at_points(self, t: float, h: float, count: int) -> Points:
        """Return the coefficients at the Gauss points of each part of a step."""
        starts = [t + part * h / count for part in range(count)]
        return [[self.coefficients(start + point * h / count) for point in _POINTS] for start in starts]

    def _unresolved(self, t: float, h: float, gauss: dict[int, Points]) -> float:
        """Return the error that a step makes because the coefficients are not smooth enough, relative to the state.

        The integrals of the coefficients, as a step adds them up, are compared with those of a rule of high order,
        whose points include the ends of the step: a jump near an end is seen by these alone. The first moments are
        compared as well, because jumps that are symmetric to the middle of the step leave the integrals unchanged.
        """
        weights = _EIGHTH if len(gauss) == 3 else (-_PAIR, 1 + _PAIR)
        points = np.array([self.coefficients(t + (1 + point) / 2 * h) for point in _LOBATTO[0]])
        integral, moment = (h / 2 * (_LOBATTO[1] * _LOBATTO[0] ** power @ points) for power in (0, 1))
        for count, w in enumerate(weights, 1):
            values: np.ndarray = np.array(gauss[count])
            places = 2 * np.add.outer(np.arange(count), _POINTS) / count - 1
            integral = integral - w * h * values.mean((0, 1))
            moment = moment - w * h * (places[:, :, np.newaxis] * values).mean((0, 1))
        return max(self.spectrum.size(integral), self.spectrum.size(moment))

    def _in_parts(self, v: Vectors, x: Any, gauss: Points, h: float, tol: float) -> Any:
        """Return the state after elementary steps of length h with these coefficients, as a new array."""
        for a, b in gauss:
            for first, second in (_WEIGHTS, _WEIGHTS[::-1]):
                x = self._exponential(v, x, first * a + second * b, h, tol)
        return x

    def _tell(self, done: Done, t: float) -> None:
        products, self._products = self._products, 0
        done(t, products)

    def _relative(self, v: Vectors, difference: Any, x: Any, first: list[float]) -> float:
        """Return the largest norm of a column, relative to the larger one of the initial and the current state."""
        sizes = [v.norm(c) for c in v.columns(difference)]
        now = first if self.interval else [v.norm(c) for c in v.columns(x)]
        used = ((s, a, b) for s, a, b in zip(sizes, first, now, strict=True) if s != 0 and np.isfinite(a))
        return max((s / max(a, b) for s, a, b in used), default=0.0)

    def _exponential(self, v: Vectors, x: Any, coefficients: np.ndarray, h: float, tol: float) -> Any:
        """Return ``exp(factor h M) x`` for the combination M with these coefficients."""
        if x.dtype.kind != "c" and coefficients.dtype.kind == "c":
            raise TypeError("evolve: a function is complex at some times, and psi is real; pass a complex psi")
        matrix = self.combination(*coefficients.tolist())

        def count(t: float, products: int) -> None:
            self._products += products
            self.spectrum.used(products)

        if self.method == "chebyshev":
            interval = self.spectrum.interval(v, coefficients, matrix)
            found = chebyshev.states(v, matrix, x, [h], interval, self.factor, tol, count)
        else:
            scale = scale_of(matrix, self.spectrum.size(coefficients))
            found = krylov.states(v, matrix, x, [h], self.factor != 1, scale, self.factor, tol, count)
        return next(found)
