"""Products sampled on a structure: only the elements of X Y^T that a matrix stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import numpy as np

from .._arrays import device_arrays, device_dense, host_dense, owners, streams
from .._backends import memory
from .._backends.backend import CPU, Backend
from .._backends.types import product_dtypes
from .._matrix.base import TRANSPOSED
from .._matrix.construct import in_c_order
from .._matrix.convert import unpacked
from .._matrix.operands import check_same_device, class_name, require_sparse
from .._matrix.registry import FORMATS, formats
from .._matrix.sparse_array import SparseArray
from .._show import display
from . import batch_vectors
from .batch import Batch

_WHO = "sampled_product"
M = TypeVar("M", bound=Any)


def sampled_product(pattern: M, X: Any, Y: Any, /, *, out: M | None = None, stream: Any = None) -> M:
    """Return the elements of ``X Y^T`` where `pattern` stores elements: ``C[i, j] = sum over p of X[i, p] Y[j, p]``.

    This is the gradient of a product: if L depends on ``y = A @ x``, and g is its gradient with respect to y, then
    ``sampled_product(A, g, x)`` is its gradient with respect to the stored values of A. The full m x n product is never
    computed. Nothing is conjugated.

    Parameters
    ----------
    pattern : sparse matrix, shape (m, n), or batch
        In dia, hm, cdm, csr, csc, mdia or bmsparse, also a view; or a matrix of SciPy or CuPy. Only its structure
        matters, including explicit zeros. Its values and its dtype do not. For a batch, the result is the batch of the
        products for each member, and X and Y have the shapes of vectors and blocks that a batch multiplies.
    X : array_like, shape (m,) or (m, p)
        A row for each row of `pattern`. As in `SparseArray.matvec` it may be an array of CuPy, PyTorch or JAX on the
        GPU of `pattern`.
    Y : array_like, shape (n,) or (n, p)
        A row for each column of `pattern`. For a product ``X @ Z`` with Z of shape (p, n), pass ``Z.T``, which copies
        nothing. Vectors X and Y stand for single columns, so that C consists of elements of ``np.outer(X, Y)``.
    out : sparse matrix, optional
        A matrix with the structure of `pattern` and the dtype of the result, such as an earlier result or `pattern`
        itself. Its values are overwritten, and it is returned.
    stream : optional
        For a matrix on a GPU, as in `SparseArray.matvec`.

    Returns
    -------
    sparse matrix, shape (m, n)
        In the format and with the structure of `pattern`, and a value for each element: a packed pattern is stored in
        full, and a palette is not used. The dtype is NumPy's ``result_type`` of X and Y, and float64 if both
        are integers or bools. A transposed view gives a transposed view.

    Raises
    ------
    ValueError
        If shapes do not fit, or `out` has another structure, is read-only, or shares memory with X or Y. Nothing is
        written then.
    TypeError
        If `pattern` or `out` is not a sparse matrix, for arrays that are not numeric, and for `out` of another dtype.
    NotImplementedError
        For a format without a kernel; the message lists those that have one.
    MemoryError
        If the result does not fit.

    Notes
    -----
    Bytes at least: X, Y and the values of C, once each. With few columns the time is that of writing C. For diagonals,
    X and Y may be in C or F order; for other formats, those that are not in C order are copied. A sum is added in a
    fixed order, so the result is bitwise identical for any number of threads, and in every run.

    In graph learning and in attention, this operation is known as SDDMM (sampled dense-dense matrix multiplication).
    See Hong, Sukumaran-Rajam, Nisa, Singh and Sadayappan, Adaptive sparse tiling for sparse matrix multiplication,
    PPoPP 2019.

    Examples
    --------
    >>> import numpy as np, diagsparse as ds
    >>> A = ds.dia_array(ds.gallery.tridiagonal(3))
    >>> g, x = np.array([1.0, 10.0, 100.0]), np.array([1.0, 2.0, 3.0])
    >>> ds.sampled_product(A, g, x).toarray()
    array([[  1.,   2.,   0.],
           [ 10.,  20.,  30.],
           [  0., 200., 300.]])
    """
    if isinstance(pattern, Batch):
        return cast(M, _of_members(pattern, X, Y, out, stream))
    a = _in_full(_checked_pattern(pattern))
    dtype = _checked_operands(a.shape, X, Y)
    with _in_stream(a._backend, X, Y, stream):
        result = _new(a, dtype) if out is None else _checked_out(a, out, dtype)
        x, y = (_operand(a, v, dtype, name) for v, name in ((X, "X"), (Y, "Y")))
        a._core.sampled_product(*((y, x) if a._op & TRANSPOSED else (x, y)), result._matrix)
    return cast(M, result)


@contextmanager
def _in_stream(backend: Backend, X: Any, Y: Any, stream: Any) -> Iterator[None]:
    """Work in the user's stream, or in the current one of the libraries of X and Y; these may reuse memory then."""
    if backend is CPU:
        streams.on(CPU, stream, _WHO)  # raises for a stream
        yield
        return
    found = [owner for owner in map(owners.owner_of, (X, Y)) if owner is not None]
    with device_dense.in_stream(found[0] if found else None, backend.index, stream):
        yield
        for owner in found:
            owner.finish(backend)


