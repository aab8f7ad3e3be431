"""Construction of matrices from all arguments that the constructors accept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._arrays import owners
from .._arrays.host_dense import as_numpy
from .._backends import memory
from .._backends.backend import CPU, Backend, get_backend, gpu
from .._backends.types import floats_for, is_narrow, named_dtype, value_dtype, widened
from . import cupy_sparse, devices
from .base import Base, is_from_scipy, issparse
from .convert import convert, unshared
from .registry import COMMON, FORMATS, default_format, format_named, relabeled
from .summary import Summary, inside
from .validation import checked_shape, is_parts, is_shape, private

_FEW_BYTES = 1 << 17  # below which our allocator leaves memory to the C library, too


def first_format(arg: Any) -> Any:
    """Return the format to which an argument is converted before a format is chosen for it."""
    return default_format(arg.shape) if is_from_scipy(arg) else FORMATS[COMMON]


def array(arg: Any, format: str | None = None, *, dtype: Any = None, device: str | None = None) -> Any:
    """Convert `arg` to diagsparse, by default to the smaller of hm and csr; return a `SparseArray` unchanged.

    Users call `diagsparse.array`, which chooses among all formats.
    """
    target = get_backend(device)  # raises if the device cannot be used
    if format is not None:
        return format_named(format).array(arg, dtype=dtype, device=device)
    if issparse(arg):
        arg = arg if dtype is None else arg.astype(dtype, copy=False)
        return arg if device is None else arg.to(target.name)
    result = first_format(arg).array(arg, dtype=dtype, device=device)
    return convert(result, "hm") if FORMATS["hm"].nbytes(result._summary()) <= result.nbytes else result


def initialize(
    a: Any, arg: Any, shape: tuple[int, int] | None, dtype: Any, copy: bool, device: str | None, max_bytes: int | None,
    layout: dict[str, Any],
) -> None:  # fmt: skip
    """Initialize a matrix from the arguments of its constructor."""
    target = None if device is None else get_backend(device)
    if is_from_scipy(arg):
        parts, given = None, arg.dtype
    elif isinstance(arg, Mapping):
        parts, arg, layout = arg, a._format.in_order(arg), a._format.parts_are | layout
        given = _dtype_of(parts.get("values"))
    else:
        parts, given = None, _dtype_of(arg)
    dtype = dtype if given is None else floats_for(given, dtype, a._format.who)
    try:
        narrow = _rounded_to(a._format, arg, dtype)
        result = a._format.construct(arg, shape, np.float32 if narrow else dtype, copy, max_bytes, target, layout)
        result = result.astype(narrow, copy=False) if narrow else result
    except (MemoryError, ValueError, TypeError) as error:
        raise relabeled(error, a.format) from None
    if parts is not None:
        _require_derived(result, parts)
    result = result if target is None else result.to(target.name)
    a._matrix, a._op, a._shape, a._dtype = result._matrix, result._op, result._shape, result._dtype
    a._packed = result._packed
    a._set_backend(result._backend)


def _dtype_of(arg: Any) -> np.dtype | None:
    """Return the dtype of the values among the constructor's arguments, None if there is none."""
    if is_parts(arg) and arg:
        arg = np.asarray(arg[0]) if isinstance(arg[0], (list, tuple)) else arg[0]
    if owners.owner_of(arg) is not None:
        return owners.dtype_of(arg)
    return arg.dtype if isinstance(getattr(arg, "dtype", None), np.dtype) else None


def _rounded_to(format: Any, arg: Any, dtype: Any) -> np.dtype | None:
    """Return the 16-bit type to which the matrix is rounded after its construction, None for none.

    Component arrays are rounded directly.
    """
    if dtype is None or not format.narrow or is_parts(arg):
        return None
    wanted = named_dtype(dtype)
    return wanted if is_narrow(wanted) else None


def _require_derived(result: Any, parts: Mapping[str, Any]) -> None:
    """Raise ValueError if component arrays that are determined by the others differ from the computed ones."""
    for name in result._format.derived:
        if name in parts and not np.array_equal(parts[name], result.parts()[name]):
            raise ValueError(f"{result.format}_array: {name} do not fit the other arrays and the shape; leave them out")


