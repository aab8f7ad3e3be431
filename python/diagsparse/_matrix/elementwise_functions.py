"""What is done to each stored value: functions for which 0 is 0, and numbers that multiply, divide or are powers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import frexp
from typing import Any

import numpy as np

from .._backends.backend import CPU
from .._backends.types import is_narrow, require_float64, value_dtype
from .base import M, write_values
from .convert import to_csr, unpacked, widen

_TINY = 2.0**-100  # divisors of this size have reciprocals in every value type
_NO_NUMBERS = (str, bytes, np.str_, np.bytes_, memoryview)  # which NumPy calls scalars


def is_scalar(x: Any) -> bool:
    """Whether `x` is a number, of any library."""
    return (np.isscalar(x) and type(x) not in _NO_NUMBERS) or (isinstance(x, np.ndarray) and x.ndim == 0)


def _keeps_symmetry(factor: Any) -> bool:
    """Whether a multiple of a Hermitian matrix is one: infinity times 1 + 0i is no real number."""
    return not np.iscomplexobj(factor) and bool(np.isfinite(factor))


def _divided(values: Any, divisor: Any) -> Any:
    """Return values over a number: by its reciprocal where that is exact, complex ones over a real one part by part."""
    if not isinstance(values, np.ndarray) or np.iscomplexobj(divisor) or not np.isfinite(divisor):
        return values / divisor
    if isinstance(divisor, (int, float)) and abs(frexp(divisor)[0]) == 0.5 and _TINY < abs(divisor) < 1 / _TINY:
        return values * (1 / divisor)
    dtype = (values[:0] / divisor).dtype
    if dtype.kind != "c":
        return values / divisor
    parts = values.astype(dtype, copy=False)
    return (parts.view(parts.real.dtype) / dtype.type(divisor).real).view(dtype)


def _changed(change: Callable[[Any], Any], values: Any) -> tuple[Any, bool]:
    """Return `change` of stored values, and whether one overflowed: of padding, which is among them, nothing warns."""
    overflows: list[str] = []
    with np.errstate(all="ignore", over="call", call=lambda kind, flag: overflows.append(kind)):
        return change(values), bool(overflows)


def _warn_of_overflow(change: Callable[[Any], Any], dtype: np.dtype) -> None:
    """Let the largest number of this type overflow: NumPy warns of it, or raises, as the caller has asked it to."""
    largest = np.finfo(dtype).max
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        change(np.full(1, complex(largest, largest) if dtype.kind == "c" else largest, dtype))


def changed(a: M, change: Callable[[Any], Any]) -> M:
    """Return this view with its stored values changed; overflow warns as in NumPy."""
    if a._packed and is_narrow(a._dtype):
        result = changed(widen(a), change)
        return result if result.dtype.kind == "c" else result.astype(a.dtype)
    return rewritten(a, change)


def rewritten(a: M, change: Callable[[Any], Any]) -> M:
    """Return the same, in the type that the values then have."""
    values, overflowed = _changed(change, a._matrix.values)
    if values.dtype != a._dtype:
        value_dtype(values.dtype, None, f"{a.format}_array", narrow=True)  # raises
    if a._backend is CPU:
        values = np.ascontiguousarray(values)
    new = a._wrap(a._matrix.with_values(values), a._op)
    if overflowed and holds_infinities(new):
        _warn_of_overflow(change, a._dtype)
    return new


def holds_infinities(a: Any) -> bool:
    """Whether an element is infinite; padding is none."""
    return bool(np.isinf(to_csr(a._wrap(a._matrix)).values).any())


def stored_factor(a: Any, factor: Any) -> Any:
    """Return the factor for stored values that acts as `factor` on the values of this view."""
    factor = factor[()] if isinstance(factor, np.ndarray) else factor
    return factor.conjugate() if a._op & 2 else factor


def scaled(a: M, factor: Any) -> M:
    require_float64(factor, "*", "the factor")
    if a._packed and not keeps_storage(a, np.multiply, factor):
        return scaled(a.unpacked(), factor)
    return changed(a, lambda values: values * stored_factor(a, factor))


def negative(a: M) -> M:
    return changed(a, operator.neg)


def absolute(a: M) -> M:
    return changed(a, abs)


def to_power(a: M, power: Any) -> M:
    if not is_scalar(power):
        raise NotImplementedError(f"** works element by element and takes a positive number, got {power!r}")
    if power == 0:
        raise NotImplementedError("A**0 would fill the matrix with ones; use numpy.ones(A.shape)")
    if np.iscomplexobj(power) or not power > 0:
        raise ValueError(f"** works element by element and takes a positive number, got {power!r}")
    require_float64(power, "**", "the power")
    power = power[()] if isinstance(power, np.ndarray) else power
    plain = _not_conjugated(a)
    if not a._packed or a.dtype.kind != "c" or a.symmetry != "hermitian":
        return changed(plain, lambda values: values**power)
    return changed(a.unpacked(), lambda values: values**power)  # roots of conjugates are no conjugates


def rounded(a: M, ndigits: int = 0) -> M:
    plain = unpacked(a)
    return changed(plain, lambda values: np.round(values, ndigits))


def power(a: M, n: Any, dtype: Any = None) -> M:
    """Return each element to the power `n`, a positive number; ``A ** n``."""
    return (a if dtype is None else a.astype(dtype, copy=False)) ** n


def real(a: M) -> M:
    """Return the real parts; the matrix itself where it is real."""
    return a if a.dtype.kind != "c" else changed(unpacked(a), lambda values: values.real)


def imag(a: M) -> M:
    """Return the imaginary parts; stored zeros where the matrix is real."""
    return changed(_not_conjugated(unpacked(a)), lambda values: 1 * np.imag(values))


def _not_conjugated(a: M) -> M:
    return a.copy() if a._op & 2 else a


def scale_in_place(a: Any, factor: Any) -> Any:
    """Multiply the stored values by a number, in place; every view of the matrix changes with them."""
    return in_place(a, np.multiply, factor, "*=") if is_scalar(factor) else NotImplemented


def divide_in_place(a: Any, divisor: Any) -> Any:
    """Divide the stored values by a number, in place."""
    return in_place(a, np.true_divide, divisor, "/=") if is_scalar(divisor) else NotImplemented


def keeps_storage(a: Any, ufunc: Any, number: Any) -> bool:
    """Whether symmetric or Hermitian storage holds the result: zero divides 1 + 0i into what is no real number."""
    return not a._matrix.symmetry or (_keeps_symmetry(number) and (ufunc is np.multiply or number != 0))


def in_place(a: M, ufunc: Any, number: Any, who: str) -> M:
    require_float64(number, who, "the factor")
    if np.iscomplexobj(number) and a._dtype.kind != "c":
        raise TypeError(f"{who}: {number!r} is complex, but {a!r} is real; write A = A * s")
    if a._backend is not CPU or is_narrow(a._dtype) or not keeps_storage(a, ufunc, number):
        result = a * number if ufunc is np.multiply else a / number
        if result.dtype != a.dtype or result._matrix.symmetry != a._matrix.symmetry:
            raise TypeError(f"{who}: {number!r} changes how {a!r} is stored; write A = A * s")
        write_values(a, result._matrix.values, "values")
        return a

    def change(values: Any) -> Any:
        return ufunc(values, stored_factor(a, number), out=values, casting="same_kind")

    _, overflowed = _changed(change, a._matrix.stored_values)
    if overflowed and holds_infinities(a):
        _warn_of_overflow(change, a._dtype)
    return a


def over_number(a: M, divisor: Any) -> M:
    require_float64(divisor, "/", "the divisor")
    if a._packed and not keeps_storage(a, np.true_divide, divisor):
        return over_number(a.unpacked(), divisor)
    return changed(a, lambda values: _divided(values, stored_factor(a, divisor)))


def ufunc_method(ufunc: np.ufunc) -> Callable[[M], M]:
    """Return the method that calls a function of NumPy's, for which 0 is 0, for each stored value."""

    def method(a: M) -> M:
        return changed(_not_conjugated(unpacked(a)), ufunc)

    method.__name__ = ufunc.__name__
    method.__doc__ = f"Return `numpy.{ufunc.__name__}` of each element."
    return method
