"""Sums of products in one structure: `syrk`, `syr2k`, commutators, and `matmul` with C."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._backends.arguments import SYMMETRIES
from .._backends.docstrings import completed_by
from .._backends.types import check_scalars
from .._matrix.convert import convert, unpacked
from .._matrix.operands import check_same_device, home_of, require_sparse
from .._matrix.registry import COMMON, FORMATS, format_named
from .._matrix.request import Pair, Sum
from .._matrix.sparse_array import SparseArray
from .._show import display
from .plan_operands import OPERATIONS, product_formats
from .plans import MatmulPlan

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


def commutator(
    a: Any,
    b: Any,
    /,
    *,
    alpha: complex = 1,
    out: SparseArray | None = None,
    triangle: str | None = None,
    kernel: str | None = None,
) -> SparseArray:
    """Return ``alpha (A B - B A)``.

    Parameters
    ----------
    a, b : sparse matrix, shape (n, n)
        Ours or SciPy's.
    alpha : scalar
        Complex only if A or B is complex.
    out : dia, hm or cdm matrix, optional
        The result of an earlier call with operands that have the same diagonals; overwritten and returned.
    triangle, kernel
        As for `syrk`.

    Returns
    -------
    sparse matrix
        In the format of A. Diagonals on which the products cancel are stored; `eliminate_zeros` removes them.

    Raises
    ------
    TypeError
        If an operand is not a sparse matrix, or `alpha` is complex and both operands are real.
    ValueError
        If the operands are not square, differ in shape or are on different devices, the kernel or the triangle is
        unknown, or `out` has another structure than the result.
    MemoryError
        If the result does not fit in memory.

    Notes
    -----
    For dia, hm and cdm, ``A B`` and ``B A`` have the same diagonals. The kernels `row_tiles` and `sequential`, and on a
    GPU `block` and `row`, compute both products in one pass, which writes each value once. The kernels for bands and
    dense matrices (`dense_tiles`, on a GPU also `band`) and those of papers add the second product in another pass. The
    default kernel is that of ``A B``. Each value is the sum of the terms of ``A B``, followed by those of ``B A``, and
    is bitwise reproducible if the kernel is. Other formats add two products: mdia by masks, the rest in csr. Operands
    are only copied to convert or unpack them.

    Examples
    --------
    For Pauli matrices, ``[X, Y] = 2 i Z``:

    >>> import diagsparse as ds
    >>> x, y = (ds.hm_array(ds.gallery.pauli_sum([name], [1], dtype=complex)) for name in "XY")
    >>> ds.commutator(x, y).toarray()[0, 0]
    np.complex128(2j)
    """
    return _both_orders("commutator", a, b, -1, alpha, out, triangle, kernel)


@completed_by(commutator)
def anticommutator(
    a: Any,
    b: Any,
    /,
    *,
    alpha: complex = 1,
    out: SparseArray | None = None,
    triangle: str | None = None,
    kernel: str | None = None,
) -> SparseArray:
    """Return ``alpha (A B + B A)``.

    Notes
    -----
    The cost, the kernels and the order of the sums are those of `commutator`. If both operands are mdia matrices in
    symmetric storage, or both in Hermitian storage, so is the result; only one triangle of each product is then
    computed.

    Examples
    --------
    Different Pauli matrices anticommute, and the square of each of them is the identity:

    >>> import diagsparse as ds
    >>> x, y = (ds.hm_array(ds.gallery.pauli_sum([name], [1], dtype=complex)) for name in "XY")
    >>> ds.anticommutator(x, y).count_nonzero()
    0
    >>> ds.anticommutator(x, x, alpha=0.5).diagonal()
    array([1.+0.j, 1.+0.j])
    """
    return _both_orders("anticommutator", a, b, 1, alpha, out, triangle, kernel)


def _both_orders(
    who: str, a: Any, b: Any, factor: int, alpha: complex, out: SparseArray | None, triangle: str | None,
    kernel: str | None,
) -> SparseArray:  # fmt: skip
    home = home_of(a, b)
    a, b = require_sparse(a, who, "A", home), require_sparse(b, who, "B", home)
    if a.shape != b.shape or a.shape[0] != a.shape[1]:
        raise ValueError(
            f"{who}: A is {display.operand(a)} and B is {display.operand(b)}; expected square matrices of one shape"
        )
    result = a.format
    if a._format.own_products and product_formats(a, b, None, named=kernel is not None)[1] == COMMON:
        result = COMMON  # the products are added in the format in which they are computed
    elif (
        factor > 0 and triangle is None and out is None and not np.imag(alpha) and (symmetry := _shared_symmetry(a, b))
    ):
        # A B does not have the symmetry, but the sum has it, so that one triangle of each product is sufficient.
        one, other = (MatmulPlan(x, y, kernel=kernel, symmetry=symmetry)() for x, y in ((a, b), (b, a)))
        return one._format.combined(one, other, alpha, alpha)
    total = sum_of_products(who, [Pair(a, b), Pair(b, a, factor)], None, alpha, None, triangle, result, kernel, out)
    return convert(total, a.format)


def _shared_symmetry(a: SparseArray, b: SparseArray) -> str | None:
    """Return the symmetry of which both operands store one triangle, if their products support that."""
    same = a._format.triangular_products and b._format.triangular_products and a._matrix.symmetry == b._matrix.symmetry
    return SYMMETRIES[a._matrix.symmetry] if same else None


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
