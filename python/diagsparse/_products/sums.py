"""Sums of products in one structure: `syrk`, `syr2k`, and `matmul` with C."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._backends.docstrings import completed_by
from .._backends.types import check_scalars
from .._matrix.convert import convert, unpacked
from .._matrix.operands import check_same_device, home_of, require_sparse
from .._matrix.registry import FORMATS, format_named
from .._matrix.request import Pair, Sum
from .._matrix.sparse_array import SparseArray
from .._show import display
from .plan_operands import OPERATIONS, product_formats

TRIANGLES = {None: 0, "lower": 1, "upper": 2}  # the part of a result, as numbers of the C++ core


def syrk(
    a: Any,
    /,
    c: Any = None,
    *,
    alpha: complex = 1,
    beta: complex | None = None,
    trans: str = "N",
    triangle: str | None = None,
    kernel: str | None = None,
) -> SparseArray:
    """Return the symmetric product ``alpha A A^T + beta C``.

    Parameters
    ----------
    a : sparse matrix
        Ours or SciPy's.
    c, alpha, beta
        As for `matmul`.
    trans : {"N", "T", "H"}
        The product: ``A A^T``, ``A^T A`` or ``A^H A``.
    triangle : {None, "lower", "upper"}
        The part of the result (with the main diagonal) that is computed and stored; by default both triangles.
    kernel : str, optional
        As for `matmul`.

    Returns
    -------
    sparse matrix
        In the format of A.

    Raises
    ------
    TypeError
        If an operand is not a sparse matrix, or `alpha` or `beta` is complex and the operands are real.
    ValueError
        For shapes or names that do not fit, `beta` without `c`, and operands on different devices.
    MemoryError
        If the result does not fit in memory.

    Notes
    -----
    For the diagonal formats, ``plan_matmul(A, A.T, triangle=...)`` creates a plan of this product.

    Examples
    --------
    >>> import diagsparse as ds
    >>> A = ds.hm_array(ds.gallery.tridiagonal(4))
    >>> ds.syrk(A, triangle="lower").offsets
    array([ 0, -1, -2])
    """
    a = require_sparse(a, "syrk", "A", home_of(a, c))
    return sum_of_products("syrk", [_rank_pair("syrk", a, a, trans)], c, alpha, beta, triangle, a.format, kernel)


@completed_by(syrk)
def syr2k(
    a: Any,
    b: Any,
    /,
    c: Any = None,
    *,
    alpha: complex = 1,
    beta: complex | None = None,
    trans: str = "N",
    triangle: str | None = None,
    kernel: str | None = None,
) -> SparseArray:
    """Return the symmetric sum ``alpha (A B^T + B A^T) + beta C``.

    Parameters
    ----------
    a, b : sparse matrix, shape (m, n)
        Ours or SciPy's, of the same shape.
    trans : {"N", "T", "H"}
        The products: ``A B^T + B A^T`` of shape (m, m), ``A^T B + B^T A`` or ``A^H B + B^H A`` of shape (n, n).

    Returns
    -------
    sparse matrix
        In the format of A, with NumPy's result type of A and B. Elements that cancel are stored as explicit zeros in
        the diagonal formats.

    Notes
    -----
    The cost is that of two products, which are added in one structure. In the diagonal formats with
    ``triangle="lower"`` or ``"upper"``, only the diagonals of this triangle are computed.

    Examples
    --------
    >>> import diagsparse as ds
    >>> A, B = ds.hm_array(ds.gallery.tridiagonal(4)), ds.diags({1: 1.0}, shape=(4, 4))
    >>> ds.syr2k(A, B).toarray()
    array([[-2.,  2., -1.,  0.],
           [ 2., -2.,  2., -1.],
           [-1.,  2., -2.,  2.],
           [ 0., -1.,  2.,  0.]])
    """
    home = home_of(a, b, c)
    a, b = require_sparse(a, "syr2k", "A", home), require_sparse(b, "syr2k", "B", home)
    if a.shape != b.shape:
        raise ValueError(f"syr2k: A is {display.operand(a)} and B is {display.operand(b)}; the shapes must agree")
    pairs = [_rank_pair("syr2k", a, b, trans), _rank_pair("syr2k", b, a, trans)]
    return sum_of_products("syr2k", pairs, c, alpha, beta, triangle, a.format, kernel)


def _rank_pair(who: str, a: SparseArray, b: SparseArray, trans: str) -> Pair:
    if trans not in OPERATIONS:
        raise ValueError(f'{who}: trans={trans!r}: expected "N", "T" or "H"')
    return Pair(a, b.T) if trans == "N" else Pair(OPERATIONS[trans](a), b)


def _unpacked_operand(a: SparseArray, alpha: complex) -> SparseArray:
    """Return an operand of a product that is multiplied by alpha, unpacked unless its kernels read one triangle.

    With a complex alpha it is unpacked, because complex multiples of Hermitian matrices are not Hermitian.
    """
    return a._format.as_operand(a) if a._format.triangular_products and not np.imag(alpha) else unpacked(a)


def check_triangle(triangle: Any, who: str) -> None:
    """Raise ValueError if `triangle` is invalid."""
    if triangle not in TRIANGLES:
        raise ValueError(f'{who}: triangle={triangle!r}: expected None, "lower" or "upper"')


def no_beta(who: str, beta: complex | None) -> None:
    """Raise ValueError for beta without C."""
    if beta not in (None, 0):
        raise ValueError(f"{who}: beta={beta} scales c, but no c was given")


def sum_of_products(
    who: str,
    pairs: list[Pair],
    c: Any,
    alpha: complex,
    beta: complex | None,
    triangle: str | None,
    format: str | None,
    kernel: str | None,
    out: SparseArray | None = None,
    max_bytes: int | None = None,
) -> SparseArray:
    """Return alpha times the sum of the products, plus beta C, in a structure that contains all of them."""
    check_triangle(triangle, who)
    operands = {id(x): x for a, b, _ in pairs for x in (a, b)}  # an operand of several pairs is converted once
    operands = {key: _unpacked_operand(x, alpha) for key, x in operands.items()}
    first, second = (operands[id(x)] for x in (pairs[0].a, pairs[0].b))
    shape = first.shape[0], second.shape[1]
    check_same_device(who, first, second)
    if c is None:
        no_beta(who, beta)
    else:
        c, beta = unpacked(require_sparse(c, who, "C", first._backend)), 1 if beta is None else beta
        check_same_device(who, first, c, ("A", "C"))
        if c.shape != shape:
            raise ValueError(f"{who}: C is {display.operand(c)}, but the product is {shape[0]} x {shape[1]}")
    wanted = None if format is None else format_named(format).name
    format, work = product_formats(first, second, wanted, named=kernel is not None)
    dtype = np.result_type(*(x.dtype for x in operands.values()), *([] if c is None else [c.dtype]))
    check_scalars(dtype, alpha, beta or 0, who)
    operands = {key: x.astype(dtype, copy=False) for key, x in operands.items()}
    pairs = [Pair(operands[id(a)], operands[id(b)], factor) for a, b, factor in pairs]
    total = Sum(who, pairs, c, alpha, beta or 0, triangle, kernel, out, max_bytes)
    return convert(FORMATS[work].sum_of_products(total), format)
