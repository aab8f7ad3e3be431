"""Operators: a matrix of this library times a number, as data of QuTiP, with the operations that QuTiP needs."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any, ClassVar

import numpy as np
from qutip import settings
from qutip.core import data as qutip_data
from qutip.core.data.dense import fast_from_numpy

from .._backends.types import plain_number
from .._matrix.builders import eye
from .._matrix.construct import array
from .._matrix.registry import FORMATS
from .._matrix.sparse_array import SparseArray
from .._products.forecasts import forecast
from .._products.kron import kron


class Sparse(qutip_data.Data):
    """``factor * matrix``, with a matrix of this library in host memory.

    QuTiP multiplies operators by numbers like -1j. The factor is stored separately, so that a real matrix remains real.

    Parameters
    ----------
    arg : sparse matrix (of diagsparse or SciPy), dense 2-D array
        Converted by `diagsparse.array`. A matrix of this library keeps its format, dtype and packing. Matrices on a GPU
        are copied to the host.
    factor : number, default 1

    Raises
    ------
    TypeError
        If `factor` is not a number, or the dtype of the values is not supported.
    ValueError
        If `arg` is not a matrix.

    Examples
    --------
    >>> import diagsparse as ds, diagsparse.qutip, qutip
    >>> H = ds.hm_array(ds.gallery.tridiagonal(5))
    >>> ds.qutip.Sparse(H, 2j)
    Sparse(2j * <hm_array 5 x 5 float64: 3 diagonals from -1 to 1, 13 stored, 160 B, cpu>)
    >>> qutip.Qobj(H).dtype.__name__
    'Sparse'
    """

    device: ClassVar[str] = "cpu"

    def __init__(self, arg: Any, factor: complex = 1) -> None:
        if not isinstance(factor, Number):
            raise TypeError(f"{type(self).__name__}: factor={factor!r}: expected a number")
        matrix = array(arg)
        self.matrix: SparseArray = matrix if matrix.device.startswith(self.device) else matrix.to(self.device)
        self.factor = plain_number(factor)
        super().__init__(matrix.shape)

    @classmethod
    def sparcity(cls) -> str:  # QuTiP's spelling
        """Return the role of this type in a group of types of QuTiP."""
        return "diagonal"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.factor} * {self.matrix!r})"

    __str__ = __repr__

    def __reduce__(self) -> tuple:
        return type(self), (self.matrix, self.factor)

    def copy(self) -> Sparse:
        """Return a copy, including the values."""
        return type(self)(self.matrix.copy(), self.factor)

    def to_array(self) -> np.ndarray:
        """Return the operator as a dense NumPy array, complex128."""
        return np.multiply(self.matrix.toarray(), self.factor, dtype=complex)

    def trace(self) -> complex:
        """Return the sum of the main diagonal."""
        if self.shape[0] != self.shape[1]:
            raise ValueError(f"trace: the operator is {self.shape[0]} x {self.shape[1]}, expected a square one")
        return complex(self.factor * self.matrix.trace())

    def transpose(self) -> Sparse:
        """Return the transpose, as a view."""
        return type(self)(self.matrix.T, self.factor)

    def conj(self) -> Sparse:
        """Return the complex conjugate, as a view."""
        return type(self)(self.matrix.conj(), self.factor.conjugate())

    def adjoint(self) -> Sparse:
        """Return the conjugate transpose, as a view."""
        return type(self)(self.matrix.H, self.factor.conjugate())


class CudaSparse(Sparse):
    """``factor * matrix`` on a GPU. A matrix that is not on a GPU is copied to ``"cuda"``.

    Parameters
    ----------
    arg, factor
        As for `Sparse`.

    Raises
    ------
    CudaUnavailable
        If no GPU can be used. The message states what is missing.
    """

    device = "cuda"


# ---- conversion ---------------------------------------------------------------------------------------------------
def from_csr(given: qutip_data.CSR) -> Sparse:
    """Convert QuTiP's csr to hm or csr, whichever needs fewer bytes, real if all values are real or imaginary."""
    rows = given.as_scipy()
    values = rows.data
    real, imaginary = not values.imag.any(), not values.real.any()
    stored = (values.real if real else values.imag if imaginary else values).copy()
    matrix = array(type(rows)((stored, rows.indices, rows.indptr), shape=rows.shape))
    return Sparse(matrix, 1j if imaginary and not real else 1)


def to_csr(given: Sparse) -> qutip_data.CSR:
    """Return an operator as QuTiP's csr."""
    rows = given.matrix.to("cpu").to_scipy("csr")
    return qutip_data.CSR((given.factor * rows.data, rows.indices, rows.indptr), shape=rows.shape)


def to_dense(given: Sparse) -> qutip_data.Dense:
    """Return an operator as QuTiP's dense matrix."""
    return qutip_data.Dense(given.to_array(), copy=False)


