"""Incomplete factorizations without fill-in, ILU(0) and IC(0), as preconditioners."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from .._backends import memory
from .._backends.arguments import integer
from .._backends.backend import CPU
from .._backends.docstrings import completed_by
from .._matrix.builders import diags, eye
from .._matrix.convert import convert, unpacked
from .._matrix.operands import require_sparse
from .._matrix.protocols import not_pickled
from .._matrix.registry import FORMATS
from .._matrix.sparse_array import SparseArray
from .factors import Factorization, view_name
from .substitution import DIAGONALS, stored
from .sweeps import Sweeps
from .triangles import Triangle
from .triangular import Substitutions


class IncompleteFactorization(Factorization):
    """Incomplete factors of A, created by `ilu0` or `ic0`: a linear operator that solves with them.

    ``M(b)``, ``M @ b`` and ``M.solve(b)`` return x with ``L U x = b``, so M can be the preconditioner `M` of SciPy's
    `cg` and `gmres`, and on a GPU of CuPy's. ``M.T`` and ``M.H`` solve with the transpose and the adjoint.

    Attributes
    ----------
    method : {"ilu0", "ic0"}
        Which factorization it is.
    sweeps : int or None
        Number of Jacobi sweeps with each triangle, or None for substitution.
    L, U : sparse matrix
        The factors, in the format in which they are stored.
    nbytes : int
        Bytes of the factors, and of all other data that is stored.
    seconds : float
        Time of the factorization.
    """

    def __init__(self, a: SparseArray, method: str, sweeps: int | None, shift: float) -> None:
        began = time.perf_counter()
        LinearOperator.__init__(self, a.dtype, a.shape)
        self.sigma, self.sweeps, self._backend = 0, sweeps, a._backend
        memory.require_free(a.nbytes, f"{method}: the factors", a._backend)
        self._matrix = _factored(stored(a).copy(), method, shift)
        steps = self._lu_steps if method == "ilu0" else self._cholesky_steps
        self._factors: Any = Substitutions(method, self._matrix, steps)
        self.seconds = time.perf_counter() - began

    @property
    def L(self) -> SparseArray:
        """The lower factor; its main diagonal is 1 for `ilu0`."""
        if self.method == "ic0":
            return self._matrix.copy()
        lower = _part(self._matrix, lambda k: k < 0)
        return lower + eye(self.shape[0], dtype=self.dtype, format=lower.format, device=lower.device)

    @property
    def U(self) -> SparseArray:
        """The upper factor; for `ic0`, the adjoint of L."""
        if self.method == "ic0":
            return convert(self._matrix.H.copy(), self._matrix.format)
        return _part(self._matrix, lambda k: k >= 0)

    def _lu_steps(self, dtype: Any) -> list[Any]:
        lu = self._matrix.astype(dtype, copy=False)
        if self.sweeps is None:
            return [Triangle(lu, True, True), Triangle(lu, False, False)]
        pivots = _host(lu).diagonal()
        return [Sweeps(_part(lu, lambda k: k < 0), None, self.sweeps),
                Sweeps(_part(lu, lambda k: k > 0), pivots, self.sweeps)]  # fmt: skip

    def _cholesky_steps(self, dtype: Any) -> list[Any]:
        lower = self._matrix.astype(dtype, copy=False)
        if self.sweeps is None:
            first: Any = Triangle(lower, True, False)
        else:
            first = Sweeps(_part(lower, lambda k: k < 0), _host(lower).diagonal(), self.sweeps)
        return [first, _Adjoint(first)]

    def __repr__(self) -> str:
        n, what = self.shape[0], "" if self.sweeps is None else f", {self.sweeps} Jacobi sweeps"
        where = "" if self._backend is CPU else f", {self._backend.name}"
        name = f"{self.method} factors of A{view_name(self._op)}, {n} x {n} {self.dtype}"
        return f"<{name}: {self._matrix.format}{what}, {memory.human(self.nbytes)}{where}>"

    __reduce__ = not_pickled("factors cannot be pickled; pickle A, and factor it again: diagsparse.{self.method}(A)")


class _Adjoint:
    """Solving with the adjoint of a factor."""

    nbytes = 0  # of its own

    def __init__(self, factor: Any) -> None:
        self._factor = factor

    def solve(self, x: Any, trans: str) -> None:
        """Overwrite the right-hand sides `x` with the solutions."""
        if trans == "T":  # the conjugate of the factor
            _conjugate(x)
            self._factor.solve(x, "N")
            _conjugate(x)
        else:
            self._factor.solve(x, {"N": "H", "H": "N"}[trans])


def _conjugate(x: Any) -> None:
    if x.dtype.kind != "c":
        return
    if isinstance(x, np.ndarray):
        np.conjugate(x, out=x)
    else:
        x.T.assign(x.T.conj())  # columns are stored one after the other


def _host(a: SparseArray) -> SparseArray:
    return a if a._backend is CPU else a.to("cpu")


def _part(a: SparseArray, wanted: Callable[[Any], Any]) -> SparseArray:
    """Return the elements of `a` on the wanted diagonals, in its format and on its device."""
    host = _host(a)
    if a.format in DIAGONALS:
        kept = {int(k): host.diagonal(k) for k in host._summary().offsets if wanted(k)}
        part = diags(kept or {0: np.zeros(a.shape[0])}, shape=a.shape, format=a.format, dtype=a.dtype)
    else:
        csr = host.to_scipy("csr")
        which = wanted(csr.indices - np.repeat(np.arange(a.shape[0]), np.diff(csr.indptr)))
        indptr = np.concatenate([[0], np.cumsum(which)])[csr.indptr]
        part = FORMATS[a.format].array(sp.csr_array((csr.data[which], csr.indices[which], indptr), shape=a.shape))
    return part.to(a.device)


def _factored(a: SparseArray, method: str, shift: float) -> SparseArray:
    """Return both factors of `ilu0` in one matrix, which may be `a`, or L of `ic0`."""
    cholesky = method == "ic0"
    if a._backend is CPU:
        factors, row = _by_rows(a, cholesky, shift)
    else:
        from . import device_incomplete  # imported at its first use

        result = device_incomplete.factored(a, cholesky, shift)
        if result is None:
            return _factored(a.to("cpu"), method, shift).to(a.device)
        factors, row = result
    if row < 0:
        return factors
    why = _advice(row, _host(a).diagonal()[row], shift) if cholesky else f"the pivot of row {row} is zero or not finite"
    raise np.linalg.LinAlgError(f"{method}: {why}")


def _by_rows(a: SparseArray, cholesky: bool, shift: float) -> tuple[SparseArray, int]:
    """Return factors that are computed row by row on the host, and the first row without a pivot, or -1."""
    if not cholesky:
        return a, a._core.incomplete_lu(a._matrix)
    lower = _part(a, lambda k: k <= 0)
    if shift:
        lower.setdiag(lower.diagonal() * (1 + shift))
    return lower, lower._core.incomplete_cholesky(lower._matrix)


def _advice(row: int, element: Any, shift: float) -> str:
    """Return which pivot is not positive, and what to do about it; `element` is that of A on the main diagonal."""
    if not element.real > 0:
        return f"A[{row}, {row}] is {element}, expected a positive main diagonal"
    pivot = f"the pivot of row {row} is not positive"
    return f"{pivot} with shift={shift:g}; try a larger one" if shift else f"{pivot}; try shift=0.1 or larger"


def ilu0(A: Any, *, sweeps: int | None = None) -> IncompleteFactorization:
    """Return incomplete factors L U of A that have elements only where A does, as a preconditioner.

    Parameters
    ----------
    A : sparse matrix (ours or SciPy's), shape (n, n)
        On the CPU or on a GPU, with a main diagonal.
    sweeps : int, optional
        Replace the exact solution with each triangle by this number of Jacobi sweeps: products, which run in parallel
        where substitution has to go row by row. A few (2 to 5) are often enough for a preconditioner.

    Returns
    -------
    IncompleteFactorization
        A `scipy.sparse.linalg.LinearOperator` with ``M.solve(b, trans="N")``, ``M.L`` and ``M.U``.

    Raises
    ------
    TypeError
        If A is not a sparse matrix.
    ValueError
        If A is not square, or `sweeps` is negative.
    numpy.linalg.LinAlgError
        If a pivot is zero or not finite; the message names the row.
    MemoryError
        If the factors do not fit.

    Notes
    -----
    Elimination that drops all elements outside of the pattern of A is known as ILU(0). With diagonals (dia, hm, cdm),
    the pattern consists of all elements of the stored diagonals, zeros included, and the factors have the offsets of
    A. With csr it consists of the stored entries; other formats are converted to csr.

    On the CPU, the factors are computed row by row on one thread. Each row needs a multiply-add for each pair of an
    element in it and one in a row above that meet in the pattern. On a GPU, the factors of diagonals of a grid are
    computed there, also if they are stored as csr and elimination fills no gaps in them; others are computed on the
    host and copied.

    For a right-hand side in a wider dtype, the factors are converted to it, and keep the precision of A.

    Examples
    --------
    >>> import numpy as np, diagsparse as ds
    >>> from scipy.sparse.linalg import gmres
    >>> A = ds.hm_array(ds.gallery.stencil(5, (50, 50)))
    >>> M = ds.ilu0(A)
    >>> M
    <ilu0 factors of A, 2500 x 2500 float64: hm, 119 KB>
    >>> x, info = gmres(A, np.ones(2500), M=M, rtol=1e-8)
    >>> info, bool(np.allclose(A @ x, 1))
    (0, True)
    """
    return _incomplete(A, "ilu0", sweeps, 0.0)


@completed_by(ilu0)
def ic0(A: Any, *, shift: float = 0.0, sweeps: int | None = None) -> IncompleteFactorization:
    """Return an incomplete Cholesky factor L of A, with A about L L^H, that has elements only where A does.

    Parameters
    ----------
    A : sparse matrix (ours or SciPy's), shape (n, n)
        Symmetric, or Hermitian if complex, with a positive main diagonal. Only its lower triangle is read.
    shift : float
        Multiply the main diagonal by ``1 + shift`` first. Incomplete factors of a positive definite matrix need not
        exist; with a large enough shift, they do.

    Raises
    ------
    TypeError
        If A is not a sparse matrix.
    ValueError
        If A is not square, `shift` is negative or not finite, or `sweeps` is negative.
    numpy.linalg.LinAlgError
        If a pivot is not positive; the message names the row.
    MemoryError
        If the factors do not fit.

    Notes
    -----
    The pattern is that of `ilu0`, whose notes apply. It needs half of the memory. `M` is Hermitian, as `cg` requires,
    also with `sweeps`.

    Examples
    --------
    >>> import numpy as np, diagsparse as ds
    >>> from scipy.sparse.linalg import cg
    >>> A, steps = ds.hm_array(ds.gallery.stencil(5, (50, 50))), []
    >>> x, info = cg(A, np.ones(2500), M=ds.ic0(A), rtol=1e-8, callback=steps.append)
    >>> info, len(steps) < 50
    (0, True)
    """
    if not (isinstance(shift, (int, float, np.number)) and np.isfinite(shift) and shift >= 0):
        raise ValueError(f"ic0: shift={shift!r}: expected a number >= 0")
    return _incomplete(A, "ic0", sweeps, float(shift))


def _incomplete(A: Any, who: str, sweeps: int | None, shift: float) -> IncompleteFactorization:
    a = require_sparse(A, who, "A")
    if a.shape[0] != a.shape[1]:
        raise ValueError(f"{who}: A is {a!r}; expected a square matrix")
    if sweeps is not None:
        sweeps = integer(sweeps, f"{who}: sweeps")
        if sweeps < 0:
            raise ValueError(f"{who}: sweeps={sweeps}, expected a number >= 0")
    full = unpacked(a)
    return IncompleteFactorization(full.astype(full.dtype, copy=False), who, sweeps, shift)
