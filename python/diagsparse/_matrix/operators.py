"""Products: ``A @ x``, ``A @ B``, ``x @ A`` and their methods.

``A @ x`` passes through this module, ``find_matvec`` in ``src/cpp/core/kernels.cpp`` (the table of kernels), and the
kernel in ``src/cpp/kernels``.
"""

from __future__ import annotations

import math
from typing import Any, overload

import numpy as np

from .._arrays import device_dense, host_dense, owners, repeated_product, streams, tensors
from .._arrays.host_dense import as_numpy, check_operand, refuse_part_of
from .._backends import memory
from .._backends.arguments import check_kernel
from .._backends.backend import CPU
from .._backends.docstrings import completed_by
from .._backends.types import check_scalars, product_dtypes
from . import operands
from .base import CONJUGATED, TRANSPOSED, Base, M
from .elementwise_functions import is_scalar

_ONE, _ZERO = 1, 0  # the default factors, which need no check


def matvec(
    a: Any,
    x: Any,
    *,
    out: Any = None,
    alpha: complex = 1,
    beta: complex = 0,
    kernel: str | None = None,
    stream: Any = None,
) -> Any:
    """Return ``alpha A x + beta out`` for a vector or a dense block.

    Parameters
    ----------
    x : array_like, shape (n,) or (n, k)
        The vector or block, in C order, F order, or strided. For a matrix on a GPU it may also be an array of CuPy,
        PyTorch or JAX on that GPU, or any other array with ``__dlpack__`` or ``__cuda_array_interface__``; a NumPy
        array is copied to the GPU.
    out : array, shape (m,) or (m, k), optional
        Receives the result and is returned. It may be `x` itself. A NumPy array, or for a matrix on a GPU also an array
        of CuPy or PyTorch, or a `DeviceArray`.
    alpha, beta : scalar
        A `beta` other than 0 needs `out`.
    kernel : str, optional
        A name from ``A.kernels("matvec")``; by default the first.
    stream : optional
        For a matrix on a GPU: a CuPy or PyTorch stream, an object with ``__cuda_stream__``, or a pointer. By
        default the current stream of the library that owns `x`.

    Returns
    -------
    array
        An array of the same library and in the same order (C or F) as `x`, with NumPy's result type of A and x. Results
        on a GPU are asynchronous and ordered by stream; NumPy results block.

    Raises
    ------
    ValueError
        If shapes do not fit, the kernel is unknown, `beta` is given without `out`, `out` is part of A's values, `x` is
        on a different GPU than A, or a `stream` is passed for a matrix on the cpu.
    TypeError
        If values are not numbers or are masked, `out` has another dtype, or `x` is on a GPU and A on the cpu.

    Notes
    -----
    A is read once, so the cost is ``A.nbytes`` over the memory bandwidth. The result is bitwise identical for any
    number of threads.

    `alpha` multiplies each completed sum, and the sum of a row without entries is 0, so that an infinite or undefined
    `alpha` gives NaN there with every kernel. With ``alpha=0``, infinities in A or x still give NaN. With ``beta=0``,
    `out` is not read.
    """
    return apply(a, a._op, a._shape, x, out, alpha, beta, kernel, "matvec", stream)


@completed_by(
    matvec, ("array_like, shape (n,) or (n, k)", "array_like, shape (m,) or (m, k)"),
    ("array, shape (m,) or (m, k)", "array, shape (n,) or (n, k)"),
)  # fmt: skip
def rmatvec(
    a: Any,
    x: Any,
    *,
    out: Any = None,
    alpha: complex = 1,
    beta: complex = 0,
    kernel: str | None = None,
    stream: Any = None,
) -> Any:
    """Return ``alpha A.H x + beta out``, the product with the adjoint."""
    op = a._op ^ (TRANSPOSED | CONJUGATED)
    return apply(a, op, a._shape[::-1], x, out, alpha, beta, kernel, "rmatvec", stream)


def apply(
    a: Any,
    op: int,
    shape: tuple[int, int],
    x: Any,
    out: Any,
    alpha: complex,
    beta: complex,
    kernel: str | None,
    who: str,
    stream: Any,
) -> Any:
    if kernel is not None:
        check_kernel(kernel, who)
    on_host = a._backend is CPU
    if type(x) is not np.ndarray and tensors.is_tensor(x) and not (x.is_cuda and (on_host or tensors.is_constant(x))):
        plain = apply if on_host else repeated_product.product

        def multiply(x: Any, adjoint: bool) -> Any:
            if not adjoint:
                return plain(a, op, shape, x, out, alpha, beta, kernel, who, stream)
            op_h, factor = op ^ (TRANSPOSED | CONJUGATED), np.conj(alpha)
            return plain(a, op_h, shape[::-1], x, None, factor, 0, kernel, who, stream)

        return tensors.product(multiply, x, out)
    if not on_host:
        return repeated_product.product(a, op, shape, x, out, alpha, beta, kernel, who, stream)
    if stream is not None:
        streams.on(CPU, stream, who)  # raises
    if type(x) is not np.ndarray:
        owners.refuse_gpu_array(x, CPU, who)
        x = as_numpy(x, who)
    if x.ndim not in (1, 2) or x.shape[0] != shape[1]:
        check_operand(x.shape, shape, who)  # raises
    if x.dtype is a._dtype and not a._packed:
        result = x.dtype
    else:
        wanted, result = product_dtypes(a._dtype, x.dtype)
        if x.dtype is not wanted:
            x = x.astype(wanted)
    if alpha is not _ONE or beta is not _ZERO:
        check_scalars(result, alpha, beta, who)
    x, y = host_dense.operands(x, shape[0], result, out, beta, who)
    a._core.matvec(a._matrix, op, x, y, alpha, beta, kernel or "")
    if out is not None and y is not out:
        refuse_part_of(a._matrix.values, out, who, a._core)
        out[...] = y
        return out
    return y


