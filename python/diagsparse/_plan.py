"""Plans: the structure of a product, found once and run for any values on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _display, _memory
from ._array import FORMATS, SparseArray
from ._construct import convert
from ._diagonal import DiagonalArray
from ._types import product_dtypes

_BOTH, _LOWER, _UPPER = 0, 1, 2
TRIANGLES = {None: _BOTH, "lower": _LOWER, "upper": _UPPER}


class MatmulPlan:
    """The structure of a product ``C = op(A) op(B)``, ready for any values of A and B.

    Made by `plan_matmul`. ``plan()`` multiplies the operands that it was made with, ``plan(a2, b2)``
    others of the same structure; ``out=`` takes a matrix that an earlier call returned. Several
    threads may use a plan at once.
    """

    def __init__(
        self,
        a: SparseArray,
        b: SparseArray,
        format: str | None = None,
        kernel: str | None = None,
        max_bytes: int | None = None,
        triangle: int = _BOTH,
        extra: Sequence[int] = (),
    ) -> None:
        if a.shape[1] != b.shape[0]:
            raise ValueError(
                f"matmul: A is {_display.operand(a)} and B is {_display.operand(b)}: "
                f"A has {a.shape[1]} columns, B has {b.shape[0]} rows"
            )
        if format is not None and format not in FORMATS:
            raise ValueError(f'matmul: no format "{format}"; there are {", ".join(FORMATS)}')
        if isinstance(a, DiagonalArray) and isinstance(b, DiagonalArray):
            work = format if format is not None and issubclass(FORMATS[format], DiagonalArray) else a.format
            self._require_pairs(a, b, max_bytes)
            self._plan = a._core.plan_diagonal(a._matrix, a._op, b._matrix, b._op, work, kernel or "", triangle, extra)
            self.format = format or work
        else:
            self.format = format or ("csr" if isinstance(a, DiagonalArray) else a.format)
            a, b = _plain_csr(a), _plain_csr(b)
            self._plan = a._core.plan_csr(a._matrix, b._matrix, kernel or "")
        self._a, self._b = a, b
        self.dtype = a.dtype if a.dtype is b.dtype else product_dtypes(a.dtype, b.dtype)[1]
        nbytes = self._plan.nbytes
        if nbytes > _memory.SMALL or max_bytes is not None:
            what = f"matmul: {_display.operand(a)} times {_display.operand(b)}: the result"
            _memory.require(nbytes, max_bytes, what)

    @staticmethod
    def _require_pairs(a: SparseArray, b: SparseArray, max_bytes: int | None) -> None:
        """Raise when the list of pairs of diagonals alone would not fit."""
        if a._matrix.diagonals * b._matrix.diagonals > 1 << 20:
            pairs = a._matrix.diagonals * b._matrix.diagonals
            what = f"matmul: {_display.operand(a)} times {_display.operand(b)}: the plan of {pairs} pairs of diagonals"
            _memory.require(32 * pairs, max_bytes, what, "csr_array plans by rows")

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the result."""
        return self._plan.rows, self._plan.cols

    @property
    def offsets(self) -> np.ndarray:
        """Offsets of the result's stored diagonals, ascending (none for csr)."""
        return np.array(self._plan.offsets, dtype=np.int64)

    @property
    def nnz(self) -> int:
        """Count of values that the result stores."""
        return self._plan.stored

    @property
    def nbytes(self) -> int:
        """Bytes of one result, exactly (a diagonal product asked for as csr, csc or coo: at most)."""
        if self.format == self._plan.format:
            return self._plan.nbytes
        return FORMATS[self.format]._forecast(self.shape, self.dtype.itemsize, self.offsets, self.nnz)

    @property
    def workspace_nbytes(self) -> int:
        """Bytes of the plan itself."""
        return self._plan.workspace_nbytes

    @property
    def kernel(self) -> str:
        """Name of the kernel that runs it."""
        return self._plan.kernel or self._a._core.kernels(self._plan.format)["matmul"][0]

    def __call__(
        self,
        a2: SparseArray | None = None,
        b2: SparseArray | None = None,
        *,
        out: SparseArray | None = None,
        alpha: complex = 1,
        beta: complex = 0,
    ) -> SparseArray:
        """Multiply, with the values of `a2` and `b2` where given.

        Parameters
        ----------
        a2, b2 : sparse matrix, optional
            Of the same format, shape, transposition and structure as the planned operands.
        out : sparse matrix, optional
            Of the planned structure and the product's dtype; overwritten (or updated, with `beta`)
            and returned.
        alpha, beta : scalar
            ``out = alpha A B + beta out``.

        Raises
        ------
        ValueError
            If a structure differs from the planned one; nothing is written.
        """
        a, b = self._a, self._b
        if a2 is not None and a2 is not a:
            a = _like(a2, a, "A")
        if b2 is not None and b2 is not b:
            b = _like(b2, b, "B")
        dtype = self.dtype
        if a.dtype is not b.dtype:
            wanted, dtype = product_dtypes(a.dtype, b.dtype)
            b = b.astype(wanted, copy=False)
        elif a.dtype is not dtype:
            dtype = a.dtype
        if out is not None:
            if not isinstance(out, SparseArray):
                raise TypeError(f"plan: out is {type(out).__name__}, expected a {self._plan.format}_array")
            if out._op:
                raise ValueError(f"plan: out is {out!r}, a view; expected a plain {self._plan.format}_array of {dtype}")
            self._plan.run_into(a._matrix, b._matrix, out._matrix, alpha, beta)
            return out
        if beta != 0:
            raise ValueError(f"plan: beta={beta} scales out, but no out was given")
        made = object.__new__(FORMATS[self._plan.format])
        made._matrix = self._plan.run(a._matrix, b._matrix, alpha)
        made._op, made.dtype, made.shape = 0, dtype, (a.shape[0], b.shape[1])
        return made if made.format == self.format else convert(made, self.format)

    def __enter__(self) -> MatmulPlan:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def __repr__(self) -> str:
        return _display.plan(self)


