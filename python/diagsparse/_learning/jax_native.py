"""Lists of terms as calls of native kernels, in programs that XLA compiles for a CPU or an NVIDIA GPU."""

from __future__ import annotations

from functools import cache
from math import prod

import jax
import jax.numpy as jnp
import numpy as np

from .._backends.backend import CPU, cuda_available, gpu
from .._backends.types import VALUE_TYPES
from .terms import Terms

_LARGE = (
    1 << 26
)  # bytes of values and vectors from which a GPU needs more time for XLA's operations, measured on an H200


def evaluate(
    platform: str, terms: Terms, u: jax.Array, v: jax.Array, summed: tuple[bool, ...], by_columns: bool
) -> jax.Array | None:
    """Return the result of a list of terms, or None if no kernel computes it.

    Parameters
    ----------
    platform : {"cpu", "cuda"}
        For which the program is compiled.
    terms, u, v, summed, by_columns
        As in `jax_terms.evaluate`.
    """
    batch = jnp.broadcast_shapes(u.shape[:-2], v.shape[:-2])
    count, sums = prod(batch), {one for one, extent in zip(summed, batch, strict=True) if extent > 1}
    of_one_matrix, sums_all = terms.order[0] == 1, sums == {True}
    if terms.kind != "product" or 0 in (*terms.shape, len(terms.a), count) or u.dtype not in VALUE_TYPES:
        return None
    if len(sums) > 1 or (sums_all and not of_one_matrix) or {prod(a.shape[:-2]) for a in (u, v)} - {1, count}:
        return None
    operands = {i: a.reshape(-1, *a.shape[-2:]) for i, a in zip(terms.order[1:], (u, v), strict=True)}
    matrices = len(operands[1]) if 1 in operands else 1 if sums_all else count
    if not (_pays(platform, terms, matrices, count, u.dtype.itemsize) and _is_registered(platform)):
        return None
    by_columns = by_columns and len(batch) == 1 and count > 1
    if of_one_matrix:
        result = _sampled_product(terms, operands[0], operands[2], sums_all, by_columns)
    else:
        result = _product(terms, operands[1], operands[2 - terms.order[0]], by_columns)
    return result.reshape(
        *(1 if one else extent for one, extent in zip(summed, batch, strict=True)), *result.shape[-2:]
    )


def _pays(platform: str, terms: Terms, matrices: int, vectors: int, itemsize: int) -> bool:
    """Whether kernels should take less time than XLA's operations, which on a GPU start sooner than a call."""
    elements = len(terms.a) * terms.shape[0] + vectors * sum(terms.shape)
    return platform == "cpu" or (matrices == 1 and elements * itemsize >= _LARGE)


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
def _is_registered(platform: str) -> bool:
    """Whether XLA can call the kernels of a device; registers them in the first call."""
    if platform == "cuda" and not cuda_available():
        return False
    backend = CPU if platform == "cpu" else gpu(0)
    for name, handler in backend.core.xla_handlers.items():
        jax.ffi.register_ffi_target(name, handler, platform={"cpu": "cpu", "cuda": "CUDA"}[platform])
    return True
