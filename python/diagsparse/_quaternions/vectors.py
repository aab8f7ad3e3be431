"""Products of a pair with vectors and blocks of quaternions, on the CPU and on a GPU.

Formats of diagonals have kernels for them. For other formats, note that with x = x1 + x2 j, the four components of x in
memory are the complex numbers x1 and x2. So x is a block of two complex columns, and (A + B j) x = A x + B (j x) is the
sum of the products of A and B with two such blocks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import device_arrays, device_dense, host_dense, new, owners
from .._backends.backend import CPU
from .._backends.types import complex_type, product_dtypes, real_type
from .arrays import J_TIMES, WITHOUT_K, as_reals, changed, has_quaternions, reinterpreted
from .pairs import Pair


def times(pair: Pair, x: Any, who: str) -> Any:
    """Return Q x for a vector of shape (n, 4) or a block of shape (n, p, 4)."""
    return _product(pair, 1, x, who)


def adjoint_times(pair: Pair, x: Any, who: str) -> Any:
    """Return Q^H x: Q^H is A^H - B^T j."""
    a, b = pair
    return _product((a.H, b.T), -1, x, who)


def times_on_the_right(pair: Pair, x: Any, who: str) -> Any:
    """Return x Q for a vector of shape (m, 4) or a block of shape (p, m, 4)."""
    a, b = pair
    return _product((a.T, b.T), 1, x, who, right=True)


def _product(pair: Pair, sign: int, x: Any, who: str, right: bool = False) -> Any:
    """Return (A + sign B j) x as an array of the library of x; with x on the left of each element if `right` is set."""
    a = pair[0]
    backend, owner = a._backend, owners.owner_of(x)
    owners.refuse_gpu_array(x, backend, who)
    if owner is None:
        given = as_reals(host_dense.as_numpy(x, who))
    else:
        given = owner.view(backend.core, x, backend.index) if owner is owners.AnyLibrary else x
    shape = tuple(given.shape)
    wanted = _checked(a, shape, given.dtype if owner is None else owner.dtype(given), who, right)
    swap, block = right and len(shape) == 3, len(shape) == 3  # native arrays have two axes: a block is (n, 4 p)
    z = given.swapaxes(0, 1) if swap else given
    z = z.reshape((z.shape[0], 4 * z.shape[1])) if block else z
    if owner is None:
        z = np.ascontiguousarray(z, wanted)
        y = _multiply(pair, sign, z, right) if backend is CPU else _from_host(pair, sign, z, right)
    else:
        with device_dense.in_stream(owner, backend.index, None):
            z = device_arrays.contiguous(owners.as_device_array(z, wanted, backend, who, "x"), wanted)
            y = _multiply(pair, sign, z, right)
            owner.finish(backend)
            y = owner.to_library(backend, y)
    y = y.reshape((a.shape[0], shape[0] if swap else shape[1], 4)) if block else y
    y = y.swapaxes(0, 1) if swap else y
    return y.view(x.dtype)[..., 0] if has_quaternions(x) else y


def _from_host(pair: Pair, sign: int, x: np.ndarray, right: bool) -> np.ndarray:
    """Multiply a NumPy array on a GPU."""
    return _multiply(pair, sign, device_arrays.upload(pair[0]._backend, x), right).get()


def _checked(a: Any, shape: tuple[int, ...], given: np.dtype, who: str, right: bool) -> np.dtype:
    """Return the dtype to which x is converted; raise ValueError or TypeError if it cannot be multiplied."""
    m, n = a.shape  # of the matrix that multiplies columns
    if len(shape) not in (2, 3) or shape[-1] != 4 or shape[-2 if right else 0] != n:
        rule = f"Q is {n} x {m} and x @ Q" if right else f"{'Q.H' if who == 'rmatvec' else 'Q'} is {m} x {n} and"
        block = f"(p, {n}, 4)" if right else f"({n}, p, 4)"
        raise ValueError(f"{who}: x has shape {shape}, but {rule} needs ({n}, 4), or {block} for p vectors")
    if given.kind == "c":
        raise TypeError(f"{who}: x is {given}, expected real components of quaternions in the last axis")
    return product_dtypes(real_type(a.dtype), given)[0]


def _multiply(pair: Pair, sign: int, x: Any, right: bool) -> Any:
    """Multiply a contiguous array of shape (n, 4 p): of NumPy, or a `DeviceArray`."""
    a, b = pair
    if not x.size or not a.shape[0]:
        return new.zeros(a._backend, (a.shape[0], x.shape[1]), np.result_type(x.dtype, real_type(a.dtype)))
    if a._format.quaternions and not a._packed:
        return a._core.quaternion_product(a._matrix, a._op, b._matrix, b._op, sign, right, x)
    return _multiply_on_the_right(a, b, x) if right else _multiply_columns(a, b, sign, x)


def _multiply_columns(a: Any, b: Any, sign: int, x: Any) -> Any:
    """Return A x + sign B (j x)."""
    backend, dtype = a._backend, complex_type(x.dtype)
    block = x.shape[0], x.shape[1] // 2
    z, jz = (reinterpreted(v, block, dtype, backend) for v in (x, changed(J_TIMES, x, backend)))
    y = a.matvec(z)
    b.matvec(jz, out=y, alpha=sign, beta=1)
    return reinterpreted(y, (a.shape[0], x.shape[1]), real_type(y.dtype), backend)


def _multiply_on_the_right(a: Any, b: Any, x: Any) -> Any:
    """Return the sums of the products x q: y1 + conj(y2) j for y = A z + conj(B) j z, with z = x1 + conj(x2) j."""
    y = _multiply_columns(a, b.T.H, 1, changed(WITHOUT_K, x, a._backend))
    return changed(WITHOUT_K, y, a._backend)
