"""What NumPy's functions do with a matrix: its operators are the matrix's own, everything else says what to type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays.host_dense import refuse_part_of

if TYPE_CHECKING:
    from .base import SparseArray

_IN_PLACE = [(-2, -1), (-2, -1), (-2, -1)]  # what NumPy says of ``X @= A``
_OPERATORS = {  # the method of a matrix on the left, and of one on the right
    np.add: ("__add__", "__radd__"),
    np.subtract: ("__sub__", "__rsub__"),
    np.multiply: ("__mul__", "__rmul__"),
    np.true_divide: ("__truediv__", "__rtruediv__"),
    np.matmul: ("__matmul__", "__rmatmul__"),
    np.power: ("__pow__", "__rpow__"),
    np.equal: ("__eq__", "__eq__"),
    np.not_equal: ("__ne__", "__ne__"),
    np.negative: ("__neg__", ""),
    np.absolute: ("__abs__", ""),
    np.conjugate: ("conj", ""),
}


def apply(
    self: SparseArray, ufunc: np.ufunc, method: str, *inputs: Any, out: tuple[Any, ...] | None = None, **options: Any
) -> Any:
    """Do what NumPy asks: ``x @ A``, ``x + A``, ``x += A``, ``np.abs(A)``."""
    if out is not None and not isinstance(out[0], np.ndarray):
        raise TypeError(f"np.{ufunc.__name__}: out is {out[0]!r}, expected a NumPy array")
    if ufunc is np.matmul and options.get("axes") == _IN_PLACE:
        options = {}
    if method != "__call__" or options or ufunc not in _OPERATORS:
        raise TypeError(
            f"np.{ufunc.__name__}: {self!r} is sparse; np.{ufunc.__name__} takes A.toarray(), or A.values where zeros "
            "stay zeros"
        )
    left, right = _OPERATORS[ufunc]
    made = getattr(self, left)(*inputs[1:]) if inputs[0] is self else getattr(self, right, _nothing)(inputs[0])
    if made is NotImplemented or out is None:
        return made
    if not isinstance(made, np.ndarray):
        raise TypeError(f"np.{ufunc.__name__}: the result {made!r} is sparse and does not fit out; use y = ...")
    refuse_part_of(self._matrix.values, out[0], f"np.{ufunc.__name__}", self._core)
    np.copyto(out[0], made, casting="same_kind")
    return out[0]


def _nothing(_: Any) -> Any:
    return NotImplemented
