"""`evolve`: the action of the exponential of a matrix on vectors, at several times."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._arrays import device_dense, owners
from .._backends import memory
from .._backends.backend import CPU
from .._matrix.operands import is_sparse, require_sparse
from .bounds import require_square, size_of
from .driven_task import DrivenTask
from .evolution import Evolution
from .task import OnDevice, Progress, Task, on_host
from .vectors import member


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
    max_step: float | None = None,
    stream: Any = None,
) -> Evolution:
    """Evolve states in time: ``exp(-i H t) psi``, the solution of Schroedinger's equation, at all `times`.

    With ``generator=True``, it is ``exp(H t) psi``, the solution of x' = H x.

    Parameters
    ----------
    H : sparse matrix, shape (n, n), or list
        Ours, a view of it, or SciPy's, on the CPU or on a GPU; Hermitian, unless it is a generator. A matrix that
        changes with time is a list of matrices and of pairs ``[matrix, f]``, and stands for the sum of the matrices,
        each times ``f(t)``, which returns a number.
    psi : array_like, shape (n,) or (n, p)
        The state at time 0, or p states. For H on a GPU also an array of CuPy, PyTorch or JAX, or a `DeviceArray`.
    times : float or array_like, shape (k,)
        In any order, and of any sign.
    generator : bool
        Whether the exponent is ``H t`` instead of ``-i H t``.
    method : {"chebyshev", "krylov", "taylor"}, optional
        By default the one that should be faster. "chebyshev" needs a Hermitian matrix. For one that changes, it is the
        method for the exponentials of each step, "chebyshev" or "krylov"; generators that change need "krylov".
    tol : float, optional
        Bound of the error of each state in the 2-norm, relative to the initial one; for a generator relative to the
        largest state that one of the same norm can have become. By default 1e-10, and 1e-5 in single precision.
    spectrum : (float, float), optional
        An interval that contains all eigenvalues of a constant H, for "chebyshev". By default `spectral_bounds`
        computes it.
    observables : list of matrices, shape (n, n), optional
        The result has their expectation values ``<psi, O psi>`` at all times.
    states : bool, optional
        Whether the states at all times are kept. By default they are, unless there are observables.
    progress : callable, optional
        It is called with the fraction that is done after each step.
    max_step : float, optional
        The longest step, for a matrix that changes: without it, a pulse that is much shorter than the steps can be
        missed.
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
        `tol` is below the precision of the dtype, the method is unknown, eigenvalues are outside of `spectrum`, the
        times are so long that more than 10^8 products would be needed, or an argument is not for this kind of H.
    TypeError
        If `psi` is on a GPU and H is not, values are not numbers, `observables` is not a list, or `progress` or what
        is paired with a matrix not a function.
    MemoryError
        If the states, or the vectors of a Krylov space, do not fit.
    numpy.linalg.LinAlgError
        If no step keeps `tol`.
    OverflowError
        If a state becomes infinite or NaN, as with a generator whose exponential is too large for the dtype, or if
        eigenvalues are so large that the phases of a state are not known.

    Notes
    -----
    "chebyshev" sums a Chebyshev series of the exponential function, by `chebyshev_multiply`. It needs about
    ``|t| (high - low) / 2`` products, and some more for each of the times. "krylov" computes the exponential of a small
    matrix in a Krylov space of up to 30 vectors: by the Lanczos process for Hermitian matrices, and by Arnoldi's for
    others. Such a space serves all times within its reach, and needs no interval, so "krylov" is chosen for short
    times, and for many times that are close together. It is chosen for matrices of up to 30 rows as well, which are
    small themselves. "taylor" sums Taylor series for parts of the time, as A. H. Al-Mohy and N. J. Higham, *SIAM J.
    Sci. Comput.* 33 (2011), 488-511, and is chosen for most matrices that are not Hermitian. For each unit of ``|t|``
    times the norm of ``H - c I``, where c is the center of the diagonal, it needs about two products if all states
    decay, otherwise three to six, and ten for tolerances close to the precision; and memory for the absolute values of
    H.

    For a matrix that changes, a step of a commutator-free Magnus integrator of order 4 is computed as one, as two and
    as three parts, and extrapolated to order 8. The differences give an estimate of its error, and the lengths of the
    steps follow from it. A step takes about 100 products, and three times those for as long a time with a constant
    matrix. It needs memory for about 10 states.

    The error of a series is bounded by the terms that are left out, that of a Krylov space by the integral of its
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
    _refuse_other_classes(H, psi)
    moments = _times(times)
    if observables is not None and not isinstance(observables, (list, tuple)):
        raise TypeError(f"{who}: observables is {type(observables).__name__}, expected a list of matrices")
    if progress is not None and not callable(progress):
        raise TypeError(f"{who}: progress={progress!r}, expected a function of the fraction that is done")
    keep = observables is None if states is None else bool(states)
    if isinstance(H, (list, tuple)):
        task: Task = DrivenTask(H, moments, generator, method, tol, spectrum, keep, progress, max_step, stream)
    else:
        a = require_square(H, who, "H")
        if max_step is not None:
            raise ValueError(f"{who}: max_step={max_step!r}, but H does not change")
        task = Task(a, size_of(a, who, "H"), moments, generator, method, tol, spectrum, None, keep, progress)
    a = task.a
    task.observables = None if observables is None else [_observable(o, a, who) for o in observables]
    if a._backend is not CPU:
        kept = device_dense.multiply(OnDevice(task), psi, None, stream)
        if np.ndim(psi) == 2:
            kept = kept.reshape((len(moments) if keep else 1, a.shape[0], kept.shape[1]))
    else:
        if stream is not None:
            raise ValueError(f"{who}: stream={stream!r}, but H is on the cpu, and nothing there runs in a stream")
        owners.refuse_gpu_array(psi, CPU, who, "psi")
        kept = on_host(task, psi)
    final = member(kept, len(moments) - 1 if keep else 0)
    return Evolution(
        moments, kept if keep else None, final, task.expect, task.used, task.reason, task.interval, task.products,
        task.tol, time.perf_counter() - began, task.steps, task.rejected,
    )  # fmt: skip


