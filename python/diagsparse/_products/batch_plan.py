"""Plans of products of a batch with vectors and blocks."""

from __future__ import annotations

from typing import Any

from .._backends.backend import CPU
from .._show import display
from .batch import Batch


class BatchPlan:
    """A plan of products of a batch with vectors or blocks, created by `plan_matvec`: ``plan(x, out=y)``."""

    workspace_nbytes = 0

    def __init__(self, batch: Any) -> None:
        self.batch, self.kernel = batch, batch._all.kernels("matvec")[0]
        if batch._backend is not CPU:  # the kernel caches data of the layout before the first call
            batch._core.prepare_matvec(batch._all._matrix, 0, self.kernel)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the members."""
        shape: tuple[int, int] = self.batch.shape
        return shape

    @property
    def count(self) -> int:
        """Number of members."""
        count: int = self.batch.count
        return count

    @property
    def nbytes(self) -> int:
        """Bytes that a product with a vector for each member reads and writes at least."""
        b: Batch = self.batch
        return b.nbytes + b.count * sum(b.shape) * b.dtype.itemsize

    def __call__(self, x: Any, *, out: Any = None, alpha: complex = 1, beta: complex = 0, stream: Any = None) -> Any:
        """Return ``alpha A_i x_i + beta out_i`` for all members; see `batch_array.matvec`."""
        return self.batch.matvec(x, out=out, alpha=alpha, beta=beta, stream=stream)

    def __enter__(self) -> BatchPlan:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def __repr__(self) -> str:
        b = self.batch
        members = f"{b.count} {display.operand(b)}"
        return f'<plan matvec {members}, kernel "{self.kernel}", {display.where(b)}>'
