"""Repeated products with one matrix on a GPU, which skip the checks that the last operands passed."""

from __future__ import annotations

from typing import Any

from . import device_dense, owners, streams

_REAL = (int, float)  # types of factors that are valid for every product
_LARGE = 1e300  # larger factors are checked for the range of float64


class RepeatedProduct:
    """`device_dense.product` with one matrix and one kernel, which remembers the layout of the last operands.

    Operands of the same layout are checked for overlap only, as the other checks depend on the layout alone. From the
    third call on, native code does this for arrays of CuPy and PyTorch.
    """

    def __init__(self, a: Any, kernel: str) -> None:
        self._a, self._kernel = a, kernel
        self._last: tuple[type, type[owners.AnyLibrary], tuple[Any, ...]] | None = None
        self._repeated: tuple[Any, Any] = (None, None)  # the native matrix, and the callable that multiplies it
        self._tried = False  # whether a native callable was requested for this layout

    def __call__(self, x: Any, out: Any, alpha: Any, beta: Any, stream: Any) -> Any:
        """Return ``alpha A x + beta out``."""
        matrix, repeated = self._repeated  # read together, because another thread may replace both
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
        """Multiply if the operands have the layout of the last ones, else return False."""
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
