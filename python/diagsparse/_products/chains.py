"""Chains of products with one vector: powers, Chebyshev series, three-term recurrences."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._arrays import device_dense, host_dense, owners, streams
from .._backends import memory
from .._backends.arguments import integer
from .._backends.backend import CPU
from .._backends.docstrings import completed_by
from .._backends.types import chain_dtype
from .._matrix.operands import require_sparse
from .matvec_plan import checked_kernel

_STEP_BYTES = 4 * (8 + 16)  # per step, for four factors: references to them, and their values in native code
_VECTORS = 4  # temporary vectors of the length of x


def power_multiply(a: Any, x: Any, k: int, *, out: Any = None, kernel: str | None = None, stream: Any = None) -> Any:
    """Return ``A^k x`` without forming a power of A.

    Parameters
    ----------
    a : sparse matrix, shape (n, n)
        Ours, a view of it (`A.T`, `A.H`, `A.conj()`), or SciPy's.
    x : array_like, shape (n,) or (n, p)
        On the device of A as in `SparseArray.matvec`; a block is multiplied column by column.
    k : int
        At least 0.
    out : array, shape of `x`, optional
        Receives the result and is returned. It may be `x` itself.
    kernel : str, optional
        A name from ``A.kernels("chain")``; by default the first.
    stream : optional
        For a matrix on a GPU, as in `SparseArray.matvec`.

    Returns
    -------
    array
        An array of the same library as `x`, with NumPy's result type of A and x.

    Raises
    ------
    ValueError
        If A is not square, shapes do not fit, `k` is negative, the kernel is unknown, or `x` is on a different GPU than
        A.
    TypeError
        If `k` is not an integer, values are not numbers, `out` has another dtype, or `x` is on a GPU and A on the cpu.
    MemoryError
        If the temporary memory does not fit: about 100 bytes per step, and four vectors.

    Notes
    -----
    If the band is narrow enough, several steps are computed while a block of rows is in the cache (M. Mohiyuddin,
    M. Hoemmen, J. Demmel, K. Yelick, *Minimizing communication in sparse matrix solvers*, SC 2009), so that A is read
    from memory less than k times; see ``docs/chains.md``. The call allocates up to four temporary vectors of the length
    of `x`. The result is bitwise identical for any number of threads.

    Examples
    --------
    >>> import diagsparse as ds
    >>> import numpy as np
    >>> A = ds.dia_array(ds.gallery.tridiagonal(6))
    >>> ds.power_multiply(A, np.eye(6)[0], 2)
    array([ 5., -4.,  1.,  0.,  0.,  0.])
    """
    k = _count(k, "power_multiply")
    memory.require_free(_STEP_BYTES * k, f"power_multiply: the factors of {k} steps")
    r = Recurrence([1] * k, [0] * k, [0] * k, [*[0] * k, 1])
    return _run("power_multiply", a, x, r, out, kernel, stream)


@completed_by(power_multiply)
def chebyshev_multiply(
    a: Any,
    x: Any,
    coefficients: Any,
    *,
    domain: tuple[float, float] = (-1.0, 1.0),
    out: Any = None,
    kernel: str | None = None,
    stream: Any = None,
) -> Any:
    """Return the Chebyshev series ``sum_j c_j T_j(A') x``, where ``A'`` is A with `domain` mapped to [-1, 1].

    This is ``numpy.polynomial.Chebyshev(coefficients, domain)`` evaluated at A, times x, with
    ``A' = (2 A - (low + high) I) / (high - low)``. Such a series converges fast for smooth functions of matrices with
    real eigenvalues in the domain, as for time evolution, filters and densities of states.

    Parameters
    ----------
    coefficients : array_like, shape (k + 1,)
        Real or complex; at least one.
    domain : (float, float)
        The interval of the series; the ends must differ.

    Returns
    -------
    array
        An array of the same library as `x`, with NumPy's result type of A and x, complex if a coefficient is complex.

    Raises
    ------
    ValueError, TypeError
        As in `power_multiply`; also for missing or non-numeric coefficients, and a domain of length 0.

    Notes
    -----
    The cost is k products with A, by the three-term recurrence (of C. W. Clenshaw, run forwards so that it can be
    blocked). The notes of `power_multiply` apply here too.

    Examples
    --------
    ``exp(-i t H') x``: the coefficients are Bessel functions of t (H. Tal-Ezer, R. Kosloff, *J. Chem. Phys.* 81, 3967,
    1984). The eigenvalues of this H are between 0 and 4.

    >>> import diagsparse as ds
    >>> import numpy as np
    >>> from scipy.special import jv
    >>> H = ds.hm_array(ds.gallery.tridiagonal(100))
    >>> j, t = np.arange(40), 8.0
    >>> c = np.where(j == 0, 1, 2) * (-1j) ** j * jv(j, t)
    >>> y = ds.chebyshev_multiply(H, np.eye(100)[50], c, domain=(0, 4))
    >>> float(np.linalg.norm(y).round(12))
    1.0
    """
    who = "chebyshev_multiply"
    c = _numbers(coefficients, "coefficients", who)
    low, high = _interval(domain, who)
    return _run(who, a, x, chebyshev_recurrence(c, 2 / (high - low), -(high + low) / (high - low)), out, kernel, stream)


@completed_by(power_multiply)
def recurrence_multiply(
    a: Any,
    x: Any,
    alpha: Any,
    beta: Any,
    gamma: Any,
    coefficients: Any,
    *,
    out: Any = None,
    kernel: str | None = None,
    stream: Any = None,
) -> Any:
    """Return ``sum_j c_j v_j`` for the recurrence ``v_0 = x, v_{j+1} = alpha_j A v_j + beta_j v_j + gamma_j v_{j-1}``.

    Every family of orthogonal polynomials satisfies such a recurrence, and so does the Lanczos process.

    Parameters
    ----------
    alpha, beta, gamma : array_like, shape (k,), or scalar
        Real or complex; a scalar is repeated k times. ``gamma[0]`` is not used, as there is no v_{-1}.
    coefficients : array_like, shape (k + 1,)
        Real or complex; at least one. Vectors with coefficient 0 are left out of the sum.

    Returns
    -------
    array
        An array of the same library as `x`, with NumPy's result type of A and x, complex if a factor is complex.

    Raises
    ------
    ValueError, TypeError
        As in `power_multiply`; also for factors that are not numbers or have another length.

    Notes
    -----
    The cost is k products with A. The notes of `power_multiply` apply here too.

    Examples
    --------
    The Legendre polynomial P_3(A) x, with (j + 1) P_{j+1} = (2 j + 1) t P_j - j P_{j-1}:

    >>> import diagsparse as ds
    >>> import numpy as np
    >>> j = np.arange(3)
    >>> A = ds.dia_array(np.diag([0.0, 0.5, 1.0]))
    >>> ds.recurrence_multiply(A, np.ones(3), (2 * j + 1) / (j + 1), 0, -j / (j + 1), [0, 0, 0, 1])
    array([ 0.    , -0.4375,  1.    ])
    """
    who = "recurrence_multiply"
    c = _numbers(coefficients, "coefficients", who)
    k = len(c) - 1
    r = Recurrence(
        _factors(alpha, k, "alpha", who), _factors(beta, k, "beta", who), _factors(gamma, k, "gamma", who), c
    )
    return _run(who, a, x, r, out, kernel, stream)


class Recurrence(NamedTuple):
    """The factors of ``v_{j+1} = alpha_j A v_j + beta_j v_j + gamma_j v_{j-1}`` and the coefficients of the sum."""

    alpha: list[complex]
    beta: list[complex]
    gamma: list[complex]
    c: list[complex]

    def is_complex(self) -> bool:
        return any(isinstance(s, complex) for factors in self for s in factors)


def chebyshev_recurrence(c: list[complex], scale: float, shift: float) -> Recurrence:
    """Return the recurrence of a Chebyshev series in ``scale A + shift I``."""
    k = len(c) - 1
    alpha: list[complex] = [2 * scale] * k
    beta: list[complex] = [2 * shift] * k
    if k > 0:
        alpha[0], beta[0] = scale, shift  # T_1(t) = t, T_{j+1}(t) = 2 t T_j(t) - T_{j-1}(t)
    return Recurrence(alpha, beta, [-1] * k, c)


def _run(who: str, a: Any, x: Any, r: Recurrence, out: Any, kernel: str | None, stream: Any) -> Any:
    """Run a recurrence on the device of A."""
    a = require_sparse(a, who, "A")
    if a.shape[0] != a.shape[1]:
        raise ValueError(f"{who}: A is {a.shape[0]} x {a.shape[1]}, expected a square matrix")
    if kernel is not None:
        checked_kernel(a, kernel, "chain", who)
    recurrence, is_complex = a._core.Recurrence(*r), r.is_complex()
    if a._backend is not CPU:
        return device_dense.chain(a, recurrence, is_complex, x, out, kernel, who, stream)
    streams.on(CPU, stream, who)  # raises for a stream
    owners.refuse_gpu_array(x, CPU, who)
    x = host_dense.as_numpy(x, who)
    host_dense.check_operand(x.shape, a.shape, who)
    x = x.astype(chain_dtype(a.dtype, x.dtype, is_complex), copy=False)
    memory.require_free(_VECTORS * x.nbytes, f"{who}: {_VECTORS} vectors of {x.shape[0]}")
    x, y, target = host_dense.columns(x, out, who)
    if y is not target:
        host_dense.refuse_part_of(a._matrix.values, target, who, a._core)
    if x.size:
        a._core.chain(a._matrix, a._op, recurrence, x, y, kernel or "")
    if y is not target:
        target[...] = y
    return target


def _count(k: Any, who: str) -> int:
    """Return the number of steps."""
    steps = integer(k, f"{who}: k")
    if steps < 0:
        raise ValueError(f"{who}: k is {steps}, expected at least 0")
    return steps


def _interval(domain: Any, who: str) -> tuple[float, float]:
    """Return the ends of a Chebyshev series' domain."""
    ends = np.asarray(domain)
    if ends.shape != (2,) or ends.dtype.kind not in "iuf" or not np.isfinite(ends).all() or ends[0] == ends[1]:
        raise ValueError(f"{who}: domain is {domain!r}, expected two different real numbers")
    return float(ends[0]), float(ends[1])


def _numbers(given: Any, name: str, who: str) -> list[complex]:
    """Return the factors of a vector as Python numbers; those of a complex array are complex."""
    factors = np.asarray(given)
    if factors.dtype.kind not in "iubfc":
        raise TypeError(f"{who}: {name} are of type {factors.dtype}, expected numbers")
    if factors.ndim != 1 or not factors.size:
        raise ValueError(f"{who}: {name} have shape {factors.shape}, expected a vector of at least one")
    return factors.astype(complex if factors.dtype.kind == "c" else float).tolist()


def _factors(given: Any, k: int, name: str, who: str) -> list[complex]:
    """Return k factors; a scalar is repeated."""
    if np.ndim(given) == 0:
        return _numbers([given], name, who) * k
    if np.shape(given) != (k,):
        raise ValueError(f"{who}: {name} has shape {np.shape(given)}, expected ({k},): one less than coefficients")
    return _numbers(given, name, who) if k else []
