"""Construction from component arrays: of a user, a file, a pickle, or a matrix on another device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .._arrays import device_arrays, owners
from .._arrays.host_dense import as_numpy
from .._backends import memory
from .._backends.backend import CPU, Backend
from .._backends.types import value_dtype
from .._matrix import devices
from .._matrix.construct import in_c_order
from .._matrix.sparse_array import SparseArray
from .._matrix.validation import refuse_entries


def from_parts(format: Any, parts: dict[str, np.ndarray], shape: tuple[int, int], *packing: Any) -> SparseArray:
    """Build from the dict that `parts` of another matrix returned, as NumPy arrays; `packing` as in its pickle."""
    if any(packing):
        raise ValueError(f"{format.who}: packing {packing}: only diagonals can be packed")
    given = {name: np.asarray(parts[name]) for name in ("values", *format.names(parts))}
    values = in_c_order(given.pop("values"), None, format.who)
    structure = [(name, in_c_order(part, None, format.who, name, copy=True)) for name, part in given.items()]
    return SparseArray._wrap(format.from_component_arrays(CPU, shape, values, structure))


def moved(format: Any, a: SparseArray, target: Backend, copy_array: Callable[[Any], Any]) -> Any:
    """Return the native matrix of the same arrays on another device, to which `copy_array` copies them."""
    parts = a._matrix.parts()
    structure = [(name, copy_array(parts[name])) for name in format.names(parts)]
    shape = a._matrix.rows, a._matrix.cols
    return format.from_component_arrays(target, shape, copy_array(parts["values"]), structure)


def from_component_arrays(
    format: Any, backend: Backend, shape: tuple[int, int], values: Any, structure: list[tuple[str, Any]]
) -> Any:
    """Return the native matrix of these arrays, which are on `backend`'s device; native code validates them."""
    return backend.core.indexed_matrix(format.name, *shape, values, structure)


def names(format: Any, parts: Any) -> list[str]:
    """Return the names of the component arrays except the values, including given optional ones."""
    return [*format.structure, *(name for name in format.optional if name in parts)]


def from_tuple(
    format: Any, arg: tuple[Any, ...], shape: tuple[int, int] | None, dtype: Any, copy: bool, max_bytes: int | None
) -> SparseArray:
    """Build from a user's component arrays."""
    return _build(format, arg, shape, dtype, copy, CPU)


def from_device_tuple(
    format: Any, arg: tuple[Any, ...], shape: tuple[int, int] | None, dtype: Any, copy: bool, max_bytes: int | None
) -> SparseArray:
    """Build from a user's component arrays, some of which are on a GPU."""
    return _build(format, arg, shape, dtype, copy, devices.home(arg))


def _build(format: Any, arg: tuple[Any, ...], shape: Any, dtype: Any, copy: bool, backend: Backend) -> SparseArray:
    given = format.by_name(arg)
    if backend is CPU:
        given = {name: as_numpy(part, format.who) for name, part in given.items()}
    values, wanted = values_of(format, given.pop("values"), dtype, copy, backend), format.given_shape(shape)
    structure = []
    for name, part in given.items():
        index_dtype = format.index_type(name, wanted, given)
        if backend is CPU:
            structure.append((name, _index(part, name, index_dtype, format.who)))
        else:
            structure.append((name, _device_index(part, name, index_dtype, format.who, backend)))
    return SparseArray._wrap(format.from_component_arrays(backend, wanted, values, structure))


def values_of(format: Any, given: Any, dtype: Any, copy: bool, backend: Backend) -> Any:
    """Return a user's values in C order, in `dtype` or a dtype that the format stores, without a copy if possible."""
    who, narrow = format.who, format.narrow
    if backend is CPU:
        values = as_numpy(given, who)
        dtype = value_dtype(values.dtype, dtype, who, narrow=narrow)
        return in_c_order(values, dtype, who, copy=copy)
    dtype = value_dtype(owners.dtype_of(given), dtype, who, narrow=narrow)
    return device_arrays.contiguous(owners.as_device_array(given, dtype, backend, who, "values"), dtype, copy)


