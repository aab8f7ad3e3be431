"""Sparse products: planned once from the structures, run for any values on them."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from . import _display, _memory
from ._array import SparseArray
from ._construct import as_sparse, convert
from ._diagonal import DiagonalArray
from ._types import product_dtypes

_TRIANGLES = {None: 0, "lower": 1, "upper": 2}
_OPS = {"N": 0, "T": 1, "H": 3}


class MatmulPlan:
    """The structure of a product ``C = op(A) op(B)``, ready for any values of A and B.

    Made by `plan_matmul`. ``plan()`` multiplies the operands it was made with, ``plan(a2, b2)`` others
    of the same structure; ``out=`` takes a matrix that an earlier call returned. The plan holds no
    values, and may be used by several threads at once.
    """

    def __init__(
        self,
        a: SparseArray,
        b: SparseArray,
        format: str | None = None,
        kernel: str | None = None,
        max_bytes: int | None = None,
        triangle: str | None = None,
        extra: list[int] | None = None,
    ) -> None:
        if a.shape[1] != b.shape[0]:
            raise ValueError(f"matmul: A is {_display.operand(a)} and B is {_display.operand(b)}: {a.shape[1]} != {b.shape[0]}")
        diagonal = isinstance(a, DiagonalArray) and isinstance(b, DiagonalArray)
        self._work_format = a.format if diagonal else "csr"
        self.format = format or (a.format if diagonal or not isinstance(a, DiagonalArray) else "csr")
        self._a, self._b = self._operand(a), self._operand(b)
        self._ops = (self._a._op, self._b._op)
        _, self.dtype = product_dtypes(a.dtype, b.dtype)
        core = a._core
        names = core.kernels(self._work_format)["matmul"]
        self.kernel = kernel or names[0]
        if self.kernel not in names:
            raise ValueError(
                f'matmul: no kernel "{kernel}" for {self._work_format} on cpu; there are '
                + ", ".join(f'"{name}"' for name in names)
            )
        what = f"matmul: {_display.operand(a)} times {_display.operand(b)}"
        if diagonal:
            target = self.format if self.format in ("dia", "hm", "cdm") else a.format
            pairs = len(a._spans()) * len(b._spans()) if a.nnz > 1 << 20 or b.nnz > 1 << 20 else 0
            _memory.require(32 * pairs, max_bytes, f"{what}: the plan of {pairs} pairs of diagonals")
            self._plan = core.plan_diagonal(
                self._a._matrix, self._ops[0], self._b._matrix, self._ops[1], target, _TRIANGLES[triangle], extra or []
            )
        else:
            self._plan = core.plan_csr(self._a._matrix, self._b._matrix)
        _memory.require(self.nbytes, max_bytes, f"{what}: the result")

    def _operand(self, x: SparseArray) -> SparseArray:
        if self._work_format != "csr":
            return x
        x = convert(x, "csr")
        return x.copy() if x._op else x

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the result."""
        return self._plan.rows, self._plan.cols

    @property
    def offsets(self) -> np.ndarray:
        """Offsets of the result's stored diagonals, ascending (empty for csr)."""
        return np.array(self._plan.offsets, dtype=np.int64)

    @property
    def nnz(self) -> int:
        """Count of values that the result stores."""
        return self._plan.stored

    @property
    def nbytes(self) -> int:
        """Bytes of one result, exactly."""
        return self._plan.nbytes(self.dtype.name)

    @property
    def workspace_nbytes(self) -> int:
        """Bytes of the plan itself."""
        return self._plan.workspace_nbytes

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
            Of the planned structure and dtype; overwritten (or updated, with `beta`) and returned.
        alpha, beta : scalar
            ``out = alpha A B + beta out``.

        Raises
        ------
        ValueError
            If a structure differs from the planned one; nothing is written.
        """
        a = self._a if a2 is None else self._same(a2, self._a, "A")
        b = self._b if b2 is None else self._same(b2, self._b, "B")
        return self._run(a, b, out, alpha, beta)

    def _same(self, given: SparseArray, planned: SparseArray, name: str) -> SparseArray:
        if given is planned:
            return given
        if not isinstance(given, SparseArray):
            raise TypeError(f"plan: {name} is {type(given).__name__}, expected a {planned.format}_array")
        given = self._operand(given)
        if given.format != planned.format or given._op != planned._op or given.shape != planned.shape:
            raise ValueError(
                f"plan: {name} is {_display.operand(given)} with op {given._op}, the plan was made for "
                f"{_display.operand(planned)} with op {planned._op}"
            )
        return given

    def _run(
        self, a: SparseArray, b: SparseArray, out: SparseArray | None, alpha: complex, beta: complex
    ) -> SparseArray:
        dtype = self.dtype
        if b.dtype is not a.dtype:
            wanted, dtype = product_dtypes(a.dtype, b.dtype)
            b = b.astype(wanted, copy=False)
        if out is None:
            if beta != 0:
                raise ValueError(f"plan: beta={beta} scales out, but no out was given")
            made = SparseArray._wrap(self._plan.run(a._matrix, b._matrix, None, alpha, 0.0, self.kernel, dtype.name))
            return made if made.format == self.format else convert(made, self.format)
        if not isinstance(out, SparseArray):
            raise TypeError(f"plan: out is {type(out).__name__}, expected a {self._plan.format}_array")
        if out.format != self._plan.format or out.dtype != dtype or out._op:
            raise ValueError(f"plan: out is {_display.operand(out)}, expected a {self._plan.format}_array of {dtype}")
        if out._matrix is a._matrix or out._matrix is b._matrix:
            raise ValueError("plan: out is one of the operands")
        self._plan.run(a._matrix, b._matrix, out._matrix, alpha, beta, self.kernel, dtype.name)
        return out

    def __enter__(self) -> MatmulPlan:
        return self

    def __exit__(self, *exc: object) -> None:
        self._a = self._b = None

    def __repr__(self) -> str:
        return _display.plan(self)


class MatvecPlan:
    """A product with one matrix, ready to be called: ``plan(x, out=y)``. Made by `plan_matvec`."""

    def __init__(self, a: SparseArray, kernel: str | None = None) -> None:
        names = a.kernels("matvec")
        if kernel is not None and kernel not in names:
            raise ValueError(
                f'matvec: no kernel "{kernel}" for {a.format} on cpu; there are ' + ", ".join(f'"{n}"' for n in names)
            )
        self.matrix, self.kernel = a, kernel or names[0]

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the matrix."""
        return self.matrix.shape

    @property
    def nbytes(self) -> int:
        """Bytes that one product reads and writes at least: the matrix, x and y."""
        return self.matrix.nbytes + sum(self.shape) * self.matrix.dtype.itemsize

    workspace_nbytes = 0

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


