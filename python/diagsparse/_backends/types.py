"""Value types, and the result types of products and sums."""

from __future__ import annotations

import sys
import warnings
from functools import cache, lru_cache
from numbers import Number
from typing import Any

import numpy as np

VALUE_TYPES = tuple(np.dtype(t) for t in (np.float32, np.float64, np.complex64, np.complex128))
_NAMES = "float32, float64, complex64 or complex128"
_NARROW = ("float16", "bfloat16")  # storage types of some formats; arithmetic widens them
_LONG = (np.longdouble, np.clongdouble)
_WIDENED = np.dtype(np.float32)


class ConversionWarning(UserWarning):
    """A matrix was converted implicitly where the caller may not expect it."""


@cache
def dtype_name(dtype: np.dtype) -> str:
    """Return the name of a dtype; NumPy needs some microseconds to build it."""
    return dtype.name


def is_narrow(dtype: np.dtype) -> bool:
    """Whether values are stored in 16 bits."""
    return dtype.itemsize == 2 and dtype.name in _NARROW


@cache
def _bfloat16() -> np.dtype:
    try:
        import ml_dtypes
    except ImportError:
        raise ImportError('bfloat16 values need the package ml_dtypes: pip install "diagsparse[bfloat16]"') from None
    return np.dtype(ml_dtypes.bfloat16)


def named_dtype(dtype: Any) -> np.dtype:
    """Return a NumPy dtype; "bfloat16" is recognized by its name."""
    return _bfloat16() if isinstance(dtype, str) and dtype == "bfloat16" else np.dtype(dtype)


def widened(dtype: np.dtype) -> np.dtype:
    """Return the type in which arithmetic on values of this type is done."""
    return _WIDENED if is_narrow(dtype) else dtype


def real_type(dtype: np.dtype) -> np.dtype:
    """Return the real type of the same precision."""
    return np.empty(0, widened(dtype)).real.dtype


def complex_type(dtype: Any) -> np.dtype:
    """Return the complex type of the same precision as float32, float64, or one that is complex already."""
    return np.result_type(dtype, np.complex64)


def replacement(dtype: np.dtype) -> str:
    """Return the name of the supported type to which errors advise to convert values of an unsupported one."""
    return "complex128" if dtype.kind == "c" else "float32" if is_narrow(dtype) else "float64"


def value_dtype(given: Any, requested: Any, who: str, narrow: bool = False, argument: str = "") -> np.dtype:
    """Return the dtype in which values of dtype `given` are stored: `requested`, if the user passed one.

    With `narrow` it may be float16 or bfloat16. Raise TypeError for integers, bools and other types whose conversion
    was not requested, for a requested type that no kernel handles, and if imaginary parts would be lost. The error
    advises to pass dtype=, or to convert `argument`, the name of the values, if the caller has no dtype=.
    """
    given = np.dtype(given).newbyteorder("=")
    names = f"float16, bfloat16, {_NAMES}" if narrow else _NAMES
    if requested is None:
        if given in VALUE_TYPES or (narrow and is_narrow(given)):
            return given
        if given.kind not in "iubfc" and not is_narrow(given):
            hint = "the values must be numbers"
        elif argument:
            hint = f"{argument}.astype({replacement(given)!r}) converts"
        elif given.kind in "iub":
            hint = "pass dtype=np.float64 (or another) to convert"
        elif is_narrow(given):
            hint = f'pass dtype="float32" to convert, or dtype="{given.name}" for a format that stores 16-bit floats'
        else:
            hint = "pass dtype= to convert"
        raise TypeError(f"{who}: got {given} values, expected {names}; {hint}")
    wanted = named_dtype(requested).newbyteorder("=")
    if wanted not in VALUE_TYPES and not (narrow and is_narrow(wanted)):
        raise TypeError(f"{who}: dtype {wanted}: expected {names}")
    if given.kind not in "iubfc" and not is_narrow(given):
        raise TypeError(f"{who}: got {given} values, expected numbers")
    if given.kind == "c" and wanted.kind != "c":
        raise TypeError(f"{who}: {given} values do not fit {wanted}; the imaginary parts would be lost")
    return wanted


