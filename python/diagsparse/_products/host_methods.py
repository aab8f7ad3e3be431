"""Methods of factorizations on the CPU: LAPACK for bands, and SuperLU, both through SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import get_lapack_funcs
from scipy.sparse.linalg import splu

from .._backends import memory
from .._backends.backend import CPU
from .._matrix.builders import eye
from .._matrix.convert import convert
from .._matrix.sparse_array import SparseArray
from .substitution import Singular
from .triangles import Triangle

_OPERATIONS = {"N": 0, "T": 1, "H": 2}  # of operations in LAPACK
ALL = slice(None)
# Of SuperLU, for matrices with symmetric positions: on grids, factors have half of the values of those by default. But
# the time of minimum degree is quadratic in the entries of the longest row.
_WITHOUT_PIVOTING = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
_BLOCK = 64  # rows of the workspace of orthogonal factors for each right-hand side

Solve = Callable[..., np.ndarray]
"""``solve(b, trans, rows)`` for b with the dtype of the factors; `rows` are those of one diagonal block, or all."""


class Unsuitable(Exception):
    """The factors of a method would be inaccurate for a matrix; SuperLU is used instead."""


def require_finite(*arrays: np.ndarray) -> None:
    if not all(np.isfinite(array).all() for array in arrays):
        raise ValueError("A holds values that are not finite")


def diagonal(a: SparseArray, sigma: Any, below: int, above: int, order: int) -> tuple[Solve, int]:
    values = a.diagonal() - sigma
    require_finite(values)
    if (zeros := np.flatnonzero(values == 0)).size:
        raise Singular(int(zeros[0]))

    def solve(b: np.ndarray, trans: str, rows: slice) -> np.ndarray:
        by = (values.conj() if trans == "H" else values)[rows]
        return b / (by if b.ndim == 1 else by[:, None])

    return solve, values.nbytes


def tridiagonal(a: SparseArray, sigma: Any, below: int, above: int, order: int) -> tuple[Solve, int]:
    if order < 3:  # gttrf and gttrs do not support it
        return banded(a, sigma, 1, 1, order)
    factor, back = get_lapack_funcs(("gttrf", "gttrs"), dtype=a.dtype)
    three = a.diagonal(-1), a.diagonal() - sigma, a.diagonal(1)
    require_finite(*three)
    lower, main, upper, second, pivots, info = factor(*three, 1, 1, 1)
    if info > 0:
        raise Singular(info - 1)

    def solve(b: np.ndarray, trans: str, rows: slice) -> np.ndarray:
        first, stop, _ = rows.indices(len(main))
        part = lower[first : stop - 1], main[rows], upper[first : stop - 1], second[first : stop - 2]
        return back(*part, pivots[rows] - first, b, trans="C" if trans == "H" else trans)[0]

    return solve, sum(part.nbytes for part in (lower, main, upper, second, pivots))


def banded(a: SparseArray, sigma: Any, below: int, above: int, order: int) -> tuple[Solve, int]:
    n, wide = a.shape[0], 2 * below + above + 1
    require_memory(n * (wide * a.dtype.itemsize + 4), f"{wide} rows of a band of {n}")
    band = np.zeros((wide, n), a.dtype, "F")  # row below + above - k, column j: the element (j - k, j)
    for k in range(-below, above + 1):
        band[below + above - k, max(0, k) : n + min(0, k)] = a.diagonal(k)
    band[below + above] -= sigma
    require_finite(band)
    factor, back = get_lapack_funcs(("gbtrf", "gbtrs"), dtype=a.dtype)
    factors, pivots, info = factor(band, below, above, overwrite_ab=True)
    if info > 0:
        raise Singular(info - 1)

    def solve(b: np.ndarray, trans: str, rows: slice) -> np.ndarray:
        first = rows.start or 0
        return back(factors[:, rows], below, above, b, pivots[rows] - first, trans=_OPERATIONS[trans])[0]

    return solve, factors.nbytes + pivots.nbytes


def dense(a: SparseArray, sigma: Any, below: int, above: int, order: int) -> tuple[Solve, int]:
    n = a.shape[0]
    if n == 0:  # getrf does not support it
        return diagonal(a, sigma, below, above, order)
    factor, back = get_lapack_funcs(("getrf", "getrs"), dtype=a.dtype)
    factors, pivots, info = factor(_whole(a, sigma), overwrite_a=True)
    if info > 0:
        raise Singular(info - 1)

    def solve(b: np.ndarray, trans: str, rows: slice) -> np.ndarray:
        first = rows.start or 0
        return back(factors[rows, rows], pivots[rows] - first, b, trans=_OPERATIONS[trans])[0]

    return solve, factors.nbytes + pivots.nbytes


def qr(a: SparseArray, sigma: Any, below: int, above: int, order: int) -> tuple[Solve, int]:
    n = a.shape[0]
    if n == 0:  # trtrs does not support it
        return diagonal(a, sigma, below, above, order)
    factors = _whole(a, sigma)
    unitary = "unmqr" if a.dtype.kind == "c" else "ormqr"
    factor, rotate, back = get_lapack_funcs(("geqrf", unitary, "trtrs"), dtype=a.dtype)
    factors, reflections, _, _ = factor(factors, overwrite_a=True)
    if (zeros := np.flatnonzero(factors.diagonal() == 0)).size:
        raise Singular(int(zeros[0]))
    adjoint = "C" if a.dtype.kind == "c" else "T"

    def rotated(b: np.ndarray, trans: str) -> np.ndarray:
        wide = np.array(b.reshape(n, -1), order="F")
        return rotate("L", trans, factors, reflections, wide, _BLOCK * max(1, wide.shape[1]))[0]

    def solve(b: np.ndarray, trans: str, rows: slice) -> np.ndarray:
        whole = b if rows == ALL else _alone(b, rows, n)
        if trans == "N":
            x = back(factors, rotated(whole, adjoint))[0]
        elif trans == "H":
            x = rotated(back(factors, whole, trans=2)[0], "N")
        else:  # A^T is the adjoint of the conjugate
            x = rotated(back(factors, whole.conj(), trans=2)[0], "N").conj()
        return x.reshape(whole.shape)[rows]

    return solve, factors.nbytes + reflections.nbytes


def superlu(a: SparseArray, sigma: Any, below: int, above: int, order: int) -> tuple[Solve, int]:
    shifted = convert(a, "csc").to_scipy()
    if sigma:
        shifted = sp.csc_array(shifted - sigma * sp.eye_array(a.shape[0], dtype=a.dtype, format="csc"))
    require_finite(shifted.data)
    try:
        symmetric = not _has_dense_columns(shifted) and _needs_no_pivoting(shifted)
        factors = splu(shifted, **(_WITHOUT_PIVOTING if symmetric else {}))
    except RuntimeError:  # whose text is about SuperLU's own files
        empty = np.flatnonzero((np.diff(shifted.tocsr().indptr) == 0) | (np.diff(shifted.indptr) == 0))
        why = f"row or column {empty[0]} has no elements" if empty.size else "SuperLU found a pivot that is zero"
        raise np.linalg.LinAlgError(why) from None

    def solve(b: np.ndarray, trans: str, rows: slice) -> np.ndarray:
        if rows == ALL:
            return factors.solve(b, trans)
        return factors.solve(_alone(b, rows, a.shape[0]), trans)[rows]

    return solve, factors.nnz * (a.dtype.itemsize + 4)


def _has_dense_columns(a: sp.csc_array) -> bool:
    """Whether a column has more than 10 sqrt(n) entries, as orderings by minimum degree usually define a dense one."""
    return bool(a.nnz and np.diff(a.indptr).max() > 10 * np.sqrt(a.shape[0]))


def _needs_no_pivoting(a: sp.csc_array) -> bool:
    """Whether elimination is stable in any symmetric order: the positions are symmetric, the main diagonal dominates.

    It dominates if in each row, or in each column, it is at least as large as the sum of the other absolute values.
    """
    transposed = a.T.tocsc()
    if not (np.array_equal(a.indptr, transposed.indptr) and np.array_equal(a.indices, transposed.indices)):
        return False
    with np.errstate(over="ignore"):
        sizes, most = abs(a), (2 + 16 * np.finfo(a.dtype).eps) * abs(a.diagonal())
        dominates = any(bool((sizes.sum(axis=axis) <= most).all()) for axis in (0, 1))
    return dominates and bool(np.isfinite(most).all())


def triangular(a: SparseArray, sigma: Any, below: int, above: int, order: int) -> tuple[Solve, int]:
    # A copy, because the user may write to the matrix.
    matrix = a - sigma * eye(a.shape[0], dtype=a.dtype) if sigma else a.copy()
    triangle = Triangle(matrix, above == 0, False)

    def solve(b: np.ndarray, trans: str, rows: slice) -> np.ndarray:
        x = np.array(b, order="C") if rows == ALL else _alone(b, rows, a.shape[0])
        triangle.solve(x, trans)
        return x[rows]

    return solve, matrix.nbytes + triangle.nbytes


def _whole(a: SparseArray, sigma: Any) -> np.ndarray:
    """Return ``a - sigma I`` as a dense matrix."""
    n = a.shape[0]
    require_memory(n * n * a.dtype.itemsize, f"a dense matrix {n} x {n}")
    whole = a.toarray(order="F")
    whole[np.arange(n), np.arange(n)] -= sigma
    require_finite(whole)
    return whole


def _alone(b: np.ndarray, rows: slice, n: int) -> np.ndarray:
    """Return right-hand sides that are b in some rows, and zero in the others."""
    result = np.zeros((n, *b.shape[1:]), b.dtype)
    result[rows] = b
    return result


def require_memory(nbytes: int, what: str) -> None:
    memory.require_free(nbytes, what, CPU, '; method="superlu" may need less')
