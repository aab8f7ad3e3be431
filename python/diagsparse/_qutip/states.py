"""States on a GPU: CuPy arrays as data of QuTiP, with the operations that its integrators need."""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from qutip.core import data as qutip_data

from .operators import CudaSparse


class CudaDense(qutip_data.Data):
    """A ket or a dense matrix on a GPU, as a complex128 CuPy array.

    QuTiP's own integrators (``vern7``, ``vern9``, ``tsit5``) leave such a state on the GPU. Those of SciPy copy it to
    the host in each step.

    Parameters
    ----------
    arg : CuPy or NumPy array, shape (n, k) or (n,)
        A vector is a ket. Arrays that are not on the GPU or not complex128 are copied.

    Raises
    ------
    ImportError
        If CuPy is not installed.
    ValueError
        If the array has another number of dimensions.
    """

    library: ClassVar[str] = "cupy"

    def __init__(self, arg: Any) -> None:
        block = self.arrays().asarray(arg, dtype=complex)
        if block.ndim not in (1, 2):
            raise ValueError(f"{type(self).__name__}: got an array of {block.ndim} dimensions, expected 1 or 2")
        self.array = block if block.ndim == 2 else block[:, None]
        super().__init__(self.array.shape)

    @classmethod
    def arrays(cls) -> Any:
        """Return the array library."""
        try:
            return import_module(cls.library)
        except ImportError as error:
            raise ImportError(f"{cls.__name__} needs CuPy ({error}): pip install cupy-cuda13x") from error

    @classmethod
    def sparcity(cls) -> str:  # QuTiP's spelling
        """Return the role of this type in a group of types of QuTiP."""
        return "dense"

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape})"

    __str__ = __repr__

    def __reduce__(self) -> tuple:
        return type(self), (self.to_array(),)

    def copy(self) -> CudaDense:
        """Return a copy."""
        return type(self)(self.array.copy())

    def to_array(self) -> np.ndarray:
        """Return a copy of the elements as a NumPy array."""
        return self.array.get() if hasattr(self.array, "get") else self.array.copy()

    def trace(self) -> complex:
        """Return the sum of the main diagonal."""
        if self.shape[0] != self.shape[1]:
            raise ValueError(f"trace: the matrix is {self.shape[0]} x {self.shape[1]}, expected a square one")
        return complex(self.array.trace())

    def transpose(self) -> CudaDense:
        """Return the transpose as a copy, because QuTiP modifies states in place."""
        return type(self)(self.array.T.copy())

    def conj(self) -> CudaDense:
        """Return the complex conjugate."""
        return type(self)(self.array.conj())

    def adjoint(self) -> CudaDense:
        """Return the conjugate transpose."""
        return type(self)(self.array.T.conj())


def to_dense(given: CudaDense) -> qutip_data.Dense:
    """Copy a state to the host."""
    return qutip_data.Dense(given.to_array(), copy=False)


def add(left: CudaDense, right: CudaDense, scale: complex = 1) -> CudaDense:
    """Return ``left + scale right``."""
    return iadd(left.copy(), right, scale)


def iadd(left: CudaDense, right: CudaDense, scale: complex = 1) -> CudaDense:
    """Add ``scale right`` to `left` in place."""
    if left.shape != right.shape:
        raise ValueError(f"add: the shapes are {left.shape} and {right.shape}")
    left.array += right.array if scale == 1 else scale * right.array
    return left


def mul(given: CudaDense, value: complex) -> CudaDense:
    """Return ``value`` times a state."""
    return type(given)(given.array * complex(value))


def imul(given: CudaDense, value: complex) -> CudaDense:
    """Multiply a state by a number in place."""
    given.array *= complex(value)
    return given


def matmul(left: CudaDense, right: CudaDense, scale: complex = 1) -> CudaDense:
    """Return ``scale left right`` for dense matrices."""
    return mul(type(left)(left.array @ right.array), scale)


def times_state(left: CudaSparse, right: CudaDense, scale: complex = 1) -> CudaDense:
    """Return ``scale left right`` for an operator and a state."""
    return type(right)(left.matrix.matvec(right.array, alpha=left.factor * scale))


def state_times(left: CudaDense, right: CudaSparse, scale: complex = 1) -> CudaDense:
    """Return ``scale left right`` for a state and an operator."""
    return type(left)(right.matrix.T.matvec(left.array.T, alpha=right.factor * scale).T)


def zeros(cls: type[CudaDense], rows: int, cols: int) -> CudaDense:
    """Return zeros."""
    return cls(cls.arrays().zeros((rows, cols), complex))


def column_stack(given: CudaDense) -> CudaDense:
    """Return the stacked columns."""
    return type(given)(given.array.T.reshape(-1, 1).copy())


def column_unstack(given: CudaDense, rows: int) -> CudaDense:
    """Return the matrix with these stacked columns."""
    if given.shape[1] != 1 or rows < 1 or given.shape[0] % rows:
        raise ValueError(f"column_unstack: the state has shape {given.shape}, expected one column of {rows} k elements")
    return type(given)(given.array.reshape(-1, rows).T.copy())


def inner(left: CudaDense, right: CudaDense, scalar_is_ket: bool = False) -> complex:
    """Return ``<left|right>``; `left` is a ket or a bra, and a single element is a bra unless ``scalar_is_ket``."""
    if right.shape[1] != 1 or left.shape not in ((right.shape[0], 1), (1, right.shape[0])):
        raise ValueError(f"inner: the shapes are {left.shape} and {right.shape}, expected a bra or ket, and a ket")
    is_ket = left.shape[1] == 1 and (left.shape[0] > 1 or scalar_is_ket)
    bra = left.array.conj() if is_ket else left.array
    return complex(bra.ravel() @ right.array.ravel())


def project(given: CudaDense) -> CudaDense:
    """Return ``|x><x|`` for a ket or a bra."""
    if 1 not in given.shape:
        raise ValueError(f"project: the state has shape {given.shape}, expected a ket or a bra")
    x = given.array if given.shape[1] == 1 else given.array.T.conj()
    return type(given)(x * x.T.conj())


def frobenius(given: CudaDense) -> float:
    """Return the square root of the sum of squares."""
    return float(np.sqrt((given.array.real**2 + given.array.imag**2).sum()))


def l2(given: CudaDense) -> float:
    """Return the length of a vector."""
    if 1 not in given.shape:
        raise ValueError(f"l2: the state has shape {given.shape}, expected a ket or a bra")
    return frobenius(given)


def wrmn_error(diff: CudaDense, state: CudaDense, atol: float, rtol: float) -> float:
    """Return the root mean square of ``diff / (atol + rtol |state|)``, the error of a step."""
    if diff.shape != state.shape:
        raise ValueError(f"wrmn_error: the shapes are {diff.shape} and {state.shape}, expected the same")
    return float(np.sqrt(((abs(diff.array) / (atol + rtol * abs(state.array))) ** 2).mean()))
