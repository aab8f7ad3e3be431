"""Python's own protocols: pickling, copying, truth, length, iteration, and how a matrix is shown."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._show import display
from .base import SparseArray
from .gate import checked_shape
from .registry import FORMATS


class Protocols:
    """Methods that Python and Jupyter call; mixed into every matrix class."""

    def __reduce__(self: SparseArray) -> tuple[Any, ...]:
        parts = {name: self._place.host(part) for name, part in self._matrix.parts().items()}  # unpickled on the cpu
        packing = self._packing if self._packed else ()
        return _unpickle, (self.format, parts, (self._matrix.rows, self._matrix.cols), self._op, *packing)

    def __copy__(self: SparseArray) -> SparseArray:
        return self.copy()

    def __deepcopy__(self: SparseArray, memo: dict[int, Any]) -> SparseArray:
        return self.copy()

    def __bool__(self: SparseArray) -> bool:
        if self.shape == (1, 1):
            return bool(self.toarray()[0, 0])
        raise ValueError("the truth value of a matrix with more than one element is ambiguous")

    def __len__(self: SparseArray) -> int:
        raise TypeError("the length of a sparse matrix is ambiguous; use A.shape[0] or A.nnz")

    def __repr__(self: SparseArray) -> str:
        return display.text(self)

    def _repr_html_(self: SparseArray) -> str:
        return display.html(self)


def from_parts(format: str, parts: dict[str, np.ndarray], shape: tuple[int, int], *packing: Any) -> SparseArray:
    """Rebuild a matrix on the cpu from what `SparseArray.parts` gave, in NumPy arrays."""
    if not isinstance(format, str) or format not in FORMATS:
        raise ValueError(f'no format "{format}"; there are {", ".join(FORMATS)}')
    who, cls = f"{format}_array", FORMATS[format]
    if not isinstance(parts, dict):
        raise TypeError(f"{who}: parts are {type(parts).__name__}, expected a dict of NumPy arrays")
    if wrong := [name for name, part in parts.items() if not isinstance(part, np.ndarray)]:
        raise TypeError(f"{who}: part {wrong[0]!r} is {type(parts[wrong[0]]).__name__}, expected a NumPy array")
    if missing := {"values", *cls._structure} - set(parts):
        raise ValueError(f"{who}: there is no part {', '.join(sorted(missing))}")
    return cls._from_parts(parts, checked_shape(shape, who), *packing)


def _unpickle(format: str, parts: dict[str, np.ndarray], shape: tuple[int, int], op: int, *packing: Any) -> SparseArray:
    if not isinstance(op, int) or not 0 <= op <= 3:
        raise ValueError(f"{format}_array: op is {op!r}, expected 0 to 3")
    return SparseArray._wrap(from_parts(format, parts, shape, *packing)._matrix, op)
