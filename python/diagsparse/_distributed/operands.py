"""The operands of a product of a distributed matrix with vectors, as the process has them."""

from __future__ import annotations

from typing import Any, TypeAlias

from .._backends.types import check_scalars, product_dtypes
from .arrays import as_local, checked_output
from .vector import Vector

DistributedArray: TypeAlias = Any  # of a module above


def checked_operands(D: DistributedArray, x: Any, out: Any, alpha: Any, beta: Any) -> tuple[Any, Any]:
    """Return the local arrays of x, in the type of the product, and of `out`; raise ValueError or TypeError."""
    first, last = D.column_range
    if x is None or hasattr(x, "tocsr") or isinstance(x, type(D)):
        raise TypeError(f"matvec: x is {type(x).__name__}, expected a vector; in D @ E, both are distributed")
    if isinstance(x, Vector) and x._rows != D._cols:
        raise ValueError(f"matvec: x has {x.shape} elements in other ranges than the columns of {D!r}")
    for name, one in (("x", x), ("out", out)):
        if isinstance(one, Vector) and one.device != D.device:
            raise TypeError(f"matvec: {name} is on {one.device}, expected {D.device}")
    local = x.local if isinstance(x, Vector) else as_local(x, D.device, "matvec")
    if local.ndim not in (1, 2) or len(local) != last - first:
        raise ValueError(f"matvec: x has shape {local.shape}, expected {last - first} rows, {first} to {last}")
    if out is not None and isinstance(out, Vector) != isinstance(x, Vector):
        raise TypeError(f"matvec: out is a {type(out).__name__} and x a {type(x).__name__}")
    if isinstance(out, Vector) and out._rows != D._rows:
        raise ValueError(f"matvec: out has {out.shape} elements in other ranges than the rows of {D!r}")
    target = out.local if isinstance(out, Vector) else out
    wanted, result = product_dtypes(D.dtype, local.dtype)
    shape = (D.row_range[1] - D.row_range[0], *local.shape[1:])
    check_scalars(result, alpha, beta, "matvec")
    if target is None and beta != 0:
        raise ValueError(f"matvec: beta={beta} needs out")
    if target is not None:
        checked_output(target, shape, result, D.device, "matvec")
    return local.astype(wanted, copy=False), target
