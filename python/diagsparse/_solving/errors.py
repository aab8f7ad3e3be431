"""The errors of solutions, computed from them: the normwise backward error, and the relative residual."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arrays import device_arrays, owners
from .._backends.backend import CPU
from .._backends.types import widened
from .._matrix.sparse_array import SparseArray
from .._products.batch import Batch
from .._products.batch_matrix import on_the_diagonal


@dataclass(frozen=True)
class Errors:
    """The errors of the solutions for all right-hand sides."""

    backward: NDArray[np.float64]  #: |b - A x| / (|A| |x| + |b|) in the maximum norm
    residuals: NDArray[np.float64]  #: norm(b - A x) / norm(b) in the 2-norm
    growth: NDArray[np.float64]  #: |A| |x| / |b|, a lower bound of the condition number
    finite: NDArray[np.bool_]  #: whether the right-hand side is finite
    residual: Any  #: b - A x

    @property
    def worst(self) -> float:
        """The largest backward error of the finite right-hand sides."""
        return float(self.backward[self.finite].max(initial=0.0))


class System:
    """A matrix, or all members of a batch, as the factor of products ``A x`` and of norms."""

    def __init__(self, A: SparseArray | Batch, owner: type[owners.AnyLibrary] | None) -> None:
        self.A: Any = A
        self._axis = int(isinstance(A, Batch) and not A._interleaved)  # of a member's right-hand side
        self._owner = owner  # the library of the right-hand sides

    @cached_property
    def norm(self) -> NDArray[np.float64]:
        """The largest sum of absolute values of a row: of the matrix, or of each member.

        If it overflows, it is NaN, so that no error seems small.
        """
        _, largest = self.row_sums
        return np.where(np.isinf(largest), np.nan, largest)

    @cached_property
    def row_sums(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The smallest and the largest sum of absolute values of a row: of the matrix, or of each member."""
        whole, count, axis = self.A, 1, self._axis
        if isinstance(self.A, Batch):
            whole, count = self.A._all if self.A._interleaved else on_the_diagonal(self.A, "solve"), self.A.count
        if not whole.shape[0]:
            return np.zeros(count), np.zeros(count)
        sums = whole._format.absolute_sums(whole, 1) if whole._backend is CPU else self._sums_on_device(whole)
        if count > 1:
            sums = sums.reshape((count, -1) if axis else (-1, count))
        else:
            sums, axis = sums.reshape(-1), 0  # libraries reduce a long row of a matrix by a single block of threads
        return _on_host(_minimum(sums, axis)), _on_host(_maximum(sums, axis))

    def _sums_on_device(self, A: SparseArray) -> Any:
        """Return the sums of absolute values of rows on a GPU, as an array of the library of the right-hand sides."""
        sizes, backend = abs(A), A._backend
        ones = backend.core.empty((A.shape[1],), widened(sizes.dtype).name, backend.index, "C")
        ones.fill(1)
        sums = sizes @ ones
        if self._owner is None or self._owner is owners.AnyLibrary:
            return device_arrays.download(sums)
        return self._owner.to_library(backend, sums)

    def errors(self, x: Any, b: Any) -> Errors:
        """Return the errors of the solution `x` for the right-hand side `b`, arrays of the same library."""
        x, b, image = (_computable(one) for one in (x, b, self.A @ x))
        if b.ndim < x.ndim and self._axis == 0:  # one for all members, in the last axis
            b = b[:, None]
        residual = b - image
        with np.errstate(all="ignore"):
            (largest, length), (solution, _), (given, norm_of_b) = (self._norms(one) for one in (residual, x, b))
            tiny = (1 + self.norm) * np.finfo(owners.dtype_of(x)).tiny
            unit = np.maximum(solution, 1)  # all is divided by it, so that no product overflows
            image_bound, given_bound = self.norm * (solution / unit), given / unit
            errors = Errors(
                backward=largest / unit / np.maximum(image_bound + given_bound, tiny / unit),
                residuals=length / np.maximum(norm_of_b, tiny),
                growth=image_bound / np.maximum(given_bound, tiny / unit),
                finite=np.broadcast_to(np.isfinite(given), solution.shape),
                residual=residual,
            )
        return errors

    def largest(self, array: Any) -> NDArray[np.float64]:
        """Return the largest absolute value for each right-hand side; it is not finite if one of the values is not."""
        return self._norms(_computable(array))[0]

    def _norms(self, array: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the maximum norm and the 2-norm of each right-hand side; no square overflows or vanishes."""
        axis = self._axis if array.ndim == 2 else 0
        if 0 in array.shape:
            nothing = np.zeros(1 if array.ndim == 1 else array.shape[1 - axis])
            return nothing, nothing
        size = abs(array)
        size = size.astype(np.float64, copy=False) if isinstance(size, np.ndarray) else size
        largest = _maximum(size, axis)
        scale = largest + (largest == 0)
        length = ((size / (scale[:, None] if axis else scale)) ** 2).sum(axis) ** 0.5
        return _on_host(largest), _on_host(largest) * _on_host(length)


def can_be_refined(x: Any) -> bool:
    """Whether solutions can be added: those in a `DeviceArray` cannot."""
    return owners.owner_of(x) is not owners.AnyLibrary


def _maximum(values: Any, axis: int) -> Any:
    """Return the maximum along an axis, for any library."""
    return values.amax(axis) if hasattr(values, "amax") else values.max(axis)


def _minimum(values: Any, axis: int) -> Any:
    """Return the minimum along an axis, for any library."""
    return values.amin(axis) if hasattr(values, "amin") else values.min(axis)


def _computable(array: Any) -> Any:
    """Return an array that can be subtracted: a `DeviceArray` is copied to the host."""
    return device_arrays.download(array) if owners.owner_of(array) is owners.AnyLibrary else array


def _on_host(values: Any) -> NDArray[np.float64]:
    """Return a few numbers of any library as an array of NumPy."""
    there = values.get() if hasattr(values, "get") else values.cpu().numpy() if hasattr(values, "cpu") else values
    return np.atleast_1d(np.asarray(there, np.float64))
