"""The conjugate gradient method on distributed vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._backends.arguments import integer
from .arrays import current
from .collective import same, together
from .matrix import DistributedArray, require_distributed
from .vector import Vector, dot, norm, vector


def cg(
    D: DistributedArray,
    b: Vector,
    x0: Vector | None = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Callable[[Vector], Vector] | DistributedArray | None = None,
    callback: Callable[[Vector], Any] | None = None,
) -> tuple[Vector, int]:
    """Solve ``D x = b`` by the conjugate gradient method, for a symmetric or Hermitian positive definite matrix.

    The parameters and the result are those of `scipy.sparse.linalg.cg`. Every process has to call this.

    Parameters
    ----------
    D : DistributedArray, shape (n, n)
        The matrix.
    b : Vector, shape (n,)
        The right-hand side.
    x0 : Vector, optional
        The start; by default zeros.
    rtol, atol : float
        The iteration ends with ``norm(b - D x) <= max(rtol * norm(b), atol)``.
    maxiter : int, optional
        Largest number of iterations, by default ``10 n``.
    M : callable, DistributedArray or "jacobi", optional
        The preconditioner, an approximation of the inverse of D: ``M(r)`` or ``M @ r`` returns a vector. ``"jacobi"``
        is the inverse of the main diagonal.
    callback : callable, optional
        Called as ``callback(x)`` after each iteration, on all processes.

    Returns
    -------
    x : Vector
        The solution, or the last approximation.
    info : int
        0 if the iteration has converged, otherwise the number of iterations, as in SciPy: also 0 for ``maxiter=0``.

    Raises
    ------
    ValueError, TypeError
        On all processes, if shapes or ranges of rows do not fit.

    Notes
    -----
    An iteration computes one product and two sums over all processes, and has the same bits for any number of processes
    if `M` has. M. R. Hestenes, E. Stiefel, *J. Res. Natl. Bur. Stand.* 49, 409, 1952.

    Examples
    --------
    >>> import diagsparse as ds
    >>> from diagsparse import distributed
    >>> D = distributed.from_global(ds.gallery.tridiagonal(100))
    >>> x, info = distributed.cg(D, distributed.vector(D, 1.0), rtol=1e-10)
    >>> info
    0
    """

    def check() -> None:
        for name, one in (("b", b), ("x0", x0)):
            if one is not None and (not isinstance(one, Vector) or one.shape != (D.shape[0],) or one._rows != D._rows):
                raise ValueError(f"distributed.cg: {name} is {one!r}, expected a vector with the rows of {D!r}")

        if not (rtol >= 0 and atol >= 0):
            raise ValueError(f"distributed.cg: rtol={rtol}, atol={atol}, expected numbers >= 0")
        if maxiter is not None and integer(maxiter, "distributed.cg: maxiter") < 0:
            raise ValueError(f"distributed.cg: maxiter={maxiter}, expected at least 0")

    require_distributed(D, "cg")
    together(D.comm, check)
    same(D.comm, (rtol, atol, maxiter), "cg: rtol, atol and maxiter")
    iterations = 10 * D.shape[0] if maxiter is None else maxiter
    with current(D.device):
        return _iterated(D, b, x0, rtol, atol, iterations, _preconditioner(D, M), callback)


def _iterated(
    D: DistributedArray, b: Vector, x0: Vector | None, rtol: float, atol: float, iterations: int,
    precondition: Callable[[Vector], Vector], callback: Callable[[Vector], Any] | None,
) -> tuple[Vector, int]:  # fmt: skip
    dtype = np.result_type(D.dtype, b.dtype, *([] if x0 is None else [x0.dtype]))
    size = float(norm(b))
    if not np.isfinite(size):
        raise ValueError(f"distributed.cg: norm(b) is {size}: elements of b are not finite, or too large for {b.dtype}")
    if x0 is None or size == 0:  # as SciPy: the solution is zero then
        x, r = vector(D, 0, dtype=dtype), Vector(b.local.astype(dtype), D._rows, D.comm, D.device)
    else:
        x = Vector(x0.local.astype(dtype), D._rows, D.comm, D.device)
        r = b - D @ x
    limit = max(rtol * size, atol)
    p, q, rho = None, vector(D, 0, dtype=dtype), None
    if float(norm(r)) <= limit:
        return x, 0
    for _ in range(iterations):
        z = precondition(r)  # of any type
        rho, before = dot(r, z), rho
        if p is None:
            p = Vector(z.local.astype(dtype), D._rows, D.comm, D.device)
        else:
            p *= rho / before
            p += z
        D._multiply(p, q, 1, 0, agreed=True)
        curvature = dot(p, q)
        if curvature == 0 or not np.isfinite(curvature):
            break  # the matrix is singular, or values have overflowed
        step = rho / curvature
        x += step * p
        r -= step * q
        if callback is not None:
            callback(x)
        if float(norm(r)) <= limit:
            return x, 0
    return x, iterations


def _preconditioner(D: DistributedArray, M: Any) -> Callable[[Vector], Vector]:
    if M is None:
        return lambda r: r
    if isinstance(M, str):
        if M != "jacobi":
            raise ValueError(f'distributed.cg: M={M!r}, expected a function, a matrix or "jacobi"')
        inverse = Vector(1 / D.diagonal().local, D._rows, D.comm, D.device)
        return lambda r: inverse * r
    return M if callable(M) else lambda r: M @ r
