"""What the functions of the gallery have in common: documentation, names in errors, and checks of arguments."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from .._backends.docstrings import completed_by

Dtype = DTypeLike | None
Format = str | None
Rows = tuple[int, int] | None
Seed = int | Sequence[int] | np.random.Generator | None
P = ParamSpec("P")
R = TypeVar("R")

_DTYPES = tuple(np.dtype(name) for name in ("float32", "float64", "complex64", "complex128"))
_PREFIX = re.compile(r"^gallery\.\w+: ")
_documented = completed_by("""
Parameters
----------
n : int
    Order of the matrix.
sites : int
    Number of spins, at most 30, or 40 with `rows`.
periodic : bool
    Whether the last site is a neighbour of the first one, for 3 or more sites.
dtype : dtype
    float32, float64, complex64 or complex128.
rows : (first, last), optional
    Build only the rows first, ..., last - 1, for example those of one process. They form a matrix of shape
    (last - first, n) with the same bits as in the whole matrix, which may have up to 2**40 rows. The result is a
    `csr_array`, or by `format` a diagsparse matrix; diagonals that are zero in these rows are left out. Time and memory
    are proportional to these rows. By default, all rows are built.
seed : int, sequence of int or numpy.random.Generator, optional
    Anything that `numpy.random.default_rng` accepts. The same seed and dtype give the same matrix.
format : str, optional
    One of `diagsparse.formats()`, for a diagsparse matrix. By default, the result is a SciPy sparse array.

Returns
-------
dia_array, shape (n, n)
""")


def gallery_function(function: Callable[P, R]) -> Callable[P, R]:
    """Add what functions of the gallery have in common to a docstring, and begin errors with the function's name."""
    name = f"gallery.{function.__name__}"

    @_documented
    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except (MemoryError, TypeError, ValueError) as error:
            # An error in another function of the gallery begins with the name of that one, which the user did not call.
            error.args = (f"{name}: {_PREFIX.sub('', str(error))}",)
            raise

    return call


def checked_dtype(dtype: Dtype) -> np.dtype[Any]:
    if (result := np.dtype(dtype)) not in _DTYPES:
        raise TypeError(f"dtype is {result}, expected {', '.join(d.name for d in _DTYPES)}")
    return result


def whole_number(name: str, value: Any, meaning: str) -> int:
    """Return an argument as an int; raise TypeError or ValueError unless it is a whole number >= 0."""
    if not hasattr(value, "__index__"):
        raise TypeError(f"{name} is {value!r}, expected {meaning}, a whole number")
    if (result := operator.index(value)) < 0:
        raise ValueError(f"{name} is {result}, expected {meaning} >= 0")
    return result


def require_fraction(name: str, value: float, of: str = "") -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"{name} is {value}, expected a fraction {of and f'of {of} '}from 0 to 1")


def numbers(name: str, values: ArrayLike) -> NDArray[Any]:
    result = np.asarray(values)
    if result.ndim != 1 or result.dtype.kind not in "biufc":
        raise TypeError(f"{name} is {result.dtype} {result.shape}, expected a 1-D array of numbers")
    return result
