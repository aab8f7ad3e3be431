"""Plans of products with vectors and blocks: the kernel, and the data that it caches, are prepared once."""

from __future__ import annotations

from typing import Any

from .._backends.arguments import check_kernel
from .._backends.backend import CPU
from .._matrix.operators import apply
from .._matrix.sparse_array import SparseArray
from .._show import display


def checked_kernel(a: SparseArray, kernel: str | None, operation: str, who: str) -> str:
    """Return the name of a kernel, by default the first one; raise if there is no such kernel for this matrix."""
    names = a.kernels(operation)
    if kernel is None:
        return names[0]
    check_kernel(kernel, who)
    if kernel not in names:
        listed = ", ".join(f'"{name}"' for name in names)
        raise ValueError(f'{who}: no kernel "{kernel}" for {a.format} on {a.device}; there are {listed}')
    return kernel


class MatvecPlan:
    """A plan of products of a matrix with vectors or blocks, created by `plan_matvec`: ``plan(x, out=y)``."""

    workspace_nbytes = 0

    def __init__(self, a: SparseArray, kernel: str | None = None) -> None:
        self.matrix, self.kernel = a, checked_kernel(a, kernel, "matvec", "matvec")
        self._named = kernel  # None: the first one, which native code finds without its name
        if a._backend is not CPU:  # the kernel caches data of the matrix before the first call
            a._core.prepare_matvec(a._matrix, a._op, self.kernel)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the matrix."""
        return self.matrix.shape

    @property
    def nbytes(self) -> int:
        """Bytes that a product reads and writes at least: the matrix, x and y."""
        return self.matrix.nbytes + sum(self.shape) * self.matrix.dtype.itemsize

    def __call__(self, x: Any, *, out: Any = None, alpha: complex = 1, beta: complex = 0, stream: Any = None) -> Any:
        """Return ``alpha A x + beta out``; see `SparseArray.matvec`."""
        a = self.matrix
        return apply(a, a._op, a._shape, x, out, alpha, beta, self._named, "matvec", stream)

    def __enter__(self) -> MatvecPlan:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def __repr__(self) -> str:
        return f'<plan matvec {display.operand(self.matrix)}, kernel "{self.kernel}", {display.where(self.matrix)}>'

    def _repr_html_(self) -> str:
        return display.matvec_plan_html(self)
