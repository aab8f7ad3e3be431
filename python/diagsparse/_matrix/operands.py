"""The other operand of a sum or a product: its kind, its conversion to diagsparse, and its device."""

from __future__ import annotations

import sys
from array import array
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._arrays import owners, tensors
from .._arrays.host_dense import as_numpy
from .._backends.backend import CPU, Backend
from .._backends.types import replacement
from . import cupy_sparse
from .base import Base, is_from_scipy
from .registry import COMMON, FORMATS, default_format

_UNSUPPORTED = "gGe"  # floating-point types that csr does not store, by NumPy's characters


def is_dense(x: Any) -> bool:
    """Whether `x` is a numeric vector or block: an array on a GPU, a tensor, or an array_like for NumPy.

    Objects with ``__array_ufunc__ = None``, such as a batch, implement products themselves.
    """
    if isinstance(x, np.ndarray) or owners.owner_of(x) is not None or tensors.is_tensor(x):
        return True
    arrays = hasattr(x, "__array__") and getattr(x, "__array_ufunc__", ()) is not None
    if arrays or isinstance(x, (list, tuple, memoryview, array)):
        return np.asarray(x).dtype.kind in "iubfc"
    return False


def as_sparse(x: Any, device: Backend = CPU, copy: bool = False) -> Any:
    """Convert a sparse matrix of SciPy or CuPy to diagsparse: dia to dia, others to csr; return None for other objects.

    A SciPy matrix is copied to `device`, that of the other operand; without `copy` a csr matrix may share its
    values. A CuPy matrix stays on its GPU, and is always copied. One-dimensional sparse arrays, such as a row ``A[i]``,
    give None: SciPy multiplies by them.
    """
    if isinstance(x, Base):
        return x
    if is_from_scipy(x):
        if x.ndim == 1:
            return None
        kind = FORMATS["dia"] if x.format == "dia" else default_format(x.shape)
        return kind.array(x, dtype=_as_operands(x), copy=copy and device is CPU, device=device.name)
    if cupy_sparse.issparse(x):
        return FORMATS["dia" if x.format == "dia" else COMMON].array(x)
    return None


def _as_operands(x: Any) -> Any:
    """Return the dtype to which integers and bools are converted in sums and products; None for other types."""
    return np.float64 if x.dtype.kind in "iub" else None


def is_linear_operator(x: Any) -> bool:
    """Whether `x` is a LinearOperator of SciPy, whose module is imported only by those who use it: it takes long."""
    linalg = sys.modules.get("scipy.sparse.linalg")
    return isinstance(x, getattr(linalg, "LinearOperator", ()))


def as_linear_operator(a: Any) -> Any:
    """Return a matrix as SciPy's LinearOperator."""
    from scipy.sparse.linalg import aslinearoperator

    return aslinearoperator(a)


def is_sparse(x: Any) -> bool:
    """Whether `x` is a sparse matrix of diagsparse, SciPy or CuPy."""
    return isinstance(x, Base) or sp.issparse(x) or cupy_sparse.issparse(x)  # the fastest check first


def as_operand(x: Any, device: Backend = CPU) -> Any:
    """Convert a sparse matrix to diagsparse, if possible in the same format: the right operand of `+`, `*`, `==`.

    A one-dimensional SciPy array is a row, as in NumPy.
    """
    if is_from_scipy(x) and x.ndim == 1:
        x = x.reshape(1, -1)
    if is_from_scipy(x) and x.format in FORMATS:
        return FORMATS[x.format].array(x, dtype=_as_operands(x), device=device.name)
    result = as_sparse(x, device)
    assert result is not None
    return result


def class_name(x: Any) -> str:
    """Return the name of the class of an object for errors; SciPy's matrices have names that ours have, too."""
    return ("SciPy's " if is_from_scipy(x) else "") + type(x).__name__


