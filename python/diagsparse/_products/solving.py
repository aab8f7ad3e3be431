"""Solving A x = b by factorizations that suit the bandwidth."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._matrix.convert import unpacked
from .._matrix.elementwise_functions import is_scalar
from .._matrix.operands import require_sparse
from .batch import Batch
from .batch_factors import BatchFactorization, InterleavedFactorization
from .batches import batch_array
from .cholesky import CholeskyFactorization
from .factors import Factorization
from .interleaved import interleaved_batch


def factorized(A: Any, sigma: complex = 0, *, method: str | None = None) -> Factorization | BatchFactorization:
    """Factor ``A - sigma I`` once, to solve many systems.

    Parameters
    ----------
    A : sparse matrix (ours or SciPy's), shape (n, n), batch_array or interleaved_batch
        On the CPU or on a GPU.
    sigma : scalar
        The shift.
    method : str, optional
        The default is "diagonal" or "triangular" for such matrices (see `solve_triangular`), and otherwise depends on
        the bandwidth. On the CPU it is LAPACK's "tridiagonal", "banded" or "dense" if the band is narrow or mostly
        filled, "cyclic" for a band with entries in two corners, "woodbury" for `qband` matrices of a band and a few
        rows, else SciPy's "superlu". "cholesky" is for positive definite bands, see `cholesky_banded`; "qr" for small
        matrices with which all others are inaccurate. On a GPU it is "tridiagonal", "banded" for offsets up to 64,
        "cyclic" and "woodbury" for such bands, where the rest of a `qband` matrix may also be in a few columns, else
        NVIDIA's "cudss" (install the extra `cudss`). cuSPARSE's "pentadiagonal" is there on request.

    Returns
    -------
    Factorization
        A `scipy.sparse.linalg.LinearOperator` with ``F.solve(b, trans="N")``. For a batch, a `BatchFactorization`,
        whose ``F.solve(B)`` solves the system of member i for row i, or if it is interleaved for column i.

    Raises
    ------
    ValueError
        If the matrix is not square, or `method` does not support it; on the CPU also for values that are not finite.
    numpy.linalg.LinAlgError
        If the matrix is singular, or for "cholesky" not positive definite; on a GPU also if values are not finite.
    ImportError
        On a GPU, if cuDSS is needed but not installed.
    MemoryError
        If the factors of a band do not fit.

    Notes
    -----
    On the CPU, the factors of a band with `kl` diagonals below the main one and `ku` above have ``n (2 kl + ku + 1)``
    values, and need about ``2 n kl (kl + ku)`` multiply-adds; a solve needs ``2 n (2 kl + ku)``. If the positions are
    symmetric and the main diagonal dominates in all rows or all columns, "superlu" exchanges no rows, so that it can
    choose an order with less fill.

    On a GPU, a tridiagonal matrix and its factors have 5.6 to 7.4 n values. They are computed without pivoting if this
    is accurate, else cuSPARSE pivots. There and in "pentadiagonal", every solve repeats the elimination. A band with at
    most `k` diagonals on each side of the main one has factors of 4 k n values, and a copy of the matrix. It is
    eliminated in blocks of k rows, with pivoting inside of blocks; where this is inaccurate, LAPACK factors it on the
    host, and solves there.

    The members of a `batch_array` are factored as one block diagonal matrix. Those of an `interleaved_batch` are copied
    to this layout first, unless they are tridiagonal or cyclic, on a GPU, and at least 2048.

    Examples
    --------
    >>> import numpy as np, diagsparse as ds
    >>> from scipy.sparse.linalg import eigsh
    >>> A = ds.hm_array(ds.gallery.tridiagonal(100))
    >>> F = ds.factorized(A)
    >>> F
    <factors of A, 100 x 100 float64: tridiagonal, 3.6 KB>
    >>> bool(np.allclose(A @ F.solve(np.ones(100)), 1))
    True
    >>> eigsh(A, k=1, sigma=0, OPinv=F)[0].round(6)
    array([0.000967])
    """
    return factors(A, sigma, method, once=False)


def factors(
    A: Any, sigma: complex, method: str | None, once: bool, who: str = "factorized"
) -> Factorization | BatchFactorization:
    """Return what `factorized` does; for a single solve, `once`, without a copy of A where that is possible."""
    a: Any = A if isinstance(A, Batch) else require_sparse(A, who, "A")
    if a.shape[0] != a.shape[1]:
        raise ValueError(f"{who}: A is {a!r}; expected a square matrix")
    if not is_scalar(sigma) or not _fits(sigma, a.dtype):
        raise ValueError(f"{who}: sigma={sigma!r}: expected a finite number that {a.dtype} holds")
    if isinstance(a, batch_array):
        return BatchFactorization(a, sigma, method, once, who)
    if isinstance(a, interleaved_batch):
        return InterleavedFactorization(a, sigma, method, once, who)
    kind = CholeskyFactorization if method == "cholesky" else Factorization
    return kind(unpacked(a), sigma, method, once, who)


def _fits(sigma: complex, dtype: np.dtype) -> bool:
    try:
        with np.errstate(over="ignore"):
            return bool(np.isfinite(np.result_type(dtype, np.complex64).type(sigma)))
    except OverflowError:  # of an int
        return False
