"""Lists of terms in PyTorch: a custom operator whose derivatives are the operator with other lists of terms.

Tensors have the shape ``(*batch, rows, elements)``. Batch dimensions are those of `torch.vmap` and the columns of a
block; a tensor that does not depend on one has the extent 1 there. Products of a single matrix run in native code.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import torch

from .._arrays import new, owners
from .._arrays.device_dense import in_stream
from .._arrays.tensors import is_transformed
from .._backends.backend import CPU, cuda_available, gpu
from .._backends.types import VALUE_TYPES
from .._formats.dia import dia_array
from .._matrix.base import TRANSPOSED
from .._matrix.operators import apply
from .terms import Terms

_NATIVE = {getattr(torch, dtype.name) for dtype in VALUE_TYPES}


def evaluate(terms: Terms, u: torch.Tensor, v: torch.Tensor, summed: Sequence[bool] = ()) -> torch.Tensor:
    """Return the result of a list of terms.

    Parameters
    ----------
    terms : Terms
        The list.
    u, v : Tensor, shape (*batch, rows, elements)
        Both have the same number of dimensions, and the same precision.
    summed : sequence of bool
        Whether the result is summed over each batch dimension; by default over none.
    """
    flags = [int(one) for one in summed] or [0] * (u.ndim - 2)
    if (transformed := is_transformed()) and _forward_levels() > 1:
        raise NotImplementedError(
            "forward derivatives of forward derivatives do not reach a custom function of PyTorch; take those of "
            "reverse ones, such as torch.func.jacfwd(torch.func.grad(f))"
        )
    operator = _Differentiable.apply if transformed else _multiplied
    return operator(u, v, terms.kind, *map(list, (terms.a, terms.b, terms.shape, terms.order)), flags)


def _forward_levels() -> int:
    """Return how many transforms of `torch.func` in forward mode are inside of each other."""
    functorch: Any = torch._C._functorch
    return sum(level.key() == functorch.TransformType.Jvp for level in functorch.get_interpreter_stack() or ())


# ---- the operator -------------------------------------------------------------------------------------------------
def _implementation(
    u: torch.Tensor, v: torch.Tensor, kind: str, a: Sequence[int], b: Sequence[int], shape: Sequence[int],
    order: Sequence[int], summed: Sequence[int],
) -> torch.Tensor:  # fmt: skip
    terms, u, v = _terms(kind, a, b, shape, order), u.resolve_conj(), v.resolve_conj()
    if _has_kernels(terms, u, v):
        arrays, sums = terms.operands(u, v), _sums(u, v, summed)
        if terms.order[0] == 1:  # the values of a matrix
            if u.dtype == v.dtype and all(sums):
                return _sampled_product(terms, arrays[0], arrays[2])
        elif arrays[1].numel() == arrays[1].shape[-1] * arrays[1].shape[-2] and not any(sums):
            return _product(terms, arrays[1], arrays[2 - terms.order[0]])
    return _computed(terms, u, v, summed)


# `torch.library.custom_op` would do the same, and search the arguments of every call for memory of the result.
_OPERATOR = "diagsparse::terms"
_schema = torch.library.infer_schema(_implementation, mutates_args=())
torch.library.define(_OPERATOR, _schema, tags=(torch.Tag.pt2_compliant_tag,))
torch.library.impl(_OPERATOR, "default", _implementation)
_multiplied = torch.ops.diagsparse.terms.default


def _terms(kind: str, a: Sequence[int], b: Sequence[int], shape: Sequence[int], order: Sequence[int]) -> Terms:
    return Terms(kind, tuple(a), tuple(b), tuple(shape), tuple(order))


@torch.library.register_fake(_OPERATOR)
def _(u: Any, v: Any, kind: str, a: Any, b: Any, shape: Any, order: Any, summed: Any) -> torch.Tensor:
    extents = _extents(_terms(kind, a, b, shape, order), u, v, summed)
    return u.new_empty(extents, dtype=torch.promote_types(u.dtype, v.dtype))


def _extents(terms: Terms, u: Any, v: Any, summed: Sequence[int]) -> list[int]:
    batch = torch.broadcast_shapes(u.shape[:-2], v.shape[:-2])
    return [*(1 if one else extent for one, extent in zip(summed, batch, strict=True)), *terms.table.shapes[0]]


def _batched(info: Any, in_dims: Any, u: Any, v: Any, *rest: Any) -> tuple[torch.Tensor, int]:
    u, v = (t[None] if axis is None else t.movedim(axis, 0) for t, axis in zip((u, v), in_dims, strict=False))
    return _Differentiable.apply(u, v, *rest[:-1], [0, *rest[-1]]), 0


torch.library.register_vmap(_OPERATOR, _batched)


# ---- its derivatives ----------------------------------------------------------------------------------------------
def _save(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    ctx.save_for_backward(*inputs[:2])
    ctx.terms, ctx.summed = _terms(*inputs[2:7]), inputs[7]


def _gradients(ctx: Any, g: torch.Tensor) -> tuple[Any, ...]:
    u, v = ctx.saved_tensors
    for_u = for_v = None
    if ctx.needs_input_grad[0]:
        for_u = _like(u, evaluate(ctx.terms.exchanged(0, 1), g, v.conj(), _absent(u)))
    if ctx.needs_input_grad[1]:  # conj(u) g as conj(u conj(g)), because u is often the larger one
        for_v = _like(v, evaluate(ctx.terms.exchanged(0, 2), u, g.conj(), _absent(v)).conj())
    return for_u, for_v, *(None,) * 6


def _absent(one: torch.Tensor) -> list[bool]:
    """Return the batch dimensions on which a tensor does not depend."""
    return [extent == 1 for extent in one.shape[:-2]]


def _like(one: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
    """Return a gradient in the shape of a tensor, and real if the tensor is."""
    gradient = gradient if one.is_complex() or not gradient.is_complex() else gradient.real
    return gradient.expand(one.shape)


torch.library.register_autograd(_OPERATOR, _gradients, setup_context=_save)


class _Differentiable(torch.autograd.Function):
    """The operator for `torch.func` and forward derivatives, which do not use those that a custom operator registers.

    Calling it takes longer than calling the operator.
    """

    @staticmethod
    def forward(*inputs: Any) -> torch.Tensor:
        return _multiplied(*inputs)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        _save(ctx, inputs, output)
        ctx.save_for_forward(*inputs[:2])

    backward = staticmethod(_gradients)

    @staticmethod
    def jvp(ctx: Any, du: Any, dv: Any, *others: None) -> torch.Tensor:
        u, v = ctx.saved_tensors
        parts = [evaluate(ctx.terms, *pair, ctx.summed) for pair in ((du, v), (u, dv)) if None not in pair]
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]

    vmap = staticmethod(_batched)


# ---- in PyTorch's operations --------------------------------------------------------------------------------------
def _computed(terms: Terms, u: torch.Tensor, v: torch.Tensor, summed: Sequence[int]) -> torch.Tensor:
    """Return the result, term by term: the first of each row writes, the others add."""
    table, dims = terms.table, [i for i, one in enumerate(summed) if one]
    result = u.new_empty(_extents(terms, u, v, summed), dtype=torch.promote_types(u.dtype, v.dtype))
    extent, started = table.shapes[0][1], set()
    for (row, i, j), (first, p, q), length in zip(table.rows.tolist(), table.starts.tolist(), table.lengths.tolist()):
        x, y = u[..., i, p : p + length], v[..., j, q : q + length]
        part = result[..., row, first : first + length]
        product = torch.sum(x * y, dim=dims, keepdim=True) if dims else None
        if row in started:
            part.addcmul_(x, y) if product is None else part.add_(product)
            continue
        started.add(row)
        torch.mul(x, y, out=part) if product is None else part.copy_(product)
        result[..., row, :first] = 0
        result[..., row, first + length : extent] = 0
    for row in set(range(table.shapes[0][0])) - started:
        result[..., row, :] = 0
    return result


# ---- in native code -----------------------------------------------------------------------------------------------
def _has_kernels(terms: Terms, u: torch.Tensor, v: torch.Tensor) -> bool:
    """Whether there are kernels for these types, on this device."""
    here = u.device.type == "cpu" or (u.device.type == "cuda" and cuda_available())
    known = {u.dtype, v.dtype} <= _NATIVE and 0 not in (u.numel(), v.numel())
    return here and known and terms.may_be_native


def _sums(u: torch.Tensor, v: torch.Tensor, summed: Sequence[int]) -> list[int]:
    """Return whether the result is summed, for each batch dimension that has more than one element."""
    batch = torch.broadcast_shapes(u.shape[:-2], v.shape[:-2])
    return [one for one, extent in zip(summed, batch, strict=True) if extent > 1]


def _product(terms: Terms, values: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Return the product of one matrix, which shares the memory of `values`, with any number of vectors."""
    a, (m, n) = _matrix(terms, values.detach().reshape(values.shape[-2:]).contiguous()), terms.shape
    op, shape = (TRANSPOSED, (n, m)) if terms.order[0] == 2 else (0, (m, n))
    one = v.numel() == shape[1]
    x = _columns(v, v.shape[:-2])
    x = x[:, 0] if one else x
    y = apply(a, op, shape, x if x.is_cuda else x.numpy(), None, 1, 0, None, "matmul", None)
    y = y if x.is_cuda else torch.from_numpy(y)
    y = y if one else y.reshape(shape[0], *v.shape[:-2]).movedim(0, -1).contiguous()
    return y.reshape(*v.shape[:-2], 1, shape[0])


