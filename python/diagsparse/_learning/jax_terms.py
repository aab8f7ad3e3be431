"""Lists of terms in JAX: a primitive whose derivatives are lists of terms again.

Arrays have the shape ``(*batch, rows, elements)``. Batch dimensions are those of `jax.vmap` and the columns of a block;
an array that does not depend on one has the extent 1 there. `summed` says over which of them the result is summed,
which the gradient of such an array needs. Products of matrices with vectors run in native code, and all other lists in
operations of XLA.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from operator import add
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from . import jax_native
from .terms import Table, Terms

_UNROLLED = 64  # from more terms on, a loop, so that compilation takes a constant time
_GROUP = 16  # terms of one step of the loop


def evaluate(terms: Terms, u: Any, v: Any, summed: tuple[bool, ...] = (), by_columns: bool = False) -> Any:
    """Return the result of a list of terms, in the common dtype of u and v.

    Parameters
    ----------
    terms : Terms
        The list.
    u, v : jax.Array, shape (*batch, rows, elements)
        Both have the same number of dimensions.
    summed : tuple of bool
        Whether the result is summed over each batch dimension; by default over none.
    by_columns : bool
        Whether vectors are columns of blocks in C order: elements that differ in the batch dimension alone are
        adjacent in memory. Native code then does not need transposed copies.
    """
    dtype = jnp.result_type(u, v)
    summed = summed or (False,) * (jnp.ndim(u) - 2)
    u, v = _varying_alike(jnp.asarray(u, dtype), jnp.asarray(v, dtype))
    return _primitive.bind(u, v, terms=terms, summed=summed, by_columns=by_columns)


def _varying_alike(*arrays: jax.Array) -> list[jax.Array]:
    """Return arrays that vary over the same axes of a `jax.shard_map`, which then sums gradients over them.

    Operations of JAX convert their operands to such arrays, but a primitive has to do it itself.
    """
    if not getattr(jax.sharding.get_abstract_mesh(), "manual_axes", ()):
        return list(arrays)
    axes = [_axes(jax.typeof(a)) for a in arrays]
    cast = partial(lax.pcast, to="varying") if hasattr(lax, "pcast") else getattr(lax, "pvary")  # noqa: B009, before 0.8.2
    absent = [tuple(frozenset().union(*axes) - own) for own in axes]
    return [cast(a, missing) if missing else a for a, missing in zip(arrays, absent, strict=True)]


def _axes(kind: Any) -> frozenset[str]:
    """Return the axes over which arrays of a type vary."""
    return kind.manual_axis_type.varying if hasattr(kind, "manual_axis_type") else kind.vma  # before JAX 0.10


# ---- in XLA's operations ------------------------------------------------------------------------------------------
def _computed(
    stored: Callable[[jax.Array], jax.Array], u: jax.Array, v: jax.Array, *, terms: Terms, summed: tuple[bool, ...]
) -> jax.Array:
    """Return the result; `stored` keeps XLA from computing an operand again for each term that reads it."""
    table, axes = terms.table, tuple(i for i, one in enumerate(summed) if one)
    if not len(table.lengths):
        return jnp.zeros(_result(u, v, terms, summed), u.dtype)
    u, v = (stored(a) if len(table.lengths) > a.shape[-2] and terms.is_derivative else a for a in (u, v))

    def multiplied(a: jax.Array, b: jax.Array) -> jax.Array:
        return jnp.sum(a * b, axis=axes, keepdims=True) if axes else a * b

    if len(table.lengths) == table.shapes[0][0]:
        return _gathered(table, u, v, multiplied)
    return (_unrolled if len(table.lengths) <= _UNROLLED else _looped)(table, u, v, multiplied)


def _copied(a: jax.Array) -> jax.Array:
    """Return a copy by a loop over two halves, which XLA stores on a CPU, where it ignores `optimization_barrier`."""
    extent, size = a.shape[-1], -(-a.shape[-1] // 2)

    def half(i: Any, copy: jax.Array) -> jax.Array:
        start = jnp.minimum(i * size, extent - size)
        part = lax.dynamic_slice_in_dim(a, start, size, a.ndim - 1)
        return lax.dynamic_update_slice_in_dim(copy, part, start, a.ndim - 1)

    return lax.fori_loop(0, 2, half, jnp.zeros_like(a))


def _result(u: Any, v: Any, terms: Terms, summed: tuple[bool, ...]) -> tuple[int, ...]:
    """Return the shape of the result."""
    batch = jnp.broadcast_shapes(u.shape[:-2], v.shape[:-2])
    return *(1 if one else extent for one, extent in zip(summed, batch, strict=True)), *terms.table.shapes[0]


def _gathered(table: Table, u: jax.Array, v: jax.Array, multiplied: Any) -> jax.Array:
    """Return a result whose rows have one term each, from slices that are gathered."""
    extent = table.shapes[0][1]
    first, shifts = table.starts[:, :1], table.starts[:, 1:] - table.starts[:, :1]
    u, v = (_slices(a, table.rows[:, i + 1], shifts[:, i], extent) for i, a in enumerate((u, v)))
    i = lax.iota(np.int32, extent)[None]
    first, end = (np.asarray(edge, np.int32) for edge in (first, first + table.lengths[:, None]))
    products = multiplied(u, v)
    return jnp.where(jnp.broadcast_to((i >= first) & (i < end), products.shape), products, 0)


def _slices(a: jax.Array, rows: np.ndarray, starts: np.ndarray, extent: int) -> jax.Array:
    """Return ``a[row, start : start + extent]`` for several rows and starts, with zeros outside of a."""
    if a.shape[-1] == extent and not starts.any() and (a.shape[-2] == 1 or np.array_equal(rows, range(a.shape[-2]))):
        return a
    left, right = max(0, -starts.min()), max(0, starts.max() + extent - a.shape[-1])
    padded = jnp.pad(a, [(0, 0)] * (a.ndim - 1) + [(left, right)])

    def one(row: Any, start: Any) -> jax.Array:
        corner = [np.int32(0)] * (a.ndim - 2) + [row, start]
        return lax.dynamic_slice(padded, corner, (*a.shape[:-2], 1, extent))[..., 0, :]

    return jax.vmap(one, out_axes=-2)(*(array.astype(np.int32) for array in (rows, starts + left)))


def _unrolled(table: Table, u: jax.Array, v: jax.Array, multiplied: Any) -> jax.Array:
    """Return the sum of slices, which XLA fuses into one loop over the result."""
    count, extent = table.shapes[0]
    sums: list[list[jax.Array]] = [[] for _ in range(count)]
    for (row, i, j), (first, p, q), length in zip(table.rows.tolist(), table.starts.tolist(), table.lengths.tolist()):
        one = multiplied(u[..., i, p : p + length], v[..., j, q : q + length])
        sums[row].append(jnp.pad(one, [(0, 0)] * (one.ndim - 1) + [(first, extent - first - length)]))
    nothing = jnp.zeros_like(next(one for row in sums for one in row))
    return jnp.stack([reduce(add, row) if row else nothing for row in sums], axis=-2)


def _looped(table: Table, u: jax.Array, v: jax.Array, multiplied: Any) -> jax.Array:
    """Return the same sum, computed by a loop over blocks of rows of the result and groups of their terms."""
    count, extent = table.shapes[0]
    steps, row_starts, margins = _steps(table)
    blocks, groups, height, width = steps.shape[:4]
    tables, starts, i = jnp.asarray(steps), jnp.asarray(row_starts), lax.iota(np.int32, extent)

    def window(a: jax.Array, row: Any, start: Any, margin: tuple[int, int]) -> jax.Array:
        one = lax.dynamic_slice_in_dim(a, row, 1, a.ndim - 2) if a.shape[-2] > 1 else a
        padded = jnp.pad(one, [(0, 0)] * (a.ndim - 1) + [margin])
        return lax.dynamic_slice_in_dim(padded, start, extent, a.ndim - 1)[..., 0, :]

    def term(step: jax.Array) -> jax.Array:
        row_u, row_v, start_u, start_v, first, end = step
        both = multiplied(window(u, row_u, start_u, margins[0]), window(v, row_v, start_v, margins[1]))
        return jnp.where((i >= first) & (i < end), both, 0)

    def group(block: Any, g: Any) -> jax.Array:
        step = lax.dynamic_slice(tables, (block, g, 0, 0, 0), (1, 1, height, width, 6))[0, 0]
        return jnp.stack([reduce(add, map(term, row)) for row in step], axis=-2)

    def rows(block: Any) -> jax.Array:
        return lax.fori_loop(1, groups, lambda g, total: total + group(block, g), group(block, 0))

    if blocks == 1:
        return rows(0)
    result = jnp.zeros((*jax.eval_shape(rows, 0).shape[:-2], count, extent), u.dtype)
    return lax.fori_loop(
        0, blocks, lambda b, out: lax.dynamic_update_slice_in_dim(out, rows(b), starts[b], out.ndim - 2), result
    )


def _steps(table: Table) -> tuple[np.ndarray, np.ndarray, list[tuple[int, int]]]:
    """Return the steps of a loop, the first row of each of its blocks, and how far u and v are padded.

    The steps have the shape (blocks, groups, rows of a block, terms of a group, 6): the rows of u and v, the elements
    where their windows start, and the elements of the result from the first to the end. Rows with fewer terms than
    others have empty ones, and the last block may overlap with the one before.
    """
    count, extent = table.shapes[0]
    counts = np.bincount(table.rows[:, 0], minlength=count)
    width = min(_GROUP, counts.max())
    height, groups = min(count, max(1, _GROUP // width)), -(-counts.max() // width)
    shifts = table.starts[:, 1:] - table.starts[:, :1]
    low = np.minimum(shifts.min(axis=0), 0)
    high = np.maximum(shifts.max(axis=0) + extent - [table.shapes[1][1], table.shapes[2][1]], 0)
    each = np.zeros((count, groups * width, 6), np.int32)
    position = np.arange(len(table.rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    ends = table.starts[:, :1] + table.lengths[:, None]
    each[table.rows[:, 0], position] = np.hstack([table.rows[:, 1:], shifts - low, table.starts[:, :1], ends])
    starts = np.minimum(np.arange(0, count, height), count - height)
    blocks = each[starts[:, None] + np.arange(height)].reshape(len(starts), height, groups, width, 6)
    return blocks.swapaxes(1, 2), starts.astype(np.int32), [(int(-a), int(b)) for a, b in zip(low, high, strict=True)]


# ---- the primitive ------------------------------------------------------------------------------------------------
_primitive = Primitive("diagonal_terms")


def _lowering(platform: str | None) -> Any:
    """Return the rule by which the primitive becomes a part of a program for a platform."""
    stored = _copied if platform == "cpu" else lax.optimization_barrier

    def compute(u: jax.Array, v: jax.Array, *, by_columns: bool, native: bool, **rest: Any) -> jax.Array:
        found = jax_native.called(platform, u=u, v=v, by_columns=by_columns, **rest) if native and platform else None
        return _computed(stored, u, v, **rest) if found is None else found.reshape(_result(u, v, **rest))

    lowered = mlir.lower_fun(compute, multiple_results=False)

    def rule(context: Any, u: Any, v: Any, **rest: Any) -> Any:
        return lowered(context, u, v, native=_may_be_native(context.module_context), **rest)

    return rule


def _may_be_native(program: Any) -> bool:
    """Whether a program runs in this process, and XLA does not divide its arrays among several devices."""
    if program.lowering_parameters.for_export:
        return False
    axes = program.axis_context
    if hasattr(axes, "manual_axes"):  # in `jax.shard_map`
        return set(axes.manual_axes) == set(axes.mesh.axis_names)
    return getattr(axes, "num_devices", 1) == 1


for _platform in (None, "cpu", "cuda"):
    mlir.register_lowering(_primitive, _lowering(_platform), platform=_platform)


@partial(jax.jit, static_argnames=("terms", "summed", "by_columns"))
def _compiled(u: jax.Array, v: jax.Array, **static: Any) -> jax.Array:
    return _primitive.bind(u, v, **static)


@_primitive.def_impl
def _called(u: jax.Array, v: jax.Array, **static: Any) -> jax.Array:
    with jax.disable_jit(False):
        return _compiled(u, v, **static)


@_primitive.def_abstract_eval
def _abstract(u: Any, v: Any, *, terms: Terms, summed: tuple[bool, ...], by_columns: bool) -> Any:
    return u.update(shape=_result(u, v, terms, summed))


def _cotangent(
    which: int, g: jax.Array, u: Any, v: Any, *, terms: Terms, summed: tuple[bool, ...], by_columns: bool
) -> jax.Array:
    """Return the gradient with respect to u (`which` is 1) or v (2), from the gradient g of the result."""
    one, other = (u, v) if which == 1 else (v, u)
    shape = one.aval.shape
    left, right = (g, other) if which == 1 else (other, g)
    absent = tuple(extent == 1 for extent in shape[:-2])
    return jnp.broadcast_to(evaluate(terms.exchanged(0, which), left, right, absent, by_columns), shape)


ad.defbilinear(_primitive, partial(_cotangent, 1), partial(_cotangent, 2))


def _batched(
    arrays: Any, axes: Any, *, terms: Terms, summed: tuple[bool, ...], by_columns: bool
) -> tuple[jax.Array, int]:
    u, v = (
        jnp.expand_dims(a, 0) if axis is None else jnp.moveaxis(a, axis, 0)
        for a, axis in zip(arrays, axes, strict=True)
    )
    return _primitive.bind(u, v, terms=terms, summed=(False, *summed), by_columns=False), 0


batching.primitive_batchers.__setitem__(_primitive, _batched)  # as a call, where the docs are built without JAX