def floats_for(given: np.dtype, requested: Any, who: str) -> Any:
    """Return `requested`, or float64 with a `ConversionWarning` for integers and bools without a requested dtype.

    The warning points to the line that called this library.
    """
    if requested is not None or given.kind not in "iub":
        return requested
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "diagsparse":
        frame, level = frame.f_back, level + 1
    message = f"{who}: {given} values become float64; pass dtype= to choose"
    warnings.warn(message, ConversionWarning, stacklevel=level)
    return np.dtype(np.float64)


@lru_cache(maxsize=256)
def product_dtypes(a: np.dtype, x: np.dtype) -> tuple[np.dtype, np.dtype]:
    """Return the dtype that the right operand is converted to, and the dtype of the product with dtype `a`.

    The product has NumPy's ``result_type``. The left operand is used as stored; the right operand is widened to at
    least its precision, and a real block stays real.
    """
    a, x = widened(a), widened(x)
    if x.kind not in "iubfc":
        raise TypeError(f"cannot multiply {a} by {x} values")
    result = np.result_type(a, x)
    if result not in VALUE_TYPES:
        raise TypeError(f"cannot multiply {a} by {x}: no kernel computes in {result}")
    double = result in (np.float64, np.complex128)
    if x.kind == "c":
        return np.dtype(np.complex128 if double else np.complex64), result
    return np.dtype(np.float64 if double else np.float32), result


def solved_in(a: np.dtype, b: np.dtype) -> np.dtype:
    """Return the dtype in which systems are solved: real or complex like the matrix, in the precision of ``A @ b``."""
    double = product_dtypes(a, b)[1] in (np.float64, np.complex128)
    return np.dtype({"f": ("float32", "float64"), "c": ("complex64", "complex128")}[a.kind][double])


def sum_dtype(a: np.dtype, b: np.dtype) -> np.dtype:
    """Return NumPy's ``result_type``; where NumPy has no common type with a 16-bit float, that of the widened types."""
    try:
        return np.result_type(a, b)
    except TypeError:
        return np.result_type(widened(a), widened(b))


def chain_dtype(a: np.dtype, x: np.dtype, factors_are_complex: bool) -> np.dtype:
    """Return the dtype of a chain of products with `a` applied to `x`: that of the product, complex if a factor is."""
    result = product_dtypes(a, x)[1]
    return np.result_type(result, np.complex64) if factors_are_complex else result


def plain_number(factor: Any) -> float | complex:
    """Return a factor as a Python number, which does not widen what it scales; real if its imaginary part is 0."""
    number = complex(factor)
    return number if number.imag else number.real


def require_float64(factor: Any, who: str, name: str) -> None:
    """Raise ValueError for a number beyond the range of float64, such as ``10**400``."""
    try:
        number = complex(factor)
    except OverflowError:
        raise ValueError(f"{who}: {name} is beyond the range of float64") from None
    if type(factor) in _LONG and np.isfinite(factor) and not np.isfinite(number):
        raise ValueError(f"{who}: {name} is beyond the range of float64")


def check_scalars(dtype: np.dtype, alpha: complex, beta: complex, who: str) -> None:
    """Raise TypeError for factors that are not numbers, and for complex factors of a real product."""
    for name, factor in (("alpha", alpha), ("beta", beta)):
        if not isinstance(factor, Number) and not (isinstance(factor, np.ndarray) and factor.ndim == 0):
            raise TypeError(f"{who}: {name}={factor!r}: expected a number")
        require_float64(factor, who, name)
        if factor.imag and dtype.kind != "c":
            wider = np.result_type(dtype, np.complex64)
            raise TypeError(
                f"{who}: {name}={factor} is complex, but the product is {dtype}; expected a real number, or a complex "
                f"operand: A.astype(np.{wider})"
            )
