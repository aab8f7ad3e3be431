"""Sums of products and of ``beta C`` in one structure: `syrk`, `syr2k`, and `matmul` where it has a C."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from . import _display, _merge
from ._array import FORMATS, SparseArray
from ._backend import CPU
from ._construct import as_sparse, home_of, require_sparse, together
from ._convert import format_class
from ._diagonal import DiagonalArray
from ._packing import unpacked
from ._plan import OPERATIONS, MatmulPlan, default_format
from ._types import check_scalars, plain_number

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
        raise ValueError(f"syr2k: A is {_display.operand(a)} and B is {_display.operand(b)}; the shapes must agree")
    pairs = [_rank_pair("syr2k", a, b, trans), _rank_pair("syr2k", b, a, trans)]
    return sum_of_products("syr2k", pairs, c, alpha, beta, triangle, a.format, kernel)


def _rank_pair(who: str, a: SparseArray, b: SparseArray, trans: str) -> tuple[SparseArray, SparseArray]:
    if trans not in OPERATIONS:
        raise ValueError(f'{who}: trans={trans!r}: expected "N", "T" or "H"')
    return (a, b.T) if trans == "N" else (OPERATIONS[trans](a), b)


def check_triangle(triangle: Any, who: str) -> None:
    """Raise unless `triangle` names a part of a result."""
    if triangle not in TRIANGLES:
        raise ValueError(f'{who}: triangle={triangle!r}: expected None, "lower" or "upper"')


def no_beta(who: str, beta: complex | None) -> None:
    if beta not in (None, 0):
        raise ValueError(f"{who}: beta={beta} scales c, but no c was given")


def sum_of_products(
    who: str,
    pairs: list[tuple[SparseArray, SparseArray]],
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
    pairs = [(unpacked(a), unpacked(b)) for a, b in pairs]
    first = pairs[0][0]
    shape = first.shape[0], pairs[0][1].shape[1]
    together(who, *pairs[0])
    if c is None:
        no_beta(who, beta)
    else:
        c, beta = unpacked(require_sparse(c, who, "C", first._place)), 1 if beta is None else beta
        together(who, first, c, ("A", "C"))
        if c.shape != shape:
            raise ValueError(f"{who}: C is {_display.operand(c)}, but the product is {shape[0]} x {shape[1]}")
    format = default_format(*pairs[0]) if format is None else format_class(format).format
    dtype = np.result_type(*(x for a, b in pairs for x in (a.dtype, b.dtype)), *([] if c is None else [c.dtype]))
    check_scalars(dtype, alpha, beta or 0, who)
    pairs = [(a.astype(dtype, copy=False), b.astype(dtype, copy=False)) for a, b in pairs]
    if not all(isinstance(x, DiagonalArray) for pair in pairs for x in pair):
        if out is not None:
            raise ValueError(f"{who}: out= together with C is for the diagonal formats")
        products = [MatmulPlan(a, b, "csr", kernel, max_bytes)(alpha=alpha) for a, b in pairs]
        summed = _sum_in_csr if first._place is CPU else _merge.summed
        return summed(who, products, c, beta or 0, triangle).asformat(format)

    extra: set[int] = set()  # the diagonals of C beside those of the first product
    if c is not None:
        c = c if isinstance(c, DiagonalArray) else c.asformat("hm")
        if triangle is not None:
            side = 1 if triangle == "lower" else -1
            c = c._laid_out(FORMATS["hm"], [o for o in c._spans()[:, 0].tolist() if o * side <= 0], c.dtype)
        extra.update(c._spans()[:, 0].tolist())
    for a, b in pairs:
        extra.update(a._core.product_offsets(a._matrix, a._op, b._matrix, b._op, *shape, TRIANGLES[triangle]))
    work = format if issubclass(FORMATS[format], DiagonalArray) else pairs[0][0].format
    plans = [MatmulPlan(a, b, work, kernel, max_bytes, TRIANGLES[triangle], sorted(extra)) for a, b in pairs]
    if out is None:
        made = SparseArray._wrap(plans[0]._plan.result(dtype.name))
    else:
        plans[0].check_out(made := out)
    if c is not None:
        if made._core.overlap(c._matrix.values, made._matrix.values):
            c = c.copy()
        made._matrix.values.fill(0)
        if beta != 0:
            made._core.add_diagonals(beta, c._matrix, c._op, made._matrix, False)
    for i, plan in enumerate(plans):
        plan(out=made, alpha=alpha, beta=0 if i == 0 and c is None else 1)
    return made.asformat(format)


def _sum_in_csr(
    who: str, products: list[SparseArray], c: SparseArray | None, beta: complex, triangle: str | None
) -> SparseArray:
    """Do the same by rows, with SciPy's sum and triangle at the end."""
    total = sum(product._lent() for product in products)
    if c is not None and beta != 0:
        total = total + plain_number(beta) * c.astype(np.result_type(total.dtype, c.dtype), copy=False)._lent("csr")
    if triangle is not None:
        total = (sp.tril if triangle == "lower" else sp.triu)(total)
    made = as_sparse(sp.csr_array(total))
    assert made is not None
    return made