def _refuse_other_classes(H: Any, psi: Any) -> None:
    """Raise TypeError for QuTiP's objects and sparse states, and say how to convert them."""
    advice = {"Qobj": "pass H.data_as('csr_matrix')", "QobjEvo": "pass diagsparse.qutip.terms(H)"}
    if type(H).__module__.partition(".")[0] == "qutip" and type(H).__name__ in advice:
        raise TypeError(f"evolve: H is QuTiP's {type(H).__name__}, expected a matrix; {advice[type(H).__name__]}")
    if type(psi).__module__.partition(".")[0] == "qutip":
        raise TypeError(f"evolve: psi is QuTiP's {type(psi).__name__}, expected an array; pass psi.full()")
    if is_sparse(psi):
        raise TypeError(f"evolve: psi is a sparse {type(psi).__name__}, expected an array; pass psi.toarray()")


def _times(times: Any) -> np.ndarray:
    """Return the times as a vector."""
    given = np.asarray(times)
    memory.require_free(24 * given.size, f"evolve: {given.size} times")
    if given.dtype.kind not in "biuf" or given.ndim > 1 or given.size == 0 or not np.isfinite(given).all():
        raise ValueError(f"evolve: times={times!r}, expected a real and finite number, or a vector of at least one")
    return given.astype(float).reshape(-1)


def _observable(given: Any, a: Any, who: str) -> Any:
    """Return an observable as a matrix on the device of H."""
    o = require_sparse(given, who, "an observable")
    if o.shape != a.shape:
        raise ValueError(f"{who}: an observable is {o.shape[0]} x {o.shape[1]}, and H is {a.shape[0]} x {a.shape[1]}")
    if o._backend is not a._backend:
        raise ValueError(f"{who}: an observable is on {o.device}, and H on {a.device}; move one: O.to({a.device!r})")
    return o
