"""Commutators and anticommutators: both orders of a product, added in one structure."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._backends.arguments import SYMMETRIES
from .._backends.docstrings import completed_by
from .._matrix.convert import convert
from .._matrix.operands import home_of, require_sparse
from .._matrix.registry import COMMON
from .._matrix.request import Pair
from .._matrix.sparse_array import SparseArray
from .._show import display
from .plan_operands import product_formats
from .plans import MatmulPlan
from .sums import sum_of_products


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
