"""Factorizations on a GPU, and right-hand sides of any library.

Transposes, adjoints and wider dtypes are separate matrices, which are factored at their first use.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np

from .._arrays import device_arrays, device_dense
from .._backends.types import product_dtypes, solved_in
from .._matrix.builders import eye
from .._matrix.sparse_array import SparseArray
from . import device_members, device_methods
from .device_methods import Reach, Solve


class DeviceFactors:
    """Solvers for ``a - sigma I``, its transpose and its adjoint, for a matrix of `members` diagonal blocks.

    `reach` are the distances of the outermost nonzero diagonals below and above the main one.

    If there is only one solve, `once`, the matrix is not copied, and no more is stored than necessary. With
    `interleaved`, the matrix does not consist of diagonal blocks, but of interleaved members, as in `device_members`.
    """

    def __init__(
        self,
        a: SparseArray,
        sigma: complex,
        method: str,
        members: int,
        reach: Reach,
        once: bool = False,
        interleaved: bool = False,
    ) -> None:
        if sigma:
            self.matrix = a - a.dtype.type(sigma) * eye(a.shape[0], dtype=a.dtype, device=a.device)
        else:
            self.matrix = a if once else a.copy()  # as the user may write to the matrix
        self.method, self._members, self._reach, self.interleaved = method, members, reach, interleaved
        self._methods: Any = device_members if interleaved else device_methods
        self._once = once and method == "tridiagonal"
        self._solves: dict[tuple[str, np.dtype], tuple[Solve, int]] = {}
        self._lock = Lock()
        if not self._once:
            self._solve_for("N", a.dtype)

    @property
    def nbytes(self) -> int:
        """Bytes of everything that is stored."""
        return self.matrix.nbytes + sum(nbytes for _, nbytes in self._solves.values())

    def right_side(self, trans: str, fitted: Callable[..., tuple[int, ...]]) -> RightSide:
        """Return the task of solving for a right-hand side, an array of any library."""
        return RightSide(self, trans, fitted)

    def solve(self, b: Any, x: Any, trans: str) -> None:
        """Write the solutions for `b` to `x`, both of shape (n, k) in F order, and real or complex like the matrix."""
        if x.size:
            self._solve_for(trans, x.dtype)(b, x)

    def _solve_for(self, trans: str, dtype: np.dtype) -> Solve:
        key = "T" if trans == "H" and dtype.kind == "f" else trans, dtype
        with self._lock:
            if key not in self._solves:
                a = {"N": self.matrix, "T": self.matrix.T, "H": self.matrix.H}[trans].astype(dtype, copy=False)
                if self._once:
                    self._solves[key] = self._methods.tridiagonal_once(a, self._members), 0
                else:
                    reach = self._reach if trans == "N" else self._reach[::-1]
                    solve, nbytes, verify = self._methods.METHODS[self.method](a, self._members, reach)
                    device_methods.require_regular(a, solve, verify, self._members, self.interleaved)
                    self._solves[key] = solve, nbytes
            return self._solves[key][0]


class RightSide(device_dense.Product):
    """The task of solving for a right-hand side, as a product with it.

    `fitted` returns the shape of the solutions for a shape of right-hand sides, or raises. For a batch it has a row for
    each member, or a column if they are interleaved, and all elements form one vector.
    """

    def __init__(self, factors: Any, trans: str, fitted: Callable[..., tuple[int, ...]]) -> None:
        super().__init__(factors.matrix, 0, factors.matrix.shape, 1, 0, None, "solve")
        self._factors, self._trans, self._fitted = factors, trans, fitted

    def dtypes(self, shape: tuple[int, ...], given: np.dtype) -> tuple[np.dtype, np.dtype]:
        self._fitted(shape)
        if given.kind not in "iubfc":
            raise TypeError(f"solve: b is of type {given}, expected numbers")
        return product_dtypes(self.a.dtype, given)

    def result_shape(self, x: Any) -> tuple[int, ...]:
        return self._fitted(x.shape)

    def run(self, x: Any, target: Any, make: Callable[[str], Any]) -> None:
        result = make("C")
        dtype = solved_in(self.a.dtype, x.dtype)
        if x.shape == result.shape and x.dtype == result.dtype == dtype and x.size == self.a.shape[0]:  # one column
            columns = self._columns(device_arrays.contiguous(x, dtype), dtype)
            self._factors.solve(columns, self._columns(result, dtype), self._trans)
            return
        b = self._all_rows(x, result.shape)
        y = self.backend.core.empty(b.shape, dtype.name, b.device, "F")
        y.assign(b)
        self._factors.solve(y, y, self._trans)
        self._columns(result, dtype).assign(y)

    def _all_rows(self, x: Any, shape: tuple[int, ...]) -> Any:
        """Return the right-hand sides as columns; for a real matrix, complex ones as two."""
        core = self.backend.core
        if x.shape != shape:  # one right-hand side for all members
            strides = (x.itemsize, 0) if self._factors.interleaved else (0, x.itemsize)
            x = device_arrays.strided(core, device_arrays.contiguous(x, x.dtype), shape, strides)
        rows = core.empty(shape, x.dtype.name, x.device)
        rows.assign(x)
        return self._columns(rows, self.a.dtype)

    def _columns(self, array: Any, dtype: np.dtype) -> Any:
        """Return an array in C order as columns; with a real `dtype`, complex ones as two."""
        n = self.a.shape[0]
        columns = array.reshape((n, array.size // n if n else 0))
        return (
            device_arrays.as_reals(self.backend.core, columns)
            if array.dtype.kind == "c" and dtype.kind == "f"
            else columns
        )
