"""From format to format, dtype to dtype, and out to SciPy and NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from .._places import memory
from .._places.backend import CPU, place
from .._places.types import is_narrow, value_dtype
from . import cupy_sparse, devices
from .convert import convert, unshared
from .registry import SCIPYS, format_class

if TYPE_CHECKING:
    from .base import SparseArray


class Conversions:
    """Conversions of a matrix; mixed into every matrix class."""

    def asformat(
        self: SparseArray, format: str | None, copy: bool = False, *, max_bytes: int | None = None, **layout: Any
    ) -> SparseArray:
        """Return this matrix in another format (itself in its own, unless ``copy=True``).

        Options of the layout (`symmetry` and `period` of the diagonal formats) are as in the constructor. Where none is
        given, a packed matrix stays packed among dia, hm and cdm, and is stored in full in every other format.

        Raises
        ------
        ValueError
            For an unknown format, or one that cannot hold this shape.
        NotImplementedError
            For SciPy's lil and dok, with what to type; its bsr is made, as by `tobsr`.
        MemoryError
            With the bytes, when the result and what is needed beside it while it is made exceed `max_bytes` or the free
            memory; `diagsparse.forecast` tells them.
        """
        if layout:
            return format_class(format or self.format)(self, copy=copy, max_bytes=max_bytes, **layout)
        if format in SCIPYS:
            return getattr(self, f"to{format}")()
        made = self if format is None else convert(self, format, max_bytes)
        if copy or made is not self:  # conversions share nothing, as in SciPy
            made = unshared(made, self, max_bytes)
        return made

    def to(self: SparseArray, device: str) -> SparseArray:
        """Return this matrix on a device: itself where it is there already, else a copy.

        Parameters
        ----------
        device : {"cpu", "cuda", "cuda:1", ...}
            A view (`A.T`, `A.H`) stays a view, of the copy.

        Raises
        ------
        CudaUnavailable
            With what is missing.
        MemoryError
            With the numbers, where it does not fit into the memory that is free there.
        """
        if device is None:
            raise TypeError('to: device None: expected "cpu", "cuda" or "cuda:0", "cuda:1", ...')
        target = place(device)
        return self if target is self._place else devices.moved(self, target)

    def to_cupy(self: SparseArray, format: str | None = None) -> Any:
        """Return this matrix as `cupyx.scipy.sparse` has it, on the GPU (a matrix on the cpu is copied there).

        Parameters
        ----------
        format : {"csr", "csc", "coo", "dia"}, optional
            By default this format where CuPy has it, else ``"dia"``. The values of csr, csc and coo are
            shared, their indices copied; ``"dia"`` is aligned by column, so a copy.

        Raises
        ------
        ImportError
            Where CuPy is not installed.
        """
        return cupy_sparse.to_cupy(self, format)

    def astype(self: SparseArray, dtype: Any, copy: bool = True) -> SparseArray:
        """Return this matrix with values of another dtype.

        Raises
        ------
        TypeError
            For a dtype that no kernel handles, and from complex to real.
        """
        wanted = value_dtype(self.dtype, dtype, f"{self.format}_array.astype", narrow=self._narrow)
        if wanted == self.dtype:
            return self.copy() if copy else self
        return self._rewritten(lambda values: values.astype(wanted))

    def unpacked(self: SparseArray, *, max_bytes: int | None = None) -> SparseArray:
        """Return this matrix with every element stored, in a type that arithmetic is done in.

        Itself where that is so already; float16 and bfloat16 values become float32.

        Raises
        ------
        MemoryError
            With the bytes, when the result exceeds `max_bytes` or the free memory.
        """
        if is_narrow(self._dtype):
            nbytes = self.nbytes + self._matrix.values.nbytes
            memory.require(nbytes, max_bytes, f"{self.format}_array: its values in float32", place=self._place)
        return self._widened()

    def _widened(self: SparseArray) -> Any:
        """Return this matrix as it is laid out, in a type that arithmetic is done in."""
        return self.astype(np.float32) if is_narrow(self._dtype) else self

    def _dense_output(self: SparseArray, order: str | None, out: np.ndarray | None) -> np.ndarray:
        """Return zeros for `toarray` to fill: `out` after its check, or a new array where it fits."""
        m, n = self._shape
        if out is None:
            if (nbytes := m * n * self._dtype.itemsize) > memory.SMALL:
                memory.require_free(nbytes, f"toarray: a dense {m} x {n} array")
            return np.zeros(self._shape, self._dtype, cast(Any, order or "C"))
        if order is not None:
            raise ValueError("toarray: order and out exclude each other")
        if not isinstance(out, np.ndarray) or out.shape != (m, n) or out.dtype != self.dtype:
            given = f"{out.dtype} of shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
            raise ValueError(f"toarray: out is {given}, expected {self.dtype} of shape {(m, n)}")
        if self._place is CPU and np.may_share_memory(out, self._matrix.values):
            raise ValueError("toarray: out is part of A's values")
        out.fill(0)
        return out

    def todense(self: SparseArray, order: str | None = None, out: np.ndarray | None = None) -> np.ndarray:
        """The same as `toarray`."""
        return self.toarray(order, out)