def _sampled_product(terms: Terms, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return the values of a matrix: products of the elements of x and y, summed over all vectors."""
    batch = torch.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    x, y = (_columns(t, batch) for t in (x, y))
    values = x.new_zeros((len(terms.a), terms.shape[0]))  # the padding remains 0
    a = _matrix(terms, values)
    if values.is_cuda:
        core, device = a._core, a._backend.index
        with in_stream(owners.Torch, device, None):
            core.sampled_product(*(owners.Torch.view(core, t, device) for t in (x, y)), a._matrix)
    else:
        a._core.sampled_product(x.numpy(), y.numpy(), a._matrix)
    return values.reshape(*(1 for _ in batch), *values.shape)


def _columns(t: torch.Tensor, batch: Sequence[int]) -> torch.Tensor:
    """Return vectors of shape (*batch, 1, n) as the columns of a block in C or F order."""
    rows = t.detach().expand(*batch, *t.shape[-2:]).select(-2, 0)
    columns = rows.movedim(-1, 0).reshape(t.shape[-1], -1)
    return columns if 1 in columns.stride() and 0 not in columns.stride() else columns.contiguous()


def _matrix(terms: Terms, values: torch.Tensor) -> Any:
    """Return a matrix that shares values.

    Its structure, in which kernels cache what they need, and the layouts of vectors that have been checked are cached.
    """
    backend = gpu(values.device.index) if values.is_cuda else CPU
    core, size = backend.core, values.numel()
    array = owners.Torch.view(core, values, backend.index) if values.is_cuda else values.numpy()
    cached = _cached(terms.a, terms.shape, backend.name, values.dtype)
    if not cached:
        matrix = core.diagonal_matrix("dia", *terms.shape, list(terms.a), array, "", backend.index)
        cached[:] = matrix.with_members(new.empty(backend, (0, size), array.dtype)), {}  # not on the memory of `values`
    a = dia_array._wrap(core.member(cached[0].with_members(array.reshape((1, size))), 0))
    a._repeated = cached[1]
    return a


@lru_cache(maxsize=64)
def _cached(offsets: tuple[int, ...], shape: tuple[int, int], device: str, dtype: torch.dtype) -> list[Any]:
    """Return the list that holds, once there is one, a matrix of these diagonals without values, and those layouts."""
    return []
