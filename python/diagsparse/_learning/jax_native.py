"""Lists of terms as calls of native kernels, in programs that XLA compiles for a CPU or an NVIDIA GPU."""

from __future__ import annotations

import warnings
from functools import cache
from math import prod

import jax
import jax.numpy as jnp
import numpy as np

from .._backends.backend import CPU, cuda_available, gpu
from .._backends.types import VALUE_TYPES
from .terms import Terms

# From these sizes on, kernels take less time than XLA's operations, which need no call. Measured on two cores: values
# of each matrix, times the vectors that a gradient sums over. On an H200: bytes of values and vectors.
_VALUES_ON_A_CPU = 1 << 12
_BYTES_ON_A_GPU = 1 << 26


def called(
    platform: str, terms: Terms, u: jax.Array, v: jax.Array, summed: tuple[bool, ...], by_columns: bool
) -> jax.Array | None:
    """Return the result of a list of terms by a kernel, or None if no kernel computes it or should be used.

    The result has a single batch dimension.

    Parameters
    ----------
    platform : {"cpu", "cuda"}
        For which the program is compiled.
    terms, u, v, summed, by_columns
        As in `jax_terms.evaluate`.
    """
    batch = jnp.broadcast_shapes(u.shape[:-2], v.shape[:-2])
    count = prod(batch)
    if not terms.may_be_native or count == 0 or u.dtype not in VALUE_TYPES:
        return None
    if {prod(a.shape[:-2]) for a in (u, v)} - {1, count}:
        return None
    is_sampled = terms.order[0] == 1  # the result is the values of matrices
    sums = [one for one, extent in zip(summed, batch, strict=True) if extent > 1]
    if any(sums) and not (all(sums) and is_sampled):
        return None
    operands = terms.operands(*(a.reshape(-1, *a.shape[-2:]) for a in (u, v)))
    if is_sampled:
        matrices = 1 if any(sums) else count
    else:
        matrices = len(operands[1])
    if not (_pays(platform, terms, matrices, count, u.dtype.itemsize) and is_registered(platform)):
        return None
    by_columns = by_columns and len(batch) == 1 and count > 1
    if is_sampled:
        return _sampled_product(terms, operands[0], operands[2], any(sums), by_columns)
    return _product(terms, operands[1], operands[2 - terms.order[0]], by_columns)


def _pays(platform: str, terms: Terms, matrices: int, vectors: int, itemsize: int) -> bool:
    """Whether kernels should take less time than XLA's operations."""
    values = len(terms.a) * terms.shape[0]
    if platform == "cpu":
        summed = vectors if terms.order[0] == 1 and matrices == 1 else 1  # products for each value of a matrix
        return values * summed >= _VALUES_ON_A_CPU
    return matrices == 1 and (values + vectors * sum(terms.shape)) * itemsize >= _BYTES_ON_A_GPU


def _product(terms: Terms, values: jax.Array, x: jax.Array, by_columns: bool) -> jax.Array:
    """Return the products of one matrix or of each of several with vectors."""
    by_columns = by_columns and len(values) == 1
    shape = max(len(values), len(x)), *terms.table.shapes[0]
    stored = (shape[2], shape[0]) if by_columns else shape
    call = jax.ffi.ffi_call("diagsparse_product", jax.ShapeDtypeStruct(stored, x.dtype))
    x = _columns(x) if by_columns else x
    y = call(values, x, transposed=_integers(terms.order[0] == 2), **_attributes(terms, by_columns))
    return y.T.reshape(shape) if by_columns else y


def _sampled_product(terms: Terms, x: jax.Array, y: jax.Array, sums_all: bool, by_columns: bool) -> jax.Array:
    """Return the products of the elements of vectors where a matrix has diagonals; their sum if `sums_all` is set."""
    by_columns = by_columns and sums_all
    count = max(len(x), len(y))
    x, y = (jnp.broadcast_to(a, (count, *a.shape[1:])) if sums_all else a for a in (x, y))
    x, y = (_columns(a) if by_columns else a for a in (x, y))
    result = jax.ShapeDtypeStruct((1 if sums_all else count, *terms.table.shapes[0]), x.dtype)
    return jax.ffi.ffi_call("diagsparse_sampled_product", result)(x, y, **_attributes(terms, by_columns))


def _columns(vectors: jax.Array) -> jax.Array:
    """Return vectors as the columns of a block in C order. If they come from such columns, XLA does not copy them."""
    return vectors.reshape(vectors.shape[0], vectors.shape[2]).T


def _attributes(terms: Terms, by_columns: bool) -> dict[str, np.ndarray]:
    """Return what describes the matrix, and the order in which vectors are passed."""
    return {"shape": _integers(*terms.shape), "offsets": _integers(*terms.a), "by_columns": _integers(by_columns)}


def _integers(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


@cache
def is_registered(platform: str) -> bool:
    """Whether XLA can call the kernels of a device; registers them in the first call.

    It is called when a program is lowered. Before JAX has started its backends, it would accept kernels that it does
    not support, and then not start.
    """
    if platform == "cuda" and not cuda_available():
        return False
    backend = CPU if platform == "cpu" else gpu(0)
    try:
        for name, handler in backend.core.xla_handlers.items():
            jax.ffi.register_ffi_target(name, handler, platform={"cpu": "cpu", "cuda": "CUDA"}[platform])
    except RuntimeError as error:  # XLA does not support the version of the interface
        warnings.warn(f"diagsparse.jax: JAX {jax.__version__} cannot call kernels of diagsparse: {error}", stacklevel=2)
        return False
    return True
