"""What an evolution does with states, on the CPU and on a GPU: blocks of columns, each of which is contiguous."""

from __future__ import annotations

from math import prod
from typing import Any, Protocol

import numpy as np
from scipy.linalg import norm

from .._arrays import device_arrays, owners
from .._backends.backend import CPU, Backend


def member(array: Any, i: int) -> Any:
    """Return ``array[i]`` as a view, for arrays of all libraries; ours have to be in C order."""
    if isinstance(array, np.ndarray) or owners.owner_of(array) is not owners.AnyLibrary:
        return array[i]
    shape = array.shape[1:]
    size = prod(shape)
    return array.ravel()[i * size : (i + 1) * size].reshape(shape)


class Vectors(Protocol):
    """Operations on vectors of shape (n,), or on blocks of shape (n, p) in Fortran order."""

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        """Return a new array."""

    def given(self, x: np.ndarray) -> Any:
        """Return a NumPy array on the device."""

    def random(self, n: int, dtype: np.dtype) -> Any:
        """Return a vector of random elements, on each device always the same ones."""

    def multiply(self, A: Any, x: Any, out: Any, alpha: float = 1.0) -> None:
        """Write ``alpha A x`` to `out`."""

    def chain(self, A: Any, recurrence: Any, x: Any, out: Any) -> None:
        """Write the sum of a recurrence in A that starts with x to `out`."""

    def assign(self, x: Any, to: Any) -> None:
        """Copy an array to another one of the same shape, in any memory order."""

    def inner(self, x: Any, y: Any) -> complex:
        """Return ``x^H y`` of two vectors."""

    def real_inner(self, x: Any, y: Any) -> float:
        """Return the real part of ``x^H y`` of two vectors of the same dtype."""

    def combine(self, alpha: complex, x: Any, beta: complex, y: Any) -> None:
        """Replace y by ``alpha x + beta y``; y is not read if `beta` is 0."""

    def add_clipped_products(self, a: Any, x: Any, y: Any) -> None:
        """Replace real y by ``max(y + a x, 0)``, element by element."""

    def largest(self, x: Any) -> float:
        """Return the largest element of a real vector without negative ones."""

    def sums(self, factors: np.ndarray, basis: list[Any], dtype: np.dtype) -> list[Any]:
        """Return ``sum_j factors[i, j] basis[j]`` for every row of `factors`."""

    def columns(self, x: Any) -> list[Any]:
        """Return the columns of a block as vectors on the same memory; of a vector, itself."""

    def norm(self, x: Any) -> float:
        """Return the Euclidean norm of a vector, and that of the largest column of a block."""


class HostVectors:
    """`Vectors` as NumPy arrays."""

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        return np.empty(shape, dtype, "F")

    def given(self, x: np.ndarray) -> Any:
        return x

    def random(self, n: int, dtype: np.dtype) -> Any:
        parts = 1 + (dtype.kind == "c")
        x = np.random.default_rng(20261128).random(parts * n, np.float32) - np.float32(0.5)
        return x.view(np.complex64 if parts == 2 else np.float32).astype(dtype)

    def multiply(self, A: Any, x: Any, out: Any, alpha: float = 1.0) -> None:
        A.matvec(x, out=out, alpha=alpha)

    def chain(self, A: Any, recurrence: Any, x: Any, out: Any) -> None:
        A._core.chain(A._matrix, A._op, recurrence, x, out, "")

    def assign(self, x: Any, to: Any) -> None:
        to[...] = x

    def inner(self, x: Any, y: Any) -> complex:
        # Not by a BLAS, whose threads would wait on the cores that the next product needs.
        if x.dtype.kind != "c" or y.dtype.kind != "c":
            return complex(np.einsum("i,i->", x.conj(), y))
        parts = x.dtype.type(0).real.dtype
        real = np.einsum("i,i->", x.view(parts), y.astype(x.dtype, copy=False).view(parts))
        imag = np.einsum("i,i->", x.real, y.imag) - np.einsum("i,i->", x.imag, y.real)
        return complex(real, imag)

    def real_inner(self, x: Any, y: Any) -> float:
        if x.dtype.kind == "c":
            parts = x.dtype.type(0).real.dtype
            x, y = x.view(parts), y.view(parts)
        return float(np.einsum("i,i->", x, y))

    def combine(self, alpha: complex, x: Any, beta: complex, y: Any) -> None:
        if beta == 0:
            np.multiply(x, y.dtype.type(alpha), out=y)
        else:
            if beta != 1:
                y *= y.dtype.type(beta)
            y += y.dtype.type(alpha) * x

    def add_clipped_products(self, a: Any, x: Any, y: Any) -> None:
        y += a * x
        np.maximum(y, 0, out=y)

    def largest(self, x: Any) -> float:
        return float(x.max())

    def sums(self, factors: np.ndarray, basis: list[Any], dtype: np.dtype) -> list[Any]:
        return list(factors.astype(dtype) @ np.asarray(basis))

    def columns(self, x: Any) -> list[Any]:
        return [x] if x.ndim == 1 else list(x.T)

    def norm(self, x: Any) -> float:
        return max((float(norm(c, check_finite=False)) for c in self.columns(x)), default=0.0)


