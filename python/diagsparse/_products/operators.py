"""``A @ x``, ``A @ B``, ``x @ A`` and their methods; mixed into every matrix class."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from .._arrays import device_dense, streams
from .._matrix import operands
from .._matrix.base import SparseArray
from .._matrix.each_element import is_scalar
from .._places.backend import CPU
from .plans import MatmulPlan
from .profile import profiled


class Operators:
    """Products of a matrix with whatever there is."""

    @overload
    def __matmul__(self: SparseArray, other: SparseArray) -> SparseArray: ...
    @overload
    def __matmul__(self: SparseArray, other: Any) -> Any: ...
    def __matmul__(self: SparseArray, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            if type(other) is np.ndarray and self._place is CPU:
                if other.ndim == 1:
                    made = CPU.core.times_vector(self._matrix, self._op, other)
                    if made is not None:
                        return made
                elif other.ndim == 2 and other.shape[1] == 1:  # as SciPy's solvers multiply
                    made = CPU.core.times_vector(self._matrix, self._op, other[:, 0])
                    if made is not None:
                        return made[:, None]
            if other.ndim == 0:
                raise ValueError("matmul: a scalar is no matrix; A * s scales A")
            return self.matvec(other)
        if isinstance(other, SparseArray):
            made = self._multiplied_at_once(other)
            return MatmulPlan(self, other)() if made is None else made
        if (sparse := operands.as_sparse(other, self._place)) is not None:
            return self.matmul(sparse)
        if isinstance(other, LinearOperator):
            return aslinearoperator(self) @ other
        if is_scalar(other):
            raise ValueError("matmul: a scalar is no matrix; A * s scales A")
        return self.matvec(other) if operands.is_dense(other) else NotImplemented

    def __rmatmul__(self: SparseArray, other: Any) -> Any:
        if type(other) is np.ndarray and self._place is CPU and other.ndim == 1 and len(other) == self._shape[0]:
            return self.T.matvec(other)
        if (sparse := operands.as_sparse(other, self._place)) is not None:
            return sparse.matmul(self)
        if is_scalar(other):
            raise ValueError("matmul: a scalar is no matrix; A * s scales A")
        if not operands.is_dense(other):
            return NotImplemented
        x = device_dense.operand(self, other)
        if len(x.shape) not in (1, 2) or x.shape[-1] != self.shape[0]:
            raise ValueError(
                f"matmul: x has shape {tuple(x.shape)}, but A is {self.shape[0]} x {self.shape[1]} and "
                f"x @ A needs {self.shape[0]} columns"
            )
        return self.T.matvec(x) if len(x.shape) == 1 else self.T.matvec(x.T).T

    def dot(self: SparseArray, other: Any) -> Any:
        """Return ``A @ other``, or ``other * A`` for a scalar."""
        return self * other if np.ndim(other) == 0 and not isinstance(other, LinearOperator) else self @ other

    def matmul(
        self: SparseArray,
        other: SparseArray,
        *,
        format: str | None = None,
        kernel: str | None = None,
        out: SparseArray | None = None,
        max_bytes: int | None = None,
        profile: bool = False,
        stream: Any = None,
    ) -> Any:
        """Return the sparse product ``A @ other``; see `diagsparse.matmul` for all that it can do.

        ``profile=True`` returns ``(result, stages)`` with the seconds of each stage, waiting for the GPU.
        """
        if not isinstance(other, SparseArray):
            other = operands.require_sparse(other, "matmul", "B", self._place)
        with streams.on(self._place, stream, "matmul"):
            if profile:
                return profiled(self, other, out, format=format, kernel=kernel, max_bytes=max_bytes)
            return MatmulPlan(self, other, format, kernel, max_bytes, into=out)(out=out)

    def kernels(self: SparseArray, operation: str = "matvec") -> list[str]:
        """Return the names of the kernels of ``"matvec"``, ``"matmul"`` or ``"chain"`` for this dtype and device.

        The first is the default; for sparse products on a GPU ``plan.kernel`` names what is chosen.
        """
        names = self._core.kernels(self.format, self._dtype.name)
        if operation not in names:
            raise ValueError(f'kernels: no operation {operation!r}; there are "matvec", "matmul" and "chain"')
        return names[operation]
