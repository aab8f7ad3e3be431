"""An evolution by a matrix that changes with time, on any device: what is asked for, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._arrays import streams
from .._matrix.operands import home_of, require_sparse
from .._products.linear_combination import LinearCombination
from .bounds import circles, is_hermitian, require_square, size_of
from .chebyshev import Interval
from .driven import Coefficients, Driven
from .spectrum import Spectrum
from .task import Progress, Task
from .vectors import Vectors

_WHO = "evolve"
_DRIFT = 2.0, 20.0  # times the tolerance: change of a norm that is possible, and that of a matrix that is Hermitian
_ROUNDING = 1e5  # times eps, in addition
_BETWEEN = 0.382  # of the last time: another time at which H(t) is examined


class DrivenTask(Task):
    """An evolution by ``H(t)``, a list of matrices and of pairs of a matrix and a function."""

    def __init__(
        self, terms: Sequence[Any], times: np.ndarray, generator: bool, method: str | None, tol: float | None,
        spectrum: Any, keep: bool, progress: Progress | None, max_step: Any, stream: Any,
    ) -> None:  # fmt: skip
        matrices, functions = _terms(terms)
        with streams.on(matrices[0]._backend, stream, _WHO):  # in which the matrix is filled later, too
            a, size = self._examine(matrices, functions, times, max_step)
        if method == "taylor":
            raise ValueError(f"{_WHO}: method={method!r} with a matrix that changes, expected one of chebyshev, krylov")
        if generator and method == "chebyshev":
            raise ValueError(f"{_WHO}: method={method!r} with a generator that changes, expected 'krylov'")
        if spectrum is not None:
            raise ValueError(f"{_WHO}: spectrum= is for a constant H; that of a changing one is computed")
        super().__init__(a, size, times, generator, method, tol, spectrum, None, keep, progress)

    def _examine(
        self, matrices: list[Any], functions: list[Any], times: np.ndarray, max_step: Any
    ) -> tuple[Any, float]:
        """Prepare the terms; return H at the time 0, and its size."""
        constant = [a for a, f in zip(matrices, functions, strict=True) if f is None]
        changing = [(a, f) for a, f in zip(matrices, functions, strict=True) if f is not None]
        first = constant if len(constant) < 2 else [LinearCombination(constant)(*[1.0] * len(constant))]
        self.matrices = [*first, *(a for a, _ in changing)]
        self.combination = LinearCombination(self.matrices)
        self.coefficients = Coefficients([*[None] * len(first), *(f for _, f in changing)])
        self.sizes = [size_of(a, _WHO, f"term {k}") for k, a in enumerate(self.matrices)]
        self.max_step = _max_step(max_step)
        ends = {0.0, *(float(end) * part for end in (times.min(), times.max()) for part in (_BETWEEN, 1.0))}
        self.examined = [(t, self.coefficients(t)) for t in sorted(ends)]
        kinds = {c.dtype.kind for _, c in self.examined}
        start = self.coefficients(0.0)
        a = self.combination(*(start.astype(complex) if "c" in kinds else start).tolist())
        return a, float(abs(start) @ np.array(self.sizes))

    def run(self, v: Vectors, x: Any, kept: Any) -> None:
        """Write the states to `kept`."""
        if (eps := float(np.finfo(self.combination.dtype).eps)) > self.tol:
            raise ValueError(
                f"{_WHO}: H has {self.combination.dtype} values, whose precision is {eps:.1e}; "
                f"tol={self.tol:g} needs at least one matrix in double precision"
            )
        schroedinger = self.factor != 1.0
        self.used = self.method or ("chebyshev" if schroedinger else "krylov")
        self.hermitian = [schroedinger and is_hermitian(a, v) for a in self.matrices]
        if schroedinger:
            self._require_hermitian(v)
        self.reason = "a commutator-free Magnus integrator with "
        self.reason += "Chebyshev series" if self.used == "chebyshev" else "Krylov spaces"
        self._require_memory(tuple(x.shape), x.dtype, 8 if self.used == "chebyshev" else 40)
        self._prepare_expectations(v, x)
        start = v.norm(x)
        for certain in (False, True):
            self._allowed = _DRIFT[certain] * self.tol + _ROUNDING * float(np.finfo(x.dtype).eps)
            spectrum = self._spectrum(x.dtype, certain)
            driven = Driven(self.combination, self.coefficients, spectrum, self.used, self.factor, self.max_step)
            possible = all(self._side(v, x, start, kept, side, run, driven) for side, run in self._sides())
            self.steps, self.rejected = driven.steps, driven.rejected
            self.products += spectrum.products
            if possible:
                return
        raise ValueError(f"{_WHO}: the norm of a state changes, so H is not Hermitian at all times")

    def _require_hermitian(self, v: Vectors) -> None:
        """Raise ValueError if H is not Hermitian at one of the times that are examined."""
        self.products += len(self.matrices)
        for t, c in self.examined:
            if all(self.hermitian) and not np.iscomplexobj(c):
                continue  # Hermitian terms with real coefficients
            self.products += 1
            if not is_hermitian(self.combination(*c.tolist()), v):
                message = f"H is not Hermitian at t = {t:g}; for x' = A(t) x pass A with generator=True"
                raise ValueError(f"{_WHO}: {message}")

    def _is_possible(self, before: float, after: float, t: float, interval: Interval) -> bool:
        """Whether the norm of a state has stayed what it was."""
        allowed = self._allowed
        return not 0 < before < np.inf or bool(before * (1 - allowed) <= after <= before * (1 + allowed))

    def _spectrum(self, dtype: np.dtype, certain: bool) -> Spectrum:
        """Return the bounds of the spectra of the terms, which are certain, and with `certain` stay so."""
        ends, norms = [], []
        for a, rows, hermitian in zip(self.matrices, self.sizes, self.hermitian, strict=True):
            columns = float(np.max(a._format.absolute_sums(a, 0), initial=0.0))
            norms.append(float(np.sqrt(rows) * np.sqrt(columns)))
            ends.append(circles(a, rows) if hermitian else (-norms[-1], norms[-1]))
        return Spectrum(ends, norms, float(np.finfo(dtype).tiny) * 1e8, certain)


def _terms(given: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return the matrices of a list, and their functions, None for those that are constant."""
    expected = "expected a matrix, or a pair [matrix, function of t]"
    pairs: list[tuple[Any, Any]] = []
    for k, term in enumerate(given):
        if not isinstance(term, (list, tuple)):
            pairs.append((term, None))
            continue
        if len(term) != 2:
            raise ValueError(f"{_WHO}: term {k} of H has {len(term)} elements, {expected}")
        if not callable(term[1]):
            hint = "; a function through samples is scipy.interpolate.CubicSpline(times, samples)"
            kind = type(term[1]).__name__
            raise TypeError(f"{_WHO}: term {k} of H has a {kind} in place of a function, {expected}{hint}")
        pairs.append((term[0], term[1]))
    if not pairs:
        raise ValueError(f"{_WHO}: H is an empty list, expected matrices and pairs [matrix, function of t]")
    home = home_of(*(a for a, _ in pairs))
    matrices = [require_sparse(a, _WHO, f"term {k} of H", home) for k, (a, _) in enumerate(pairs)]
    require_square(matrices[0], _WHO, "H")
    return matrices, [f for _, f in pairs]


def _max_step(given: Any) -> float | None:
    if given is None:
        return None
    if not isinstance(given, (int, float, np.number)) or not given > 0:
        raise ValueError(f"{_WHO}: max_step={given!r}, expected a positive number")
    return float(given)
