"""Products of a matrix on a GPU with vectors and blocks, whose arguments are checked once for each layout.

For each kind of product, a matrix remembers the layout of the last x and y. Native code compares the operands of a call
with it, with little effort for arrays of CuPy, PyTorch and diagsparse. If anything differs, all checks are made.
"""

from __future__ import annotations

from typing import Any

from . import device_dense, owners, streams


def product(
    a: Any, op: int, shape: tuple[int, int], x: Any, out: Any, alpha: Any, beta: Any, kernel: str | None,
    who: str, stream: Any,
) -> Any:  # fmt: skip
    """Return ``alpha op(A) x + beta out`` for a matrix on a GPU; the arguments are those of `operators.apply`."""
    kind = op, kernel, out is None
    if stream is None and (repeated := a._repeated.get(kind)) is not None:
        result = repeated(a._matrix, x, out, alpha, beta)
        if result is not None:
            return result
    task = device_dense.Product(a, op, shape, alpha, beta, kernel, who)
    result = device_dense.multiply(task, x, out, stream)
    if task.launched is not None and type(x) is type(result) and (owner := owners.owner_of(x)) is not None:
        a._repeated[kind] = a._core.repeated(
            a._matrix, op, task.kernel, x, result, *task.launched, owner.stream_getter() or streams.current, task.empty
        )
    return result
