"""Products of diagonal matrices: their plans, and sums of products in one structure."""

from __future__ import annotations

from typing import Any

from .._backends import memory
from .._backends.backend import CPU
from .._backends.native_objects import Matrix
from .._matrix.convert import convert
from .._matrix.registry import COMMON
from .._matrix.request import Request, Sum
from .._matrix.sparse_array import SparseArray
from .._products.plans import MatmulPlan
from .._products.sums import TRIANGLES
from .._show import display

_FEW_PAIRS = 1 << 10  # pairs of diagonals up to which planning takes negligible time


def _plan_nbytes(a: Matrix, b: Matrix) -> int:
    """Return an upper bound of the bytes of a plan: strips of l and m adjacent diagonals give l + m - 1 pairs."""
    meetings = a.diagonals * b.strips + a.strips * b.diagonals - a.strips * b.strips
    return 12 * meetings + 16 * (a.diagonals + b.diagonals)


def as_factor(format: Any, a: SparseArray, planned: SparseArray, packed: bool) -> SparseArray:
    """Return the operand itself; a view of a packed matrix is copied, as unpacking the planned one copied it."""
    return a.copy() if packed and a._op and not planned._op else a


def planned(format: Any, a: SparseArray, b: SparseArray, request: Request) -> tuple[Any, SparseArray, SparseArray]:
    """Return the native plan of a product, and the operands in the form that its kernels read."""
    pairs = a._matrix.diagonals * b._matrix.diagonals
    if pairs > 1 << 20:
        what = f"matmul: {display.operand(a)} times {display.operand(b)}: the plan of {pairs} pairs"
        nbytes = _plan_nbytes(a._matrix, b._matrix) if a._backend is CPU else 40 * pairs
        nbytes *= 2 if request.other_order else 1
        memory.require(nbytes, request.max_bytes, what, f"{COMMON}_array plans by rows")  # on the host
    more = request.triangle, request.extra_offsets, request.other_order
    options = format.name, request.kernel, *(more if any(more) else ())
    return a._core.plan_matmul(a._matrix, a._op, b._matrix, b._op, *options), a, b


def matmul(a: SparseArray, b: SparseArray) -> SparseArray:
    """Return the sparse product; small products are planned and computed in one native call."""
    if a._backend is CPU and b._backend is CPU:
        native = CPU.core.multiply(a._matrix, a._op, b._matrix, b._op, _FEW_PAIRS, memory.SMALL)
        if native is not None:
            result = object.__new__(type(a))
            result._matrix, result._op, result._dtype, result._shape = native, 0, a._dtype, (a._shape[0], b._shape[1])
            return result
    return MatmulPlan(a, b)()


def sum_of_products(format: Any, s: Sum) -> SparseArray:
    """Return a sum of products in this format, with the diagonals of all its terms."""
    (first, second, _), *others = s.pairs
    shape, core, c, triangle = (first.shape[0], second.shape[1]), first._core, s.c, TRIANGLES[s.triangle]
    extra_offsets: set[int] = set()  # diagonals of C and of the other products
    if c is not None:
        c = c if c._format.family == format.family else convert(c, c._format.for_diagonals().name)
        c = c if s.triangle is None else c._format.triangle(c, s.triangle, s.who)
        extra_offsets.update(c._format.occupied(c).tolist())
    other_order = 0
    if c is None and len(others) == 1 and others[0].a is second and others[0].b is first:
        other_order = others[0].factor  # A B and B A have the same diagonals
    else:
        for x, y, _ in s.pairs:
            extra_offsets.update(core.product_offsets(x._matrix, x._op, y._matrix, y._op, *shape, triangle))
    options = format.name, s.kernel, s.max_bytes, triangle, sorted(extra_offsets)
    plans = [MatmulPlan(first, second, *options, other_order)]
    if not plans[0]._plan.both_orders:
        plans += [MatmulPlan(x, y, *options) for x, y, _ in others]
    if s.out is None:
        result = SparseArray._wrap(plans[0]._plan.result(first.dtype.name))
    else:
        plans[0]._check_out(result := s.out)
    if c is not None:
        if core.overlap(c._matrix.values, result._matrix.values):
            c = c.copy()
        result._matrix.values.fill(0)
        if s.beta != 0:
            core.add_diagonals(s.beta, c._matrix, c._op, result._matrix, False)
    for i, (plan, pair) in enumerate(zip(plans, s.pairs, strict=False)):
        plan(out=result, alpha=s.alpha * pair.factor, beta=0 if i == 0 and c is None else 1)
    return result
