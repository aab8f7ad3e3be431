"""Solving A x = b: factors that are kept, by what suits the band."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import get_lapack_funcs
from scipy.sparse.linalg import LinearOperator, splu

from .._arrays.host_dense import as_numpy
from .._matrix.base import SparseArray
from .._matrix.construct import require_sparse
from .._matrix.convert import convert, unpacked
from .._matrix.each_element import is_scalar
from .._places import memory
from .._places.backend import CPU
from .._show import display

_TRANSPOSED = {"N": 0, "T": 1, "H": 2}
_LEAST_BAND = 8  # diagonals from the lowest to the highest that are solved as a band, whatever of them is stored
_MOST_ZEROS = 4  # times what is stored that a band may hold


class Factorization(LinearOperator):
    """The factors of ``A - sigma I``, as `factorized` makes them: an operator that solves.

    ``F(b)``, ``F @ b`` and ``F.solve(b)`` solve ``(A - sigma I) x = b``; SciPy takes it as `OPinv` of `eigsh` and as a
    preconditioner `M` of `cg`.

    Attributes
    ----------
    method : str
        ``"diagonal"``, ``"tridiagonal"``, ``"banded"`` (LAPACK's ``gttrf`` and ``gbtrf``) or ``"superlu"``.
    nbytes : int
        Of the factors.
    seconds : float
        That the factorisation took.
    """

    def __init__(self, a: SparseArray, sigma: complex, method: str | None) -> None:
        dtype = np.result_type(a.dtype, np.complex64) if np.iscomplexobj(sigma) else a.dtype
        super().__init__(dtype, a.shape)
        began = time.perf_counter()
        self.sigma = sigma
        self.method, self._solve, self.nbytes = _factored(a.astype(dtype, copy=False), sigma, method)
        self.seconds = time.perf_counter() - began

    def solve(self, b: Any, trans: str = "N") -> np.ndarray:
        """Return x with ``(A - sigma I) x = b``, for `trans` "T" or "H" of the transpose or adjoint.

        Parameters
        ----------
        b : array_like, shape (n,) or (n, k)

        Raises
        ------
        ValueError
            For a `b` of another length.
        """
        if trans not in _TRANSPOSED:
            raise ValueError(f'solve: trans={trans!r}: expected "N", "T" or "H"')
        if sp.issparse(b):
            raise TypeError(f"solve: b is a sparse {type(b).__name__}; write b.toarray()")
        given = as_numpy(b, "solve")
        if given.ndim not in (1, 2) or given.shape[0] != self.shape[0]:
            raise ValueError(f"solve: b has shape {given.shape}, but A is {self.shape[0]} x {self.shape[1]}")
        if given.dtype.kind not in "iubfc":
            raise TypeError(f"solve: b is of type {given.dtype}, expected numbers")
        kept = np.result_type(self.dtype, given.dtype if given.dtype.kind in "fc" else self.dtype)
        if given.size == 0:
            return np.zeros(given.shape, kept)
        if given.dtype.kind == "c" and self.dtype.kind != "c":
            parts = (self._solve(part.astype(self.dtype), trans) for part in (given.real, given.imag))
            real, imag = parts
            return (real + 1j * imag).astype(kept, copy=False)
        return self._solve(given.astype(self.dtype), trans).astype(kept, copy=False)

    def __call__(self, b: Any) -> np.ndarray:
        return self.solve(b)

    def _matvec(self, b: np.ndarray) -> np.ndarray:
        return self.solve(b)

    def _rmatvec(self, b: np.ndarray) -> np.ndarray:
        return self.solve(b, "H")

    _matmat, _rmatmat = _matvec, _rmatvec

    def __repr__(self) -> str:
        n = self.shape[0]
        shifted = f" - {self.sigma} I" if self.sigma else ""
        return f"<factors of A{shifted}, {n} x {n} {self.dtype}: {self.method}, {memory.human(self.nbytes)}>"

    def _repr_html_(self) -> str:
        return display.factors_html(self)


def factorized(A: Any, sigma: complex = 0, *, method: str | None = None) -> Factorization:
    """Factor ``A - sigma I`` once, to solve with it many times.

    Parameters
    ----------
    A : sparse matrix (ours or SciPy's), shape (n, n)
        On the CPU.
    sigma : scalar
        The shift.
    method : {None, "diagonal", "tridiagonal", "banded", "superlu"}, optional
        By default what suits the outermost diagonals: LAPACK's band factors where the band is narrow or well filled,
        SciPy's SuperLU for the rest.

    Returns
    -------
    Factorization
        A `scipy.sparse.linalg.LinearOperator`; ``F.solve(b, trans="N")``.

    Raises
    ------
    ValueError
        For a matrix that is not square, or a `method` that does not hold it.
    numpy.linalg.LinAlgError
        For a singular matrix.
    MemoryError
        With the bytes, where the factors of a band do not fit.

    Notes
    -----
    A band of `kl` diagonals below the main one and `ku` above takes ``n (2 kl + ku + 1)`` values, and about
    ``2 n kl (kl + ku)`` multiply-adds; a solve takes ``2 n (2 kl + ku)``.

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
    a = require_sparse(A, "factorized", "A")
    if a.shape[0] != a.shape[1]:
        raise ValueError(f"factorized: A is {display.operand(a)}; expected a square matrix")
    if a._place is not CPU:
        raise TypeError(f'factorized: {a!r}: matrices are factored on the cpu; write A.to("cpu")')
    if not is_scalar(sigma) or not np.isfinite(sigma):
        raise ValueError(f"factorized: sigma={sigma!r}: expected a finite number")
    if method not in (None, *_METHODS):
        raise ValueError(f"factorized: no method {method!r}; there are {', '.join(_METHODS)}")
    return Factorization(unpacked(a), sigma, method)


def solve(A: Any, b: Any, *, method: str | None = None) -> np.ndarray:
    """Return x with ``A x = b``, for one or several right sides: ``factorized(A).solve(b)``.

    Parameters, errors and cost as for `factorized`.

    Examples
    --------
    >>> import numpy as np, diagsparse as ds
    >>> ds.solve(ds.diags({0: 2.0, 1: 1.0}, shape=(3, 3)), np.array([3.0, 3.0, 2.0]))
    array([1., 1., 1.])
    """
    return factorized(A, method=method).solve(b)


# ---- the ways to factor ------------------------------------------------------------------------------------------
_Solver = Callable[[np.ndarray, str], np.ndarray]


def _factored(a: SparseArray, sigma: complex, method: str | None) -> tuple[str, _Solver, int]:
    """Return the method, what solves by it, and the bytes of the factors."""
    n = a.shape[0]
    offsets = a._summary().offsets[a._summary().fill > 0]
    below, above = int(-min(offsets.min(initial=0), 0)), int(max(offsets.max(initial=0), 0))
    needed = "diagonal" if below == above == 0 else "tridiagonal" if max(below, above) == 1 and n > 2 else "banded"
    if method is None:
        stored = max(1, a.nnz)
        narrow = (below + above + 1) * n <= max(_LEAST_BAND * n, _MOST_ZEROS * stored)
        method = needed if narrow else "superlu"
    order = list(_METHODS)
    if order.index(method) < order.index(needed):
        raise ValueError(f"factorized: method {method!r}, but A has diagonals from {-below} to {above}")
    if n == 0:
        return method, lambda b, trans: b, 0
    return method, *_METHODS[method](a, sigma, below, above)


def _require_regular(info: int, sigma: complex) -> None:
    if info > 0:
        raise np.linalg.LinAlgError(
            f"factorized: A{f' - {sigma} I' if sigma else ''} is singular: pivot {info} is zero, or no number"
        )


def _diagonal(a: SparseArray, sigma: complex, below: int, above: int) -> tuple[_Solver, int]:
    values = a.diagonal() - a.dtype.type(sigma)
    _require_regular(int(np.flatnonzero(values == 0)[:1].sum() + 1) if (values == 0).any() else 0, sigma)

    def solved(b: np.ndarray, trans: str) -> np.ndarray:
        by = values.conj() if trans == "H" else values
        return b / (by if b.ndim == 1 else by[:, None])

    return solved, values.nbytes


def _tridiagonal(a: SparseArray, sigma: complex, below: int, above: int) -> tuple[_Solver, int]:
    factor, back = get_lapack_funcs(("gttrf", "gttrs"), dtype=a.dtype)
    *factors, info = factor(a.diagonal(-1), a.diagonal() - a.dtype.type(sigma), a.diagonal(1), 1, 1, 1)
    _require_regular(info, sigma)

    def solved(b: np.ndarray, trans: str) -> np.ndarray:
        return back(*factors, b, trans="C" if trans == "H" else trans)[0]

    return solved, sum(part.nbytes for part in factors)


def _banded(a: SparseArray, sigma: complex, below: int, above: int) -> tuple[_Solver, int]:
    n, wide = a.shape[0], 2 * below + above + 1
    nbytes = n * (wide * a.dtype.itemsize + 4)
    memory.require(nbytes, None, f"factorized: {wide} rows of a band of {n}", 'method="superlu" takes what it fills')
    band = np.zeros((wide, n), a.dtype, "F")  # row below + above - k, column j: the element (j - k, j)
    for k in range(-below, above + 1):
        band[below + above - k, max(0, k) : n + min(0, k)] = a.diagonal(k)
    band[below + above] -= a.dtype.type(sigma)
    factor, back = get_lapack_funcs(("gbtrf", "gbtrs"), dtype=a.dtype)
    factors, pivots, info = factor(band, below, above, overwrite_ab=True)
    _require_regular(info, sigma)

    def solved(b: np.ndarray, trans: str) -> np.ndarray:
        return back(factors, below, above, b, pivots, trans=_TRANSPOSED[trans])[0]

    return solved, factors.nbytes + pivots.nbytes


def _superlu(a: SparseArray, sigma: complex, below: int, above: int) -> tuple[_Solver, int]:
    shifted = convert(a, "csc").to_scipy()
    if sigma:
        shifted = sp.csc_array(shifted - a.dtype.type(sigma) * sp.eye_array(a.shape[0], dtype=a.dtype, format="csc"))
    try:
        factors = splu(shifted)
    except RuntimeError as error:
        raise np.linalg.LinAlgError(f"factorized: {error}") from None
    return factors.solve, factors.nnz * (a.dtype.itemsize + 4)


_METHODS: dict[str, Callable[..., tuple[_Solver, int]]] = {
    "diagonal": _diagonal,
    "tridiagonal": _tridiagonal,
    "banded": _banded,
    "superlu": _superlu,
}
