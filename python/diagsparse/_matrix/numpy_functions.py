"""NumPy's functions and ufuncs applied to a matrix: some call a method, the others raise and name an alternative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._arrays.host_dense import refuse_part_of

_IN_PLACE = [(-2, -1), (-2, -1), (-2, -1)]  # NumPy's `axes` for ``X @= A``
_OPERATORS = {  # the method of a matrix on the left, and of one on the right
    np.add: ("__add__", "__radd__"),
    np.subtract: ("__sub__", "__rsub__"),
    np.multiply: ("__mul__", "__rmul__"),
    np.true_divide: ("__truediv__", "__rtruediv__"),
    np.matmul: ("__matmul__", "__rmatmul__"),
    np.power: ("__pow__", "__rpow__"),
    np.equal: ("__eq__", "__eq__"),
    np.not_equal: ("__ne__", "__ne__"),
    np.less: ("__lt__", "__gt__"),
    np.greater: ("__gt__", "__lt__"),
    np.less_equal: ("__le__", "__ge__"),
    np.greater_equal: ("__ge__", "__le__"),
    np.maximum: ("maximum", "maximum"),
    np.minimum: ("minimum", "minimum"),
    np.negative: ("__neg__", ""),
    np.absolute: ("__abs__", ""),
    np.conjugate: ("conj", ""),
}
ZERO_STAYS_ZERO = (  # functions that map 0 to 0, which are applied to the stored values
    *(np.sin, np.tan, np.arcsin, np.arctan, np.sinh, np.tanh, np.arcsinh, np.arctanh, np.expm1, np.log1p),
    *(np.rint, np.floor, np.ceil, np.trunc, np.sign, np.sqrt, np.square, np.deg2rad, np.rad2deg),
)
_OPERATORS |= {ufunc: (ufunc.__name__, "") for ufunc in ZERO_STAYS_ZERO}

_METHODS: dict[Any, str] = {  # methods with the same arguments as the function
    np.sum: "sum", np.mean: "mean", np.max: "max", np.min: "min", np.argmax: "argmax", np.argmin: "argmin",
    np.amax: "max", np.amin: "min", np.trace: "trace", np.transpose: "transpose", np.nonzero: "nonzero",
    np.copy: "copy", np.count_nonzero: "count_nonzero", np.dot: "dot",
}  # fmt: skip
_ATTRIBUTES: dict[Any, str] = {np.shape: "shape", np.ndim: "ndim", np.size: "size", np.real: "real", np.imag: "imag"}
# Functions that depend on the dtype alone.
_OF_TYPES = np.result_type, np.common_type, np.can_cast, np.iscomplexobj, np.isrealobj
_ALTERNATIVES: dict[Any, str] = {  # what to write instead of other functions
    np.allclose: "abs(A - B).max() <= tolerance",
    np.array_equal: "(A != B).nnz == 0",
    np.concatenate: "scipy.sparse.vstack or hstack",
    np.vstack: "scipy.sparse.vstack",
    np.hstack: "scipy.sparse.hstack",
    np.block: "scipy.sparse.block_array",
    np.kron: "diagsparse.kron",
    np.diag: "A.diagonal(k)",
    np.tril: "scipy.sparse.tril",
    np.triu: "scipy.sparse.triu",
    np.linalg.norm: "diagsparse.norm(A)",
    np.linalg.solve: "diagsparse.solve(A, b)",
    np.linalg.inv: "scipy.sparse.linalg.inv",
    np.linalg.eig: "scipy.sparse.linalg.eigs",
    np.linalg.eigvals: "scipy.sparse.linalg.eigs",
    np.linalg.eigh: "scipy.sparse.linalg.eigsh",
    np.linalg.eigvalsh: "scipy.sparse.linalg.eigsh",
    np.linalg.svd: "scipy.sparse.linalg.svds",
    np.linalg.matrix_power: "scipy.sparse.linalg.matrix_power",
}


def apply(
    self: Any, ufunc: np.ufunc, method: str, *inputs: Any, out: tuple[Any, ...] | None = None, **options: Any
) -> Any:
    """Implement ``__array_ufunc__``: ``x @ A``, ``x + A``, ``x += A``, ``np.abs(A)``."""
    if out is not None and not isinstance(out[0], np.ndarray):
        raise TypeError(f"np.{ufunc.__name__}: out is {out[0]!r}, expected a NumPy array")
    if ufunc is np.matmul and options.get("axes") == _IN_PLACE:
        options = {}
    if method != "__call__" or options or ufunc not in _OPERATORS:
        raise TypeError(
            f"np.{ufunc.__name__}: {self!r} is sparse; use np.{ufunc.__name__} of A.toarray(), or of A.values where "
            "zeros stay zeros"
        )
    left, right = _OPERATORS[ufunc]
    result = getattr(self, left)(*inputs[1:]) if inputs[0] is self else getattr(self, right, _nothing)(inputs[0])
    if result is NotImplemented or out is None:
        return result
    if not isinstance(result, np.ndarray):
        raise TypeError(f"np.{ufunc.__name__}: the result {result!r} is sparse and does not fit out; use y = ...")
    refuse_part_of(self._matrix.values, out[0], f"np.{ufunc.__name__}", self._core)
    np.copyto(out[0], result, casting="same_kind")
    return out[0]


def _nothing(_: Any) -> Any:
    return NotImplemented


def call(self: Any, function: Callable[..., Any], types: Any, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Implement ``__array_function__``: ``np.sum(A, axis=0)``, ``np.dot(A, x)``."""
    if function in _OF_TYPES:
        return function(*(np.empty(0, x.dtype) if issparse(x) else x for x in given), **named)
    if given and given[0] is self:
        if function in _ATTRIBUTES and not (given[1:] or named):
            return getattr(self, _ATTRIBUTES[function])
        if function in _METHODS:
            return getattr(self, _METHODS[function])(*given[1:], **named)
    if function in _FUNCTIONS:
        return _FUNCTIONS[function](*given, **named)
    if function is np.dot and not named:  # the left operand is a NumPy array
        return given[0] * self if np.ndim(given[0]) == 0 else given[0] @ self
    name = f"{function.__module__}.{function.__name__}".replace("numpy", "np", 1)
    raise TypeError(f"{name}: {self!r} is sparse; write {_ALTERNATIVES.get(function, f'{name} of A.toarray()')}")


def _diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> np.ndarray:
    return a.diagonal(offset if (axis1, axis2) == (0, 1) else -offset)


def _rounded(a: Any, decimals: int = 0, out: None = None) -> Any:
    if out is not None:
        raise TypeError(f"np.round: out is {out!r}, but the result is sparse; use y = np.round(A)")
    return a.__round__(decimals)


_FUNCTIONS: dict[Any, Callable[..., Any]] = {np.diagonal: _diagonal, np.round: _rounded, np.around: _rounded}


def as_object(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """Implement ``__array__`` for arrays of objects, which SciPy needs for lists of blocks; never copy implicitly."""
    if dtype is not None and np.dtype(dtype).kind == "O":
        result = np.empty((), object)
        result[()] = self
        return result
    raise TypeError(f"{self!r} is sparse, and NumPy needs an array; write A.toarray(), or A.to_scipy() for SciPy's")