def _checked_pattern(pattern: Any) -> SparseArray:
    a: SparseArray = require_sparse(pattern, _WHO, "pattern")
    if not a._format.sampled:
        there = [name for name in formats() if FORMATS[name].sampled]
        raise NotImplementedError(
            f"{_WHO}: no kernel for {a.format}; there are kernels for {', '.join(there)}, and A.tocsr() converts"
        )
    return a


def _in_full(a: SparseArray) -> SparseArray:
    """Return a matrix with the structure of the result: every element has a value."""
    stored = a._matrix
    return unpacked(a) if a._packed and (stored.symmetry or stored.period or stored.palette) else a


def _checked_operands(shape: tuple[int, int], X: Any, Y: Any) -> np.dtype:
    """Return the dtype of the product; raise unless the shapes of the operands fit."""
    (m, n), x, y = shape, _shape(X), _shape(Y)
    if len(x) not in (1, 2) or x[0] != m:
        raise ValueError(f"{_WHO}: X has shape {x}, but the pattern is {m} x {n} and needs ({m},) or ({m}, p)")
    if y != (n, *x[1:]):
        hint = "; Y has a row for each column of the pattern: pass Y.T" if y == (*x[1:], n) else ""
        raise ValueError(f"{_WHO}: Y has shape {y}, expected {(n, *x[1:])} for X of shape {x}{hint}")
    return _dtype(X, Y)


def _dtype(X: Any, Y: Any) -> np.dtype:
    """Return the dtype of the product; integers and bools alone give float64."""
    x, y = owners.dtype_of(X), owners.dtype_of(Y)
    integers = x.kind in "iub" and y.kind in "iub"
    return product_dtypes(np.dtype(np.float64) if integers else x, y)[1]


def _shape(x: Any) -> tuple[int, ...]:
    return tuple(x.shape) if hasattr(x, "shape") else np.shape(x)


def _new(a: SparseArray, dtype: np.dtype) -> SparseArray:
    if (nbytes := a._matrix.values.size * dtype.itemsize) > memory.SMALL:
        memory.require_free(nbytes, f"{_WHO}: the values of {display.operand(a)}", a._backend)
    return a._wrap(a._core.sampled_result(a._matrix, dtype.name), a._op & TRANSPOSED)


def _checked_out(a: SparseArray, out: Any, dtype: np.dtype) -> SparseArray:
    if not isinstance(out, SparseArray):
        raise TypeError(f"{_WHO}: out is {class_name(out)}, expected a {a.format}_array")
    check_same_device(_WHO, a, out, ("pattern", "out"))
    same = out._format is a._format and out._op == a._op & TRANSPOSED
    if not same or not a._core.same_structure(a._matrix, out._matrix):
        raise ValueError(f"{_WHO}: out is {out!r}, which has another structure than the result for {a!r}")
    if out.dtype != dtype:
        raise TypeError(f"{_WHO}: out is {out.dtype}, but the product is {dtype}")
    return out


