"""`evolve`: the action of the exponential of a matrix on vectors, at several times."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._arrays import device_dense, host_dense, owners
from .._backends import memory
from .._backends.backend import CPU
from .._backends.types import chain_dtype
from .._matrix.operands import require_sparse
from .bounds import is_hermitian, norm_of_rows, require_finite, require_square
from .chebyshev import Interval
from .choice import METHODS, Choice, chosen
from .evolution import Evolution
from .vectors import Vectors, member, vectors

_WORKING = 4  # vectors in addition to the states
_GROWN = 1e-3  # relative growth of the norm of a state that shows an eigenvalue outside of the interval

Progress = Callable[[float], object]


def evolve(
    H: Any,
    psi: Any,
    times: Any,
    *,
    generator: bool = False,
    method: str | None = None,
    tol: float | None = None,
    spectrum: tuple[float, float] | None = None,
    observables: Sequence[Any] | None = None,
    states: bool | None = None,
    progress: Progress | None = None,
    stream: Any = None,
) -> Evolution:
    """Evolve states in time: ``exp(-i H t) psi``, the solution of Schroedinger's equation, at all `times`.

    With ``generator=True``, it is ``exp(H t) psi``, the solution of x' = H x.

    Parameters
    ----------
    H : sparse matrix, shape (n, n)
        Ours, a view of it, or SciPy's, on the CPU or on a GPU; Hermitian, unless it is a generator.
    psi : array_like, shape (n,) or (n, p)
        The state at time 0, or p states. For H on a GPU also an array of CuPy, PyTorch or JAX, or a `DeviceArray`.
    times : float or array_like, shape (k,)
        In any order, and of any sign.
    generator : bool
        Whether the exponent is ``H t`` instead of ``-i H t``.
    method : {"chebyshev", "krylov"}, optional
        By default the one that should be faster. "chebyshev" needs a Hermitian matrix.
    tol : float, optional
        Bound of the error of each state in the 2-norm, relative to the initial one; for a Hermitian generator relative
        to the largest state that one of the same norm can have become. By default 1e-10, and 1e-5 in single precision.
    spectrum : (float, float), optional
        An interval that contains all eigenvalues of H, for "chebyshev". By default `spectral_bounds` computes it.
    observables : list of matrices, shape (n, n), optional
        The result has their expectation values ``<psi, O psi>`` at all times.
    states : bool, optional
        Whether the states at all times are kept. By default they are, unless there are observables.
    progress : callable, optional
        It is called with the fraction that is done after each step.
    stream : optional
        For a matrix on a GPU, as in `SparseArray.matvec`.

    Returns
    -------
    Evolution
        ``states``, ``final`` and ``expect`` have the results, and ``method`` and ``reason`` tell how they were
        computed.

    Raises
    ------
    ValueError
        If H is not square, or not Hermitian where it has to be, shapes do not fit, times or values of H are not finite,
        `tol` is below the precision of the dtype, the method is unknown, or eigenvalues are outside of `spectrum`.
    TypeError
        If `psi` is on a GPU and H is not, or values are not numbers.
    MemoryError
        If the states, or the vectors of a Krylov space, do not fit.
    numpy.linalg.LinAlgError
        If no step keeps `tol`.

    Notes
    -----
    "chebyshev" sums a Chebyshev series of the exponential function, by `chebyshev_multiply`. It needs about
    ``|t| (high - low) / 2`` products, and some more for each of the times. "krylov" computes the exponential of a small
    matrix in a Krylov space of up to 30 vectors: by the Lanczos process for Hermitian matrices, and by Arnoldi's for
    others. Such a space serves all times within its reach, and needs no interval, so "krylov" is chosen for short
    times, and for many times that are close together.

    The error of the series is bounded by the terms that are left out, that of a Krylov space by the integral of its
    residual. Neither bound includes rounding errors. For a generator that is not Hermitian, the growth of vectors is an
    estimate, and therefore the bound as well: if eigenvectors are nearly parallel, as for a triangular matrix with
    elements that are much larger than the differences of its eigenvalues, rounding errors alone can be much larger.

    A real H is read as a real matrix although the states are complex. If `spectrum` is not given, the norms of the
    states show whether an eigenvalue is outside of the interval. In that case, the evolution starts again with an
    interval that is certain to contain all of them.

    Examples
    --------
    A spin chain of 10 sites. The energy is conserved.

    >>> import diagsparse as ds
    >>> import numpy as np
    >>> H = ds.gallery.heisenberg(10, format="mdia")
    >>> psi = np.zeros(1024)
    >>> psi[0b0000011111] = 1
    >>> result = ds.evolve(H, psi, [0.0, 1.0, 2.0], observables=[H])
    >>> bool(np.ptp(result.expect) < 1e-9)
    True
    >>> float(np.linalg.norm(result.final).round(9))
    1.0

    The heat equation, u' = -A u:

    >>> A = ds.gallery.tridiagonal(100, format="dia")
    >>> u = ds.evolve(-A, np.eye(100)[50], 10.0, generator=True).final
    >>> bool(abs(u.sum() - 1) < 1e-6)
    True
    """
    who = "evolve"
    began = time.perf_counter()
    a = require_square(H, who, "H")
    require_finite(a, who, "H")
    moments = _times(times)
    if observables is not None and not isinstance(observables, (list, tuple)):
        raise TypeError(f"{who}: observables is {type(observables).__name__}, expected a list of matrices")
    if progress is not None and not callable(progress):
        raise TypeError(f"{who}: progress={progress!r}, expected a function of the fraction that is done")
    given = [_observable(o, a, who) for o in observables] if observables is not None else None
    keep = given is None if states is None else bool(states)
    task = _Task(a, moments, generator, method, tol, spectrum, given, keep, progress)
    if a._backend is not CPU:
        kept = device_dense.multiply(_OnDevice(task), psi, None, stream)
        if np.ndim(psi) == 2:
            kept = kept.reshape((len(moments) if keep else 1, a.shape[0], kept.shape[1]))
    else:
        if stream is not None:
            raise ValueError(f"{who}: stream={stream!r}, but H is on the cpu, and nothing there runs in a stream")
        owners.refuse_gpu_array(psi, CPU, who, "psi")
        kept = _on_host(task, psi)
    final = member(kept, len(moments) - 1 if keep else 0)
    return Evolution(
        moments, kept if keep else None, final, task.expect, task.used, task.reason, task.interval, task.products,
        task.tol, time.perf_counter() - began,
    )  # fmt: skip


def _times(times: Any) -> np.ndarray:
    """Return the times as a vector."""
    given = np.asarray(times)
    memory.require_free(24 * given.size, f"evolve: {given.size} times")
    if given.dtype.kind not in "biuf" or given.ndim > 1 or given.size == 0 or not np.isfinite(given).all():
        raise ValueError(f"evolve: times={times!r}, expected a real and finite number, or a vector of such numbers")
    return given.astype(float).reshape(-1)


def _observable(given: Any, a: Any, who: str) -> Any:
    """Return an observable as a matrix on the device of H."""
    o = require_sparse(given, who, "an observable")
    if o.shape != a.shape:
        raise ValueError(f"{who}: an observable is {o.shape[0]} x {o.shape[1]}, and H is {a.shape[0]} x {a.shape[1]}")
    if o._backend is not a._backend:
        raise ValueError(f"{who}: an observable is on {o.device}, and H on {a.device}; move one: O.to({a.device!r})")
    return o


class _Task:
    """An evolution, on any device: what is asked for, and what becomes known on the way."""

    def __init__(
        self, a: Any, times: np.ndarray, generator: bool, method: str | None, tol: float | None, spectrum: Any,
        observables: list[Any] | None, keep: bool, progress: Progress | None,
    ) -> None:  # fmt: skip
        if method is not None and method not in METHODS:
            raise ValueError(f"evolve: method={method!r}, expected one of {', '.join(METHODS)}")
        self.a, self.times, self.factor = a, times, 1.0 if generator else -1j
        self.method, self.given_tol, self.spectrum = method, tol, spectrum
        self.observables, self.keep, self.progress = observables, keep, progress
        self.expect: np.ndarray | None = None
        self.used, self.reason, self.products = "", "", 0
        self.interval: tuple[float, float] | None = None

    def dtype(self, given: np.dtype) -> np.dtype:
        """Return the dtype of the states; set the tolerance."""
        dtype = chain_dtype(self.a.dtype, given, self.factor != 1.0)
        eps = float(np.finfo(dtype).eps)
        tol = self.given_tol if self.given_tol is not None else 1e-10 if eps < 1e-10 else 1e-5
        if not (isinstance(tol, (int, float, np.number)) and eps <= tol < np.inf):
            raise ValueError(
                f"evolve: tol={tol!r}, expected a finite number of at least {eps:.1e}, the precision of {dtype}"
            )
        self.tol = float(tol)
        return dtype

    def shape(self, x: Any) -> tuple[int, ...]:
        """Return the shape of the states that are kept; the final one always is."""
        return (len(self.times) if self.keep else 1, *x.shape)

    def require_memory(self, shape: tuple[int, ...], dtype: np.dtype, space: int) -> None:
        """Raise MemoryError if the states and the vectors of the method do not fit."""
        nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        count = self.shape(np.empty(0))[0] + space + _WORKING
        memory.require_free(count * nbytes, f"evolve: {count} states of {shape}", self.a._backend)

    def run(self, v: Vectors, x: Any, kept: Any) -> None:
        """Write the states to `kept`, by the method that is chosen for them."""
        hermitian = is_hermitian(self.a, v)
        sides = [
            [int(i) for i in np.argsort(sign * self.times, kind="stable") if (sign * self.times[i] > 0) or i in at]
            for sign, at in ((1, np.flatnonzero(self.times == 0)), (-1, ()))
        ]
        runs = [[float(self.times[i]) for i in side] for side in sides]
        columns = max(1, x.shape[1]) if x.ndim == 2 else 1
        choice = chosen(self.a, v, runs, columns, self.factor, hermitian, self.method, self.spectrum, self.tol, x.dtype)
        self.used, self.reason, self.products = choice.method, choice.reason, choice.products
        self.require_memory(tuple(x.shape), x.dtype, choice.vectors)
        if self.observables is not None:
            real = x.dtype.kind != "c" or all(is_hermitian(o, v) for o in self.observables)
            shape = (len(self.times), len(self.observables), *x.shape[1:])
            self.expect = np.zeros(shape, float if real else complex)
        interval = choice.interval
        self.interval = None if interval is None else interval[:2]
        if all(self._side(v, x, kept, side, run, choice) for side, run in zip(sides, runs, strict=True)):
            return
        assert interval is not None
        if self.spectrum is not None:
            raise ValueError(f"evolve: spectrum={self.interval} does not contain all eigenvalues of H: a state grew")
        limit = norm_of_rows(self.a)  # no eigenvalue is larger
        interval = interval._replace(low=-limit, high=limit, slack=limit)
        choice, self.interval = choice._replace(interval=interval), interval[:2]
        for side, run in zip(sides, runs, strict=True):
            self._side(v, x, kept, side, run, choice)

    def _side(self, v: Vectors, x: Any, kept: Any, side: list[int], times: list[float], choice: Choice) -> bool:
        """Compute the states of times with one sign; return whether their norms are possible."""
        if not side:
            return True
        start, total = v.norm(x), float(np.ptp([0.0, *self.times])) or 1.0
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
        return choice.interval is None or self._is_possible(start, v.norm(state), times[-1], choice.interval)

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


def _on_host(task: _Task, psi: Any) -> np.ndarray:
    """Run an evolution on the CPU; return the states that are kept."""
    x = host_dense.as_numpy(psi, "evolve")
    host_dense.check_operand(x.shape, task.a.shape, "evolve")
    dtype = task.dtype(x.dtype)
    task.require_memory(x.shape, dtype, 0)
    kept = np.empty(task.shape(x), dtype)
    task.run(vectors(CPU), np.array(x, dtype, order="F"), kept)
    return kept


class _OnDevice(device_dense.Product):
    """An evolution on a GPU as the task of a call with arrays of any library."""

    def __init__(self, task: _Task) -> None:
        super().__init__(task.a, 0, task.a.shape, 1, 0, None, "evolve")
        self._task = task

    def dtypes(self, shape: tuple[int, ...], given: np.dtype) -> tuple[np.dtype, np.dtype]:
        host_dense.check_operand(shape, self.shape, self.who)
        dtype = self._task.dtype(given)
        self._task.require_memory(shape, dtype, 0)
        return dtype, dtype

    def result_shape(self, x: Any) -> tuple[int, ...]:
        count, *shape = self._task.shape(x)
        return (count, *shape) if x.ndim == 1 else (count * shape[0], shape[1])  # of at most two axes

    def run(self, x: Any, target: Any, allocate: Callable[[str], Any]) -> None:
        kept = allocate("C").ravel().reshape(self._task.shape(x))
        self._task.run(vectors(self.backend), device_dense.gather(self.backend.core, x, 0), kept)
