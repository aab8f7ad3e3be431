"""Construction of `dia`, `hm` and `cdm` from component arrays on the CPU or a GPU, and packing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._arrays import owners
from .._arrays.host_dense import as_numpy
from .._backends import memory
from .._backends.backend import CPU, Backend
from .._backends.types import value_dtype
from .._matrix import construct, devices
from .._matrix.construct import in_c_order
from .._matrix.registry import COMMON, FORMATS, default_format
from .._matrix.sparse_array import SparseArray
from .._matrix.summary import Summary
from .._matrix.validation import checked_shape, is_parts, private, refuse_entries
from .format import Format
from .from_arrays import values_of
from .packing import UNPACKED, Packing, pack, packing_of

_BYTES_OF_AN_INTEGER = 40  # in a list: the number, and the pointer to it


def integer_labels(labels: Any, who: str, what: str) -> list[int]:
    """Return offsets (or row indices) as a list of ints; raise TypeError or ValueError if they are invalid."""
    given = np.atleast_1d(as_numpy(labels, who))
    if given.size == 0:
        return []
    if given.ndim != 1:
        raise ValueError(f"{who}: {what} has shape {given.shape}, expected a list of integers")
    memory.require_free(given.size * _BYTES_OF_AN_INTEGER, f"{who}: a list of {what}")
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        raise ValueError(f"{who}: {what} {given.tolist()[:8]} holds values that are not finite")
    if given.dtype.kind not in "iu":
        raise TypeError(f"{who}: {what} is of type {given.dtype}, expected integers")
    if given.min() <= -(2**62) or given.max() >= 2**62:
        raise ValueError(f"{who}: {what} {given.tolist()[:8]} hold values beyond 2^62")
    return given.tolist()


class FromDiagonals(Format):
    """A format whose matrices are built from values and offsets (cdm: row indices)."""

    part_options: tuple[str, ...] = ()  # options of the constructor for component arrays
    labels = "offsets"  # the array that identifies the diagonals
    structure = ("offsets",)

    def zeros_on(
        self, shape: tuple[int, int], dtype: np.dtype, offsets: list[int], backend: Backend, packing: Packing = UNPACKED
    ) -> SparseArray:
        """Return a matrix of zeros that stores these diagonals (ascending), with this packing."""
        symmetry, period = packing.codes()
        labels = backend.core.labels_for(self.name, *shape, offsets, symmetry)
        options = dtype.name, backend.index, symmetry, period
        result: SparseArray = SparseArray._wrap(backend.core.diagonal_matrix(self.name, *shape, labels, None, *options))
        return result

    def construct(
        self, arg: Any, shape: Any, dtype: Any, copy: bool, max_bytes: int | None, target: Backend | None,
        layout: dict[str, Any],
    ) -> SparseArray:  # fmt: skip
        """Build the matrix, and pack it unless it is given as component arrays, which are packed already."""
        who = self.who
        parts = is_parts(arg)
        given = {name: layout.pop(name) for name in self.part_options if name in layout}
        if given and not parts:
            raise TypeError(f"{who}: {', '.join(given)} is for (values, {self.labels}), got a matrix")
        packing = Packing.of(layout, who)
        if parts:
            shape = None if shape is None else checked_shape(shape, who)
            refuse_entries(arg, who)
            if packing.period == "auto":
                raise ValueError(f'{who}: period="auto" is for matrices; pass the period of (values, {self.labels})')
            return construct.limited(self.from_pair(arg, shape, dtype, copy, packing, given), max_bytes)
        result: Any = construct.build(self, arg, shape, dtype, copy, max_bytes, target)
        return pack(result, packing, max_bytes) if layout else result

    def from_scipy(
        self, a: Any, dtype: Any, copy: bool, max_bytes: int | None = None, target: Backend = CPU
    ) -> SparseArray:
        # Not via csr if its indices do not suffice for the shape, or its row pointers far exceed the entries.
        in_rows = default_format(a.shape) is FORMATS[COMMON]
        if in_rows and (a.format != "coo" or 8 * a.shape[0] <= max(memory.SMALL, 16 * a.nnz)):
            return super().from_scipy(a, dtype, copy, max_bytes, target)
        dtype = value_dtype(a.dtype, dtype, self.who)
        return self.from_entries(private(a, self.who)[0].tocoo(copy=False), dtype, max_bytes)

    def from_entries(self, a: Any, dtype: np.dtype, max_bytes: int | None) -> SparseArray:
        """Build from a SciPy coo, summing duplicates, without csr."""
        temporary = (16 + (a.data.dtype != dtype) * dtype.itemsize) * a.nnz  # two arrays of int64, and the values cast
        memory.require(temporary, max_bytes, f"{self.who}: the offsets of {a.nnz} entries")
        row, col = a.coords
        offset = np.subtract(col, row, dtype=np.int64)
        offsets = np.unique(offset)
        s, held = Summary(a.shape, dtype.itemsize, a.nnz, offsets=lambda: offsets), row.nbytes + col.nbytes
        self.require(s, max_bytes, CPU, held=held, temporary=temporary)
        result: Any = self.zeros_on(a.shape, dtype, offsets.tolist(), CPU)
        spans = result._format.spans(result)
        diagonal = np.searchsorted(spans[:, 0], offset)
        position = np.take(spans[:, 3] - spans[:, 1], diagonal, out=offset, mode="clip")  # of row 0
        position += row
        np.add.at(result._matrix.values.ravel(), position, a.data.astype(dtype, copy=False))
        return result

    def from_parts(self, parts: dict[str, np.ndarray], shape: tuple[int, int], *packing: Any) -> SparseArray:
        who = self.who
        options = Packing.of(dict(zip(Packing._fields, packing, strict=False)), who)
        if len(packing) > len(Packing._fields) or options.period == "auto":
            raise ValueError(f"{who}: packing {packing}, expected (symmetry, period)")
        labels = integer_labels(parts[self.labels], self.who, self.labels)
        values = in_c_order(np.asarray(parts["values"]), None, who)
        return SparseArray._wrap(CPU.core.diagonal_matrix(self.name, *shape, labels, values, "", 0, *options.codes()))

    def from_pair(
        self, arg: tuple[Any, ...], shape: Any, dtype: Any, copy: bool, packing: Packing, given: dict[str, Any]
    ) -> SparseArray:
        """Build from ``(values, offsets)``, which may be on a GPU; `given` are the options for component arrays."""
        who, backend = self.who, devices.home(arg) if devices.on_gpu(arg) else CPU
        if len(arg) != 2:
            raise ValueError(f"{who}: got {len(arg)} arrays, expected (values, {self.labels})")
        labels = integer_labels(_on_host(arg[1], backend, who), who, self.labels)
        values = self.shape_values(values_of(self, arg[0], dtype, copy, backend), labels)
        shape = self.infer_shape(values) if shape is None else shape
        values, labels = self.by_layout(values, labels, shape, packing, given, backend)
        options = "", backend.index, *packing.codes()
        return SparseArray._wrap(backend.core.diagonal_matrix(self.name, *shape, labels, values, *options))

    def shape_values(self, values: Any, labels: list[int]) -> Any:
        """Return values in the format's number of dimensions; one diagonal may be one-dimensional."""
        if values.ndim == 1 and len(labels) == 1:
            return values.reshape((1, values.shape[0]))
        if values.ndim != 2:
            raise ValueError(
                f"{self.who}: values of shape {values.shape}, expected a row for each of {len(labels)} {self.labels}"
            )
        return values

    def by_layout(
        self, values: Any, labels: list[int], shape: tuple[int, int], packing: Packing, given: dict[str, Any],
        backend: Backend,
    ) -> tuple[Any, list[int]]:  # fmt: skip
        """Return values and labels in this layout; the user may have passed another alignment."""
        return values, labels

    def infer_shape(self, values: Any) -> tuple[int, int]:
        """Return the shape that the values determine; raise ValueError if they do not."""
        raise ValueError(f"{self.who}: (values, {self.labels}) do not determine the shape; pass shape=(m, n)")

    def moved(self, a: SparseArray, target: Backend, copy_array: Callable[[Any], Any]) -> Any:
        parts, shape = a._matrix.parts(), (a._matrix.rows, a._matrix.cols)
        options = "", target.index, *packing_of(a).codes()
        labels, values = parts[self.labels].tolist(), copy_array(parts["values"])
        return target.core.diagonal_matrix(a.format, *shape, labels, values, *options)


def _on_host(labels: Any, backend: Backend, who: str) -> Any:
    """Return offsets, which may be on a GPU, as `integer_labels` reads them."""
    if owners.owner_of(labels) is None:
        return labels
    given = owners.dtype_of(labels)
    if given.kind not in "iu":
        return np.zeros(1, given)  # `integer_labels` raises
    return owners.as_device_array(labels, np.dtype(np.int64), backend, who, "offsets").get()