def in_order(format: Any, parts: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return a user's dict of component arrays as a tuple, with None for missing optional ones."""
    needed = "values", *format.structure
    known = *needed, *format.optional, *format.derived
    words = f"{format.who}: got arrays {', '.join(map(str, parts)) or 'without names'}"
    optional = "".join(f"[, {name}]" for name in known[len(needed) :])
    expected = f"expected {', '.join(needed)}{optional}, as in A.parts() of {format.name}"
    if unknown := [str(name) for name in parts if name not in known]:
        raise ValueError(f"{words}: {', '.join(unknown)} unknown; {expected}")
    if missing := [name for name in needed if parts.get(name) is None]:
        raise ValueError(f"{words}: {', '.join(missing)} missing; {expected}")
    return tuple(parts.get(name) for name in (*needed, *format.optional))


def by_name(format: Any, arg: tuple[Any, ...]) -> dict[str, Any]:
    """Return a user's tuple of component arrays as a dict, without optional ones that are None."""
    names = ("values", *format.structure, *format.optional)
    refuse_entries(arg, format.who)
    if not 1 + len(format.structure) <= len(arg) <= len(names):
        optional = "".join(f"[, {name}]" for name in format.optional)
        expected = f"({', '.join(('values', *format.structure))}{optional})"
        raise ValueError(f"{format.who}: got {len(arg)} arrays, expected {expected}")
    given = {
        name: part for name, part in zip(names, arg, strict=False) if not (part is None and name in format.optional)
    }
    for name, part in given.items():
        shape = tuple(np.shape(part) if owners.owner_of(part) is None else part.shape)
        if len(shape) != (2 if name in format.two_dimensional else 1):
            expected = "two dimensions" if name in format.two_dimensional else "one dimension"
            raise ValueError(f"{format.who}: {name} has shape {shape}, expected {expected}")
    return given


def given_shape(format: Any, shape: tuple[int, int] | None) -> tuple[int, int]:
    """Return the user's shape; raise ValueError if there is none."""
    if shape is None:
        raise ValueError(f"{format.who}: component arrays do not determine the shape; pass shape=(rows, columns)")
    return shape


def index_type(format: Any, name: str, shape: tuple[int, int], given: dict[str, Any]) -> np.dtype:
    """Return the dtype of the index array of this name, for a matrix of this shape and with these arrays."""
    return np.dtype(np.int64 if name.endswith("indptr") else np.int32)


def _index(part: Any, name: str, dtype: np.dtype, who: str) -> np.ndarray:
    """Return a copy of an index array in the given dtype; raise if it does not fit."""
    given = np.asarray(part)
    if given.dtype.kind not in "iu" and given.size:
        raise TypeError(f"{who}: {name} is of type {given.dtype}, expected integers")
    limits = np.iinfo(dtype)
    memory.require_free(given.size * dtype.itemsize, f"{who}: a copy of {name}")  # before its elements are compared
    if given.size and not (limits.min <= given.min() and given.max() <= limits.max):
        raise ValueError(f"{who}: {name} holds {given.min()} to {given.max()}, which does not fit {dtype}")
    return np.array(given, dtype, order="C")


def _device_index(part: Any, name: str, dtype: np.dtype, who: str, backend: Backend) -> Any:
    """Return a copy of an index array on a GPU; raise TypeError if the dtype of the given one is wider."""
    given = owners.dtype_of(part)
    if given.kind not in ("iu" if dtype.kind == "i" else "u") or given.itemsize > dtype.itemsize:
        raise TypeError(f"{who}: {name} is of type {given}, expected {dtype}")
    array = owners.as_device_array(part, dtype, backend, who, name)
    return device_arrays.contiguous(array, array.dtype, copy=True)