def plan_matmul(
    a: Any,
    b: Any,
    /,
    *,
    trans_a: str = "N",
    trans_b: str = "N",
    format: str | None = None,
    kernel: str | None = None,
    max_bytes: int | None = None,
) -> MatmulPlan:
    """Plan ``op(A) op(B)``: find the result's exact structure and size before any arithmetic.

    Parameters
    ----------
    a, b : sparse matrix
        Ours or SciPy's. Mixed diagonal formats give the left one's; with any other format: csr.
    trans_a, trans_b : {"N", "T", "H"}
        As it is, transposed, adjoint; no data moves.
    format : str, optional
        Of the result.
    kernel : str, optional
        A name from ``A.kernels("matmul")``.
    max_bytes : int, optional
        Limit for the result; by default what the machine has free.

    Returns
    -------
    MatmulPlan

    Raises
    ------
    ValueError
        Shapes that do not fit, unknown names.
    MemoryError
        With the bytes, when the result would not fit.

    Notes
    -----
    Costs O(D_A D_B) for diagonals: the offsets of C are the sums of those of A and B.

    Examples
    --------
    >>> import diagsparse as ds
    >>> A = ds.hm_array(ds.gallery.tridiagonal(1000))
    >>> plan = ds.plan_matmul(A, A)
    >>> plan.offsets, plan.nbytes
    (array([-2, -1,  0,  1,  2]), 40040)
    """
    a, b = _view(a, trans_a, "a"), _view(b, trans_b, "b")
    return MatmulPlan(a, b, format, kernel, max_bytes)


def plan_matvec(a: Any, /, *, kernel: str | None = None) -> MatvecPlan:
    """Plan products of `a` with vectors or dense blocks; ``plan(x, out=y)`` runs one."""
    return MatvecPlan(_view(a, "N", "a"), kernel)


def _view(x: Any, trans: str, name: str) -> SparseArray:
    made = as_sparse(x)
    if made is None:
        raise TypeError(f"matmul: {name} is {type(x).__name__}, expected a sparse matrix (ours or SciPy's)")
    if trans not in _OPS:
        raise ValueError(f'matmul: trans_{name}={trans!r}: expected "N", "T" or "H"')
    return made if trans == "N" else made.T if trans == "T" else made.H