def _operand(a: SparseArray, x: Any, dtype: np.dtype, name: str) -> Any:
    """Return X or Y in a layout that the kernels of the format read."""
    array, unit = _converted(a._backend, x, dtype, name)
    if unit(array, array.ndim - 1) or (a._format.family == "diagonals" and unit(array, 0)):
        return array
    return host_dense.gather(array, 1) if a._backend is CPU else device_dense.gather(a._core, array, 1)


def _converted(backend: Backend, x: Any, dtype: np.dtype, name: str) -> tuple[Any, Callable[[Any, int], bool]]:
    """Return X or Y as an array of this dtype on a device, and the test of its layout."""
    if backend is not CPU:
        return owners.as_device_array(x, dtype, backend, _WHO, name), device_dense.has_unit_stride
    owners.refuse_gpu_array(x, CPU, _WHO, name)
    array = host_dense.as_numpy(x, _WHO)
    array = array if array.dtype == dtype else in_c_order(array, dtype, _WHO, name)
    return array, host_dense.has_unit_stride


# ---- batches ------------------------------------------------------------------------------------------------------
def _of_members(batch: Any, X: Any, Y: Any, out: Any, stream: Any) -> Any:
    """Return the batch of sampled products of the members."""
    backend, core, everything = batch._backend, batch._core, batch._all
    given = [x if hasattr(x, "shape") else np.asarray(x) for x in (X, Y)]
    (x, columns), (y, others) = (
        batch_vectors.in_rows(batch, n, v, _WHO, name) for n, v, name in zip(batch.shape, given, "XY", strict=True)
    )
    if columns != others:
        shapes = f"X has shape {tuple(given[0].shape)}, Y {tuple(given[1].shape)}"
        raise ValueError(f"{_WHO}: {shapes}: another number of columns")
    dtype = _dtype(x, y)
    with _in_stream(backend, x, y, stream):
        result = batch._like_this(_new(everything, dtype)) if out is None else _checked_batch(batch, out, dtype)
        rows = [_rows(batch, v, dtype, name) for v, name in ((x, "X"), (y, "Y"))]
        if batch._interleaved:
            core.sampled_product(*rows, result._all._matrix)
        elif columns == 0:
            result._all._matrix.values.fill(0)
        else:
            core.batch_sampled_product(*rows, columns or 1, result._all._matrix)
    return result


def _rows(batch: Any, x: Any, dtype: np.dtype, name: str) -> Any:
    """Return X or Y with a row for each member; if the members are interleaved, as one vector."""
    backend, count = batch._backend, batch.count
    array, unit = _converted(backend, x, dtype, name)
    if not unit(array, array.ndim - 1):
        array = host_dense.gather(array, 1) if backend is CPU else device_dense.gather(backend.core, array, 1)
    if array.ndim == 1:
        length, step = len(array), array.itemsize
        shape, strides = ((length, count), (step, 0)) if batch._interleaved else ((count, length), (0, step))
        if backend is CPU:
            array = np.lib.stride_tricks.as_strided(array, shape, strides, writeable=False)
        else:
            array = device_arrays.strided(backend.core, array, shape, strides)
    if not batch._interleaved:
        return array
    return np.ascontiguousarray(array).ravel() if backend is CPU else device_arrays.contiguous(array, dtype).ravel()


def _checked_batch(batch: Any, out: Any, dtype: np.dtype) -> Any:
    if type(out) is not type(batch):
        raise TypeError(f"{_WHO}: out is {type(out).__name__}, expected a {type(batch).__name__}")
    if out.count != batch.count:
        raise ValueError(f"{_WHO}: out is {out!r}, expected {batch.count} members")
    _checked_out(batch._all, out._all, dtype)
    return out
