"""What sums and products ask of a family of formats; the answers here lead through csr, or say that there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .convert import convert, unpacked
from .registry import COMMON
from .request import Pair, Request

if TYPE_CHECKING:
    from .base import SparseArray


class Arithmetic:
    """The methods of `Family` that sums and products call."""

    # ---- sums and elements -----------------------------------------------------------------------
    def _terms(self: SparseArray, other: SparseArray) -> tuple[SparseArray, SparseArray]:
        """Return this matrix and another one as `_added` takes them: unpacked, and of one family or with a partner."""
        a, b = unpacked(self), unpacked(other)
        return a, b if a._family == b._family else a._partner(b)

    def _partner(self: SparseArray, other: SparseArray) -> SparseArray:
        """Return a matrix of another family as `_added` takes it."""
        return convert(other, COMMON)

    def _added(self: SparseArray, other: SparseArray, alpha: Any, beta: Any) -> SparseArray:
        """Return ``alpha self + beta other`` in this format."""
        return self._like(self._to_csr()._added(convert(other, COMMON), alpha, beta))

    def _united(self: SparseArray, other: SparseArray) -> SparseArray:
        """Return the sum with one of this format and dtype, on the entries that one of both stores, zero or not."""
        return self._added(other, 1, 1)

    def _factors(self: SparseArray, other: SparseArray) -> tuple[SparseArray, SparseArray]:
        """Return this matrix and another one as `_multiplied` takes them; as csr, where two families are left."""
        return unpacked(self), unpacked(other)

    def _multiplied(self: SparseArray, other: SparseArray) -> SparseArray:
        """Return the element-wise product with one of this family in this format."""
        return self._like(self._to_csr()._multiplied(convert(other, COMMON)))

    def _scaled_by(self: SparseArray, dense: Any) -> SparseArray:
        """Return the element-wise product with a dense array that broadcasts."""
        return self._laid_out_as(self._to_csr()._scaled_by(dense), self._kept())

    def _divided_by(self: SparseArray, dense: Any) -> SparseArray:
        """Return this matrix, which is no view, over a dense array that broadcasts; zeros stay zeros."""
        return self._laid_out_as(self._to_csr()._divided_by(dense), self._kept())

    def _total(self: SparseArray, dtype: np.dtype) -> Any:
        """Return the sum of all elements, made in this type, which is one that arithmetic is done in."""
        return self.sum(axis=1, dtype=dtype).sum()  # type: ignore[attr-defined]

    def _triangle(self: SparseArray, which: str, who: str) -> SparseArray:
        """Return the "lower" or "upper" triangle, with the main diagonal."""
        return self._to_csr()._triangle(which, who)

    def _add_values(self: SparseArray, made: SparseArray, beta: Any) -> None:
        """Write ``made + beta self`` to these values; `made` has the same structure."""
        self._core.add_scaled(1.0, made._matrix, beta, self._matrix)

    # ---- products ---------------------------------------------------------------------------------
    def _as_operand(self: SparseArray) -> SparseArray:
        """Return this matrix as plans of products take it: unpacked."""
        return unpacked(self)

    @classmethod
    def _symmetry_of_product(cls, a: SparseArray, b: SparseArray) -> int:
        """Return the number of the symmetry that makes one half of the product enough, 0 for none."""
        return 0

    @classmethod
    def _planned(cls, a: SparseArray, b: SparseArray, request: Request) -> tuple[Any, SparseArray, SparseArray]:
        """Return the C++ plan of a product that is made in this format, and the operands as its kernels take them."""
        raise NotImplementedError

    @classmethod
    def _as_factor(cls, a: SparseArray, planned: SparseArray, packed: bool) -> SparseArray:
        """Return an operand as these kernels take it, in place of a planned one (which was `packed` when given)."""
        raise NotImplementedError

    def _multiplied_at_once(self: SparseArray, other: SparseArray) -> SparseArray | None:
        """Return a small product without a plan that Python sees, None for any other."""
        return None

    def _sum_of_products(
        self: SparseArray, who: str, pairs: list[Pair], c: SparseArray | None,
        alpha: complex, beta: complex, triangle: str | None, work: str, kernel: str | None, out: SparseArray | None,
        max_bytes: int | None,
    ) -> SparseArray:  # fmt: skip
        """Return alpha times the sum of the products, plus beta c, of a family with products of its own."""
        raise NotImplementedError
