"""The choice between a Chebyshev series, Taylor series and Krylov spaces, by what they cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .._backends.backend import CPU
from . import chebyshev, krylov, taylor
from .bounds import STEPS, bounds, circles, radius_of, scale_of
from .vectors import Vectors

METHODS = ("chebyshev", "krylov", "taylor")
_MOST = 10**8  # products of an evolution; more would take days, and rounding errors would be all that is left
_GROWN = 10.0  # logarithm of the growth beyond the eigenvalues, from which a given interval is narrowed
_NARROWER = 0.6  # width of the spectrum relative to that of Gershgorin's circles, for a guess of what it saves
_PASSES = {"chebyshev": 5, "taylor": 3}  # over vectors for each product of a series, in addition to the product itself
_LANCZOS, _ARNOLDI = 9, 30  # the same for Krylov spaces of Hermitian matrices, and of others
_OF_SMALL = 2e6  # bytes of vectors that are read while the exponential of a small matrix is computed, of others
_ESTIMATES = 15  # of the error of a space, each of which takes such an exponential


class Choice(NamedTuple):
    """A method, and why."""

    method: str
    reason: str
    interval: chebyshev.Interval | None  #: of the series
    products: int  #: that the choice took
    hermitian: bool
    scale: float  #: of the matrix
    disc: taylor.Disc | None = None  #: of Taylor series

    @property
    def vectors(self) -> int:
        """The number of vectors that the method keeps."""
        return krylov.MOST + 1 if self.method == "krylov" else 0

    def states(
        self, v: Vectors, a: Any, x: Any, times: list[float], factor: complex, tol: float,
        done: Callable[[float, int], None],
    ) -> Iterator[Any]:  # fmt: skip
        """Yield the states at times that go away from 0."""
        if self.interval is not None:
            return chebyshev.states(v, a, x, times, self.interval, factor, tol, done)
        if self.disc is not None:
            return taylor.states(v, a, x, times, self.disc, factor, tol, done)
        return krylov.states(v, a, x, times, self.hermitian, self.scale, factor, tol, done)


def chosen(
    a: Any, size: float, v: Vectors, runs: list[list[float]], columns: int, start: float, factor: complex,
    hermitian: bool, method: str | None, spectrum: Any, tol: float, dtype: np.dtype,
) -> Choice:  # fmt: skip
    """Choose a method for times of each sign, and states up to a norm; raise ValueError if it is not possible."""
    scale = scale_of(a, size)
    if not hermitian and factor != 1:
        raise ValueError("evolve: H is not Hermitian; for exp(A t) pass A with generator=True, such as A = -1j H")
    if not hermitian and (method == "chebyshev" or spectrum is not None):
        raise ValueError("evolve: a Chebyshev series needs a Hermitian matrix, and real eigenvalues in spectrum=")
    ends = [abs(run[-1]) for run in runs if run]
    if a.shape[0] > krylov.MOST:  # a space of fewer rows is the whole one, for any time
        if factor != 1:
            _require_phases(a, size, max(ends, default=0.0), dtype)
        if size * sum(ends) > _MOST:
            require_feasible(radius_of(a, size) * sum(ends) / krylov.MOST)
    tiny = float(np.finfo(dtype).tiny) * 1e8
    given = None if spectrum is None else _interval(spectrum, tiny)
    if method == "krylov":
        return Choice(method, "asked for", None, 1, hermitian, scale)
    if given is None and method is None and a.shape[0] <= krylov.MOST:
        return Choice("krylov", "the Krylov space of so few rows is the whole space", None, 1, hermitian, scale)
    if method == "taylor" or not hermitian:
        disc, used = taylor.disc(a, v, max(ends, default=0.0), factor, tol, dtype)
        count = sum(taylor.products(run, disc, factor, tol, dtype) for run in runs)
        best, reason = "taylor", "asked for"
        if method is None:
            best, reason = _cheaper("taylor", count, disc.radius, True, a, runs, columns, tol, dtype)
        if best == "taylor":
            disc.require_finite(runs, factor, start / a.shape[0] ** 0.5, dtype)
            require_feasible(count)
        return Choice(best, reason, None, 1 + used, hermitian, scale, disc if best == "taylor" else None)
    if given is None:
        found, used = _enclosed(a, size, v, runs, factor, tol, tiny)
    elif factor == 1 and given.slack * max(ends, default=0.0) > _GROWN:
        found, used = _narrowed(given, a, size, v), 1 + min(STEPS, a.shape[0])
    else:
        found, used = given, 1
    count = sum(chebyshev.products(run, found, tol, factor != 1) for run in runs)
    require_feasible(count)
    if method is not None or given is not None:
        return Choice("chebyshev", "asked for" if method else "the spectrum is given", found, used, True, scale)
    best, reason = _cheaper("chebyshev", count, found.half, factor != 1, a, runs, columns, tol, dtype)
    return Choice(best, reason, found if best == "chebyshev" else None, used, True, scale)


def _cheaper(
    series: str, count: float, radius: float, oscillating: bool, a: Any, runs: list[list[float]], columns: int,
    tol: float, dtype: np.dtype,
) -> tuple[str, str]:  # fmt: skip
    """Return a series or "krylov", and why; all eigenvalues are within `radius` of a center."""
    lengths = [abs(run[-1]) * radius if run else 0.0 for run in runs]
    spaces = columns * sum(_products_of_spaces(length, tol, oscillating) for length in lengths)
    outputs, vector = columns * sum(map(len, runs)), a.shape[0] * dtype.itemsize
    row = a.nbytes / vector / columns + 2  # passes over a vector that a product takes
    of_sums = krylov.MOST * (1 if a._backend is CPU else 3)  # passes for each of the times
    cost = {series: float(count) * (row + _PASSES[series])}
    if series == "chebyshev":
        cost["krylov"] = spaces * (row + _LANCZOS) + outputs * of_sums
    else:
        cost["krylov"] = spaces * (row + _ARNOLDI) + outputs * (of_sums + krylov.MOST)
        cost["krylov"] += (outputs + _ESTIMATES * np.ceil(spaces / krylov.MOST)) * _OF_SMALL / vector
    cost["krylov"] += spaces * (row - 2) * (1 - 1 / columns)  # the matrix is read for each column
    counts = {series: count, "krylov": spaces}
    best, other = sorted(counts, key=cost.__getitem__)
    reason = f"about {counts[best]} products, where {other} would need about {counts[other]}"
    if counts[best] > counts[other]:
        reason += ", each of which takes longer"
    return best, reason


def _require_phases(a: Any, size: float, time: float, dtype: np.dtype) -> None:
    """Raise OverflowError if a phase is certainly unknown; the largest eigenvalue is at least that of the diagonal."""
    eps = float(np.finfo(dtype).eps)
    if size * time * eps > 1 and float(abs(np.asarray(a.diagonal()).astype(complex)).max()) * time * eps > 1:
        raise OverflowError(f"evolve: H has eigenvalues so large that phases at t = {time:g} are not known in {dtype}")


def require_feasible(products: float) -> None:
    """Raise ValueError for an evolution that would take days."""
    if products > _MOST:
        raise ValueError(
            f"evolve: these times need about {products:.0e} products with H, and at most {_MOST:.0e} are run"
        )


def _enclosed(
    a: Any, size: float, v: Vectors, runs: list[list[float]], factor: complex, tol: float, tiny: float
) -> tuple[chebyshev.Interval, int]:
    """Return an interval with all eigenvalues, and the products that it took.

    It consists of Gershgorin's circles, unless the Lanczos process should save more products than it needs.
    """
    low, high = circles(a, size)
    certain = chebyshev.Interval(low, high, high - low, tiny)
    middle, half = certain.middle, _NARROWER * certain.half
    guess = chebyshev.Interval(middle - half, middle + half, 0.0, tiny)
    steps = min(STEPS, a.shape[0])
    counts = [sum(chebyshev.products(run, one, tol, factor != 1) for run in runs) for one in (certain, guess)]
    if counts[0] - counts[1] <= 2 * steps:  # a step of the process takes about twice as long as one of a series
        return certain, 1
    return chebyshev.Interval(*bounds(a, v, size), tiny), 1 + steps


def _narrowed(given: chebyshev.Interval, a: Any, size: float, v: Vectors) -> chebyshev.Interval:
    """Return a given interval without what the Lanczos process finds to be far from the eigenvalues.

    The error of a growing series is relative to the growth at the end of the interval.
    """
    low, high, slack = bounds(a, v, size)
    low, high = max(low, given.low), min(high, given.high)
    if low > high:
        raise ValueError(f"evolve: spectrum={given[:2]} does not contain the eigenvalues of the matrix")
    return given._replace(low=low, high=high, slack=slack)


def _products_of_spaces(whole: float, tol: float, oscillating: bool) -> int:
    """Return how many products Krylov spaces need, each of which reaches as far as a series of as many terms."""
    if whole == 0:
        return 0
    reach = 9.0
    while reach > 1e-3 and chebyshev.terms(reach, tol, oscillating) > krylov.MOST:
        reach /= 1.25
    spaces = int(np.ceil(whole / reach))
    return spaces * krylov.MOST if spaces > 1 else chebyshev.terms(whole, tol, oscillating)


def _interval(spectrum: Any, tiny: float) -> chebyshev.Interval:
    """Return a given interval, which may reach far beyond the eigenvalues."""
    ends = np.asarray(spectrum)
    if ends.shape != (2,) or ends.dtype.kind not in "iuf" or not np.isfinite(ends).all() or ends[0] > ends[1]:
        raise ValueError(f"evolve: spectrum={spectrum!r}, expected the two ends of an interval")
    return chebyshev.Interval(float(ends[0]), float(ends[1]), float(ends[1] - ends[0]) / 2, tiny)
