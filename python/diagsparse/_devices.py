"""Matrices from device to device, and from arrays that lie on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _memory, _owners
from ._backend import CPU, Place, gpu
from ._diagonal import DiagonalArray, integer_labels
from ._packing import Packing
from ._types import value_dtype

if TYPE_CHECKING:
    from ._array import SparseArray


# ---- from device to device ------------------------------------------------------------------------
def moved(a: SparseArray, target: Place) -> SparseArray:
    """Return a copy of `a` at another place; a view stays a view of the copy. Between GPUs by way of the host."""
    what = f"to: {a.format}_array {a.shape[0]} x {a.shape[1]} {a.dtype} on {target.name}"
    _memory.require_free(a.nbytes, what, target)
    return a._wrap(_rebuilt(a, target, a._matrix.parts(), partial(carried, source=a._place, target=target)), a._op)


def carried(part: Any, source: Place, target: Place) -> Any:
    """Return a copy of a module's array for another place, by way of the host."""
    here = source.host(part)
    return here if target is CPU else target.core.from_host(np.ascontiguousarray(here), target.index)


def _rebuilt(a: SparseArray, target: Place, parts: dict[str, Any], carry: Callable[[Any], Any]) -> Any:
    """Return the C++ matrix of these parts at its new place."""
    shape = a._matrix.rows, a._matrix.cols
    values = carry(parts["values"])
    if isinstance(a, DiagonalArray):
        options = "", target.index, *a._packing.codes()
        return target.core.diagonal_matrix(a.format, *shape, parts[a._labels].tolist(), values, *options)
    structure = [(name, carry(parts[name])) for name in a._structure]
    return target.core.indexed_matrix(a.format, *shape, values, structure)


# ---- from parts on a GPU --------------------------------------------------------------------------
def on_gpu(arg: tuple[Any, ...]) -> bool:
    """Whether some of the parts of a matrix lie on a GPU."""
    return any(_owners.owner_of(part) is not None for part in _flat(arg))


def _flat(arg: tuple[Any, ...]) -> list[Any]:
    return [part for given in arg for part in (given if isinstance(given, tuple) else (given,))]


def _home(arg: tuple[Any, ...]) -> Place:
    """Return the GPU on which the first of the parts lies that is on one."""
    found = ((_owners.owner_of(part), part) for part in _flat(arg))
    owner, part = next((owner, part) for owner, part in found if owner is not None)
    return gpu(owner.where(part))


def _on_host(labels: Any, place: Place, who: str) -> Any:
    """Return offsets that may lie on a GPU where `integer_labels` can read them."""
    if _owners.owner_of(labels) is None:
        return labels
    given = _owners.dtype_of(labels)
    if given.kind not in "iu":
        return np.zeros(1, given)  # for its words
    return _owners.bring(labels, np.dtype(np.int64), place, who, "a part").get()


def diagonals_from_parts(
    cls: type[DiagonalArray], arg: tuple[Any, ...], shape: Any, dtype: Any, copy: bool, packing: Packing,
    given: dict[str, Any],
) -> SparseArray:  # fmt: skip
    """Build from ``(values, offsets)``, where some lie on a GPU; values are shared where they fit."""
    who, place = f"{cls.format}_array", _home(arg)
    if len(arg) != 2:
        raise ValueError(f"{who}: got {len(arg)} parts, expected (values, {cls._labels})")
    labels = integer_labels(_on_host(arg[1], place, who), who, cls._labels)
    kept = value_dtype(_owners.dtype_of(arg[0]), dtype, who, narrow=True)
    values = _owners.contiguous(_owners.bring(arg[0], kept, place, who, "a part"), kept, copy)
    if values.ndim == 1 and len(labels) == 1 and cls.format != "hm":
        row = values.shape[0], values.itemsize
        values = _owners.strided(place.core, values, (1, row[0]), (row[0] * row[1], row[1]))
    values = cls._shape_values(values, labels)
    shape = cls._infer_shape(values) if shape is None else shape
    values, labels = cls._by_layout(values, labels, shape, packing, given, place)
    options = "", place.index, *packing.codes()
    return cls._wrap(place.core.diagonal_matrix(cls.format, *shape, labels, values, *options))


def entries_from_parts(cls: type[SparseArray], arg: tuple[Any, ...], shape: Any, dtype: Any) -> SparseArray:
    """Build csr, csc or coo, where some parts lie on a GPU: entries in any order, sorted and summed there."""
    who, place = f"{cls.format}_array", _home(arg)
    indices = arg[1:] if len(arg) == 3 and cls.format != "coo" else arg[1] if len(arg) == 2 else ()
    if not isinstance(indices, tuple) or len(indices) != 2:
        raise ValueError(f"{who}: got {len(arg)} parts, expected (values, ...) as in SciPy")
    layout = "coo" if len(arg) == 2 else cls.format
    for index in map(_owners.dtype_of, indices):
        if index.kind not in "iu":
            raise TypeError(f"{who}: indices are of type {index}, expected integers")
    wide = np.dtype(np.int64)
    first, second = (
        _owners.bring(i, d if (d := _owners.dtype_of(i)) == np.int32 else wide, place, who, "a part") for i in indices
    )
    kept = value_dtype(_owners.dtype_of(arg[0]), dtype, who)
    values = _owners.bring(arg[0], kept, place, who, "a part")
    shape = _entries_shape(first, second, layout) if shape is None else shape
    return entries(cls.format, shape, values, first, second, layout, place)


def entries(
    format: str, shape: tuple[int, int], values: Any, first: Any, second: Any, layout: str, place: Place
) -> SparseArray:
    """Return the matrix of these entries (arrays on the GPU, as `layout` has them), sorted and summed."""
    from ._array import SparseArray

    parts = (_owners.contiguous(part, part.dtype) for part in (values, first, second))
    return SparseArray._wrap(place.core.entries(format, *shape, *parts, layout))


def _entries_shape(first: Any, second: Any, layout: str) -> tuple[int, int]:
    """Return the smallest shape that holds the entries, as in SciPy."""
    largest = [int(index.get().max(initial=-1)) + 1 for index in (first, second)]
    if layout == "coo":
        return largest[0], largest[1]
    lines = second.shape[0] - 1
    return (lines, largest[0]) if layout == "csr" else (largest[0], lines)
