"""Operands of planned products, which may change after planning, and the formats of products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._backends import memory
from .._matrix.base import is_from_scipy
from .._matrix.operands import check_same_device
from .._matrix.registry import COMMON, FORMATS
from .._matrix.sparse_array import SparseArray
from .._show import display

OPERATIONS: dict[str, Callable[[SparseArray], SparseArray]] = {
    "N": lambda a: a,
    "T": lambda a: a.T,
    "H": lambda a: a.H,
}


class PlannedOperand:
    """An operand of a plan, or both of a square, with the values that the user's matrix has when the plan is called.

    A kernel may need the operand in another format, transposed or unpacked. This copy is updated if a call finds other
    values or index arrays; native code compares its structure with the planned one.
    """

    __slots__ = "_native", "_trans", "_used", "given", "live", "origin"

    def __init__(self, origin: SparseArray, trans: str) -> None:
        self.origin, self._trans = origin, trans
        self._native = origin._matrix  # methods that change the structure in place assign another one
        self.given = origin if trans == "N" else OPERATIONS[trans](origin)
        self.live: Any = None  # the C++ matrix of the origin, if kernels read it and not a copy
        # The operand that kernels read, and if that is a copy, a snapshot of the matrix that it was converted from.
        # They are replaced in one step, for other threads.
        self._used: tuple[SparseArray, Any] = self.given, None

    @property
    def factor(self) -> SparseArray:
        """The operand that kernels read, as of the last call."""
        return self._used[0]

    @property
    def nbytes(self) -> int:
        """Bytes of the converted copy, and of the values that the next call compares with."""
        factor, read = self._used
        return 0 if read is None else factor.nbytes + read.values.nbytes

    def use(self, factor: SparseArray, repeated: bool) -> None:
        """Set the operand that kernels read; if it is a copy, and the plan is `repeated`, later calls update it."""
        if factor is not self.given and repeated:
            self._used = factor, self._snapshot()
        else:
            self._used = factor, None
            self.live = self._native if factor._matrix is self._native else None

    def current(self, name: str) -> SparseArray:
        """Return the operand for kernels, with its current values; `name` is for errors.

        Raises
        ------
        ValueError
            If its structure has changed since planning. For operands that are converted to csr or mdia, where zeros are
            not stored, the structure changes if an element that was zero is no longer zero.
        MemoryError
            If its values changed, and a copy of them does not fit.
        """
        if self.origin._matrix is not self._native:
            raise ValueError(
                f"plan: the structure of {name} has changed since the plan was created: it is {self.origin!r} now; "
                "make a new plan"
            )
        factor, read = self._used
        if read is not None and not factor._core.same_parts(self.given._matrix, read):
            read = self._snapshot()  # first, so that the next call finds what another thread writes meanwhile
            factor = self._converted(self.given._format.as_operand(self.given), factor, name)
            self._used = factor, read
        return factor

    def like(self, other: Any, name: str) -> SparseArray:
        """Return op(other) for kernels; raise if it cannot replace the planned operand."""
        if other is self.origin and other._matrix is self._native:
            return self.current(name)
        given = self.given
        if not isinstance(other, SparseArray):
            kind, hint = type(other).__name__, ""
            if is_from_scipy(other):
                kind, hint = f"SciPy's {kind}", f'; ds.array({name}, "{given.format}") converts it'
            raise TypeError(f"plan: {name} is {kind}, expected a {given.format}_array{hint}")
        planned = self.factor
        check_same_device("plan", planned, other, ("the plan", name))
        result = self._converted(OPERATIONS[self._trans](other._format.as_operand(other)), planned, name)
        if result.format != planned.format or result._op != planned._op or result.shape != planned.shape:
            raise ValueError(f"plan: {name} is {other!r}, but the plan was created for {given!r}")
        return result

    def _converted(self, operand: SparseArray, planned: SparseArray, name: str) -> SparseArray:
        """Return an unpacked operand in the form that kernels read, like the `planned` one."""
        result = planned._format.as_factor(operand, planned, self.given._packed)
        if not operand._format.drops_zeros or operand._format.family == result._format.family:
            return result
        if result.format != planned.format or result._shape != planned._shape:
            return result
        if (aligned := _in_structure_of(planned, result)) is None:
            raise ValueError(
                f"plan: {name}, {operand!r} and multiplied as {result.format}, has another structure than the plan was "
                f"made for: elements that were zero then, and are not stored as {result.format}, are not zero now; "
                "make a new plan"
            )
        return aligned

    def _snapshot(self) -> Any:
        """Return the user's matrix with a copy of its current values; raise MemoryError if the copy does not fit."""
        native = self.given._matrix
        values = native.values
        memory.require_free(values.nbytes, f"plan: the values of {display.operand(self.given)}", self.given._backend)
        return native.with_values(values.copy())


def _in_structure_of(planned: SparseArray, result: SparseArray) -> SparseArray | None:
    """Return `result` in the structure of `planned`, with explicit zeros for missing entries.

    None if it has entries that `planned` does not have. Both have the same format; their structures may differ because
    conversions to it drop zeros.
    """
    native = planned._matrix
    if result._matrix.stored < native.stored:
        what = f"plan: the elements of {display.operand(result)} that are zero"
        memory.require_free(native.values.nbytes, what, planned._backend)
        zeros = planned.copy()
        zeros.values = 0
        result = result._format.combined(result, zeros.real.astype(result.dtype, copy=False), zeros=True)
    if result._matrix.stored != native.stored:
        return None
    aligned = native.with_values(result._matrix.values)
    return result._wrap(aligned, planned._op) if result._core.same_parts(result._matrix, aligned) else None


def same_structure(x: SparseArray, y: SparseArray) -> bool:
    """Whether two matrices differ only in their values."""
    if (x.format, x.shape, x.dtype, x._backend) != (y.format, y.shape, y.dtype, y._backend):
        return False
    others, host = y.parts(), x._backend.host
    return all(name == "values" or np.array_equal(host(part), host(others[name])) for name, part in x.parts().items())


def product_formats(
    a: SparseArray, b: SparseArray, format: str | None, repeated: bool = False, named: bool = False
) -> tuple[str, str]:
    """Return the format of a product, and the format whose kernels compute it.

    By default, the result has the format of the left operand. If the families differ and the left format has kernels
    for products, it is csr, or mdia for a product of mdia and diagonals. Within a family, the format of the left
    operand may choose another one (`Format.for_product`).
    """
    left, right = a._format, b._format
    if left is not right and left.family != right.family:
        common = left.multiplies.get(right.family) or right.multiplies.get(left.family)
        return format or common or (COMMON if left.own_products else left.name), common or COMMON
    if not left.own_products:
        return format or left.name, COMMON
    if format is not None and FORMATS[format].family == left.family:
        return format, format
    result = left.for_product(a, b, repeated, named).name
    return format or result, result
