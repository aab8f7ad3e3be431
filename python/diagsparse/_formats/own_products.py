"""Products of formats that have kernels for them, and whose views are operands as they are: qband, bmsparse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from .._matrix.base import SparseArray
from .._matrix.convert import convert
from .._matrix.registry import COMMON
from .._matrix.request import Pair, Request
from .._products.plans import MatmulPlan

if TYPE_CHECKING:
    from .format import Format

    _Base = Format
else:
    _Base = object


class OwnProducts(_Base):
    """The answers of `Family` about products."""

    _own_products: ClassVar[bool] = True
    _sums: ClassVar[str] = COMMON  #: the format in which several products are added
    _added_to: ClassVar[tuple[str, ...]] = ()  #: other families whose matrices are added there; the rest is in csr

    @classmethod
    def _as_factor(cls, a: SparseArray, planned: SparseArray, packed: bool) -> SparseArray:
        return a

    @classmethod
    def _planned(cls, a: SparseArray, b: SparseArray, request: Request) -> tuple[Any, SparseArray, SparseArray]:
        plan = a._core.plan_matmul(
            a._matrix, a._op, b._matrix, b._op, cls._format, request.kernel, repeated=request.repeated,
            symmetry=request.symmetry, passed=request.passed,
        )  # fmt: skip
        return plan, a, b

    def _sum_of_products(
        self, who: str, pairs: list[Pair], c: SparseArray | None, alpha: complex,
        beta: complex, triangle: str | None, work: str, kernel: str | None, out: SparseArray | None,
        max_bytes: int | None,
    ) -> SparseArray:  # fmt: skip
        if out is not None:
            raise ValueError(f"{who}: out= of a sum is for dia, hm and cdm")
        sums = self._sums if c is None or c._family in (self._family, *self._added_to) else COMMON
        made = (MatmulPlan(a, b, work, kernel, max_bytes)(alpha=alpha * factor) for a, b, factor in pairs)
        total, *others = (convert(product, sums) for product in made)
        for other in others:
            total = total._added(other, 1, 1)
        if c is not None and beta != 0:
            total = total._added(convert(c, sums).astype(self.dtype, copy=False), 1, beta)
        return total if triangle is None else total._triangle(triangle, who)