def require_sparse(x: Any, who: str, name: str, device: Backend = CPU, copy: bool = False) -> Any:
    """Convert a sparse matrix of SciPy or CuPy to diagsparse; raise TypeError for other objects."""
    result = as_sparse(x, device, copy)
    if result is None:
        given = type(x).__name__ + (f" of shape {x.shape}" if sp.issparse(x) else "")
        raise TypeError(f"{who}: {name} is {given}, expected a sparse matrix (of diagsparse, SciPy or CuPy)")
    return result


def require_matrix(x: Any, who: str, name: str) -> None:
    """Raise TypeError or ValueError unless `x` is a sparse matrix or a dense 2-D array of numbers."""
    expected = "expected a sparse matrix (of diagsparse, SciPy or CuPy) or a dense 2-D array of numbers"
    try:
        array_like = not isinstance(x, tuple) and (is_sparse(x) or is_dense(x))
    except ValueError:  # rows of different lengths
        array_like = False
    if not array_like:
        raise TypeError(f"{who}: {name} is {type(x).__name__}, {expected}")
    shape = x.shape if hasattr(x, "shape") else np.shape(x)
    if len(shape) != 2:
        raise ValueError(f"{who}: {name} has shape {tuple(shape)}, {expected}")
    if not is_sparse(x) and (dtype := owners.dtype_of(x)).kind not in "iubfc":
        raise TypeError(f"{who}: {name} is an array of {dtype} values, {expected}")


def as_matrix(x: Any, who: str, name: str = "A") -> Any:
    """Convert a sparse matrix or a dense 2-D array to diagsparse; integers and bools become float64."""
    require_matrix(x, who, name)
    if (result := as_sparse(x)) is not None:
        return result
    dtype = owners.dtype_of(x)
    require_type(dtype, who, name)
    return FORMATS[COMMON].array(x, dtype=np.float64 if dtype.kind in "iub" else None)


def require_type(dtype: np.dtype, who: str, name: str) -> None:
    """Raise TypeError for floating-point types that csr does not store."""
    if dtype.char in _UNSUPPORTED:
        expected = "float32, float64, complex64 or complex128"
        raise TypeError(f"{who}: {name} has {dtype} values, expected {expected}: {name}.astype({replacement(dtype)!r})")


def home_of(*operands: Any) -> Backend:
    """Return the device to which SciPy's operands are copied: that of the first other operand, else the CPU."""
    for x in operands:
        if isinstance(x, Base):
            return x._backend
        if cupy_sparse.issparse(x):
            return cupy_sparse.home(x)
    return CPU


def check_same_device(who: str, a: Any, b: Any, names: tuple[str, str] = ("A", "B")) -> None:
    """Raise ValueError for operands on different devices."""
    if a._backend is not b._backend:
        raise ValueError(
            f'{who}: {names[0]} is on {a.device} and {names[1]} on {b.device}; move one: {names[1]}.to("{a.device}")'
        )


def require_broadcast(a: Any, shape: Any, who: str) -> None:
    """Raise ValueError if an array of this shape cannot be broadcast to the shape of `a`."""
    try:
        fits = np.broadcast_shapes(tuple(shape), a.shape) == a.shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"{who}: shape {tuple(shape)} does not broadcast to {a.shape[0]} x {a.shape[1]}")


def require_shape(a: Any, shape: tuple[int, ...], who: str) -> None:
    """Raise ValueError if the shape is not that of `a`."""
    if tuple(shape) != a.shape:
        words = " x ".join(map(str, shape))
        raise ValueError(f"{who}: A is {a.shape[0]} x {a.shape[1]}, the other operand {words}")


def dense_operand(a: Any, other: Any, who: str) -> Any:
    """Return an array on a GPU unchanged if the matrix is on a GPU too; anything else as a NumPy array."""
    if owners.owner_of(other) is None:
        return as_numpy(other, who)
    owners.refuse_gpu_array(other, a._backend, who)
    return other