@overload
def times(a: M, other: Base) -> M: ...
@overload
def times(a: Any, other: Any) -> Any: ...
def times(a: Any, other: Any) -> Any:
    """Return ``A @ other`` for any operand."""
    if isinstance(other, np.ndarray):
        if type(other) is np.ndarray and a._backend is CPU:
            if other.ndim == 1:
                result = CPU.core.times_vector(a._matrix, a._op, other)
                if result is not None:
                    return result
            elif other.ndim == 2 and other.shape[1] == 1:  # as in SciPy's solvers
                result = CPU.core.times_vector(a._matrix, a._op, other[:, 0])
                if result is not None:
                    return result[:, None]
        if other.ndim == 0:
            raise ValueError("matmul: a scalar is not a matrix; use A * s to scale A")
        return a.matvec(other)
    try:
        if isinstance(other, Base):
            return a._format.matmul(a, other)
        if getattr(other, "ndim", 0) and owners.owner_of(other) is not None:
            return a.matvec(other)
        if (sparse := operands.as_sparse(other, a._backend)) is not None:
            return a.matmul(sparse)
    except MemoryError as error:
        memory.advise(error, "A.matmul(B, max_bytes=)")
        raise
    if operands.is_linear_operator(other):
        return operands.as_linear_operator(a) @ other
    if is_scalar(other):
        raise ValueError("matmul: a scalar is not a matrix; use A * s to scale A")
    return a.matvec(other) if operands.is_dense(other) else NotImplemented


def times_on_the_right(a: Any, other: Any) -> Any:
    """Return ``other @ A``."""
    if type(other) is np.ndarray and a._backend is CPU and other.ndim == 1 and len(other) == a._shape[0]:
        return a.T.matvec(other)
    try:
        if (sparse := operands.as_sparse(other, a._backend)) is not None:
            return sparse.matmul(a)
    except MemoryError as error:
        memory.advise(error, "diagsparse.matmul(B, A, max_bytes=)")
        raise
    if is_scalar(other):
        raise ValueError("matmul: a scalar is not a matrix; use A * s to scale A")
    if not operands.is_dense(other):
        return NotImplemented
    x = device_dense.operand(a, other)
    if len(x.shape) not in (1, 2) or x.shape[-1] != a.shape[0]:
        raise ValueError(
            f"matmul: x has shape {tuple(x.shape)}, but A is {a.shape[0]} x {a.shape[1]} and "
            f"x @ A needs {a.shape[0]} columns"
        )
    return a.T.matvec(x) if len(x.shape) == 1 else a.T.matvec(x.T).T


def dot(a: Any, other: Any) -> Any:
    """Return ``A @ other``, or ``other * A`` for a scalar."""
    return a * other if np.ndim(other) == 0 and not operands.is_linear_operator(other) else a @ other


def matmul(
    a: Any,
    other: Any,
    *,
    format: str | None = None,
    kernel: str | None = None,
    out: Any = None,
    max_bytes: int | None = None,
    profile: bool = False,
    stream: Any = None,
) -> Any:
    """Return the sparse product ``A @ other``; `diagsparse.matmul` has more options.

    Parameters
    ----------
    other : sparse matrix (of diagsparse, SciPy or CuPy), shape (n, k)
        The right operand.
    format, kernel, out, max_bytes
        As for `diagsparse.matmul`.
    profile : bool
        Whether to return ``(result, stages)``, where `stages` has the seconds of each stage, including the time of the
        GPU.
    stream : optional
        As for `matvec`.
    """
    if not isinstance(other, Base):
        other = operands.require_sparse(other, "matmul", "B", a._backend)
    with streams.on(a._backend, stream, "matmul"):
        return a._format.planned_matmul(a, other, format, kernel, out, max_bytes, profile)


def kernels(a: Any, operation: str = "matvec") -> list[str]:
    """Return the names of the kernels of ``"matvec"``, ``"matmul"`` or ``"chain"`` for this dtype and device.

    The first is the default; for sparse products on a GPU, the default depends on the operands: see ``plan.kernel``.
    Kernels of cuSPARSE are there if fewer than 2^31 values are stored.
    """
    names = a._core.kernels(a.format, a._dtype.name)
    if operation not in names:
        raise ValueError(f'kernels: no operation {operation!r}; there are "matvec", "matmul" and "chain"')
    ours = [name for name in names[operation] if not name.startswith("cusparse")]
    if len(ours) == len(names[operation]) or math.prod(a._matrix.values.shape) < 2**31:
        return names[operation]
    return ours
