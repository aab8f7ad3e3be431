"""Products with tensors of PyTorch: a tensor gives a tensor, and gradients are passed on to it.

PyTorch is not imported here: only a caller that has imported it can pass a tensor.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any


def is_tensor(x: Any) -> bool:
    """Whether x is a tensor of PyTorch, on any device."""
    return isinstance(x, getattr(sys.modules.get("torch"), "Tensor", ()))


def is_transformed() -> bool:
    """Whether `torch.func` transforms a call, or derivatives are taken in forward mode."""
    torch: Any = sys.modules["torch"]
    if torch.compiler.is_compiling():
        return False
    return bool(torch._C._are_functorch_transforms_active() or torch.autograd.forward_ad._current_level >= 0)


def is_constant(x: Any) -> bool:
    """Whether a product with a tensor needs no derivatives and is not transformed."""
    return not (x.requires_grad or is_transformed())


def product(multiply: Callable[[Any, bool], Any], x: Any, out: Any) -> Any:
    """Return the product with a tensor, or write it to `out`.

    Parameters
    ----------
    multiply : function
        Multiplies by A, or if its second argument is True by the adjoint: a NumPy array or a tensor on a GPU.
    x : Tensor, shape (n,) or (n, k)
        The vector or block.
    out : array or None
        The output, which `multiply` writes.

    Raises
    ------
    TypeError
        For an `out` although a gradient is required.
    """
    if out is None:
        return _differentiable().apply(x, multiply, False)
    if x.requires_grad and sys.modules["torch"].is_grad_enabled():
        raise TypeError(
            "matvec: x requires a gradient, which is not passed on with out=; leave out= away, or x.detach()"
        )
    return multiply(_readable(x), False)


def _readable(x: Any) -> Any:
    """Return a tensor without gradients: itself on a GPU, as a NumPy array on the host.

    NumPy does not have all of PyTorch's types; bfloat16 becomes float32, which has all of its values.
    """
    x = x.detach().resolve_conj().resolve_neg()
    if x.is_cuda:
        return x
    torch: Any = sys.modules["torch"]
    return (x.float() if x.dtype is torch.bfloat16 else x).numpy()


@cache
def _differentiable() -> Any:
    """Return the product as a function that PyTorch differentiates: its derivatives are products, too."""
    torch: Any = sys.modules["torch"]

    class Product(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(x: Any, multiply: Any, adjoint: bool) -> Any:
            y = multiply(_readable(x), adjoint)
            return y if x.is_cuda else torch.from_numpy(y)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            x, ctx.multiply, ctx.adjoint = inputs
            ctx.dtype, ctx.complex = x.dtype, x.is_complex()

        @staticmethod
        def backward(ctx: Any, g: Any) -> tuple[Any, None, None]:
            y = Product.apply(g, ctx.multiply, not ctx.adjoint)
            return (y.real if y.is_complex() and not ctx.complex else y).to(ctx.dtype), None, None

        @staticmethod
        def jvp(ctx: Any, dx: Any, *others: None) -> Any:
            return Product.apply(dx, ctx.multiply, ctx.adjoint)

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any, multiply: Any, adjoint: bool) -> tuple[Any, int]:
            columns = x.movedim(in_dims[0], -1)
            y = Product.apply(columns.reshape(len(columns), -1), multiply, adjoint)
            return y.reshape(len(y), *columns.shape[1:]), columns.ndim - 1

    return Product
