"""Factorizations of a matrix and of the members of a batch, and solving with them."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from .._arrays import device_dense, owners
from .._arrays.host_dense import as_numpy
from .._backends import memory
from .._backends.backend import CPU
from .._backends.types import product_dtypes, solved_in
from .._matrix.base import CONJUGATED, TRANSPOSED
from .._matrix.protocols import not_pickled
from .._matrix.sparse_array import SparseArray
from .._show import display
from . import host_factors
from .batch import Batch
from .method_choice import checked_method, reach
from .named_errors import named_errors, shift

_OPERATIONS = {"N": 0, "T": TRANSPOSED, "H": TRANSPOSED | CONJUGATED}
_NAMES = {bits: name for name, bits in _OPERATIONS.items()}


class Solver:
    """Solving with the factors of a matrix, or of the block diagonal matrix of the members of a batch."""

    dtype: np.dtype
    shape: tuple[int, int]
    sigma: complex
    seconds: float
    _members: int | None = None  # number of members of a batch
    _op: int = 0  # the bits of the view that is solved with

    def _factor(self, a: SparseArray, sigma: complex, method: str | None, once: bool, who: str) -> None:
        """Factor ``a - sigma I`` for the function `who`; `once`: for a single solve."""
        began = time.perf_counter()
        self.sigma, self._backend = sigma, a._backend
        blocks = max(1, self._members or 1)
        below, above = reach(a)
        with self._naming_errors(f"{who}:"):
            chosen = checked_method(a, method, below, above, blocks)
            if a._backend is CPU:
                self._factors: Any = host_factors.HostFactors(a, sigma, chosen, below, above, blocks)
            else:
                from .device_factors import DeviceFactors  # imported at its first use

                self._factors = DeviceFactors(a, sigma, chosen, blocks, (below, above), once)
        self.seconds = time.perf_counter() - began

    def _naming_errors(self, who: str) -> AbstractContextManager[None]:
        return named_errors(who, self.sigma, self.shape[0], self._members)

    @property
    def method(self) -> str:
        """The method that is used, see `factorized`."""
        return str(self._factors.method)

    @property
    def nbytes(self) -> int:
        """Bytes of everything that is stored."""
        return self._factors.nbytes

    def _fitted(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of the solutions for right-hand sides of this shape; raise ValueError if it does not fit."""
        raise NotImplementedError

    def solve(self, b: Any, trans: str = "N") -> Any:
        """Return the solution of ``(A - sigma I) x = b``.

        Parameters
        ----------
        b : array_like, shape (n,) or (n, k); for a batch (count, n), interleaved (n, count), or (n,) for all members
            The right-hand sides. For factors on a GPU, b may be an array of CuPy, PyTorch or JAX, or a `DeviceArray`,
            there.
        trans : {"N", "T", "H"}
            Solve with the matrix, its transpose or its adjoint.

        Returns
        -------
        array
            On a GPU an array of the same library as `b`, on the CPU of NumPy, with the dtype of ``A @ b``. If this is
            wider than that of A, the first such `b` triggers a second factorization. It has the shape of `b`; for a
            batch always (count, n), or interleaved (n, count).

        Raises
        ------
        ValueError
            If the shape of `b` does not fit.
        numpy.linalg.LinAlgError
            If the matrix is singular in the wider dtype.
        """
        if trans not in _OPERATIONS:
            raise ValueError(f'solve: trans={trans!r}: expected "N", "T" or "H"')
        require_dense(b)
        op = _OPERATIONS[trans] ^ self._op
        if op == CONJUGATED:
            return self._solved(b.conj() if hasattr(b, "conj") else np.conj(b), "N").conj()
        return self._solved(b, _NAMES[op])

    def _solved(self, b: Any, trans: str) -> Any:
        if self._backend is not CPU:
            with self._naming_errors("solve:"):
                return device_dense.multiply(self._factors.right_side(trans, self._fitted), b, None, None)
        owners.refuse_gpu_array(b, self._backend, "solve", "b")
        given = as_numpy(b, "solve")
        require_numbers(given.dtype)
        shape = self._fitted(given.shape)
        wanted, result_dtype = product_dtypes(self.dtype, given.dtype)
        x = np.zeros(shape, result_dtype)
        if not x.size:
            return x
        dtype = solved_in(self.dtype, given.dtype)
        rhs = np.array(np.broadcast_to(given, shape), wanted, order="C").reshape(self._order, -1)
        columns = rhs.view(dtype) if wanted.kind == "c" else rhs.astype(dtype, copy=False)  # complex columns as two
        with self._naming_errors(f"solve: b needs factors in {dtype}, and there"):
            x.reshape(self._order, -1).view(dtype)[...] = self._factors.solve(columns, trans, dtype)
        return x

    @property
    def _order(self) -> int:
        return self.shape[0] * (1 if self._members is None else self._members)

    def __call__(self, b: Any) -> Any:
        return self.solve(b)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self

    __reduce__ = not_pickled(
        "factors cannot be pickled; pickle A, and factor it again: diagsparse.factorized(A, sigma)"
    )

    def _repr_html_(self) -> str:
        return display.factors_html(self)


