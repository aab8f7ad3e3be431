"""Products of formats that have kernels for them, and whose views are operands as they are: qband, bmsparse."""

from __future__ import annotations

from typing import Any, ClassVar

from .._matrix.convert import convert
from .._matrix.registry import COMMON
from .._matrix.request import Pair, Request
from .._matrix.sparse_array import SparseArray
from .._products.plans import MatmulPlan
from .format import Format


class OwnProducts(Format):
    """A layout whose products have kernels of their own."""

    own_products: ClassVar[bool] = True
    sums: ClassVar[str] = COMMON  #: the format in which several products are added
    added_to: ClassVar[tuple[str, ...]] = ()  #: other families whose matrices are added there; the rest is in csr

    def as_factor(self, a: SparseArray, planned: SparseArray, packed: bool) -> SparseArray:
        return a

    def planned(self, a: SparseArray, b: SparseArray, request: Request) -> tuple[Any, SparseArray, SparseArray]:
        plan = a._core.plan_matmul(
            a._matrix, a._op, b._matrix, b._op, self.name, request.kernel, repeated=request.repeated,
            symmetry=request.symmetry, passed=request.on_stage,
        )  # fmt: skip
        return plan, a, b

    def sum_of_products(
        self, a: SparseArray, who: str, pairs: list[Pair], c: SparseArray | None, alpha: complex,
        beta: complex, triangle: str | None, work: str, kernel: str | None, out: SparseArray | None,
        max_bytes: int | None,
    ) -> SparseArray:  # fmt: skip
        if out is not None:
            raise ValueError(f"{who}: out= of a sum is for dia, hm and cdm")
        sums = self.sums if c is None or c._format.family in (self.family, *self.added_to) else COMMON
        result = (MatmulPlan(x, y, work, kernel, max_bytes)(alpha=alpha * factor) for x, y, factor in pairs)
        total, *others = (convert(product, sums) for product in result)
        for other in others:
            total = total._format.combined(total, other)
        if c is not None and beta != 0:
            total = total._format.combined(total, convert(c, sums).astype(a.dtype, copy=False), 1, beta)
        return total if triangle is None else total._format.triangle(total, triangle, who)