def by_csr(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return an operation on operators that converts them to QuTiP's csr and back; used for rare operations."""

    def operation(given: Sparse, *args: Any, **kwargs: Any) -> Any:
        result = from_csr(function(to_csr(given), *args, **kwargs))
        return type(given)(result.matrix, result.factor)

    return operation


# ---- operations of operators --------------------------------------------------------------------------------------
def compact(A: SparseArray) -> SparseArray:
    """Convert a result in hm or csr to the one of these formats with fewer bytes; other formats are unchanged."""
    if A.format not in ("hm", "csr"):
        return A
    return A.asformat(min(("hm", "csr"), key=lambda format: forecast("convert", A, format=format).result_nbytes))


def add(left: Sparse, right: Sparse, scale: complex = 1) -> Sparse:
    """Return ``left + scale right``. The larger factor is factored out, so that real matrices remain real."""
    factors = left.factor, plain_number(right.factor * scale)
    outside = max(factors, key=abs) or 1
    a, b = (scaled(x.matrix, factor, outside) for x, factor in zip((left, right), factors))
    if a.format != b.format:  # the entries of one of them may be on many diagonals
        a, b = a.asformat("csr"), b.asformat("csr")
    return type(left)(compact(a + b), outside)


def scaled(matrix: SparseArray, factor: complex, outside: complex) -> SparseArray:
    """Return ``factor / outside`` times a matrix."""
    return matrix if factor == outside else matrix * plain_number(factor / outside)


def mul(given: Sparse, value: complex) -> Sparse:
    """Return ``value`` times an operator; the matrix is shared."""
    return type(given)(given.matrix, given.factor * value)


def matmul(left: Sparse, right: Sparse, scale: complex = 1) -> Sparse:
    """Return ``scale left right``."""
    return type(left)(compact(left.matrix @ right.matrix), left.factor * right.factor * scale)


def matmul_dag(left: Sparse, right: Sparse, scale: complex = 1) -> Sparse:
    """Return ``scale left right.H``."""
    return matmul(left, right.adjoint(), scale)


def multiply(left: Sparse, right: Sparse) -> Sparse:
    """Return the elementwise product."""
    if left.shape != right.shape:
        raise ValueError(f"multiply: the shapes are {left.shape} and {right.shape}, expected the same")
    return type(left)(compact(left.matrix.multiply(right.matrix)), left.factor * right.factor)


def kronecker(left: Sparse, right: Sparse) -> Sparse:
    """Return the Kronecker product, which is computed on the host."""
    return type(left)(compact(kron(left.matrix.to("cpu"), right.matrix.to("cpu"))), left.factor * right.factor)


def zeros(cls: type[Sparse], rows: int, cols: int) -> Sparse:
    """Return an operator without stored elements."""
    return cls(FORMATS["hm"].empty((rows, cols), np.dtype(float)))


def identity(cls: type[Sparse], dimension: int, scale: complex = 1) -> Sparse:
    """Return ``scale`` times the identity."""
    return cls(eye(dimension), scale)


def iszero(given: Sparse, tol: float = -1) -> bool:
    """Return whether no element is larger than a tolerance, by default QuTiP's."""
    values = given.matrix.to("cpu").to_scipy("csr").data
    return bool((np.abs(given.factor * values) <= (settings.core["atol"] if tol < 0 else tol)).all())


def isherm(given: Sparse, tol: float = -1) -> bool:
    """Return whether an operator is Hermitian, up to a tolerance for each element."""
    return given.shape[0] == given.shape[1] and iszero(add(given, given.adjoint(), -1), tol)


def eigs(given: Sparse, *args: Any, **kwargs: Any) -> Any:
    """Return all eigenvalues, computed from the dense matrix, as in QuTiP's csr."""
    return qutip_data.eigs_dense(to_dense(given), *args, **kwargs)


# ---- with dense blocks --------------------------------------------------------------------------------------------
def times_dense(left: Sparse, right: qutip_data.Dense, scale: complex = 1) -> qutip_data.Dense:
    """Return ``scale left right``, in the memory order of `right`."""
    return fast_from_numpy(left.matrix.matvec(right.as_ndarray(), alpha=left.factor * scale))


def dense_times(left: qutip_data.Dense, right: Sparse, scale: complex = 1) -> qutip_data.Dense:
    """Return ``scale left right``, in the memory order of `left`."""
    return fast_from_numpy(right.matrix.T.matvec(left.as_ndarray().T, alpha=right.factor * scale).T)


def dense_times_adjoint(left: qutip_data.Dense, right: Sparse, scale: complex = 1) -> qutip_data.Dense:
    """Return ``scale left right.H``."""
    return dense_times(left, right.adjoint(), scale)


def check_state(op: Any, state: Any) -> None:
    """Raise ValueError if the operator is not square, or the state is neither a ket nor a density matrix for it."""
    if op.shape[0] != op.shape[1] or state.shape not in ((op.shape[1], 1), op.shape):
        raise ValueError(f"expect: the operator has shape {op.shape}, the state {state.shape}")


def expect(op: Sparse, state: Any) -> complex:
    """Return ``<x|op|x>`` for a ket, or the trace of ``op state`` for a density matrix, from stored elements only."""
    if state.shape[1] == 1:
        return expect_by_product(op, state)
    check_state(op, state)
    return complex(op.factor * op.matrix.multiply(as_block(state).T).sum())


def expect_by_product(op: Any, state: Any) -> complex:
    """Return the same for any two types of QuTiP. A state with one element is a ket."""
    check_state(op, state)
    product = qutip_data.matmul(op, state)
    if state.shape[1] == 1:
        return qutip_data.inner(state, product, scalar_is_ket=True)
    return complex(qutip_data.trace(product))


def expect_super(op: Sparse, state: Any) -> complex:
    """Return the trace of the matrix whose stacked columns are ``op state``."""
    n = round(op.shape[0] ** 0.5)
    if op.shape != (n * n, n * n) or state.shape != (n * n, 1):
        raise ValueError(f"expect_super: the operator has shape {op.shape}, the state {state.shape}")
    return complex(op.matrix.matvec(as_block(state), alpha=op.factor)[:: n + 1].sum())


def as_block(state: Any) -> Any:
    """Return the array of a dense state: a NumPy array, or a CuPy array for `CudaDense`."""
    return state.as_ndarray() if isinstance(state, qutip_data.Dense) else state.array
