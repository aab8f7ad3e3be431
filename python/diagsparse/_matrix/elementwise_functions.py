"""Operations on each stored value: functions that map 0 to 0, and products, quotients and powers with a number."""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import frexp
from typing import Any

import numpy as np

from .._arrays import device_arrays
from .._backends import memory
from .._backends.backend import CPU
from .._backends.types import is_narrow, require_float64, value_dtype
from .base import M, write_values
from .convert import to_csr, unpacked, widen

_TINY = 2.0**-100  # divisors from here to its reciprocal have reciprocals in every value type
_NO_NUMBERS = (str, bytes, np.str_, np.bytes_, memoryview)  # scalars for NumPy, but not numbers


def is_scalar(x: Any) -> bool:
    """Whether `x` is a number, of Python, NumPy or another library."""
    return (np.isscalar(x) and type(x) not in _NO_NUMBERS) or (isinstance(x, np.ndarray) and x.ndim == 0)


def _keeps_symmetry(factor: Any) -> bool:
    """Whether a multiple of a Hermitian matrix is Hermitian: infinity times 1 + 0i is not real."""
    return not np.iscomplexobj(factor) and bool(np.isfinite(factor))


def _divided(values: Any, divisor: Any) -> Any:
    """Return ``values / divisor``, by the reciprocal if it is exact; real divisors divide real and imaginary parts."""
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
    """Return ``change(values)`` and whether a value overflowed, without warnings, because padding may overflow too."""
    overflows: list[str] = []
    with np.errstate(all="ignore", over="call", call=lambda kind, flag: overflows.append(kind)):
        return change(values), bool(overflows)


def _warn_of_overflow(change: Callable[[Any], Any], dtype: np.dtype) -> None:
    """Overflow the largest number of this type, so that NumPy warns or raises as the caller's `np.errstate` says."""
    largest = np.finfo(dtype).max
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        change(np.full(1, complex(largest, largest) if dtype.kind == "c" else largest, dtype))


def changed(a: M, change: Callable[[Any], Any]) -> M:
    """Return this view with `change` applied to its stored values; overflow warns as in NumPy."""
    if a._packed and is_narrow(a._dtype):
        result = changed(widen(a), change)
        return result if result.dtype.kind == "c" else result.astype(a.dtype)
    return rewritten(a, change)


def rewritten(a: M, change: Callable[[Any], Any]) -> M:
    """Return this view with `change` applied to its stored values, in the dtype that they then have."""
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
    """Whether an element is infinite, not counting padding."""
    return bool(np.isinf(to_csr(a._wrap(a._matrix)).values).any())


def stored_factor(a: Any, factor: Any) -> Any:
    """Return the factor of the stored values that multiplies the values of this view by `factor`."""
    factor = factor[()] if isinstance(factor, np.ndarray) else factor
    return factor.conjugate() if a._op & 2 else factor


@memory.no_limit
def scaled(a: M, factor: Any) -> M:
    require_float64(factor, "*", "the factor")
    if a._packed and not keeps_storage(a, np.multiply, factor):
        return scaled(a.unpacked(), factor)
    return changed(a, lambda values: values * stored_factor(a, factor))


def negative(a: M) -> M:
    return changed(a, operator.neg)


def absolute(a: M) -> M:
    return changed(a, abs)


@memory.no_limit
def to_power(a: M, power: Any) -> M:
    if not is_scalar(power):
        error = TypeError if isinstance(power, _NO_NUMBERS) else NotImplementedError  # as in SciPy
        raise error(f"** works element by element and takes a positive number, got {power!r}")
    if power == 0:
        raise NotImplementedError("A**0 would fill the matrix with ones; use numpy.ones(A.shape)")
    if np.iscomplexobj(power) or not power > 0:
        raise ValueError(f"** works element by element and takes a positive number, got {power!r}")
    require_float64(power, "**", "the power")
    power = power[()] if isinstance(power, np.ndarray) else power
    plain = _not_conjugated(a)
    if not a._packed or a.dtype.kind != "c" or a.symmetry != "hermitian":
        return changed(plain, lambda values: values**power)
    return changed(
        a.unpacked(), lambda values: values**power
    )  # a power of a conjugate need not be the conjugate of the power


@memory.no_limit
def rounded(a: M, ndigits: int = 0) -> M:
    plain = unpacked(a)
    return changed(plain, lambda values: np.round(values, ndigits))


def power(a: M, n: Any, dtype: Any = None) -> M:
    """Return the elements raised to the power `n`: ``A ** n``.

    Parameters
    ----------
    n : scalar
        A positive number.
    dtype : dtype, optional
        The dtype to which the values are converted first.

    Raises
    ------
    TypeError
        If `n` is a string.
    ValueError
        If `n` is negative or complex.
    NotImplementedError
        If `n` is 0, which would fill the matrix with ones, or not a scalar.
    """
    return (a if dtype is None else a.astype(dtype, copy=False)) ** n


def real(a: M) -> M:
    """Return the real parts; the matrix itself if it is real."""
    return a if a.dtype.kind != "c" else changed(unpacked(a), lambda values: _component(a, values, 0))


def imag(a: M) -> M:
    """Return the imaginary parts; explicit zeros if the matrix is real."""
    return changed(_not_conjugated(unpacked(a)), lambda values: _component(a, values, 1))


def _component(a: Any, values: Any, i: int) -> Any:
    """Return the real (i = 0) or the imaginary parts (i = 1) of the stored values."""
    if a._backend is CPU:
        return 1 * np.imag(values) if i else values.real
    if values.dtype.kind == "c":
        return device_arrays.component(a._core, values, i)
    zeros = values.copy()
    zeros.fill(0)
    return zeros


def _not_conjugated(a: M) -> M:
    return a.copy() if a._op & 2 else a


def scale_in_place(a: Any, factor: Any) -> Any:
    """Multiply the stored values by a number, in place; all views of the matrix change as well."""
    return in_place(a, np.multiply, factor, "*=") if is_scalar(factor) else NotImplemented


def divide_in_place(a: Any, divisor: Any) -> Any:
    """Divide the stored values by a number, in place."""
    return in_place(a, np.true_divide, divisor, "/=") if is_scalar(divisor) else NotImplemented


def keeps_storage(a: Any, ufunc: Any, number: Any) -> bool:
    """Whether symmetric or Hermitian storage can hold the result: 1 + 0i divided by zero is not real."""
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


@memory.no_limit
def over_number(a: M, divisor: Any) -> M:
    require_float64(divisor, "/", "the divisor")
    if a._packed and not keeps_storage(a, np.true_divide, divisor):
        return over_number(a.unpacked(), divisor)
    return changed(a, lambda values: _divided(values, stored_factor(a, divisor)))


def ufunc_method(ufunc: np.ufunc) -> Callable[[M], M]:
    """Return the method that applies a NumPy ufunc, which maps 0 to 0, to each stored value."""

    @memory.no_limit
    def method(a: M) -> M:
        return changed(_not_conjugated(unpacked(a)), ufunc)

    method.__name__ = ufunc.__name__
    method.__doc__ = f"Return `numpy.{ufunc.__name__}` of each element."
    return method
