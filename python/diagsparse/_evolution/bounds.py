"""An interval that contains the eigenvalues of a Hermitian matrix."""

from __future__ import annotations

from math import frexp
from typing import Any

import numpy as np

from .._arrays import streams
from .._backends import memory
from .._matrix.operands import require_sparse
from .lanczos import Process
from .vectors import Vectors, vectors

STEPS = 30  #: of the Lanczos process
_MARGIN = 0.01  # of the width of the interval, at each end
_SYMMETRIC = 1e3  # times eps, relative to |A x| |x|: imaginary part of x^H A x up to which A counts as Hermitian


def spectral_bounds(A: Any, *, stream: Any = None) -> tuple[float, float]:
    """Return an interval that contains the eigenvalues of a Hermitian matrix.

    Parameters
    ----------
    A : sparse matrix, shape (n, n)
        Hermitian, or real and symmetric: ours, a view of it, or SciPy's. On the CPU or on a GPU.
    stream : optional
        For a matrix on a GPU, as in `SparseArray.matvec`.

    Returns
    -------
    (float, float)
        The ends of the interval.

    Raises
    ------
    ValueError
        If A is not square, has no rows, is not Hermitian, or has values that are not finite.
    MemoryError
        If the vectors do not fit.

    Notes
    -----
    The extreme eigenvalues are estimated by 30 steps of the Lanczos process with a random vector, which is the same in
    every call on a device. The interval goes beyond the estimates by their residuals, and by 1 % of its width. This is
    not a guaranteed bound: an eigenvalue outside of it is possible, but unlikely, and then close to an end (Y. Zhou,
    R.-C. Li, *Bounding the spectrum of large Hermitian matrices*, Linear Algebra Appl. 435 (2011), 480-493).

    The cost is 31 products with vectors and a pass over A, and memory for 33 vectors.

    Examples
    --------
    The eigenvalues of this matrix lie between 0 and 4.

    >>> import diagsparse as ds
    >>> low, high = ds.spectral_bounds(ds.gallery.tridiagonal(1000, format="dia"))
    >>> -0.1 < low < 0.01 and 3.99 < high < 4.1
    True
    """
    who = "spectral_bounds"
    a = require_square(A, who)
    with streams.on(a._backend, stream, who):
        v = vectors(a._backend)
        size = size_of(a, who)
        if not is_hermitian(a, v):
            raise ValueError(f"{who}: A is not Hermitian; the bounds of an interval of real eigenvalues are for those")
        return bounds(a, v, size)[:2]


def require_square(A: Any, who: str, name: str = "A") -> Any:
    """Return a square matrix with at least one row; raise ValueError otherwise."""
    a = require_sparse(A, who, name)
    if a.shape[0] != a.shape[1] or a.shape[0] == 0:
        raise ValueError(f"{who}: {name} is {a.shape[0]} x {a.shape[1]}, expected a square matrix with rows")
    return a


def size_of(a: Any, who: str, name: str = "A") -> float:
    """Return the largest sum of the absolute values of a row: no eigenvalue has a larger one.

    Raise ValueError for values that are not finite. It takes a pass over the matrix.
    """
    size = float(np.max(a._format.absolute_sums(a, 1), initial=0.0))
    if not np.isfinite(size):
        raise ValueError(f"{who}: {name} has values that are not finite")
    return size


def circles(a: Any, size: float) -> tuple[float, float]:
    """Return an interval that certainly contains the eigenvalues of a Hermitian matrix: Gershgorin's circles."""
    margin = 64 * float(np.finfo(np.result_type(a.dtype, np.float32)).eps) * size
    if (found := _circles(a)) is None:
        return -size - margin, size + margin
    centers, radii = found[0].real.astype(float), found[1]
    return float((centers - radii).min()) - margin, float((centers + radii).max()) + margin


def radius_of(a: Any, size: float) -> float:
    """Return a bound of the distances of the eigenvalues from the center of the diagonal."""
    if (found := _circles(a)) is None:
        return size
    centers, radii = found
    return float((radii + abs(centers - center_of(centers))).max())


def _circles(a: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the centers and radii of Gershgorin's circles; None if equal sums of rows are only known once."""
    sums, diagonal = np.asarray(a._format.absolute_sums(a, 1), float), np.asarray(a.diagonal())
    return (diagonal, sums - abs(diagonal)) if sums.shape == diagonal.shape else None


def center_of(diagonal: np.ndarray) -> complex:
    """Return the center of the rectangle around the elements of a diagonal."""
    return complex(*(part.min() / 2 + part.max() / 2 for part in (diagonal.real, diagonal.imag)))


def scale_of(a: Any, size: float) -> float:
    """Return the size of a matrix as a power of two, as far as its inverse is in range; 1 for zeros."""
    most = 1000 if a.dtype.itemsize > 4 * (1 + (a.dtype.kind == "c")) else 100
    return 2.0 ** min(max(frexp(size)[1], -most), most) if size > 0 else 1.0


def is_hermitian(a: Any, v: Vectors) -> bool:
    """Whether ``x^H A x`` is real for a random complex x, as it is for no other matrix, with probability one."""
    dtype = np.result_type(a.dtype, np.complex64)
    x = v.random(a.shape[0], dtype)
    y = v.empty(x.shape, dtype)
    v.multiply(a, x, y)
    return abs(v.inner(x, y).imag) <= _SYMMETRIC * np.finfo(dtype).eps * v.norm(x) * v.norm(y)


def bounds(a: Any, v: Vectors, size: float) -> tuple[float, float, float]:
    """Return the interval of `spectral_bounds`, and how far it reaches beyond the estimates of the eigenvalues."""
    steps = min(a.shape[0], STEPS)
    dtype = np.result_type(a.dtype, np.float32)
    memory.require_free((steps + 3) * a.shape[0] * dtype.itemsize, "spectral_bounds: vectors", a._backend)
    process = Process(v, a, v.random(a.shape[0], dtype), True, scale_of(a, size), dtype)
    while len(process.basis) < steps and process.rest > 0:
        process.step()
    space = process.result()
    values, coordinates = np.linalg.eigh((space.small + space.small.conj().T) / 2)
    residuals = space.rest * abs(coordinates[-1])
    low, high = float(values[0] - residuals[0]), float(values[-1] + residuals[-1])
    margin = _MARGIN * (high - low) + 4 * float(np.finfo(dtype).eps) * max(abs(low), abs(high))
    return low - margin, high + margin, margin + float(max(residuals[0], residuals[-1]))