def with_options(
    format: Any, arg: Any, shape: Any, dtype: Any, max_bytes: int | None, target: Backend | None,
    options: dict[str, int],
) -> Any:  # fmt: skip
    """Build a matrix via csr with these options of the layout, which have been checked."""
    result = build(format if is_parts(arg) else FORMATS[COMMON], arg, shape, dtype, False, max_bytes, target)
    csr = convert(result, COMMON, max_bytes)
    return format.from_csr(csr, max_bytes, 0 if csr is result else csr.nbytes, **options)


def build(
    format: Any, arg: Any, shape: Any, dtype: Any, copy: bool, max_bytes: int | None, target: Backend | None
) -> Any:
    """Build a matrix on the device of `arg`, or on `target` where that is faster."""
    who = format.who
    if shape is not None:
        shape = checked_shape(shape, who)
    if issparse(arg):
        _same_shape(arg.shape, shape, who)
        value_dtype(widened(arg.dtype), dtype, who)
        if target not in (None, CPU):  # convert on the GPU
            arg = arg.to(target.name)
        result = convert(arg, format.name, max_bytes)
        result = result if dtype is None else result.astype(dtype, copy=False)
        return unshared(result, arg, max_bytes) if copy else result
    if is_from_scipy(arg):
        _same_shape(arg.shape, shape, who)
        return from_scipy(format, arg, dtype, copy, max_bytes, target or CPU)
    if cupy_sparse.issparse(arg):
        _same_shape(arg.shape, shape, who)
        return cupy_sparse.from_sparse(format, arg, dtype, max_bytes)
    if isinstance(arg, tuple):
        return _from_tuple(format, arg, shape, dtype, copy, max_bytes, target or CPU)
    if owners.owner_of(arg) is not None:
        return _from_device_dense(format, arg, shape, dtype, max_bytes)
    try:
        dense = as_numpy(arg, who)
    except ValueError:  # rows of different lengths
        raise ValueError(
            f"{who}: got {type(arg).__name__}, which NumPy cannot convert to an array of numbers"
        ) from None
    return _from_dense(format, dense, arg, shape, dtype, max_bytes, target or CPU)


def _from_tuple(
    format: Any, arg: tuple[Any, ...], shape: Any, dtype: Any, copy: bool, max_bytes: int | None,
    target: Backend,
) -> Any:  # fmt: skip
    """Build an empty matrix from a shape, or a matrix from component arrays."""
    who = format.who
    if is_shape(arg):
        wanted, dtype = checked_shape(arg, who), value_dtype(np.float64, dtype, who)
        format.require(Summary.empty(wanted, dtype.itemsize), max_bytes, target)
        return format.empty(wanted, dtype, target)
    if devices.on_gpu(arg):
        result = format.from_device_tuple(arg, shape, dtype, copy, max_bytes)
    else:
        result = format.from_tuple(arg, shape, dtype, copy, max_bytes)
    return limited(result, max_bytes)


def limited(result: Any, max_bytes: int | None) -> Any:
    """Return a matrix that was built from component arrays; raise MemoryError if it exceeds the limit."""
    if max_bytes is not None:
        memory.require(result.nbytes, max_bytes, f"{result.format}_array: the matrix of these arrays")
    return result


def _from_dense(
    format: Any, dense: np.ndarray, arg: Any, shape: Any, dtype: Any, max_bytes: int | None, target: Backend
) -> Any:
    """Build from `dense`, which is the user's `arg` as a NumPy array."""
    who = format.who
    if dense.dtype.kind not in "iubfc" and not is_narrow(dense.dtype):
        raise TypeError(
            f"{who}: got {type(arg).__name__} of {dense.dtype} values; expected a sparse matrix, "
            "a dense 2-D array of numbers, a shape, or component arrays"
        )
    if dense.ndim != 2:
        raise ValueError(f"{who}: got an array of shape {dense.shape}, expected two dimensions")
    _same_shape(dense.shape, shape, who)
    dtype = value_dtype(dense.dtype, floats_for(dense.dtype, dtype, who), who)
    if (each := 24 + 2 * dtype.itemsize) * dense.size > memory.SMALL:  # per entry
        entries = int(np.count_nonzero(dense))
        memory.require_free(entries * each, f"{who}: {entries} entries of a dense array of shape {dense.shape}")
    return from_scipy(format, sp.csr_array(dense.astype(dtype, copy=False)), None, False, max_bytes, target)