def _plain_csr(x: SparseArray) -> SparseArray:
    x = convert(x, "csr")
    return x.copy() if x._op else x


def _like(given: Any, planned: SparseArray, name: str) -> SparseArray:
    """Return `given` if it can stand in for `planned`."""
    if not isinstance(given, SparseArray):
        raise TypeError(f"plan: {name} is {type(given).__name__}, expected a {planned.format}_array")
    if planned.format == "csr" and given.format != "csr" or given._op and not planned._op:
        given = _plain_csr(given) if planned.format == "csr" else given
    if given.format != planned.format or given._op != planned._op or given.shape != planned.shape:
        raise ValueError(f"plan: {name} is {given!r}, the plan was made for {planned!r}")
    return given


class MatvecPlan:
    """Products with one matrix, ready to be called: ``plan(x, out=y)``. Made by `plan_matvec`."""

    workspace_nbytes = 0

    def __init__(self, a: SparseArray, kernel: str | None = None) -> None:
        names = a.kernels("matvec")
        if kernel is not None and kernel not in names:
            listed = ", ".join(f'"{name}"' for name in names)
            raise ValueError(f'matvec: no kernel "{kernel}" for {a.format} on {a.device}; there are {listed}')
        self.matrix, self.kernel = a, kernel or names[0]

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the matrix."""
        return self.matrix.shape

    @property
    def nbytes(self) -> int:
        """Bytes that one product reads and writes at least: the matrix, x and y."""
        return self.matrix.nbytes + sum(self.shape) * self.matrix.dtype.itemsize

    def __call__(
        self, x: Any, *, out: np.ndarray | None = None, alpha: complex = 1, beta: complex = 0
    ) -> np.ndarray:
        """Return ``alpha A x + beta out``."""
        return self.matrix.matvec(x, out=out, alpha=alpha, beta=beta, kernel=self.kernel)

    def __enter__(self) -> MatvecPlan:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def __repr__(self) -> str:
        return f'<plan matvec {_display.operand(self.matrix)}, kernel "{self.kernel}", {_display.where()}>'
