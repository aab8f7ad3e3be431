"""Powers and Chebyshev series of a distributed matrix times a vector, with one exchange for several steps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np

from .._backends.arguments import integer
from .._backends.docstrings import completed_by
from .arrays import current
from .collective import same, together
from .deep_halo import BY_DIAGONALS, Window, deep_halo
from .matrix import DistributedArray, require_distributed
from .vector import Vector


def power_multiply(D: DistributedArray, x: Vector, k: int, *, steps: int | None = None) -> Vector:
    """Return ``D^k x``.

    Every process has to call this.

    Parameters
    ----------
    D : DistributedArray, shape (n, n)
        The matrix.
    x : Vector, shape (n,) or (n, p)
        A vector, or a block of them, with the rows of D.
    k : int
        The power, at least 0.
    steps : int, optional
        Steps that are computed after each exchange; by default as many as `deep_halo` recommends.

    Returns
    -------
    Vector

    Raises
    ------
    ValueError, TypeError
        On all processes, if D is not square, ranges of rows do not fit, `k` is negative or no integer, or `steps` is
        not 1 and the format has no offsets, or `steps` is less than 1.

    Notes
    -----
    The same bits for any number of processes and steps. With ``steps > 1``, each process needs memory for the rows of D
    in the halo; they are fetched at the first call and cached.

    Examples
    --------
    >>> import diagsparse as ds
    >>> from diagsparse import distributed
    >>> D = distributed.from_global(ds.gallery.tridiagonal(6, format="hm"))
    >>> x = distributed.vector(D, lambda first, last: [float(i == 0) for i in range(first, last)])
    >>> distributed.power_multiply(D, x, 2).gather()
    array([ 5., -4.,  1.,  0.,  0.,  0.])
    """
    require_distributed(D, "power_multiply")
    k = together(D.comm, lambda: _checked("power_multiply", D, x, k, steps))
    same(D.comm, (k, steps), "power_multiply: k and steps")
    with current(D.device):
        return _recurrence(D, x, [1.0] * k, [0.0] * k, [0.0] * k, None, steps)


@completed_by(power_multiply)
def chebyshev_multiply(
    D: DistributedArray, x: Vector, coefficients: Any, *, domain: tuple[float, float] = (-1.0, 1.0),
    steps: int | None = None,
) -> Vector:  # fmt: skip
    """Return the Chebyshev series ``sum_j c_j T_j(D') x``, where ``D'`` is D with `domain` mapped to [-1, 1].

    Every process has to call this.

    Parameters
    ----------
    coefficients : array_like, shape (k + 1,)
        The coefficients ``c_0``, ..., ``c_k``, real or complex.
    domain : (float, float)
        An interval that contains the eigenvalues of D; it is mapped to [-1, 1].

    Returns
    -------
    Vector
        With NumPy's result type of D, x and the coefficients.

    Raises
    ------
    ValueError, TypeError
        On all processes, as for `power_multiply`, and for coefficients or a domain that are none.

    Notes
    -----
    The same bits for any number of processes and steps. It computes k products, and needs memory for four more vectors.

    Examples
    --------
    >>> from diagsparse import distributed, gallery
    >>> D = distributed.from_global(gallery.tridiagonal(6))
    >>> x = distributed.vector(D, 1.0)
    >>> distributed.chebyshev_multiply(D, x, [0, 1], domain=(0, 4)).gather()  # (D - 2) x / 2
    array([-0.5, -1. , -1. , -1. , -1. , -0.5])
    """
    who = "chebyshev_multiply"

    def checked() -> tuple[Any, float, float]:
        _checked(who, D, x, 0, steps)
        c, limits = np.asarray(coefficients), np.asarray(domain)
        if c.ndim != 1 or not len(c) or c.dtype.kind not in "iufc":
            raise ValueError(f"distributed.{who}: coefficients of shape {c.shape}, expected a list of numbers")
        real = limits.shape == (2,) and limits.dtype.kind in "iuf" and np.isfinite(limits).all()
        if not real or limits[0] == limits[1]:
            raise ValueError(f"distributed.{who}: domain={domain}, expected two different real numbers")
        low, high = map(float, limits)
        return c, 2 / (high - low), -(high + low) / (high - low)

    require_distributed(D, who)
    c, scale, shift = together(D.comm, checked)
    same(D.comm, repr((c.tolist(), scale, shift, steps)), f"{who}: coefficients, domain and steps")
    k = len(c) - 1
    alpha, beta = [2 * scale] * k, [2 * shift] * k
    if k:
        alpha[0], beta[0] = scale, shift
    with current(D.device):
        return _recurrence(D, x, alpha, beta, [0.0] + [-1.0] * (k - 1) if k else [], c, steps)


def _checked(who: str, D: DistributedArray, x: Any, k: Any, steps: Any) -> int:
    if not isinstance(x, Vector) or x._rows != D._cols:
        raise ValueError(f"distributed.{who}: x is {x!r}, expected a vector with the rows of {D!r}")
    if (count := integer(k, f"distributed.{who}: k")) < 0:
        raise ValueError(f"distributed.{who}: k={count}, expected at least 0")
    if steps is not None and (deep := integer(steps, f"distributed.{who}: steps")) != 1:
        if deep < 1:
            raise ValueError(f"distributed.{who}: steps={deep}, expected at least 1")
        if D.format not in BY_DIAGONALS:
            raise ValueError(f"distributed.{who}: steps={deep} for a {D.format}_array, whose reach is not known")
    return count


def _recurrence(D: Any, x: Vector, alpha: Any, beta: Any, gamma: Any, c: Any, steps: int | None) -> Vector:
    """Return the sum of ``c_j t_j``, or the last ``t_j``, if c is None.

    The vectors are ``t_0 = x`` and ``t_{j+1} = alpha_j D t_j + beta_j t_j + gamma_j t_{j-1}``.
    """
    k = len(alpha)
    steps = min(k, deep_halo(D, k).steps if steps is None else integer(steps, "steps")) if D.comm.size > 1 else 1
    dtype = np.result_type(D.dtype, x.dtype, *([] if c is None else [np.result_type(c, np.float32(0))]))
    window, multiply = None, cast(Callable[..., Any], partial(D._multiply, agreed=True))
    t, before = Vector(x.local.astype(dtype), x._rows, x.comm, x.device), None
    if steps > 1:
        window = Window.of(D, steps)
        multiply = window.multiply
        (t,) = window.widened(t)
    total = None if c is None else c[0] * _own(t, window)
    for j in range(k):
        if window is not None and j and j % steps == 0:
            if any(gamma):
                t, before = window.widened(window.own(t), window.own(before))
            else:
                (t,) = window.widened(window.own(t))
        new = multiply(t, before, alpha[j], gamma[j]) if gamma[j] else multiply(t, None, alpha[j], 0)
        if beta[j]:
            new += beta[j] * t
        t, before = new, t
        if total is not None:
            total += c[j + 1] * _own(t, window)
    result = _own(t, window) if total is None else total
    return result.copy()


def _own(t: Any, window: Any) -> Vector:
    return t if window is None else window.own(t)
