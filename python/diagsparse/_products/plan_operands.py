"""Operands of a planned product: as a user gave them, and as the kernel takes them; the formats of products."""

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
    """One operand of a plan, or both of a square. It has the values that the user's matrix has when the plan is called.

    A kernel may need the operand in another format, transposed or unpacked. That copy is brought up to date where a
    call finds other values or index arrays; native code compares its structure with the planned one.
    """

    __slots__ = "_native", "_trans", "_used", "given", "live", "origin"

    def __init__(self, origin: SparseArray, trans: str) -> None:
        self.origin, self._trans = origin, trans
        self._native = origin._matrix  # methods that change the structure in place assign another one
        self.given = origin if trans == "N" else OPERATIONS[trans](origin)
        self.live: Any = None  # the C++ matrix of the origin, if kernels read it and no copy
        # What the kernel takes, and if that is a copy: what it was made from, with values of its own. Both at once, for
        # other threads.
        self._used: tuple[SparseArray, Any] = self.given, None

    @property
    def factor(self) -> SparseArray:
        """The operand as the kernel took it last."""
        return self._used[0]

    @property
    def nbytes(self) -> int:
        """Bytes of the copy that follows the user's matrix, and of the values that the next call compares with."""
        factor, read = self._used
        return 0 if read is None else factor.nbytes + read.values.nbytes

    def use(self, factor: SparseArray, repeated: bool) -> None:
        """Use `factor` in kernels; if it is a copy, and the plan is `repeated`, have it follow the user's matrix."""
        if factor is not self.given and repeated:
            self._used = factor, self._snapshot()
        else:
            self._used = factor, None
            self.live = self._native if factor._matrix is self._native else None

    def current(self, name: str) -> SparseArray:
        """Return the operand as the kernel takes it, with the values that it has now; `name` is for errors.

        Raises
        ------
        ValueError
            If it has another structure than when the plan was made. Operands that are multiplied as csr or mdia, where
            zeros are not stored, have one where an element that was zero no longer is.
        MemoryError
            If its values changed, and a copy of them does not fit.
        """
        if self.origin._matrix is not self._native:
            raise ValueError(
                f"plan: the structure of {name} has changed since the plan was made: it is {self.origin!r} now; "
                "make a new plan"
            )
        factor, read = self._used
        if read is not None and not factor._core.same_parts(self.given._matrix, read):
            read = self._snapshot()  # first: what another thread writes meanwhile is found by the next call
            factor = self._converted(self.given._format.as_operand(self.given), factor, name)
            self._used = factor, read
        return factor

    def like(self, other: Any, name: str) -> SparseArray:
        """Return op(other) if it can stand in for the planned operand."""
        if other is self.origin and other._matrix is self._native:
            return self.current(name)
        given = self.given
        if not isinstance(other, SparseArray):
            kind, hint = type(other).__name__, ""
            if is_from_scipy(other):
                kind, hint = f"SciPy's {kind}", f'; ds.array({name}, "{given.format}") makes one'
            raise TypeError(f"plan: {name} is {kind}, expected a {given.format}_array{hint}")
        planned = self.factor
        check_same_device("plan", planned, other, ("the plan", name))
        result = self._converted(OPERATIONS[self._trans](other._format.as_operand(other)), planned, name)
        if result.format != planned.format or result._op != planned._op or result.shape != planned.shape:
            raise ValueError(f"plan: {name} is {other!r}, the plan was made for {given!r}")
        return result

    def _converted(self, operand: SparseArray, planned: SparseArray, name: str) -> SparseArray:
        """Return an unpacked operand as the kernel takes it, like the `planned` one."""
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
        """Return the user's matrix with a copy of the values that it has now, after a forecast."""
        native = self.given._matrix
        values = native.values
        memory.require_free(values.nbytes, f"plan: the values of {display.operand(self.given)}", self.given._backend)
        return native.with_values(values.copy())


def _in_structure_of(planned: SparseArray, result: SparseArray) -> SparseArray | None:
    """Return `made` with the structure of `planned`, storing zeros for what it has no entries for.

    None where it has entries that `planned` has not. Both are of one format: conversions to it drop zeros, so the
    structure depends on the values.
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
    """Whether two matrices differ in their values alone."""
    if (x.format, x.shape, x.dtype, x._backend) != (y.format, y.shape, y.dtype, y._backend):
        return False
    others, host = y.parts(), x._backend.host
    return all(name == "values" or np.array_equal(host(part), host(others[name])) for name, part in x.parts().items())


def product_formats(
    a: SparseArray, b: SparseArray, format: str | None, repeated: bool = False, named: bool = False
) -> tuple[str, str]:
    """Return the format of a product, and the one whose kernels make it.

    By default the result is in the left operand's format. Where families differ and the left one has products of its
    own, it is in csr (in mdia where that meets diagonals). Within a family it is in what the family says where the left
    format does not hold it well.
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
