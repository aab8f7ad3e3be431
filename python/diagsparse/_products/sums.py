"""Sums of products and of ``beta C`` in one structure: `syrk`, `syr2k`, commutators, and `matmul` where it has a C."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._backends.arguments import SYMMETRIES
from .._backends.types import check_scalars
from .._matrix.convert import convert, unpacked
from .._matrix.operands import check_same_device, home_of, require_sparse
from .._matrix.registry import COMMON, FORMATS, format_named
from .._matrix.request import Pair
from .._matrix.sparse_array import SparseArray
from .._show import display
from .plan_operands import OPERATIONS, product_formats
from .plans import MatmulPlan

TRIANGLES = {None: 0, "lower": 1, "upper": 2}  # the parts of a result, by the core's numbers


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
    """Return ``alpha A A^T + beta C``, or with `trans` "T": ``A^T A``, with "H": ``A^H A`` in its place.

    Parameters
    ----------
    a : sparse matrix
        Ours or SciPy's.
    c, alpha, beta
        As for `matmul`.
    trans : {"N", "T", "H"}
        Which product.
    triangle : {None, "lower", "upper"}
        Both triangles, or the one (with the main diagonal) that is computed and stored.
    kernel : str, optional
        As for `matmul`.

    Returns
    -------
    sparse matrix
        In A's format.

    Notes
    -----
    ``plan_matmul(A, A.T, triangle=...)`` plans it, for matrices by diagonals.

    Examples
    --------
    >>> import diagsparse as ds
    >>> A = ds.hm_array(ds.gallery.tridiagonal(4))
    >>> ds.syrk(A, triangle="lower").offsets
    array([ 0, -1, -2])
    """
    a = require_sparse(a, "syrk", "A", home_of(a, c))
    return sum_of_products("syrk", [_rank_pair("syrk", a, a, trans)], c, alpha, beta, triangle, a.format, kernel)


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
    """Return ``alpha (A B^T + B A^T) + beta C``; `trans` "T": ``A^T B + B^T A``, "H": ``A^H B + B^H A``.

    Parameters and result as for `syrk`; A and B have the same shape.
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
        A complex one needs a complex operand.
    out : dia, hm or cdm matrix, optional
        Receives the result and is returned: what an earlier call gave for operands of the same diagonals.
    triangle, kernel
        As for `syrk`.

    Returns
    -------
    sparse matrix
        In A's format. Diagonals that both products have are stored once, also where they cancel; `eliminate_zeros`
        leaves those out.

    Notes
    -----
    Of dia, hm and cdm, ``A B`` and ``B A`` have the same diagonals. The kernels `row_tiles` and `sequential`, on a GPU
    `block` and `row`, make both in one pass: they write each value once. Kernels for bands and dense matrices
    (`dense_tiles`, on a GPU also `band`) and those of papers add the second product in a pass of its own. The default
    is what it is for ``A B`` alone. Each value adds up ``A B`` first, and repeats its bits where the kernel does. Other
    formats add two products: mdia by masks, the rest in csr. No operand is copied, but to convert or unpack it.

    Examples
    --------
    Two of the Pauli matrices, ``[X, Y] = 2 i Z``:

    >>> import diagsparse as ds
    >>> x, y = (ds.hm_array(ds.gallery.pauli_sum([name], [1], dtype=complex)) for name in "XY")
    >>> ds.commutator(x, y).toarray()[0, 0]
    np.complex128(2j)
    """
    return _both_orders("commutator", a, b, -1, alpha, out, triangle, kernel)


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
    """Return ``alpha (A B + B A)``. Parameters, result and passes are those of `commutator`.

    Of two mdia matrices of which one half is stored, symmetric or Hermitian alike, so is the result.
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
        result = COMMON  # where the products are made they are added, too
    elif factor > 0 and triangle is None and out is None and not np.imag(alpha) and (symmetry := _shared_half(a, b)):
        # Half of A B says nothing of its other half, but half of the sum does.
        one, other = (MatmulPlan(x, y, kernel=kernel, symmetry=symmetry)() for x, y in ((a, b), (b, a)))
        return one._format.combined(one, other, alpha, alpha)
    total = sum_of_products(who, [Pair(a, b), Pair(b, a, factor)], None, alpha, None, triangle, result, kernel, out)
    return convert(total, a.format)


def _shared_half(a: SparseArray, b: SparseArray) -> str | None:
    """Return the symmetry of which both store one half, if their products can."""
    same = a._format.triangular_products and b._format.triangular_products and a._matrix.symmetry == b._matrix.symmetry
    return SYMMETRIES[a._matrix.symmetry] if same else None


def _factor(a: SparseArray, alpha: complex) -> SparseArray:
    """Return an operand of a product that is multiplied by alpha: whole, but for halves that products read as they are.

    A square of a half is a half, too, and complex multiples of a Hermitian one are not.
    """
    return a._format.as_operand(a) if a._format.triangular_products and not np.imag(alpha) else unpacked(a)


def check_triangle(triangle: Any, who: str) -> None:
    """Raise unless `triangle` names a part of a result."""
    if triangle not in TRIANGLES:
        raise ValueError(f'{who}: triangle={triangle!r}: expected None, "lower" or "upper"')


def no_beta(who: str, beta: complex | None) -> None:
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
    """Return alpha times the sum of the products, plus beta c, in one structure that holds all of them."""
    check_triangle(triangle, who)
    operands = {id(x): x for a, b, _ in pairs for x in (a, b)}  # each is converted once, in however many pairs it is
    operands = {key: _factor(x, alpha) for key, x in operands.items()}
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
    first, beta = pairs[0].a, beta or 0
    if work != COMMON:
        first = first if first._format.family == FORMATS[work].family else convert(first, work)
        result = first._format.sum_of_products(
            first, who, pairs, c, alpha, beta, triangle, work, kernel, out, max_bytes
        )
        return convert(result, format)
    if out is not None:
        raise ValueError(f"{who}: out= of a sum is for dia, hm and cdm")
    total, *others = (MatmulPlan(a, b, COMMON, kernel, max_bytes)(alpha=alpha * factor) for a, b, factor in pairs)
    for other in others:
        total = total._format.combined(total, other)
    if c is not None and beta != 0:
        total = total._format.combined(total, convert(c, COMMON).astype(dtype, copy=False), 1, beta)
    return convert(total if triangle is None else total._format.triangle(total, triangle, who), format)