def _from_device_dense(format: Any, x: Any, shape: Any, dtype: Any, max_bytes: int | None) -> Any:
    """Build from a dense array on a GPU, on that GPU; arrays of libraries other than CuPy are copied via the host."""
    who, owner = format.who, owners.owner_of(x)
    assert owner is not None
    if len(x.shape) != 2:
        raise ValueError(f"{who}: got an array of shape {tuple(x.shape)}, expected two dimensions")
    _same_shape(x.shape, shape, who)
    dtype, backend = value_dtype(owner.dtype(x), dtype, who), gpu(owner.device_index(x))
    if owner is owners.CuPy:
        return cupy_sparse.from_dense(format, x, dtype, max_bytes)
    fits = owner is owners.AnyLibrary or owner.dtype(x) == dtype
    dense = owner.view(backend.core, x if fits else owner.cast(x, dtype), backend.index).get()
    return _from_dense(format, dense, x, shape, dtype, max_bytes, backend).to(backend.name)


def _same_shape(given: tuple[int, ...], wanted: tuple[int, int] | None, who: str) -> None:
    if len(given) != 2:
        raise ValueError(f"{who}: got shape {given}, expected two dimensions")
    if wanted is not None and tuple(given) != wanted:
        raise ValueError(f"{who}: shape={wanted}, but the matrix is {given[0]} x {given[1]}")


def from_scipy(format: Any, a: Any, dtype: Any, copy: bool, max_bytes: int | None, target: Backend) -> Any:
    """Build on the CPU; diagonals are converted from csr on `target`, which is faster and copies less."""
    dtype = value_dtype(a.dtype, dtype, format.who)
    if a.format == "dia":  # SciPy would convert it with 32-bit offsets
        result = _from_diagonals(format.for_diagonals(), private(a, format.who)[0], dtype, max_bytes)
        return convert(result, format.name, max_bytes)
    return format.from_scipy(a, dtype, copy, max_bytes, target)


def peak_nbytes(format: Any, a: Any, converted: Any) -> int:
    """Return the bytes that `from_scipy` needs on the CPU for `a`; `converted` is ``operands.as_sparse(a)``."""
    s = converted._summary()
    if a.format != "dia":
        return format.peak_from_scipy(a, converted, s)
    first = format.for_diagonals()
    if first is format:
        return first.nbytes(s)
    return max(first.nbytes(s), format.nbytes(s) + format.workspace(s, converted) + format.smaller_copy_nbytes(s))


def in_c_order(a: np.ndarray, dtype: Any, who: str, name: str = "values", copy: bool = False) -> np.ndarray:
    """Return an array in a dtype (its own if None) and in C order, copied if it has to be or if `copy` is set.

    Raises MemoryError before a copy that does not fit: an array whose elements share memory may have any size.
    """
    wanted = a.dtype if dtype is None else np.dtype(dtype)
    if copy or a.dtype != wanted or not (a.flags.c_contiguous and a.flags.aligned):
        if (nbytes := a.size * wanted.itemsize) >= memory.SMALL:
            memory.require_free(nbytes, f"{who}: a copy of {name}")
        if nbytes < _FEW_BYTES or wanted.hasobject:
            return np.array(a, wanted, order="C")
        result = CPU.core.empty_bytes(nbytes).view(wanted).reshape(a.shape)
        np.copyto(result, a, casting="unsafe")
        return result
    return a


def _from_diagonals(format: Any, a: Any, dtype: np.dtype, max_bytes: int | None) -> Any:
    """Realign SciPy's diagonals (``data[d, j] = A[j - offsets[d], j]``)."""
    offsets = [int(k) for k in a.offsets]
    format.require(Summary(a.shape, dtype.itemsize, a.nnz, offsets=lambda: inside(a.shape, offsets)), max_bytes, CPU)
    data = in_c_order(a.data, dtype, format.who)
    return Base._wrap(CPU.core.realigned(format.name, *a.shape, data, offsets))
