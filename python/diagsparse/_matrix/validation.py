"""Validation of shapes and of SciPy's sparse objects before native code reads them.

SciPy does not check arrays again that were written to after construction. The matrices that are built from its objects
are also validated in C++ (``src/cpp/core/validation.hpp``), as all matrices are.
"""

from __future__ import annotations

from numbers import Integral, Number
from typing import Any

import numpy as np

from .._backends.backend import CPU


def private(a: Any, who: str) -> tuple[Any, bool]:
    """Return a validated copy of a SciPy sparse object, and whether its entries are sorted without duplicates.

    The copy shares the values of `a`, but not the index arrays, so that no one can write to them after validation.
    Raise ValueError or TypeError if its arrays are inconsistent, or indices are out of range.
    """
    if len(a.shape) != 2:
        raise ValueError(f"{who}: got shape {a.shape}, expected two dimensions")
    if a.format == "lil":
        _require_lists(a, who)
        a = a.tocsr()
    elif a.format == "dok":
        a = a.tocoo()
    validate = {"csr": _lines, "csc": _lines, "bsr": _blocks, "coo": _pairs, "dia": _diagonals}
    if a.format not in validate:
        raise TypeError(f"{who}: got a SciPy matrix of format {a.format!r}, expected one of {', '.join(validate)}")
    return validate[a.format](a, who)


def is_shape(arg: tuple[Any, ...]) -> bool:
    """Whether a tuple is the shape of a matrix: two numbers."""
    return len(arg) == 2 and all(isinstance(n, Number) for n in arg)


def is_parts(arg: Any) -> bool:
    """Whether an argument is a tuple of component arrays: a tuple that is not a shape."""
    return isinstance(arg, tuple) and not is_shape(arg)


def refuse_entries(arg: tuple[Any, ...], who: str) -> None:
    """Raise ValueError for ``(values, (rows, columns))``, which only csr, csc and coo accept."""
    pair = arg[1] if len(arg) == 2 else None
    if isinstance(pair, (tuple, list)) and len(pair) == 2 and all(np.ndim(part) == 1 for part in (arg[0], *pair)):
        raise ValueError(
            f"{who}: got (values, (rows, columns)), which is for coo_array: {who}(coo_array(parts, shape=(m, n)))"
        )


def checked_shape(shape: Any, who: str) -> tuple[int, int]:
    """Return a shape as a tuple of two ints; raise TypeError or ValueError if it is not one."""
    given = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if len(given) != 2 or not all(isinstance(n, Integral) for n in given):
        raise TypeError(f"{who}: shape {shape!r}: expected two integers")
    if min(given) < 0 or max(given) >= 2**62:
        raise ValueError(f"{who}: shape {given}: expected extents from 0, below 2^62")
    return int(given[0]), int(given[1])


def integers(array: Any, name: str, who: str) -> np.ndarray:
    """Return a copy of an index array for native code, one-dimensional and of int32 or int64."""
    given = np.asarray(array)
    if given.dtype.kind not in "iu" and given.size:
        raise TypeError(f"{who}: {name} is of type {given.dtype}, expected integers")
    if given.ndim != 1:
        raise ValueError(f"{who}: {name} has shape {given.shape}, expected one dimension")
    if given.dtype == np.uint64 and given.size and given.max() >= 2**63:
        raise ValueError(f"{who}: {name} contains {given.max()}, beyond 2^63")
    return np.array(given, np.int32 if given.dtype == np.int32 else np.int64)


def _compressed(a: Any, lines: int, extent: int, who: str) -> tuple[Any, bool]:
    indptr, indices = integers(a.indptr, "indptr", who), integers(a.indices, "indices", who)
    if indptr.size != lines + 1:
        raise ValueError(f"{who}: indptr has {indptr.size} integers, expected {lines + 1}")
    count = int(indptr[-1])
    if not 0 <= count <= min(indices.size, len(a.data)):
        raise ValueError(f"{who}: indptr ends at {count}, but there are {indices.size} indices, {len(a.data)} values")
    in_order = CPU.core.lines_in_order(who, indptr, indices[:count], lines, extent)
    return type(a)((a.data[:count], indices[:count], indptr), shape=a.shape), in_order


def _lines(a: Any, who: str) -> tuple[Any, bool]:
    lines, extent = a.shape if a.format == "csr" else a.shape[::-1]
    _require_dimensions(a.data, 1, who)
    return _compressed(a, lines, extent, who)


def _blocks(a: Any, who: str) -> tuple[Any, bool]:
    _require_dimensions(a.data, 3, who)
    rows, cols = a.data.shape[1:]
    if not rows or not cols or a.shape[0] % rows or a.shape[1] % cols:
        raise ValueError(f"{who}: blocks of {rows} x {cols} do not tile a {a.shape[0]} x {a.shape[1]} matrix")
    return _compressed(a, a.shape[0] // rows, a.shape[1] // cols, who)[0], False


def _pairs(a: Any, who: str) -> tuple[Any, bool]:
    _require_dimensions(a.data, 1, who)
    row, col = (integers(index, f"axis {axis} of the coordinates", who) for axis, index in enumerate(a.coords[:2]))
    for axis, index in enumerate((row, col)):
        if index.size != len(a.data):
            raise ValueError(f"{who}: {len(a.data)} values, but {index.size} coordinates of axis {axis}")
        if index.size and (index.min() < 0 or index.max() >= a.shape[axis]):
            raise ValueError(
                f"{who}: coordinates from {index.min()} to {index.max()} of axis {axis} "
                f"do not lie in a {a.shape[0]} x {a.shape[1]} matrix"
            )
    in_order = ((row[1:] > row[:-1]) | ((row[1:] == row[:-1]) & (col[1:] > col[:-1]))).all()
    return type(a)((a.data, (row, col)), shape=a.shape), bool(in_order)


def _diagonals(a: Any, who: str) -> tuple[Any, bool]:
    _require_dimensions(a.data, 2, who)
    offsets = integers(a.offsets, "offsets", who)
    if offsets.size != len(a.data):
        raise ValueError(f"{who}: {offsets.size} offsets, but {len(a.data)} rows of data")
    if len(set(offsets.tolist())) < offsets.size:
        raise ValueError(f"{who}: offsets {offsets.tolist()[:8]} repeat; each diagonal may be given once")
    inside = (offsets > -a.shape[0]) & (offsets < a.shape[1])  # SciPy ignores the others, and truncates them to 32 bits
    return (a if inside.all() else type(a)((a.data[inside], offsets[inside]), shape=a.shape)), False


def _require_lists(a: Any, who: str) -> None:
    if [len(row) for row in a.rows] != [len(row) for row in a.data] or len(a.rows) != a.shape[0]:
        raise ValueError(f"{who}: the lists of columns and of values do not fit each other")


def _require_dimensions(data: Any, count: int, who: str) -> None:
    if data.ndim != count:
        raise ValueError(f"{who}: data has shape {data.shape}, expected {count} dimensions")