class Factorization(Solver, LinearOperator):
    """The factors of ``A - sigma I``, created by `factorized`: a linear operator that solves systems.

    ``F(b)``, ``F @ b`` and ``F.solve(b)`` solve ``(A - sigma I) x = b``; ``F.T`` and ``F.H`` solve with the transpose
    and the adjoint. F can be the `OPinv` of SciPy's `eigsh` or the preconditioner `M` of `cg`, and on a GPU of CuPy's.

    Attributes
    ----------
    method : str
        The method, see `factorized`.
    sigma : scalar
        The shift.
    nbytes : int
        Bytes of the factors, and of all other data that is stored.
    seconds : float
        Time of the factorization.
    """

    def __init__(
        self, a: SparseArray, sigma: complex, method: str | None, once: bool = False, who: str = "factorized"
    ) -> None:
        dtype = np.result_type(a.dtype, np.complex64) if np.iscomplexobj(sigma) else a.dtype
        super().__init__(dtype, a.shape)
        self._factor(a.astype(dtype, copy=False), sigma, method, once, who)

    def _fitted(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        if len(shape) not in (1, 2) or shape[0] != self.shape[0]:
            raise ValueError(f"solve: b has shape {tuple(shape)}, but A is {self.shape[0]} x {self.shape[1]}")
        return tuple(shape)

    def _view(self, op: int) -> Factorization:
        """Return an operator with the same factors that solves with the transpose or the adjoint."""
        other = object.__new__(type(self))
        other.__dict__ = self.__dict__ | {"_op": self._op ^ op}
        return other

    def _transpose(self) -> Factorization:
        return self._view(TRANSPOSED)

    def _adjoint(self) -> Factorization:
        return self._view(TRANSPOSED | CONJUGATED)

    # SciPy's operators convert operands to NumPy arrays, which fails for arrays on a GPU and for sparse matrices.
    def dot(self, b: Any) -> Any:
        return self.solve(b) if sp.issparse(b) or owners.owner_of(b) else super().dot(b)

    def matvec(self, b: Any) -> Any:
        return self.solve(b) if owners.owner_of(b) else super().matvec(b)

    def matmat(self, b: Any) -> Any:
        return self.solve(b) if owners.owner_of(b) else super().matmat(b)

    def rmatvec(self, b: Any) -> Any:
        return self.solve(b, "H") if owners.owner_of(b) else super().rmatvec(b)

    def rmatmat(self, b: Any) -> Any:
        return self.solve(b, "H") if owners.owner_of(b) else super().rmatmat(b)

    def _matvec(self, b: np.ndarray) -> np.ndarray:
        return self.solve(b)

    def _rmatvec(self, b: np.ndarray) -> np.ndarray:
        return self.solve(b, "H")

    _matmat, _rmatmat = _matvec, _rmatvec

    def __repr__(self) -> str:
        n, view = self.shape[0], view_name(self._op)
        what = f"({_shifted(self.sigma)}){view}" if view and self.sigma else f"{_shifted(self.sigma)}{view}"
        return f"<factors of {what}, {n} x {n} {self.dtype}: {self.method}, {size_text(self)}>"


def view_name(op: int) -> str:
    """Return how the view with these bits is written."""
    return {0: "", TRANSPOSED: ".T", CONJUGATED: ".conj()"}.get(op, ".H")


def require_numbers(dtype: np.dtype) -> None:
    """Raise TypeError if right-hand sides of this dtype cannot be solved for."""
    if dtype.kind not in "biufc" or dtype.type in (np.longdouble, np.clongdouble):
        raise TypeError(f"solve: b is of type {dtype}, expected numbers of at most double precision")


def require_rows_of_batch(batch: Any, shape: tuple[int, ...], interleaved: bool) -> tuple[int, int]:
    """Return the shape of the solutions of a batch for right-hand sides of this shape; raise if it does not fit."""
    n = batch.shape[0]
    expected = (n, batch.count) if interleaved else (batch.count, n)
    if tuple(shape) not in (expected, (n,)):
        raise ValueError(
            f"solve: b has shape {tuple(shape)}, but the batch is {batch.count} matrices {n} x {n} and needs "
            f"{expected}, or ({n},) for all of them"
        )
    return expected


def require_dense(b: Any) -> None:
    """Raise TypeError if right-hand sides are sparse."""
    if sp.issparse(b):
        raise TypeError(f"solve: b is a sparse {type(b).__name__}; write b.toarray()")
    if isinstance(b, Batch):
        raise TypeError("solve: b is a batch of matrices, expected an array")


def _shifted(sigma: complex) -> str:
    return f"A{shift(sigma)}"


def size_text(factors: Solver) -> str:
    where = "" if factors._backend is CPU else f", {factors._backend.name}"
    return memory.human(factors.nbytes) + where
