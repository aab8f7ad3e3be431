"""Construction of `csr`, `csc` and `coo` from SciPy's arrays, and from component arrays on the CPU or a GPU."""

from __future__ import annotations

from operator import length_hint
from typing import Any

import numpy as np

from .._arrays import owners
from .._arrays.host_dense import as_numpy
from .._backends import memory
from .._backends.backend import CPU, Backend
from .._backends.types import value_dtype
from .._matrix import devices
from .._matrix.construct import in_c_order
from .._matrix.registry import COMMON
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary
from .._matrix.validation import private
from .._matrix.workspaces import at_most, sorting
from .format import Format


class FromEntries(Format):
    """A format of sorted entries without duplicates; other input is sorted and summed in a copy."""

    scipy_class: type  # SciPy's class of the same format

    def from_scipy(
        self, a: Any, dtype: Any, copy: bool, max_bytes: int | None = None, target: Backend = CPU
    ) -> SparseArray:
        """Build from a SciPy sparse array of any format, sharing its values if they are canonical.

        Index arrays are copied, because writing to them later could make a kernel access memory out of bounds.
        """
        who = self.who
        dtype = value_dtype(a.dtype, dtype, who)
        CPU.core.check_shape(self.name, *a.shape)
        if a.format == self.name:
            if max_bytes is not None or at_most(np.size(a.data), a.shape) >= memory.SMALL:
                self.require(_summary(a, dtype), max_bytes, CPU)
            if (result := self.from_canonical(a, dtype, copy)) is not None:
                return result
        s = _summary(a, dtype)
        self.require(s, max_bytes, CPU, temporary=self.scipy_workspace(s))
        given = None if a.format in ("lil", "dok") else a.data
        a, in_order = private(a, who)
        a.data = a.data.astype(dtype, copy=False)  # duplicates are summed in the type that they are stored in
        result = a if in_order and a.format == self.name else self.canonical(a)
        values = in_c_order(result.data, dtype, who)
        if copy and np.may_share_memory(values, given):
            values = values.copy()
        structure = [(name, self.index(result, name)) for name in self.structure]
        return SparseArray._wrap(CPU.core.indexed_matrix(self.name, *a.shape, values, structure))

    def peak_from_scipy(self, a: Any, ours: SparseArray, s: Summary) -> int:
        stored = _summary(a, ours.dtype)
        if a.format == self.name and self.from_canonical(a, ours.dtype, False) is not None:
            return self.nbytes(stored)
        return self.nbytes(stored) + self.scipy_workspace(stored)

    def scipy_workspace(self, s: Summary) -> int:
        """Return the temporary bytes that SciPy needs to sort entries: index arrays and pointers."""
        return s.stored * (s.itemsize + 32) + self.nbytes(Summary(s.shape, s.itemsize, 0))

    def from_canonical(self, a: Any, dtype: np.dtype, copy: bool) -> SparseArray | None:
        """Return a SciPy array of this format as ours without sorting, None if native validation rejects it.

        Nearly all arrays pass, so that they are read only once; the others are validated in detail afterwards.
        """
        pointers, indices = ([], a.coords) if self.name == "coo" else ([a.indptr], [a.indices])
        arrays = (a.data, *pointers, *indices)
        if len(a.shape) != 2 or not all(isinstance(x, np.ndarray) and x.ndim == 1 for x in arrays):
            return None
        if any(x.dtype != np.int32 for x in indices) or any(x.dtype not in (np.int32, np.int64) for x in pointers):
            return None  # wider indices are checked before they are converted
        if any(len(x) != len(a.data) for x in indices):
            return None
        values = in_c_order(a.data, dtype, self.who, copy=copy)
        structure = [(name, self.index(a, name, True)) for name in self.structure]
        try:
            return SparseArray._wrap(CPU.core.indexed_matrix(self.name, *a.shape, values, structure))
        except ValueError:
            return None

    def canonical(self, a: Any) -> Any:
        """Return the entries of a private SciPy object in this format, sorted, with duplicates summed."""
        result = self.scipy_class(a, copy=True) if a.format == self.name else self.scipy_class(a)
        result.sum_duplicates()
        return result

    def index(self, a: Any, name: str, copy: bool = False) -> np.ndarray:
        wanted = np.int64 if name == "indptr" else np.int32
        given = getattr(a, name)
        return in_c_order(given, wanted, self.who, name, copy)

    def scipy_arguments(self, parts: dict[str, np.ndarray]) -> tuple[Any, ...]:
        return parts["values"], parts["indices"], parts["indptr"]

    def from_tuple(
        self, arg: tuple[Any, ...], shape: tuple[int, int] | None, dtype: Any, copy: bool, max_bytes: int | None
    ) -> SparseArray:
        who, indices = self.who, self.index_pair(arg)
        if (values := as_numpy(arg[0], who)).ndim != 1:
            raise ValueError(f"{who}: values has shape {values.shape}, expected one dimension")
        indices = [in_c_order(as_numpy(index, who), None, who, "an index array") for index in indices]
        for array in indices:
            if array.dtype.kind not in "iu" and array.size:
                raise TypeError(f"{who}: indices are of type {array.dtype}, expected integers")
        dtype = value_dtype(values.dtype, dtype, who)  # SciPy supports fewer types
        values = in_c_order(values, dtype, who)
        arg = (values, *indices) if len(arg) == 3 and self.is_compressed() else (values, tuple(indices))
        if len(arg) == 2 and shape is not None:  # SciPy allocates pointers for all its rows or columns
            s = Summary(shape, dtype.itemsize, len(values))
            self.require(s, max_bytes, CPU, temporary=self.scipy_workspace(s))
        try:
            result = self.scipy_class((values, *arg[1:]), shape=shape)
        except (ValueError, TypeError, IndexError) as error:
            raise ValueError(f"{who}: {error}") from None
        return self.from_scipy(result, None, copy, max_bytes)

    def index_pair(self, arg: tuple[Any, ...]) -> Any:
        """Return the two index arrays of a user's tuple."""
        indices: Any = ()
        if len(arg) == 3:
            indices = arg[1:]
        elif len(arg) == 2 and not isinstance(arg[1], (set, dict)):
            indices = arg[1]
        if (count := length_hint(indices)) != 2:  # 0 without a length
            expected = "(values, indices, indptr) as in SciPy" if self.is_compressed() else "(values, rows, columns)"
            raise ValueError(
                f"{self.who}: got {len(arg)} arrays with {count} index arrays, expected "
                f"(values, (rows, columns)) or {expected}"
            )
        return indices

    def is_compressed(self) -> bool:
        """Whether the format has pointers to its rows or columns."""
        return "indptr" in self.structure

    def empty(self, shape: tuple[int, int], dtype: np.dtype, backend: Backend = CPU) -> SparseArray:
        return self.from_scipy(self.scipy_class(shape, dtype=dtype), None, False).to(backend.name)

    def from_device_tuple(
        self, arg: tuple[Any, ...], shape: tuple[int, int] | None, dtype: Any, copy: bool, max_bytes: int | None
    ) -> SparseArray:
        """Build from arrays of which some are on a GPU: entries in any order are sorted and summed there."""
        who, backend = self.who, devices.home(arg)
        indices = self.index_pair(arg)
        layout = "coo" if len(arg) == 2 else self.name
        for index in map(owners.dtype_of, indices):
            if index.kind not in "iu":
                raise TypeError(f"{who}: indices are of type {index}, expected integers")
        wide = np.dtype(np.int64)
        first, second = (
            owners.as_device_array(i, d if (d := owners.dtype_of(i)) == np.int32 else wide, backend, who, "indices")
            for i in indices
        )
        dtype = value_dtype(owners.dtype_of(arg[0]), dtype, who)
        values = owners.as_device_array(arg[0], dtype, backend, who, "values")
        if len(values.shape) != 1:
            raise ValueError(f"{who}: values has shape {tuple(values.shape)}, expected one dimension")
        shape = _shape_of(first, second, layout) if shape is None else shape
        s = Summary(shape, dtype.itemsize, values.shape[0])
        self.require(s, max_bytes, backend, temporary=sorting(s.stored, dtype.itemsize, backend))
        return devices.entries(self.name, shape, values, first, second, layout, backend)


def _summary(a: Any, dtype: np.dtype) -> Summary:
    """Return what is known about a SciPy array before validation."""
    return Summary(a.shape, dtype.itemsize, a.nnz if a.format in ("lil", "dok") else np.size(a.data))


def _shape_of(first: Any, second: Any, layout: str) -> tuple[int, int]:
    """Return the smallest shape that contains all entries, as SciPy does."""
    largest = [int(index.get().max(initial=-1)) + 1 for index in (first, second)]
    if layout == "coo":
        return largest[0], largest[1]
    lines = second.shape[0] - 1
    return (lines, largest[0]) if layout == COMMON else (largest[0], lines)
