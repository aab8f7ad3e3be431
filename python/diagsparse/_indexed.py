"""What `csr`, `csc` and `coo` share: SciPy's own arrays underneath, canonical, without a copy of the values.

Products run on this library's kernels. On the CPU, element-wise work is SciPy's, on the same memory; on a GPU it is
done by `_merge`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _merge
from ._array import SparseArray
from ._backend import CPU, Place
from ._conversions import Conversions
from ._elementwise import Elementwise
from ._protocols import Protocols
from ._types import value_dtype
from ._views import Views

_INDEX_LIMIT = 2**31 - 1


def _check_indices(a: Any, who: str) -> None:
    """Raise where SciPy's arrays were written to after they were checked: kernels do not look again."""
    if a.format in ("csr", "csc"):
        try:
            a.check_format(full_check=True)
        except ValueError as error:
            raise ValueError(f"{who}: {error}") from None
    elif a.format == "coo":
        for axis, index in enumerate(a.coords):
            if index.size and (index.min() < 0 or index.max() >= a.shape[axis]):
                raise ValueError(
                    f"{who}: coordinates from {index.min()} to {index.max()} of axis {axis} "
                    f"do not lie in a {a.shape[0]} x {a.shape[1]} matrix"
                )


class IndexedArray(Elementwise, Conversions, Views, Protocols, SparseArray):
    """A matrix stored entry by entry. Canonical: sorted, no duplicates (other input is copied and brought to it)."""

    _scipy: type  # the SciPy class of the same format
    _dual: str  # the format that the transpose has on the same memory
    _structure: tuple[str, ...]  # its index arrays, in the order of the C++ header

    # ---- making -----------------------------------------------------------------------------------
    @classmethod
    def _from_scipy(cls, a: Any, dtype: Any, copy: bool) -> SparseArray:
        """Build from a SciPy sparse array of any format, sharing its values where they are canonical."""
        who = f"{cls.format}_array"
        kept = value_dtype(a.dtype, dtype, who)
        if max(a.shape) > _INDEX_LIMIT:
            raise ValueError(f"{who}: {a.shape[0]} x {a.shape[1]}: column indices are 32 bits wide (n < 2^31)")
        _check_indices(a, who)
        a = cls._canonical(cls._scipy(a, copy=copy))
        values = np.ascontiguousarray(a.data, dtype=kept)
        indices = [(name, cls._index(a, name)) for name in cls._structure]
        return cls._wrap(CPU.core.indexed_matrix(cls.format, *a.shape, values, indices))

    @classmethod
    def _canonical(cls, a: Any) -> Any:
        if not a.has_canonical_format:
            a = a.copy()
            a.sum_duplicates()
        return a

    @classmethod
    def _index(cls, a: Any, name: str) -> np.ndarray:
        return np.ascontiguousarray(getattr(a, name), dtype=np.int64 if name == "indptr" else np.int32)

    @classmethod
    def _from_parts(cls, parts: dict[str, np.ndarray], shape: tuple[int, int], packing: Any) -> SparseArray:
        return cls._from_tuple(cls._tuple(parts), shape, None, False)

    @classmethod
    def _tuple(cls, parts: dict[str, np.ndarray]) -> tuple[Any, ...]:
        return parts["values"], parts["indices"], parts["indptr"]

    @classmethod
    def _from_tuple(cls, arg: tuple[Any, ...], shape: tuple[int, int] | None, dtype: Any, copy: bool) -> SparseArray:
        cls._check_tuple(arg)
        try:
            made = cls._scipy(arg, shape=shape)
            if hasattr(made, "check_format"):
                made.check_format(full_check=True)
        except (ValueError, TypeError, IndexError) as error:
            raise ValueError(f"{cls.format}_array: {error}") from None
        return cls._from_scipy(made, dtype, copy)

    @classmethod
    def _check_tuple(cls, arg: tuple[Any, ...]) -> None:
        """Raise for parts that SciPy would take as something else, or truncate."""
        indices = arg[1:] if len(arg) == 3 else arg[1] if len(arg) == 2 else ()
        if len(indices) != 2:
            raise ValueError(f"{cls.format}_array: got {len(arg)} parts, expected (values, ...) as in SciPy")
        for array in map(np.asarray, indices):
            if array.dtype.kind not in "iu" and array.size:
                raise TypeError(f"{cls.format}_array: indices are of type {array.dtype}, expected integers")

    @classmethod
    def _empty(cls, shape: tuple[int, int], dtype: np.dtype, place: Place = CPU) -> SparseArray:
        return cls._from_scipy(cls._scipy(shape, dtype=dtype), None, False).to(place.name)

    @classmethod
    def _forecast(cls, shape: tuple[int, int], itemsize: int, offsets: np.ndarray, nnz: int) -> int:
        """Return the bytes of a matrix with `nnz` entries."""
        raise NotImplementedError

    # ---- SciPy's view of the same memory ------------------------------------------------------------
    def _as_scipy(self) -> Any:
        """Return the stored matrix (not the view) as a SciPy array over the same values; on the CPU."""
        parts = self._matrix.parts()
        if "indptr" in parts and self.nnz <= _INDEX_LIMIT:  # SciPy wants one type for both, and would widen indices
            parts["indptr"] = parts["indptr"].astype(np.int32)
        made = self._scipy(self._tuple(parts), shape=(self._matrix.rows, self._matrix.cols), copy=False)
        made.has_canonical_format = True
        return made

    def to_scipy(self, format: str | None = None) -> Any:
        """Return the SciPy array of this format over the same values, or of the one that `format` names.

        From a GPU the values are copied.
        """
        if self._place is not CPU:
            return self.to("cpu").to_scipy(format)
        made = self._as_scipy()
        if self._op & 1:
            made = made.T.asformat(self.format)
        if self._op & 2:
            made = made.conj()
        return made.asformat(format) if format else made

    @property
    def T(self) -> SparseArray:
        """The transpose, on the same memory: csr and csc change roles."""
        return self._wrap(self._matrix.dual(self._dual), self._op)

    mT = T

    def _on_scipy(self, made: Any) -> SparseArray:
        """Wrap the result of SciPy's work in this format."""
        return type(self)._from_scipy(made.asformat(self.format), None, False)

    # ---- attributes and conversions -----------------------------------------------------------------
    def copy(self) -> SparseArray:
        """Return an independent matrix; a view is laid out anew."""
        if self._place is not CPU:
            return _merge.copied(self)
        made = self.to_scipy()
        return self._from_scipy(made if self._op else made.copy(), None, False)

    def toarray(self, order: str | None = None, out: np.ndarray | None = None) -> np.ndarray:
        """Return a dense NumPy array, shape (m, n); `out` is overwritten where given."""
        dense = self._dense_output(order, out)
        self.to_scipy().toarray(out=dense)
        return dense

    def diagonal(self, k: int = 0) -> np.ndarray:
        """Return a copy of diagonal `k` (0: the main one) in NumPy, of its true length."""
        if not -self.shape[0] < k < self.shape[1]:
            return np.zeros(0, self.dtype)
        if self._place is not CPU:
            return self._core.diagonal(self._matrix, self._op, k).get()
        return self.to_scipy().diagonal(k)

    def count_nonzero(self) -> int:
        """Count the stored values that are not zero."""
        if self._place is not CPU:
            return sum(self._core.count_nonzero(self._matrix))
        return int(np.count_nonzero(self._matrix.values))

    def eliminate_zeros(self) -> None:
        """Drop the stored zeros, in place."""
        if self._place is not CPU:
            self._matrix, self._op = _merge.without_zeros(self)._matrix, 0
            return
        made = self.to_scipy().copy()
        made.eliminate_zeros()
        self._matrix, self._op = self._on_scipy(made)._matrix, 0
