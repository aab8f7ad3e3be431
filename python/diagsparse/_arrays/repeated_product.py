"""Repeated products of one matrix on a GPU: what was checked for the last operands is not checked again."""

from __future__ import annotations

from typing import Any

from . import device_dense, owners, streams

_REAL = (int, float)  # factors that suit every product
_LARGE = 1e300  # beyond this, they are asked whether a float64 holds them


class RepeatedProduct:
    """`device_dense.product` of one matrix by one kernel, which remembers the layout of the last operands.

    Others of the same layout are only checked for overlap: everything else follows from the layout. From the third call
    on native code does that, for arrays of CuPy and of PyTorch.
    """

    def __init__(self, a: Any, kernel: str) -> None:
        self._a, self._kernel = a, kernel
        self._last: tuple[type, type[owners.AnyLibrary], tuple[Any, ...]] | None = None
        self._repeated: tuple[Any, Any] = (None, None)  # the core's matrix, and what multiplies it
        self._tried = False  # whether native code knows arrays that lie so

    def __call__(self, x: Any, out: Any, alpha: Any, beta: Any, stream: Any) -> Any:
        """Return ``alpha A x + beta out``."""
        matrix, repeated = self._repeated  # of one moment: another thread may replace both
        if stream is None and matrix is self._a._matrix and repeated(x, out, alpha, beta):
            return out
        plain = stream is None and type(alpha) in _REAL and type(beta) in _REAL and abs(alpha) + abs(beta) < _LARGE
        if plain and self._again(x, out, alpha, beta):
            return out
        a = self._a
        task = device_dense.Product(a, a._op, a.shape, alpha, beta, self._kernel, "matvec")
        result = device_dense.multiply(task, x, out, stream)
        if task.launched is not None and type(x) is type(out) and (owner := owners.owner_of(x)) is not None:
            self._last, self._tried = (type(x), owner, task.launched), False
        return result

    def _again(self, x: Any, out: Any, alpha: Any, beta: Any) -> bool:
        """Multiply, or return False where the operands do not lie like the last ones."""
        if self._last is None:
            return False
        kind, owner, (dtypes, layout) = self._last
        if type(x) is not kind or type(out) is not kind or (owner.dtype(x), owner.dtype(out)) != dtypes:
            return False
        a, core, device = self._a, self._a._backend.core, self._a._backend.index
        with streams.using(owner.current(device)):
            view, y = owner.view(core, x, device), owner.view(core, out, device)
            if device_dense.layout(view, y) != layout or core.overlap(view, y):
                return False
            core.matvec(a._matrix, a._op, view, y, alpha, beta, self._kernel)
        if not self._tried:
            self._tried, matrix = True, a._matrix
            native = core.repeated(matrix, a._op, self._kernel, x, out, view, y, owner.current)
            self._repeated = (None if native is None else matrix, native)
        return True
