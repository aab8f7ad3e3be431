"""Formats with kernels for products of their own: qband, bmsparse and mdia. Their views are operands without a copy."""

from __future__ import annotations

from typing import Any, ClassVar

from .._matrix.request import Request
from .._matrix.sparse_array import SparseArray
from .format import Format


class OwnProducts(Format):
    """A layout whose products have kernels of their own."""

    own_products: ClassVar[bool] = True

    def as_factor(self, a: SparseArray, planned: SparseArray, packed: bool) -> SparseArray:
        return a

    def planned(self, a: SparseArray, b: SparseArray, request: Request) -> tuple[Any, SparseArray, SparseArray]:
        plan = a._core.plan_matmul(
            a._matrix, a._op, b._matrix, b._op, self.name, request.kernel, repeated=request.repeated,
            symmetry=request.symmetry, passed=request.on_stage,
        )  # fmt: skip
        return plan, a, b
