"""Conversions to other formats, dtypes and devices, and to SciPy, CuPy and NumPy."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from .._arrays import host_dense
from .._backends import memory
from .._backends.arguments import integer
from .._backends.backend import CPU, get_backend
from .._backends.docstrings import completed_by
from .._backends.types import value_dtype
from . import cupy_sparse, devices
from .base import M
from .convert import convert, to_csr, unpacked, unshared
from .elementwise_functions import rewritten
from .registry import SCIPY_ONLY, format_named


def asformat(a: M, format: str | None, copy: bool = False, *, max_bytes: int | None = None, **layout: Any) -> M:
    """Return this matrix in another format.

    Parameters
    ----------
    format : str or None
        If this is the format of the matrix, or None, the matrix itself is returned, unless ``copy=True``. ``"bsr"``
        gives SciPy's `bsr_array`, as `tobsr`.
    copy : bool
        Whether the result must not share values with this matrix. Conversions to other formats never share them.
    max_bytes : int, optional
        Limit for the result and the temporary memory; by default the free memory.
    **layout
        Options of the layout (such as `symmetry` and `period` of the diagonal formats), as in the constructor. Without
        options, a packed matrix stays packed among dia, hm and cdm, and is stored in full in every other format.

    Raises
    ------
    ValueError
        For an unknown format, or one that cannot hold this shape.
    NotImplementedError
        For SciPy's lil and dok; the message names the alternative.
    MemoryError
        If the result and the temporary memory exceed `max_bytes` or the free memory. `diagsparse.forecast` returns the
        number of bytes.
    """
    if layout:
        return format_named(format or a.format).array(a, copy=copy, max_bytes=max_bytes, **layout)
    if format in SCIPY_ONLY:
        return getattr(a, f"to{format}")()
    result = a if format is None else convert(a, format, max_bytes)
    if copy or result is not a:  # conversions share nothing, as in SciPy
        result = unshared(result, a, max_bytes)
    return result


def to(a: M, device: str) -> M:
    """Return this matrix on a device: the matrix itself if it is there already, else a copy.

    Parameters
    ----------
    device : {"cpu", "cuda", "cuda:1", ...}
        The device. The copy of a view (`A.T`, `A.H`) is a view as well.

    Raises
    ------
    CudaUnavailable
        If the device cannot be used; the message says what is missing.
    MemoryError
        If the matrix does not fit into the free memory of the device.
    """
    if device is None:
        raise TypeError('to: device None: expected "cpu", "cuda" or "cuda:0", "cuda:1", ...')
    target = get_backend(device)
    return a if target is a._backend else devices.moved(a, target)


def to_cupy(a: Any, format: str | None = None) -> Any:
    """Return this matrix as a `cupyx.scipy.sparse` matrix on the GPU. A matrix on the cpu is copied to the GPU first.

    Parameters
    ----------
    format : {"csr", "csc", "coo", "dia"}, optional
        By default the format of this matrix if CuPy has it, else the nearest one. The values of csr, csc and coo are
        shared and their indices are copied; ``"dia"`` is aligned by column and always a copy.

    Raises
    ------
    ImportError
        If CuPy is not installed.
    """
    return cupy_sparse.to_cupy(a, format)


def astype(a: M, dtype: Any, copy: bool = True) -> M:
    """Return this matrix with its values converted to `dtype`; without `copy`, the matrix itself if nothing changes.

    Raises
    ------
    TypeError
        For a dtype that the format does not store, and for complex values converted to real ones.
    """
    wanted = value_dtype(a.dtype, dtype, f"{a.format}_array.astype", narrow=a._format.narrow)
    if wanted == a.dtype:
        return a.copy() if copy else a
    return rewritten(a, lambda values: values.astype(wanted))


def unpack(a: M, *, max_bytes: int | None = None) -> M:
    """Return this matrix with every element stored, and 16-bit values as float32; itself if it is not packed.

    Raises
    ------
    MemoryError
        If the result exceeds `max_bytes` or the free memory.
    """
    return a._format.unpacked(a, max_bytes)


def _dense_output(a: Any, order: str | None, out: np.ndarray | None) -> np.ndarray:
    """Return the array of zeros that `toarray` fills: `out`, after checks, or a new array."""
    m, n = a._shape
    if out is None:
        if (nbytes := m * n * a._dtype.itemsize) > memory.SMALL:
            memory.require_free(nbytes, f"toarray: a dense {m} x {n} array")
        return np.zeros(a._shape, a._dtype, cast(Any, order or "C"))
    if order is not None:
        raise ValueError("toarray: order and out cannot be combined")
    if not isinstance(out, np.ndarray) or out.shape != (m, n) or out.dtype != a.dtype:
        given = f"{out.dtype} of shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise ValueError(f"toarray: out is {given}, expected {a.dtype} of shape {(m, n)}")
    if a._backend is CPU and np.may_share_memory(out, a._matrix.values):
        raise ValueError("toarray: out is part of A's values")
    out.fill(0)
    return out


# ---- copies, and conversions to NumPy and SciPy -------------------------------------------------
@memory.no_limit
def copy(a: M) -> M:
    """Return an independent copy; the copy of a view is stored as the view shows it."""
    if a._op & 1:
        return a._format.materialized(a)
    values = a._matrix.values
    return a._wrap(a._matrix.with_values(values.conj() if a._op else values.copy()))


@memory.no_limit
def to_scipy(a: Any, format: str | None = None) -> Any:
    """Return this matrix as a SciPy sparse array of the given format, by default the nearest one."""
    return to_csr(a).to_scipy(format)


@memory.no_limit
def toarray(a: Any, order: str | None = None, out: np.ndarray | None = None) -> np.ndarray:
    """Return a dense NumPy array of shape (m, n).

    Parameters
    ----------
    order : {"C", "F"}, optional
        The memory order; by default ``"C"``.
    out : NumPy array, shape (m, n), optional
        Receives the elements and is returned; it must have the dtype of the matrix.

    Raises
    ------
    ValueError
        If `out` has another shape or dtype, or both `order` and `out` are given.
    MemoryError
        If the dense array does not fit.
    """
    dense = _dense_output(a, order, out)
    if a._backend is not CPU:
        return a.to("cpu").toarray(out=dense)
    wide = unpacked(a)
    if wide._dtype == a._dtype and (out is None or host_dense.is_addressable(out)):
        wide._format.write_dense(wide, dense, 1, False)
    else:
        dense[...] = wide.toarray()
    return dense


@completed_by(toarray)
def todense(a: Any, order: str | None = None, out: np.ndarray | None = None) -> np.ndarray:
    """Return a dense NumPy array; the same as `toarray`."""
    return a.toarray(order, out)


@memory.no_limit
def diagonal(a: Any, k: int = 0) -> np.ndarray:
    """Return a copy of diagonal `k` (0: the main one) as a NumPy array; elements that are not stored are 0."""
    if not a._op:
        return to_csr(a).diagonal(k).astype(a._dtype, copy=False)
    k = integer(k, "diagonal: k")
    values = a._wrap(a._matrix).diagonal(-k if a._op & 1 else k)
    return values.conj() if a._op & 2 else values


@memory.no_limit
def eliminate_zeros(a: Any) -> None:
    """Remove the stored zeros, in place."""
    csr = to_csr(a).copy()
    csr.eliminate_zeros()
    a._matrix, a._op = a._format.rebuilt_from_csr(a, csr)._matrix, 0