def matmul(
    a: Any,
    b: Any,
    /,
    c: SparseArray | None = None,
    *,
    alpha: complex = 1,
    beta: complex | None = None,
    trans_a: str = "N",
    trans_b: str = "N",
    format: str | None = None,
    kernel: str | None = None,
    out: SparseArray | None = None,
    max_bytes: int | None = None,
    stream: Any = None,
) -> SparseArray:
    """Return the sparse product ``alpha op(A) op(B) + beta C``.

    Parameters
    ----------
    a, b : sparse matrix
        Ours or SciPy's. Mixed diagonal formats give the left one's; with any other format: csr.
    c : sparse matrix, optional
        Added, scaled by `beta`; the result stores its diagonals as well. It is not changed.
    alpha, beta : scalar
        `beta` is 1 where `c` is given, else 0.
    trans_a, trans_b : {"N", "T", "H"}
        As it is, transposed, adjoint; no data moves.
    format, kernel : str, optional
        Of the result; a name from ``A.kernels("matmul")``.
    out : sparse matrix, optional
        Of the result's exact structure; overwritten and returned (`plan_matmul` tells it).
    max_bytes : int, optional
        Limit for the result; by default what the machine has free.
    stream : None
        For CUDA matrices.

    Returns
    -------
    sparse matrix
        Explicit zeros that cancellation leaves stay stored.

    Raises
    ------
    ValueError, TypeError, MemoryError
        Shapes, names or structures that do not fit; a result that does not fit the memory.

    Notes
    -----
    Every pair of diagonals (a, b) contributes to diagonal a + b. At least ``nbytes`` of A, B and C
    are moved; the default kernel writes each value of C once. The same bits for any thread count.

    Examples
    --------
    >>> import diagsparse as ds
    >>> A = ds.hm_array(ds.gallery.tridiagonal(4))
    >>> ds.matmul(A, A, trans_b="T").offsets
    array([ 0,  1,  2, -1, -2])
    """
    a, b = _view(a, trans_a, "a"), _view(b, trans_b, "b")
    return _multiply([(a, b)], c, alpha, beta, None, format, kernel, out, max_bytes)


def _multiply(
    pairs: list[tuple[SparseArray, SparseArray]],
    c: SparseArray | None,
    alpha: complex,
    beta: complex | None,
    triangle: str | None,
    format: str | None,
    kernel: str | None,
    out: SparseArray | None,
    max_bytes: int | None,
) -> SparseArray:
    """Return alpha times the sum of the products, plus beta c; one structure holds all of them."""
    (a, b), *more = pairs
    if triangle not in _TRIANGLES:
        raise ValueError(f'triangle={triangle!r}: expected None, "lower" or "upper"')
    if c is None:
        if beta not in (None, 0):
            raise ValueError(f"matmul: beta={beta} scales c, but no c was given")
        if not more and triangle is None:
            return MatmulPlan(a, b, format, kernel, max_bytes)._run(a, b, out, alpha, 0) if isinstance(
                a, DiagonalArray
            ) and isinstance(b, DiagonalArray) else MatmulPlan(a, b, format, kernel, max_bytes)(out=out, alpha=alpha)
    if not all(isinstance(x, DiagonalArray) for pair in pairs for x in pair):
        return _multiply_csr(pairs, c, alpha, beta, triangle, format, kernel, out, max_bytes)
    dtype = product_dtypes(a.dtype, b.dtype)[1]
    extra: set[int] = set()
    if c is not None:
        c = _addend(c, (a.shape[0], b.shape[1]))
        c = c if isinstance(c, DiagonalArray) else c.asformat(format or a.format)
        dtype = np.result_type(dtype, c.dtype)
        extra.update(o for o in c._spans()[:, 0].tolist() if triangle is None or (o <= 0) == (triangle == "lower") or o == 0)
    for x, y in more:
        offsets = x._core.product_offsets(x._matrix, x._op, y._matrix, y._op, *_outer(x, y), _TRIANGLES[triangle])
        extra.update(offsets)
    plans = [MatmulPlan(x, y, format, kernel, max_bytes, triangle, sorted(extra)) for x, y in pairs]
    if more:  # every plan writes into the same structure
        offsets = sorted(set().union(*(p.offsets.tolist() for p in plans)))
        plans = [MatmulPlan(x, y, format, kernel, max_bytes, triangle, offsets) for x, y in pairs]
    if out is None:
        out = SparseArray._wrap(plans[0]._plan.result(dtype.name))
    start: complex = 0
    if c is not None:
        start = 1
        out._matrix.values[...] = 0
        out._core.add_diagonals(1 if beta is None else beta, c._matrix, c._op, out._matrix, False)
    for plan, (x, y) in zip(plans, pairs, strict=True):
        x, y = x.astype(dtype, copy=False), y.astype(dtype, copy=False)
        plan._run(x, y, out, alpha, start)
        start = 1
    return out if format in (None, out.format) else out.asformat(format)