class DeviceVectors:
    """`Vectors` as `DeviceArray`s on a GPU, on whose stream everything runs."""

    def __init__(self, backend: Backend) -> None:
        self._backend, self._core = backend, backend.core

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        return self._core.empty(shape, np.dtype(dtype).name, self._backend.index, "F")

    def given(self, x: np.ndarray) -> Any:
        return device_arrays.upload(self._backend, x)

    def random(self, n: int, dtype: np.dtype) -> Any:
        x = self.empty((n,), dtype)
        self._core.fill_random(x)
        return x

    def multiply(self, A: Any, x: Any, out: Any, alpha: float = 1.0) -> None:
        self._core.matvec(A._matrix, A._op, x, out, alpha, 0, "")

    def chain(self, A: Any, recurrence: Any, x: Any, out: Any) -> None:
        self._core.chain(A._matrix, A._op, recurrence, x, out, "")

    def assign(self, x: Any, to: Any) -> None:
        to.assign(x)

    def inner(self, x: Any, y: Any) -> complex:
        wide = np.result_type(x.dtype, y.dtype)
        x, y = (z if z.dtype == wide else z.astype(wide) for z in (x, y))
        return self._core.inner_product(x, y)

    def real_inner(self, x: Any, y: Any) -> float:
        return self._core.inner_product(x, y).real

    def combine(self, alpha: complex, x: Any, beta: complex, y: Any) -> None:
        self._core.axpby(alpha, x, beta, y)

    def add_clipped_products(self, a: Any, x: Any, y: Any) -> None:
        self._core.add_clipped_products(a, x, y)

    def largest(self, x: Any) -> float:
        return self._core.sums(x)[0]

    def sums(self, factors: np.ndarray, basis: list[Any], dtype: np.dtype) -> list[Any]:
        results = []
        for row in factors:
            results.append(self.empty(basis[0].shape, dtype))
            for j, (factor, v) in enumerate(zip(row, basis, strict=True)):
                wide = v if v.dtype == dtype else v.astype(dtype)
                self._core.axpby(complex(factor), wide, 1.0 if j else 0.0, results[-1])
        return results

    def columns(self, x: Any) -> list[Any]:
        return [x] if x.ndim == 1 else [member(x.T, j) for j in range(x.shape[1])]

    def norm(self, x: Any) -> float:
        return max((self._norm(c) for c in self.columns(x)), default=0.0)

    def _norm(self, x: Any) -> float:
        squares = self._core.inner_product(x, x).real
        if not 1e-280 < squares < 1e300 and x.any():  # squares of elements vanish or overflow
            scaled = self.empty(x.shape, x.dtype)
            for factor in (2.0**500, 2.0**-500):
                self.combine(factor, x, 0.0, scaled)
                other = self._core.inner_product(scaled, scaled).real
                if 0 < other < np.inf:
                    return float(other**0.5 / factor)
        return float(squares**0.5)


def vectors(backend: Backend) -> Vectors:
    """Return the operations on a device."""
    return HostVectors() if backend is CPU else DeviceVectors(backend)
