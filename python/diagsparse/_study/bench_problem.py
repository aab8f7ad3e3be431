"""One product of the GPU benchmark: its operands, the timed calls, the expected result, and its work and bytes.

All calls write to preallocated memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from .._backends.backend import Backend
from .._matrix.construct import array
from .._matrix.sparse_array import SparseArray
from .._products.chains import power_multiply
from .._products.products import plan_matmul, plan_matvec
from .bench_cases import Case
from .sampled import Power, SampledMatmul, SampledMatvec


class Problem:
    """The product of a SciPy matrix A with a vector, a block or a matrix (None: A^T), or a triangle of it."""

    def __init__(
        self,
        A: Any,
        right: Any,
        where: Backend,
        triangle: str | None = None,
        layout: Mapping[str, Any] = MappingProxyType({}),
        power: int = 0,
    ) -> None:
        self.A, self.where, self.triangle, self.layout, self.power = A, where, triangle, layout, power
        self.with_itself = right is None
        self.right = right = A.T if right is None else right
        #: returns the largest error of a result, divided by its bound
        self.error: Callable[[Any], float] = self._check()
        self._held: dict[str, tuple[Any, Any]] = {}  # the operands in the current format
        self._defaults: dict[str, str] = {}  # kernels

    def _check(self) -> Callable[[Any], float]:
        if self.power:
            return Power(self.A, self.right, self.power)
        if _dense(self.right):
            return SampledMatvec(self.A, self.right)
        return SampledMatmul(self.A, self.right, self.triangle)

    def operands(self, format: str) -> tuple[Any, Any]:
        """Return A and its right operand on the GPU in a format; those in another format are freed."""
        if format not in self._held:
            self._held.clear()
            left = self._put(self.A, format)
            self._held[format] = left, left.T if self.with_itself else self._put(self.right, format)
        return self._held[format]

    def _put(self, operand: Any, format: str) -> Any:
        if _dense(operand):
            return self.where.core.from_host(operand, self.where.index)
        put = array(operand, "hm", device=self.where.name).asformat(format)
        options = {*put._format.options, *(("symmetry", "period") if put._format.packs else ())}
        return put.asformat(format, **self.layout) if self.layout.keys() <= options else put

    def call(self, format: str, kernel: str) -> Callable[[], Any]:
        """Return a call that computes the product by a kernel of diagsparse."""
        left, right = self.operands(format)
        if isinstance(right, SparseArray):
            plan = plan_matmul(left, right, triangle=self.triangle, kernel=kernel)
            return partial(plan, out=plan())
        dtype = np.result_type(left.dtype, right.dtype).name
        y = self.where.core.empty((left.shape[0], *right.shape[1:]), dtype, self.where.index)
        if self.power:
            return partial(power_multiply, left, right, self.power, out=y, kernel=kernel)
        return partial(plan_matvec(left, kernel=kernel or None), right, out=y)

    def default_kernel(self, format: str) -> str:
        """Return the default kernel of a format; "" if this product cannot be planned.

        It is planned once, and the plan is freed so that all memory is available for the timed products.
        """
        if format not in self._defaults:
            try:
                self._defaults[format] = self._default_kernel(format)
            except Exception:  # the row of each kernel reports its own error
                self._defaults[format] = ""
        return self._defaults[format]

    def _default_kernel(self, format: str) -> str:
        left, right = self.operands(format)
        if isinstance(right, SparseArray):
            return plan_matmul(left, right, triangle=self.triangle).kernel
        return left.kernels("chain" if self.power else "matvec")[0]

    def floor(self, result: Any) -> int:
        """Return the bytes that are moved at least in the layout of diagonals: stored values and vectors once."""
        if "palette" in self.layout:
            return sum(part.nbytes for part in (self.operands("mdia")[0], self.right, result))
        if self.layout:
            return sum(part.nbytes for part in (self.operands("dia")[0].values, self.right, result))
        operands = [self.A] if self.with_itself else [self.A, self.right]
        return sum(M.nbytes if _dense(M) else M.dtype.itemsize * M.nnz for M in (*operands, result))

    def work(self) -> int:
        """Return the number of multiply-adds of the product by diagonals."""
        rows, inner = self.A.shape
        a = np.asarray(self.A.offsets, dtype=np.int64)[:, None]
        if _dense(self.right):
            times = max(1, self.power) * (self.right.size // inner)
            lengths = (np.minimum(rows, inner - a) - np.maximum(0, -a)) * times
        else:
            b = np.asarray(self.right.offsets, dtype=np.int64)[None, :]
            first = np.maximum(np.maximum(0, -a), -a - b)
            lengths = np.minimum(np.minimum(rows, inner - a), self.right.shape[1] - a - b) - first
            if self.triangle is not None:
                lengths = lengths * (a + b <= 0 if self.triangle == "lower" else a + b >= 0)
        return int(np.maximum(lengths, 0).sum())


def kernel_of(call: Callable[[], Any], requested: str) -> str:
    """Return the kernel of a planned call; the requested one for all other calls."""
    return str(getattr(getattr(call, "func", None), "kernel", requested))


def _dense(operand: Any) -> bool:
    return not hasattr(operand, "nnz")


def of_case(case: Case, dtype: np.dtype, scale: float, where: Backend) -> Problem:
    """Return the product of a case, with its size multiplied by `scale`."""
    A = case.make(scale, 0, np.dtype(case.values or dtype))
    if case.op == "syrk":
        return Problem(A, None, where, "lower")
    if case.op == "matmul":
        return Problem(A, (case.make_right or case.make)(scale, 1, dtype), where)
    shape = (A.shape[1], case.columns) if case.columns else A.shape[1]
    x = np.random.default_rng(1).uniform(0.5, 1.5, shape).astype(dtype)
    return Problem(A, x, where, layout=case.layout, power=case.power)


def counterpart(case: Case, problem: Problem) -> Problem | None:
    """Return the same product without the special property of the case; for a block, that with its first column."""
    A, right = problem.A, problem.right
    if not case.counterpart:
        return None
    if case.op == "syrk":
        return Problem(A, None, problem.where)
    if case.columns:
        return Problem(A, np.ascontiguousarray(right[:, 0]), problem.where)
    layout = {"palette": False} if "palette" in case.layout else {}
    return Problem(A.astype(right.dtype), right, problem.where, layout=layout)
