"""What `csr`, `csc` and `coo` share: SciPy's own arrays underneath, canonical, without a copy of the values.

Products run on this library's kernels. On the CPU, element-wise work is SciPy's, on the same memory; on a GPU it is
done by `_merge`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _convert, _gate, _merge
from ._array import SparseArray
from ._backend import CPU, Place
from ._conversions import Conversions
from ._elementwise import Elementwise
from ._protocols import Protocols
from ._types import value_dtype
from ._views import Views

_INDEX_LIMIT = 2**31 - 1


class IndexedArray(Elementwise, Conversions, Views, Protocols, SparseArray):
    """A matrix stored entry by entry. Canonical: sorted, no duplicates (other input is copied and brought to it)."""

    _scipy: type  # the SciPy class of the same format
    _structure: tuple[str, ...]  # its index arrays, in the order of the C++ header

    # ---- making -----------------------------------------------------------------------------------
    @classmethod
    def _from_scipy(cls, a: Any, dtype: Any, copy: bool, max_bytes: int | None = None) -> SparseArray:
        """Build from a SciPy sparse array of any format, sharing its values where they are canonical.

        Its index arrays are copied: who writes to them could lead a kernel out of bounds.
        """
        who = f"{cls.format}_array"
        kept = value_dtype(a.dtype, dtype, who)
        if a.format == cls.format and (made := cls._as_it_is(a, kept, copy)) is not None:
            return made
        a, in_order = _gate.private(a, who)
        CPU.core.check_shape(cls.format, *a.shape)
        if a.format != cls.format:
            _convert.require_entries(cls, a, kept, max_bytes, CPU)
        made = a if in_order and a.format == cls.format else cls._canonical(a)
        values = np.require(made.data, kept, ["C", "A"])
        if copy and np.may_share_memory(values, a.data):
            values = values.copy()
        structure = [(name, cls._index(made, name)) for name in cls._structure]
        return cls._wrap(CPU.core.indexed_matrix(cls.format, *a.shape, values, structure))

    @classmethod
    def _as_it_is(cls, a: Any, dtype: np.dtype, copy: bool) -> SparseArray | None:
        """Return a SciPy array of this format with its entries where they are, None where the gate does not pass them.

        Nearly all of them pass, and are read once; the others are looked at one by one.
        """
        pointers, indices = ([], a.coords) if cls.format == "coo" else ([a.indptr], [a.indices])
        arrays = (a.data, *pointers, *indices)
        if len(a.shape) != 2 or not all(isinstance(x, np.ndarray) and x.ndim == 1 for x in arrays):
            return None
        if any(x.dtype != np.int32 for x in indices) or any(x.dtype not in (np.int32, np.int64) for x in pointers):
            return None  # wider ones are looked at before they are cut
        if any(len(x) != len(a.data) for x in indices):
            return None
        values = np.array(a.data, dtype) if copy else np.require(a.data, dtype, ["C", "A"])
        structure = [(name, cls._index(a, name, True)) for name in cls._structure]
        try:
            return cls._wrap(CPU.core.indexed_matrix(cls.format, *a.shape, values, structure))
        except ValueError:
            return None

    @classmethod
    def _canonical(cls, a: Any) -> Any:
        """Return the entries of a private SciPy object in this format, sorted, with duplicates summed."""
        made = cls._scipy(a, copy=True) if a.format == cls.format else cls._scipy(a)
        made.sum_duplicates()
        return made

    @classmethod
    def _index(cls, a: Any, name: str, copy: bool = False) -> np.ndarray:
        wanted = np.int64 if name == "indptr" else np.int32
        given = getattr(a, name)
        return np.array(given, wanted) if copy else np.require(given, wanted, ["C", "A"])

    @classmethod
    def _from_parts(cls, parts: dict[str, np.ndarray], shape: tuple[int, int], packing: Any) -> SparseArray:
        structure = [(name, np.array(parts[name], order="C")) for name in cls._structure]
        values = np.require(parts["values"], requirements=["C", "A"])
        return cls._wrap(CPU.core.indexed_matrix(cls.format, *shape, values, structure))

    @classmethod
    def _tuple(cls, parts: dict[str, np.ndarray]) -> tuple[Any, ...]:
        return parts["values"], parts["indices"], parts["indptr"]

    @classmethod
    def _from_tuple(cls, arg: tuple[Any, ...], shape: tuple[int, int] | None, dtype: Any, copy: bool) -> SparseArray:
        cls._check_tuple(arg)
        try:
            made = cls._scipy(arg, shape=shape)
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
        """Return this view as a SciPy array over the same memory, index arrays included; on the CPU."""
        parts = self._matrix.parts()
        if "indptr" in parts and self.nnz <= _INDEX_LIMIT:  # SciPy wants one type for both, and would widen indices
            parts["indptr"] = parts["indptr"].astype(np.int32)
        made = self._scipy(self._tuple(parts), shape=(self._matrix.rows, self._matrix.cols), copy=False)
        made.has_canonical_format = True
        if self._op & 1:
            made = made.T.asformat(self.format)
        return made.conj() if self._op & 2 else made

    def _lent(self, format: str | None = None) -> Any:
        """Return this view as a SciPy array to read from, over the same memory where it has the format."""
        made = self._as_scipy()
        return made.asformat(format) if format else made

    def to_scipy(self, format: str | None = None) -> Any:
        """Return the SciPy array of this format over the same values, or of the one that `format` names.

        Its index arrays are its own. From a GPU the values are copied. What SciPy moves about in place
        (``eliminate_zeros``, ``sort_indices``) moves the shared values: ``.copy()`` first.
        """
        if self._place is not CPU:
            return self.to("cpu").to_scipy(format)
        return _with_own_indices(self._lent(format))

    @property
    def T(self) -> SparseArray:
        """The transpose, on the same memory: csr and csc change roles."""
        return self._wrap(self._matrix.dual(), self._op)

    mT = T

    def _on_scipy(self, made: Any) -> SparseArray:
        """Wrap the result of SciPy's work in this format."""
        return type(self)._from_scipy(made.asformat(self.format), None, False)

    # ---- attributes and conversions -----------------------------------------------------------------
    def copy(self) -> SparseArray:
        """Return an independent matrix; a view is laid out anew."""
        if not self._op:
            return self._wrap(self._matrix.with_values(self._matrix.values.copy()))
        return self._from_scipy(self._as_scipy(), None, True) if self._place is CPU else _merge.copied(self)

    def toarray(self, order: str | None = None, out: np.ndarray | None = None) -> np.ndarray:
        """Return a dense NumPy array, shape (m, n); `out` is overwritten where given."""
        dense = self._dense_output(order, out)
        here = self if self._place is CPU else self.to("cpu")
        if dense.flags.c_contiguous or dense.flags.f_contiguous:
            here._as_scipy().toarray(out=dense)
        else:
            entries = here._as_scipy().tocoo()
            dense[entries.coords] = entries.data
        return dense

    def diagonal(self, k: int = 0) -> np.ndarray:
        """Return a copy of diagonal `k` (0: the main one) in NumPy, of its true length."""
        if not -self.shape[0] < k < self.shape[1]:
            return np.zeros(0, self.dtype)
        if self._place is not CPU:
            return self._core.diagonal(self._matrix, self._op, k).get()
        return self._as_scipy().diagonal(k)

    def count_nonzero(self) -> int:
        """Count the stored values that are not zero."""
        return sum(self._core.count_nonzero(self._matrix))

    def eliminate_zeros(self) -> None:
        """Drop the stored zeros, in place."""
        if self._place is not CPU:
            self._matrix, self._op = _merge.without_zeros(self)._matrix, 0
            return
        made = self._as_scipy().copy()
        made.eliminate_zeros()
        self._matrix, self._op = self._on_scipy(made)._matrix, 0


def _with_own_indices(a: Any) -> Any:
    """Return a SciPy array whose index arrays nobody else reads."""
    if a.format == "coo":
        a.coords = tuple(index if index.flags.writeable else index.copy() for index in a.coords)
        return a
    for name in ("indices", "indptr"):
        index = getattr(a, name, None)
        if index is not None and not index.flags.writeable:
            setattr(a, name, index.copy())
    return a
