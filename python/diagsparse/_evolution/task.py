"""An evolution on any device: its states, in the order of time, their norms, and expectation values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._arrays import device_dense, host_dense
from .._backends import memory
from .._backends.backend import CPU
from .._backends.types import chain_dtype
from .bounds import circles, is_hermitian
from .chebyshev import Interval
from .choice import METHODS, chosen
from .vectors import Vectors, member, vectors

_WORKING = 4  # vectors in addition to the states
_GROWN = 1e-3  # relative growth of the norm of a state that shows an eigenvalue outside of the interval

Progress = Callable[[float], object]


class Task:
    """An evolution, on any device: what is asked for, and what becomes known on the way."""

    def __init__(
        self, a: Any, size: float, times: np.ndarray, generator: bool, method: str | None, tol: float | None,
        spectrum: Any, observables: list[Any] | None, keep: bool, progress: Progress | None,
    ) -> None:  # fmt: skip
        if method is not None and method not in METHODS:
            raise ValueError(f"evolve: method={method!r}, expected one of {', '.join(METHODS)}")
        self.a, self.size, self.times, self.factor = a, size, times, 1.0 if generator else -1j
        self.method, self.given_tol, self.spectrum = method, tol, spectrum
        self.observables, self.keep, self.progress = observables, keep, progress
        self.expect: np.ndarray | None = None
        self.used, self.reason, self.products = "", "", 0
        self.interval: tuple[float, float] | None = None
        self.steps: int | None = None  # of a changing matrix
        self.rejected: int | None = None

    def dtype(self, shape: tuple[int, ...], given: np.dtype) -> np.dtype:
        """Check psi and the memory for its states; return their dtype, and set the tolerance."""
        n = self.a.shape[0]
        if len(shape) not in (1, 2) or shape[0] != n:
            words = f"{shape[0]} elements" if len(shape) == 1 else f"shape {shape}"
            raise ValueError(f"evolve: psi has {words}, but H is {n} x {n} and needs shape ({n},) or ({n}, p)")
        try:
            dtype = chain_dtype(self.a.dtype, given, self.factor != 1.0)
        except TypeError as error:
            raise TypeError(f"evolve: psi has {given} elements: {error}") from None
        eps = float(np.finfo(dtype).eps)
        tol = self.given_tol if self.given_tol is not None else 1e-10 if eps < 1e-10 else 1e-5
        if not (isinstance(tol, (int, float, np.number)) and eps <= tol < np.inf):
            raise ValueError(
                f"evolve: tol={tol!r}, expected a finite number of at least {eps:.1e}, the precision of {dtype}"
            )
        self.tol = float(tol)
        self._require_memory(shape, dtype, 0)
        return dtype

    def shape(self, x: Any) -> tuple[int, ...]:
        """Return the shape of the states that are kept; the final one always is."""
        return (len(self.times) if self.keep else 1, *x.shape)

    def _require_memory(self, shape: tuple[int, ...], dtype: np.dtype, space: int) -> None:
        """Raise MemoryError if the states and the vectors of the method do not fit."""
        nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        count = self.shape(np.empty(0))[0] + space + _WORKING
        memory.require_free(count * nbytes, f"evolve: {count} states of {shape}", self.a._backend)

    def run(self, v: Vectors, x: Any, kept: Any) -> None:
        """Write the states to `kept`, by the method that is chosen for them."""
        hermitian, start = is_hermitian(self.a, v), v.norm(x)
        sides = self._sides()
        runs = [run for _, run in sides]
        columns = max(1, x.shape[1]) if x.ndim == 2 else 1
        choice = chosen(
            self.a,
            self.size,
            v,
            runs,
            columns,
            start,
            self.factor,
            hermitian,
            self.method,
            self.spectrum,
            self.tol,
            x.dtype,
        )
        self.used, self.reason, self.products = choice.method, choice.reason, choice.products
        self._require_memory(tuple(x.shape), x.dtype, choice.vectors)
        self._prepare_expectations(v, x)
        interval = choice.interval
        self.interval = None if interval is None else interval[:2]
        if all(self._side(v, x, start, kept, side, run, choice) for side, run in sides):
            return
        assert interval is not None
        if self.spectrum is not None:
            raise ValueError(f"evolve: spectrum={self.interval} does not contain all eigenvalues of H: a state grew")
        low, high = circles(self.a, self.size)
        interval = interval._replace(low=low, high=high, slack=high - low)
        choice, self.interval = choice._replace(interval=interval), interval[:2]
        for side, run in sides:
            self._side(v, x, start, kept, side, run, choice)

    def _sides(self) -> list[tuple[list[int], list[float]]]:
        """Return the times from 0 on, and those before 0, both going away from 0: their positions, and the times."""
        sides = [
            [int(i) for i in np.argsort(sign * self.times, kind="stable") if (sign * self.times[i] > 0) or i in at]
            for sign, at in ((1, np.flatnonzero(self.times == 0)), (-1, ()))
        ]
        return [(side, [float(self.times[i]) for i in side]) for side in sides]

    def _prepare_expectations(self, v: Vectors, x: Any) -> None:
        """Allocate the expectation values, which are real if all observables are Hermitian."""
        if self.observables is not None:
            real = all((x.dtype.kind != "c" and o.dtype.kind != "c") or is_hermitian(o, v) for o in self.observables)
            shape = (len(self.times), len(self.observables), *x.shape[1:])
            self.expect = np.zeros(shape, float if real else complex)

    def _side(
        self, v: Vectors, x: Any, start: float, kept: Any, side: list[int], times: list[float], choice: Any
    ) -> bool:
        """Compute the states of times with one sign, from one of norm `start`; return whether norms are possible."""
        if not side:
            return True
        total = float(np.ptp([0.0, *self.times])) or 1.0
        before = 0.0 if times[-1] > 0 else max(0.0, float(self.times.max()))

        def done(t: float, products: int) -> None:
            self.products += products
            if self.progress is not None:
                self.progress(min(1.0, (before + abs(t)) / total))

        state = x
        for i, state in zip(side, choice.states(v, self.a, x, times, self.factor, self.tol, done), strict=True):
            if self.keep or i == len(self.times) - 1:
                v.assign(state, member(kept, i if self.keep else 0))
            for k, o in enumerate(self.observables or ()):
                self._expectation(v, o, state, i, k)
        after = v.norm(state)
        if not np.isfinite(after) and _overflows(state) and not _overflows(x):
            raise OverflowError(f"evolve: the state at t = {times[-1]:g} is not finite: {x.dtype} cannot hold it")
        return choice.interval is None or self._is_possible(start, after, times[-1], choice.interval)

    def _is_possible(self, before: float, after: float, t: float, interval: Interval) -> bool:
        """Whether the norm of a state can have become what it is, if all eigenvalues are in the interval."""
        if not np.isfinite(before) or before == 0:
            return True
        allowed = _GROWN + 2 * self.tol
        if self.factor != 1.0:
            return bool(before * (1 - allowed) <= after <= before * (1 + allowed))
        growth = max(t * interval.low, t * interval.high)
        return bool(after == 0 or np.log(after) - np.log(before) <= growth + np.log1p(allowed))

    def _expectation(self, v: Vectors, o: Any, state: Any, i: int, k: int) -> None:
        """Store ``<psi, O psi>`` of the state at time i."""
        assert self.expect is not None
        image = v.empty(state.shape, np.result_type(o.dtype, state.dtype))
        v.multiply(o, state, image)
        found = np.array([v.inner(x, y) for x, y in zip(v.columns(state), v.columns(image), strict=True)])
        self.expect[i, k] = (found if self.expect.dtype.kind == "c" else found.real).reshape(self.expect.shape[2:])


def _overflows(state: Any) -> bool:
    """Whether elements of a state are infinite or NaN; its norm can be infinite without them."""
    with np.errstate(all="ignore"):
        return bool((state * 0).any())


def on_host(task: Task, psi: Any) -> np.ndarray:
    """Run an evolution on the CPU; return the states that are kept."""
    x = host_dense.as_numpy(psi, "evolve")
    dtype = task.dtype(x.shape, x.dtype)
    kept = np.empty(task.shape(x), dtype)
    task.run(vectors(CPU), np.array(x, dtype, order="F"), kept)
    return kept


class OnDevice(device_dense.Product):
    """An evolution on a GPU as the task of a call with arrays of any library."""

    def __init__(self, task: Task) -> None:
        super().__init__(task.a, 0, task.a.shape, 1, 0, None, "evolve")
        self._task = task

    def dtypes(self, shape: tuple[int, ...], given: np.dtype) -> tuple[np.dtype, np.dtype]:
        dtype = self._task.dtype(shape, given)
        return dtype, dtype

    def result_shape(self, x: Any) -> tuple[int, ...]:
        count, *shape = self._task.shape(x)
        return (count, *shape) if x.ndim == 1 else (count * shape[0], shape[1])  # of at most two axes

    def run(self, x: Any, target: Any, allocate: Callable[[str], Any]) -> None:
        kept = allocate("C").ravel().reshape(self._task.shape(x))
        self._task.run(vectors(self.backend), device_dense.gather(self.backend.core, x, 0), kept)
