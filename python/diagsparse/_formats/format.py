"""What every format is, whatever its layout: the matrix with all its methods, made of arrays by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .._arrays import owners
from .._arrays.host_dense import as_numpy
from .._matrix import devices
from .._matrix.base import SparseArray
from .._matrix.forecasts import sorting
from .._matrix.gate import refuse_entries
from .._places import memory
from .._places.backend import CPU, Place
from .._places.types import value_dtype
from .methods import Methods
from .packing import Packing


class Format(SparseArray, Methods):
    """A format that brings the names of its parts and a forecast; what else it may say is in `Family`."""

    @property
    def _packing(self) -> Packing:
        """The options that a pickle and a file need besides the parts: none."""
        return Packing()

    @classmethod
    def _from_parts(cls, parts: dict[str, np.ndarray], shape: tuple[int, int], *packing: Any) -> SparseArray:
        if any(packing):
            raise ValueError(f"{cls.__name__}: packing {packing}, but only diagonals are packed")
        structure = [(name, np.array(parts[name], order="C")) for name in cls._names(parts)]
        values = np.require(parts["values"], requirements=["C", "A"])
        return cls._wrap(cls._of_arrays(CPU, shape, values, structure))

    def _rebuilt(self, target: Place, carry: Callable[[Any], Any]) -> Any:
        parts = self._matrix.parts()
        structure = [(name, carry(parts[name])) for name in self._names(parts)]
        shape = self._matrix.rows, self._matrix.cols
        return self._of_arrays(target, shape, carry(parts["values"]), structure)

    @classmethod
    def _of_arrays(cls, place: Place, shape: tuple[int, int], values: Any, structure: list[tuple[str, Any]]) -> Any:
        """Return the native matrix of these arrays, which lie at `place`; the gate looks at them."""
        if cls._several:  # which are merged, to see that no two of them have an entry at one place
            stored, item = math.prod(values.shape), values.itemsize
            nbytes = 2 * (stored * (item + 4) + 8 * (shape[0] + 1)) + sorting(stored, item, place)
            memory.require_free(nbytes, f"{cls.__name__}: the check of its parts", place)
        return place.core.indexed_matrix(cls._format, *shape, values, structure)

    @classmethod
    def _names(cls, parts: Any) -> list[str]:
        """Return the parts beside the values, those that are optional where they are given."""
        return [*cls._structure, *(name for name in cls._optional if name in parts)]

    @classmethod
    def _from_tuple(
        cls, arg: tuple[Any, ...], shape: tuple[int, int] | None, dtype: Any, copy: bool, max_bytes: int | None
    ) -> SparseArray:
        given = {name: as_numpy(part, cls.__name__) for name, part in cls._by_name(arg).items()}
        kept = value_dtype(given["values"].dtype, dtype, cls.__name__, narrow=cls._narrow)
        taken = given.pop("values")
        values = np.array(taken, kept, order="C") if copy else np.require(taken, kept, ["C", "A"])
        wanted = cls._told_shape(shape)
        structure = [
            (name, _index(part, name, cls._index_type(name, wanted, given), cls.__name__))
            for name, part in given.items()
        ]
        return cls._wrap(cls._of_arrays(CPU, wanted, values, structure))

    @classmethod
    def _from_device_tuple(
        cls, arg: tuple[Any, ...], shape: tuple[int, int] | None, dtype: Any, copy: bool, max_bytes: int | None
    ) -> SparseArray:
        given, who, place = cls._by_name(arg), cls.__name__, devices.home(arg)
        taken = given.pop("values")
        kept = value_dtype(owners.dtype_of(taken), dtype, who, narrow=cls._narrow)
        values = owners.contiguous(owners.bring(taken, kept, place, who, "a part"), kept, copy)
        wanted, structure = cls._told_shape(shape), []
        for name, part in given.items():
            index, kept_index = owners.dtype_of(part), cls._index_type(name, wanted, given)
            if index.kind not in ("iu" if kept_index.kind == "i" else "u") or index.itemsize > kept_index.itemsize:
                raise TypeError(f"{who}: {name} is of type {index}, expected {kept_index}")
            brought = owners.bring(part, kept_index, place, who, "a part")
            structure.append((name, owners.contiguous(brought, brought.dtype, copy=True)))
        return cls._wrap(cls._of_arrays(place, wanted, values, structure))

    @classmethod
    def _in_order(cls, parts: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the parts that a user gave by their names in their order, None for an optional one that is missing."""
        needed = "values", *cls._structure
        known = *needed, *cls._optional, *cls._derived
        words = f"{cls.__name__}: got parts {', '.join(map(str, parts)) or 'without names'}"
        perhaps = ", and where there are " * bool(known[len(needed) :]) + ", ".join(known[len(needed) :])
        expected = f"expected {', '.join(needed)}{perhaps}, as A.parts() of {cls._format} names them"
        if unknown := [str(name) for name in parts if name not in known]:
            raise ValueError(f"{words}: {', '.join(unknown)} unknown; {expected}")
        if missing := [name for name in needed if parts.get(name) is None]:
            raise ValueError(f"{words}: {', '.join(missing)} missing; {expected}")
        return tuple(parts.get(name) for name in (*needed, *cls._optional))

    @classmethod
    def _by_name(cls, arg: tuple[Any, ...]) -> dict[str, Any]:
        """Return the parts that a user gave in their order; None is an optional one that is missing."""
        names = ("values", *cls._structure, *cls._optional)
        refuse_entries(arg, cls.__name__)
        if not 1 + len(cls._structure) <= len(arg) <= len(names):
            optional = "".join(f"[, {name}]" for name in cls._optional)
            expected = f"({', '.join(('values', *cls._structure))}{optional})"
            raise ValueError(f"{cls.__name__}: got {len(arg)} parts, expected {expected}")
        given = {
            name: part for name, part in zip(names, arg, strict=False) if not (part is None and name in cls._optional)
        }
        for name, part in given.items():
            shape = tuple(np.shape(part) if owners.owner_of(part) is None else part.shape)
            if len(shape) != (2 if name in cls._two_dimensional else 1):
                expected = "two dimensions" if name in cls._two_dimensional else "one dimension"
                raise ValueError(f"{cls.__name__}: {name} has shape {shape}, expected {expected}")
        return given

    @classmethod
    def _told_shape(cls, shape: tuple[int, int] | None) -> tuple[int, int]:
        """Return the shape that a user gave with the parts."""
        if shape is None:
            raise ValueError(f"{cls.__name__}: parts do not tell the shape; pass shape=(rows, columns)")
        return shape

    @classmethod
    def _index_type(cls, name: str, shape: tuple[int, int], given: dict[str, Any]) -> np.dtype:
        """Return the type in which the index array of this name is kept, in a matrix of this shape and these parts."""
        return np.dtype(np.int64 if name.endswith("indptr") else np.int32)


def _index(part: Any, name: str, kept: np.dtype, who: str) -> np.ndarray:
    """Return a copy of an index array as native code reads it."""
    given = np.asarray(part)
    if given.dtype.kind not in "iu" and given.size:
        raise TypeError(f"{who}: {name} is of type {given.dtype}, expected integers")
    limits = np.iinfo(kept)
    if given.size and not (limits.min <= given.min() and given.max() <= limits.max):
        raise ValueError(f"{who}: {name} holds {given.min()} to {given.max()}, which does not fit {kept}")
    return np.array(given, kept, order="C")
