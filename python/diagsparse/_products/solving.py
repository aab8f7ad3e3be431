"""Solving A x = b: factors that are kept, by what suits the band."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from .._arrays import device_dense, owners
from .._arrays.host_dense import as_numpy
from .._matrix.base import SparseArray
from .._matrix.construct import require_sparse
from .._matrix.convert import unpacked
from .._matrix.each_element import is_scalar
from .._places import libraries, memory
from .._places.backend import CPU
from .._show import display
from . import batch_values, device_factors, host_factors
from .batches import batch_array

_TRANSPOSED = ("N", "T", "H")


class _Solver:
    """What solves with the factors of a matrix, or of the matrix that has the members of a batch on its diagonal."""

    method: str
    sigma: complex
    nbytes: int
    seconds: float

    def _factor(self, a: SparseArray, sigma: complex, method: str | None, members: int = 1) -> None:
        """Make the factors of ``a - sigma I``."""
        began = time.perf_counter()
        self.sigma, self._place, self._members = sigma, a._place, members
        below, above = _reach(a)
        self.method = _method(a, method, below, above, members)
        self._factors: Any = None
        self.nbytes = 0
        if a.shape[0]:
            self._factors = self._made(a, below, above)
            self.nbytes = self._factors.nbytes
        self.seconds = time.perf_counter() - began

    def _made(self, a: SparseArray, below: int, above: int) -> Any:
        try:
            if self._place is CPU:
                return host_factors.HostFactors(a, self.sigma, self.method, below, above)
            return device_factors.DeviceFactors(a, self.sigma, self.method, self._members)
        except np.linalg.LinAlgError as error:
            member = ""
            if self._members > 1 and isinstance(error, host_factors.Singular):
                member = f" of member {error.row // (a.shape[0] // self._members)}"
            raise np.linalg.LinAlgError(f"factorized: A{_shift(self.sigma)}{member} is singular: {error}") from None

    def _spread(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape that right sides of a shape are solved in; raise ValueError where they do not fit."""
        raise NotImplementedError

    def solve(self, b: Any, trans: str = "N") -> Any:
        """Return x with ``(A - sigma I) x = b``, for `trans` "T" or "H" of the transpose or adjoint.

        Parameters
        ----------
        b : array_like, shape (n,) or (n, k); of a batch (count, n), or (n,) for all members
            For factors on a GPU also an array of CuPy, PyTorch, JAX or ours there; x is one of the same library.

        Raises
        ------
        ValueError
            For a `b` of another length.
        """
        if trans not in _TRANSPOSED:
            raise ValueError(f'solve: trans={trans!r}: expected "N", "T" or "H"')
        if sp.issparse(b):
            raise TypeError(f"solve: b is a sparse {type(b).__name__}; write b.toarray()")
        if self._factors is not None and self._place is not CPU:
            task = device_factors.Solution(self._factors, trans, self._spread)
            return device_dense._multiply(task, b, None, None)
        owners.refuse_beside_cpu(b, self._place, "solve")
        given = as_numpy(b, "solve")
        shape = self._spread(given.shape)
        if given.dtype.kind not in "iubfc":
            raise TypeError(f"solve: b is of type {given.dtype}, expected numbers")
        kept = np.result_type(self.dtype, given.dtype if given.dtype.kind in "fc" else self.dtype)
        if 0 in shape:
            return np.zeros(shape, kept)
        columns = np.broadcast_to(given, shape)
        columns = columns.reshape(-1) if self._members > 1 else columns
        return self._factors.solve(columns, trans).astype(kept, copy=False).reshape(shape)

    dtype: np.dtype

    def __call__(self, b: Any) -> Any:
        return self.solve(b)

    def _repr_html_(self) -> str:
        return display.factors_html(self)


