"""From format to format, dtype to dtype, and out to SciPy and NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _construct, _memory
from ._backend import core
from ._types import value_dtype

if TYPE_CHECKING:
    from ._array import SparseArray


class Conversions:
    """Conversions of a matrix; mixed into the classes of both families."""

    def asformat(
        self: SparseArray, format: str | None, copy: bool = False, *, max_bytes: int | None = None
    ) -> SparseArray:
        """Return this matrix in another format (itself in its own, unless ``copy=True``).

        Raises
        ------
        ValueError
            For an unknown format, or one that cannot hold this shape.
        MemoryError
            With the bytes, when the result exceeds `max_bytes` or the free memory.
        """
        if format is None or format == self.format:
            return self.copy() if copy else self
        return _construct.convert(self, format, max_bytes)

    def to(self: SparseArray, device: str) -> SparseArray:
        """Return this matrix on a device: itself where it is there already."""
        core(device)
        return self

    def astype(self: SparseArray, dtype: Any, copy: bool = True) -> SparseArray:
        """Return this matrix with values of another dtype.

        Raises
        ------
        TypeError
            For a dtype that no kernel handles, and from complex to real.
        """
        wanted = value_dtype(self.dtype, dtype, f"{self.format}_array.astype")
        if wanted == self.dtype:
            return self.copy() if copy else self
        return self._with(lambda values: values.astype(wanted))

    def _dense_output(self: SparseArray, order: str | None, out: np.ndarray | None) -> np.ndarray:
        """Return zeros for `toarray` to fill: `out` after its check, or a new array where it fits."""
        m, n = self.shape
        if out is None:
            _memory.require(m * n * self.dtype.itemsize, None, f"toarray: a dense {m} x {n} array")
            return np.zeros((m, n), self.dtype, order or "C")
        if order is not None:
            raise ValueError("toarray: order and out exclude each other")
        if not isinstance(out, np.ndarray) or out.shape != (m, n) or out.dtype != self.dtype:
            given = f"{out.dtype} of shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
            raise ValueError(f"toarray: out is {given}, expected {self.dtype} of shape {(m, n)}")
        out[...] = 0
        return out

    def todense(self: SparseArray, order: str | None = None, out: np.ndarray | None = None) -> np.ndarray:
        """The same as `toarray`."""
        return self.toarray(order, out)
