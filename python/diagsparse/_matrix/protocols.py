"""Python's protocols: pickling, copying, truth value, length and representations of a matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from .._show import display
from .base import Base, M
from .registry import FORMATS
from .validation import checked_shape


def reduce(a: Any) -> tuple[Any, ...]:
    parts = {name: a._backend.host(part) for name, part in a._matrix.parts().items()}  # pickles are loaded to the cpu
    packing = a._format.packing(a) if a._packed else ()
    return _unpickle, (a.format, parts, (a._matrix.rows, a._matrix.cols), a._op, *packing)


def not_pickled(message: str) -> Callable[[Any], NoReturn]:
    """Return a ``__reduce__`` that raises TypeError: a message with fields of the object, ``{self}``, that advises."""

    def reduce(self: Any) -> NoReturn:
        raise TypeError(message.format(self=self))

    return reduce


def copy(a: M) -> M:
    return a.copy()


def deepcopy(a: M, memo: dict[int, Any]) -> M:
    return a.copy()


def truth(a: Any) -> bool:
    if a.shape == (1, 1):
        return bool(a.toarray()[0, 0])
    raise ValueError("the truth value of a matrix with more than one element is ambiguous")


def length(a: Any) -> int:
    raise TypeError("the length of a sparse matrix is ambiguous; use A.shape[0] or A.nnz")


def text(a: Any) -> str:
    return display.text(a)


def html(a: Any) -> str:
    return display.html(a)


def from_parts(format: str, parts: dict[str, np.ndarray], shape: tuple[int, int], *packing: Any) -> Any:
    """Build a matrix on the cpu from the arrays of `SparseArray.parts`, as NumPy arrays."""
    if not isinstance(format, str) or format not in FORMATS:
        raise ValueError(f'no format "{format}"; there are {", ".join(FORMATS)}')
    who, kind = f"{format}_array", FORMATS[format]
    if not isinstance(parts, dict):
        raise TypeError(f"{who}: the component arrays are {type(parts).__name__}, expected a dict of NumPy arrays")
    if wrong := [name for name, part in parts.items() if not isinstance(part, np.ndarray)]:
        raise TypeError(f"{who}: array {wrong[0]!r} is {type(parts[wrong[0]]).__name__}, expected a NumPy array")
    if missing := {"values", *kind.structure} - set(parts):
        raise ValueError(f"{who}: missing arrays: {', '.join(sorted(missing))}")
    return kind.from_parts(parts, checked_shape(shape, who), *packing)


def _unpickle(format: str, parts: dict[str, np.ndarray], shape: tuple[int, int], op: int, *packing: Any) -> Any:
    if not isinstance(op, int) or not 0 <= op <= 3:
        raise ValueError(f"{format}_array: op is {op!r}, expected 0 to 3")
    return Base._wrap(from_parts(format, parts, shape, *packing)._matrix, op)
