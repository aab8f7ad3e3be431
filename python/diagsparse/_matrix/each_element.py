"""What is done to each stored value: functions for which 0 is 0, and numbers that multiply, divide or are powers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import frexp
from typing import TYPE_CHECKING, Any

import numpy as np

from .._places.backend import CPU
from .._places.types import is_narrow, require_float64, value_dtype
from .convert import unpacked
from .numpy_functions import ZERO_STAYS_ZERO

if TYPE_CHECKING:
    from .base import SparseArray


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


class EachElement:
    """Methods that work on stored values; mixed into every matrix class."""

    def _with(self: SparseArray, change: Callable[[Any], Any]) -> SparseArray:
        """Return this view with its stored values changed; overflow warns as in NumPy."""
        if self._packed and is_narrow(self._dtype):
            made = self._widened()._with(change)
            return made if made.dtype.kind == "c" else made.astype(self.dtype)
        return self._rewritten(change)

    def _rewritten(self: SparseArray, change: Callable[[Any], Any]) -> SparseArray:
        """Return the same, in the type that the values then have."""
        values, overflowed = _changed(change, self._matrix.values)
        if values.dtype != self._dtype:
            value_dtype(values.dtype, None, f"{self.format}_array", narrow=True)  # raises
        if self._place is CPU:
            values = np.ascontiguousarray(values)
        new: SparseArray = self._wrap(self._matrix.with_values(values), self._op)
        if overflowed and new._holds_infinities():
            _warn_of_overflow(change, self._dtype)
        return new

    def _holds_infinities(self: SparseArray) -> bool:
        """Whether an element is infinite; padding is none."""
        return bool(np.isinf(self._wrap(self._matrix)._to_csr().values).any())

    def _stored(self: SparseArray, factor: Any) -> Any:
        """Return the factor for stored values that acts as `factor` on the values of this view."""
        factor = factor[()] if isinstance(factor, np.ndarray) else factor
        return factor.conjugate() if self._op & 2 else factor

    def _scaled(self: SparseArray, factor: Any) -> SparseArray:
        require_float64(factor, "*", "the factor")
        if self._packed and not self._keeps_storage(np.multiply, factor):
            return self.unpacked()._scaled(factor)
        return self._with(lambda values: values * self._stored(factor))

    def __neg__(self: SparseArray) -> SparseArray:
        return self._with(operator.neg)

    def __abs__(self: SparseArray) -> SparseArray:
        return self._with(abs)

    def __pow__(self: SparseArray, power: Any) -> SparseArray:
        if not is_scalar(power):
            raise NotImplementedError(f"** works element by element and takes a positive number, got {power!r}")
        if power == 0:
            raise NotImplementedError("A**0 would fill the matrix with ones; use numpy.ones(A.shape)")
        if np.iscomplexobj(power) or not power > 0:
            raise ValueError(f"** works element by element and takes a positive number, got {power!r}")
        require_float64(power, "**", "the power")
        power = power[()] if isinstance(power, np.ndarray) else power
        plain = self.copy() if self._op & 2 else self
        if not self._packed or self.dtype.kind != "c" or self.symmetry != "hermitian":
            return plain._with(lambda values: values**power)
        return self.unpacked()._with(lambda values: values**power)  # roots of conjugates are no conjugates

    def __round__(self: SparseArray, ndigits: int = 0) -> SparseArray:
        plain = unpacked(self)
        return plain._with(lambda values: np.round(values, ndigits))

    def power(self: SparseArray, n: Any, dtype: Any = None) -> SparseArray:
        """Return each element to the power `n`, a positive number; ``A ** n``."""
        return (self if dtype is None else self.astype(dtype, copy=False)) ** n

    @property
    def real(self: SparseArray) -> SparseArray:
        """The real parts; the matrix itself where it is real."""
        return self if self.dtype.kind != "c" else unpacked(self)._with(lambda values: values.real)

    @property
    def imag(self: SparseArray) -> SparseArray:
        """The imaginary parts; stored zeros where the matrix is real."""
        plain = unpacked(self)
        return (plain.copy() if plain._op & 2 else plain)._with(lambda values: 1 * np.imag(values))

    def __imul__(self: SparseArray, factor: Any) -> Any:
        """Multiply the stored values by a number, in place; every view of the matrix changes with them."""
        return self._in_place(np.multiply, factor, "*=") if is_scalar(factor) else NotImplemented

    def __itruediv__(self: SparseArray, divisor: Any) -> Any:
        """Divide the stored values by a number, in place."""
        return self._in_place(np.true_divide, divisor, "/=") if is_scalar(divisor) else NotImplemented

    def _keeps_storage(self: SparseArray, ufunc: Any, number: Any) -> bool:
        """Whether symmetric or Hermitian storage holds the result: zero divides 1 + 0i into what is no real number."""
        return not self._matrix.symmetry or (_keeps_symmetry(number) and (ufunc is np.multiply or number != 0))

    def _in_place(self: SparseArray, ufunc: Any, number: Any, who: str) -> SparseArray:
        require_float64(number, who, "the factor")
        if np.iscomplexobj(number) and self._dtype.kind != "c":
            raise TypeError(f"{who}: {number!r} is complex, but {self!r} is real; write A = A * s")
        if self._place is not CPU or is_narrow(self._dtype) or not self._keeps_storage(ufunc, number):
            made = self * number if ufunc is np.multiply else self / number
            if made.dtype != self.dtype or made._matrix.symmetry != self._matrix.symmetry:
                raise TypeError(f"{who}: {number!r} changes how {self!r} is stored; write A = A * s")
            self._write(made._matrix.values, "values")
            return self

        def change(values: Any) -> Any:
            return ufunc(values, self._stored(number), out=values, casting="same_kind")

        _, overflowed = _changed(change, self._matrix.stored_values)
        if overflowed and self._holds_infinities():
            _warn_of_overflow(change, self._dtype)
        return self

    def _over_number(self: SparseArray, divisor: Any) -> SparseArray:
        require_float64(divisor, "/", "the divisor")
        if self._packed and not self._keeps_storage(np.true_divide, divisor):
            return self.unpacked()._over_number(divisor)
        return self._with(lambda values: _divided(values, self._stored(divisor)))


def _of_each(ufunc: np.ufunc) -> Any:
    """Return the method that calls a function of NumPy's, for which 0 is 0, for each stored value."""

    def method(self: SparseArray) -> SparseArray:
        plain = unpacked(self)
        return (plain.copy() if plain._op & 2 else plain)._with(ufunc)

    method.__name__ = ufunc.__name__
    method.__doc__ = f"Return `numpy.{ufunc.__name__}` of each element."
    return method


for _ufunc in ZERO_STAYS_ZERO:
    setattr(EachElement, _ufunc.__name__, _of_each(_ufunc))