def _outer(a: SparseArray, b: SparseArray) -> tuple[int, int]:
    return a.shape[0], b.shape[1]


def _addend(c: Any, shape: tuple[int, int]) -> SparseArray:
    made = as_sparse(c)
    if made is None:
        raise TypeError(f"matmul: c is {type(c).__name__}, expected a sparse matrix (ours or SciPy's)")
    if made.shape != shape:
        raise ValueError(f"matmul: c is {_display.operand(made)}, but the product is {shape[0]} x {shape[1]}")
    return made


def _multiply_csr(
    pairs: list[tuple[SparseArray, SparseArray]],
    c: SparseArray | None,
    alpha: complex,
    beta: complex | None,
    triangle: str | None,
    format: str | None,
    kernel: str | None,
    out: SparseArray | None,
    max_bytes: int | None,
) -> SparseArray:
    """Do the same for csr, with SciPy's sum and triangle at the end."""
    import scipy.sparse as sp

    if out is not None:
        raise ValueError("matmul: out= with c, or with one triangle, is for the diagonal formats")
    total = None
    for a, b in pairs:
        product = MatmulPlan(a, b, "csr", kernel, max_bytes)(alpha=alpha).to_scipy()
        total = product if total is None else total + product
    if c is not None:
        total = total + (1 if beta is None else beta) * _addend(c, total.shape).to_scipy()
    if triangle is not None:
        total = (sp.tril if triangle == "lower" else sp.triu)(total)
    made = as_sparse(sp.csr_array(total))
    return made.asformat(format or pairs[0][0].format)


def syrk(
    a: Any,
    /,
    c: SparseArray | None = None,
    *,
    alpha: complex = 1,
    beta: complex | None = None,
    trans: str = "N",
    triangle: str | None = None,
    kernel: str | None = None,
) -> SparseArray:
    """Return ``alpha A A^T + beta C`` (``trans="N"``), ``alpha A^T A + beta C`` ("T") or ``alpha A^H A + beta C`` ("H").

    Parameters
    ----------
    a : sparse matrix
        Ours or SciPy's.
    c, alpha, beta, kernel
        As for `matmul`.
    trans : {"N", "T", "H"}
        Which product.
    triangle : {None, "lower", "upper"}
        Both triangles, or the one (with the main diagonal) that is computed and stored.

    Returns
    -------
    sparse matrix
        In A's format.

    Examples
    --------
    >>> import diagsparse as ds
    >>> A = ds.hm_array(ds.gallery.tridiagonal(4))
    >>> ds.syrk(A, triangle="lower").offsets
    array([ 0, -1, -2])
    """
    a = _view(a, "N", "a")
    if trans not in _OPS:
        raise ValueError(f'syrk: trans={trans!r}: expected "N", "T" or "H"')
    pair = {"N": lambda: (a, a.T), "T": lambda: (a.T, a), "H": lambda: (a.H, a)}[trans]()
    return _multiply([pair], c, alpha, beta, triangle, a.format, kernel, None, None)


def syr2k(
    a: Any,
    b: Any,
    /,
    c: SparseArray | None = None,
    *,
    alpha: complex = 1,
    beta: complex | None = None,
    trans: str = "N",
    triangle: str | None = None,
    kernel: str | None = None,
) -> SparseArray:
    """Return ``alpha (A B^T + B A^T) + beta C``; ``trans="T"``: ``A^T B + B^T A``, "H": ``A^H B + B^H A``.

    Parameters and result as for `syrk`; A and B have the same shape.
    """
    a, b = _view(a, "N", "a"), _view(b, "N", "b")
    if a.shape != b.shape:
        raise ValueError(f"syr2k: A is {_display.operand(a)} and B is {_display.operand(b)}; the shapes must agree")
    if trans not in _OPS:
        raise ValueError(f'syr2k: trans={trans!r}: expected "N", "T" or "H"')
    pairs = {
        "N": lambda: [(a, b.T), (b, a.T)],
        "T": lambda: [(a.T, b), (b.T, a)],
        "H": lambda: [(a.H, b), (b.H, a)],
    }[trans]()
    return _multiply(pairs, c, alpha, beta, triangle, a.format, kernel, None, None)


def profiled_matmul(a: SparseArray, b: Any, **options: Any) -> tuple[SparseArray, dict[str, float]]:
    """Return the product and the seconds of its stages: the plan, the arithmetic."""
    out = options.pop("out", None)
    start = time.perf_counter()
    plan = plan_matmul(a, b, **options)
    planned = time.perf_counter()
    made = plan(out=out)
    return made, {"plan": planned - start, "multiply": time.perf_counter() - planned}