class Factorization(_Solver, LinearOperator):
    """The factors of ``A - sigma I``, as `factorized` makes them: an operator that solves.

    ``F(b)``, ``F @ b`` and ``F.solve(b)`` solve ``(A - sigma I) x = b``; SciPy takes it as `OPinv` of `eigsh` and as a
    preconditioner `M` of `cg`, and on a GPU so does CuPy.

    Attributes
    ----------
    method : str
        How they were made, as `factorized` names it.
    nbytes : int
        Of the factors.
    seconds : float
        That the factorisation took.
    """

    def __init__(self, a: SparseArray, sigma: complex, method: str | None) -> None:
        dtype = np.result_type(a.dtype, np.complex64) if np.iscomplexobj(sigma) else a.dtype
        super().__init__(dtype, a.shape)
        self._factor(a.astype(dtype, copy=False), sigma, method)

    def _spread(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        if len(shape) not in (1, 2) or shape[0] != self.shape[0]:
            raise ValueError(f"solve: b has shape {tuple(shape)}, but A is {self.shape[0]} x {self.shape[1]}")
        return tuple(shape)

    # SciPy's operators bring their operands to NumPy, which what lies on a GPU is not.
    def matvec(self, b: Any) -> Any:
        return super().matvec(b) if self._place is CPU else self.solve(b)

    def matmat(self, b: Any) -> Any:
        return super().matmat(b) if self._place is CPU else self.solve(b)

    def rmatvec(self, b: Any) -> Any:
        return super().rmatvec(b) if self._place is CPU else self.solve(b, "H")

    def rmatmat(self, b: Any) -> Any:
        return super().rmatmat(b) if self._place is CPU else self.solve(b, "H")

    def __matmul__(self, b: Any) -> Any:
        return super().__matmul__(b) if self._place is CPU else self.solve(b)

    def _matvec(self, b: np.ndarray) -> np.ndarray:
        return self.solve(b)

    def _rmatvec(self, b: np.ndarray) -> np.ndarray:
        return self.solve(b, "H")

    _matmat, _rmatmat = _matvec, _rmatvec

    def __repr__(self) -> str:
        n = self.shape[0]
        return f"<factors of A{_shift(self.sigma)}, {n} x {n} {self.dtype}: {self.method}, {_told(self)}>"


class BatchFactorization(_Solver):
    """The factors of ``A_i - sigma I`` for all members of a batch: ``F.solve(B)`` solves row i with member i.

    Attributes are those of `Factorization`, and `count`, the number of members; `shape` is that of each.
    """

    def __init__(self, batch: batch_array, sigma: complex, method: str | None) -> None:
        self.dtype = np.result_type(batch.dtype, np.complex64) if np.iscomplexobj(sigma) else batch.dtype
        self.shape, self.count = batch.shape, batch.count
        whole = batch_values.on_one_diagonal(batch)
        self._factor(whole.astype(self.dtype, copy=False), sigma, method, max(1, batch.count))

    def _spread(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        rows = self.count, self.shape[0]
        if tuple(shape) not in (rows, rows[1:]):
            raise ValueError(
                f"solve: b has shape {tuple(shape)}, but the batch is {self.count} matrices {self.shape[0]} x "
                f"{self.shape[1]} and needs {rows}, or ({rows[1]},) for all of them"
            )
        return rows

    def __repr__(self) -> str:
        n, shift = self.shape[0], _shift(self.sigma)
        return f"<factors of {self.count} A_i{shift}, {n} x {n} {self.dtype}: {self.method}, {_told(self)}>"


def _shift(sigma: complex) -> str:
    return f" - {sigma} I" if sigma else ""


def _told(factors: _Solver) -> str:
    where = "" if factors._place is CPU else f", {factors._place.name}"
    return memory.human(factors.nbytes) + where


def factorized(A: Any, sigma: complex = 0, *, method: str | None = None) -> Factorization | BatchFactorization:
    """Factor ``A - sigma I`` once, to solve with it many times.

    Parameters
    ----------
    A : sparse matrix (ours or SciPy's), shape (n, n), or batch_array
        On the CPU or on a GPU.
    sigma : scalar
        The shift.
    method : str, optional
        By default what suits the outermost diagonals. On the CPU that is "diagonal", or LAPACK's "tridiagonal" or
        "banded" where the band is narrow or well filled, SciPy's "superlu" for the rest. On a GPU it is "diagonal",
        cuSPARSE's "tridiagonal" or "pentadiagonal", NVIDIA's "cudss" (the extra `cudss`) for the rest.

    Returns
    -------
    Factorization, or for a batch BatchFactorization
        A `scipy.sparse.linalg.LinearOperator`; ``F.solve(b, trans="N")``.

    Raises
    ------
    ValueError
        For a matrix that is not square, or a `method` that does not hold it; on the CPU for values that are not finite.
    numpy.linalg.LinAlgError
        For a singular matrix; on a GPU also for values that are not finite.
    ImportError
        On a GPU, where cuDSS is needed and not installed.
    MemoryError
        With the bytes, where the factors of a band do not fit.

    Notes
    -----
    On the CPU a band of `kl` diagonals below the main one and `ku` above takes ``n (2 kl + ku + 1)`` values, and about
    ``2 n kl (kl + ku)`` multiply-adds; a solve takes ``2 n (2 kl + ku)``. On a GPU a band of 3 or 5 diagonals keeps
    them alone, and every solve eliminates anew.

    The members of a batch are factored as one matrix that has them on its diagonal.

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
    a = A if isinstance(A, batch_array) else require_sparse(A, "factorized", "A")
    if a.shape[0] != a.shape[1]:
        raise ValueError(f"factorized: A is {a!r}; expected a square matrix")
    if not is_scalar(sigma) or not np.isfinite(sigma):
        raise ValueError(f"factorized: sigma={sigma!r}: expected a finite number")
    if isinstance(a, batch_array):
        return BatchFactorization(a, sigma, method)
    return Factorization(unpacked(a), sigma, method)


def solve(A: Any, b: Any, *, method: str | None = None) -> Any:
    """Return x with ``A x = b``, for one or several right sides: ``factorized(A).solve(b)``.

    Parameters, errors and cost as for `factorized`.

    Examples
    --------
    >>> import numpy as np, diagsparse as ds
    >>> ds.solve(ds.diags({0: 2.0, 1: 1.0}, shape=(3, 3)), np.array([3.0, 3.0, 2.0]))
    array([1., 1., 1.])
    """
    return factorized(A, method=method).solve(b)


# ---- which way ----------------------------------------------------------------------------------------------------
def _reach(a: SparseArray) -> tuple[int, int]:
    """Return how many diagonals below and above the main one hold something."""
    offsets = a._summary().offsets[a._summary().fill > 0]
    return int(-min(offsets.min(initial=0), 0)), int(max(offsets.max(initial=0), 0))


def _method(a: SparseArray, method: str | None, below: int, above: int, members: int) -> str:
    """Return the method by name, or the one that suits."""
    ways: Any = host_factors if a._place is CPU else device_factors
    order = list(ways.METHODS)
    needed = next(name for name in order if max(below, above) <= ways.REACH.get(name, a.shape[0]))
    if method is None:
        method = ways.chosen(a, below, above, needed, members)
    elif method not in order:
        raise ValueError(f"factorized: no method {method!r} on {a.device}; there are {', '.join(order)}")
    elif order.index(method) < order.index(needed):
        raise ValueError(f"factorized: method {method!r}, but A has diagonals from {-below} to {above}")
    if method == "cudss" and libraries.cudss() is None:
        raise ImportError(
            f"factorized: A has diagonals from {-below} to {above}; on a GPU NVIDIA's cuDSS factors what has more than "
            "two on a side: pip install 'diagsparse[cudss]', or write A.to(\"cpu\")"
        )
    return method
