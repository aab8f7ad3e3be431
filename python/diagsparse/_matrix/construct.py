"""From whatever a user has to one of our matrices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._arrays import owners
from .._arrays.host_dense import as_numpy
from .._places import memory
from .._places.backend import CPU, Place, gpu, place
from .._places.types import floats_for, is_narrow, named_dtype, value_dtype, widened
from . import cupy_sparse, devices
from .base import SparseArray, is_scipys
from .convert import convert, unshared
from .from_scipy import from_scipy
from .gate import checked_shape, is_parts, is_shape
from .registry import COMMON, FORMATS, by_way, first_class, format_class
from .summary import Summary


def class_for(arg: Any) -> type[SparseArray]:
    """Return the class that a matrix which is not ours comes to first, before its format is chosen."""
    return first_class(arg.shape) if is_scipys(arg) else FORMATS[COMMON]


def array(arg: Any, format: str | None = None, *, dtype: Any = None, device: str | None = None) -> SparseArray:
    """Return `arg` as a matrix of this library: in the given format, ours as it is, else in hm or csr by their bytes.

    What users call is `diagsparse.array`, which takes advice.
    """
    target = place(device)  # raises where the device cannot be used
    if format is not None:
        return format_class(format)(arg, dtype=dtype, device=device)
    if isinstance(arg, SparseArray):
        arg = arg if dtype is None else arg.astype(dtype, copy=False)
        return arg if device is None else arg.to(target.name)
    ours = class_for(arg)(arg, dtype=dtype, device=device)
    diagonals = FORMATS["hm"]
    return convert(ours, "hm") if diagonals._forecast(ours._summary()) <= ours.nbytes else ours


class Constructed:
    """The constructor of every matrix class."""

    def __init__(
        self: SparseArray,
        arg: Any,
        /,
        shape: tuple[int, int] | None = None,
        dtype: Any = None,
        *,
        copy: bool = False,
        device: str | None = None,
        max_bytes: int | None = None,
        **layout: Any,
    ) -> None:
        target = None if device is None else place(device)
        if named := isinstance(arg, Mapping) and not is_scipys(arg):
            parts, arg, layout = arg, self._in_order(arg), self._parts_are | layout
        given = _dtype_of(arg if not named else parts.get("values"))
        dtype = dtype if given is None else floats_for(given, dtype, type(self).__name__)
        try:
            narrow = _rounded_to(type(self), arg, dtype)
            made = self._made(arg, shape, np.float32 if narrow else dtype, copy, max_bytes, target, layout)
            made = made.astype(narrow, copy=False) if narrow else made
        except (MemoryError, ValueError, TypeError) as error:
            raise by_way(error, self.format) from None
        if named:
            _require_derived(made, parts)
        made = made if target is None else made.to(target.name)
        self._matrix, self._op, self._shape, self._dtype = made._matrix, made._op, made._shape, made._dtype
        self._packed = made._packed
        self._settle(made._place)

    @classmethod
    def _made(
        cls: type[SparseArray], arg: Any, shape: Any, dtype: Any, copy: bool, max_bytes: int | None,
        target: Place | None, layout: dict[str, Any],
    ) -> SparseArray:  # fmt: skip
        """Return the matrix that the constructor's arguments describe; `layout` are options of the format."""
        options = cls._checked(layout)
        if not options:
            return build(cls, arg, shape, dtype, copy, max_bytes, target)
        return _with_options(cls, arg, shape, dtype, max_bytes, target, options)

    @classmethod
    def _checked(cls: type[SparseArray], layout: dict[str, Any]) -> dict[str, int]:
        """Return the options that a user gave for the layout as native code takes them; None is one that is not."""
        if unknown := sorted(set(layout) - set(cls._options)):
            there = f"expected {', '.join(cls._options)}" if cls._options else "the format has none"
            raise TypeError(f"{cls.__name__}: no option {', '.join(unknown)}; {there}")
        options = {name: cls._options[name](value, f"{cls.__name__}: {name}") for name, value in layout.items()}
        return {name: value for name, value in options.items() if value is not None}


def _dtype_of(arg: Any) -> np.dtype | None:
    """Return the dtype of the values that a constructor was given, None where that is not to be seen."""
    if is_parts(arg) and arg:
        arg = np.asarray(arg[0]) if isinstance(arg[0], (list, tuple)) else arg[0]
    if owners.owner_of(arg) is not None:
        return owners.dtype_of(arg)
    return arg.dtype if isinstance(getattr(arg, "dtype", None), np.dtype) else None


def _rounded_to(cls: type[SparseArray], arg: Any, dtype: Any) -> np.dtype | None:
    """Return the 16-bit type to which a matrix is rounded once it is made, None for none; parts are rounded at once."""
    if dtype is None or not cls._narrow or is_parts(arg):
        return None
    wanted = named_dtype(dtype)
    return wanted if is_narrow(wanted) else None


def _require_derived(made: SparseArray, parts: Mapping[str, Any]) -> None:
    """Raise ValueError where parts that follow from the others do not."""
    for name in made._derived:
        if name in parts and not np.array_equal(parts[name], made.parts()[name]):
            raise ValueError(f"{made.format}_array: {name} do not fit the other parts and the shape; leave them out")


def _with_options(
    cls: type[SparseArray], arg: Any, shape: Any, dtype: Any, max_bytes: int | None, target: Place | None,
    options: dict[str, int],
) -> SparseArray:  # fmt: skip
    """Build by way of csr, which is laid out as these options, which were checked, say."""
    made = build(cls if is_parts(arg) else FORMATS[COMMON], arg, shape, dtype, False, max_bytes, target)
    csr = convert(made, COMMON, max_bytes)
    return cls._from_csr(csr, max_bytes, 0 if csr is made else csr.nbytes, **options)


def build(
    cls: type[SparseArray], arg: Any, shape: Any, dtype: Any, copy: bool, max_bytes: int | None, target: Place | None
) -> SparseArray:
    """Build where `arg` lies, or at `target` where that costs less."""
    who = f"{cls.format}_array"
    if shape is not None:
        shape = checked_shape(shape, who)
    if isinstance(arg, SparseArray):
        _same_shape(arg.shape, shape, who)
        value_dtype(widened(arg.dtype), dtype, who)
        if target not in (None, CPU):  # conversions are for the GPU
            arg = arg.to(target.name)
        made = convert(arg, cls.format, max_bytes)
        made = made if dtype is None else made.astype(dtype, copy=False)
        return unshared(made, arg, max_bytes) if copy else made
    if is_scipys(arg):
        _same_shape(arg.shape, shape, who)
        return from_scipy(cls, arg, dtype, copy, max_bytes, target or CPU)
    if cupy_sparse.issparse(arg):
        _same_shape(arg.shape, shape, who)
        return cupy_sparse.from_sparse(cls, arg, dtype, max_bytes)
    if isinstance(arg, tuple):
        return _from_tuple(cls, arg, shape, dtype, copy, max_bytes, target or CPU)
    if owners.owner_of(arg) is not None:
        return _from_device_dense(cls, arg, shape, dtype, max_bytes)
    try:
        dense = as_numpy(arg, who)
    except ValueError:  # rows of different lengths
        raise ValueError(f"{who}: got {type(arg).__name__}, of which NumPy makes no array of numbers") from None
    return _from_dense(cls, dense, arg, shape, dtype, max_bytes, target or CPU)


def _from_tuple(
    cls: type[SparseArray], arg: tuple[Any, ...], shape: Any, dtype: Any, copy: bool, max_bytes: int | None,
    target: Place,
) -> SparseArray:  # fmt: skip
    """Build from a shape, or from the parts."""
    who = f"{cls.format}_array"
    if is_shape(arg):
        wanted, kept = checked_shape(arg, who), value_dtype(np.float64, dtype, who)
        cls._require(Summary.of_nothing(wanted, kept.itemsize), max_bytes, target)
        return cls._empty(wanted, kept, target)
    if devices.on_gpu(arg):
        made = cls._from_device_tuple(arg, shape, dtype, copy, max_bytes)
    else:
        made = cls._from_tuple(arg, shape, dtype, copy, max_bytes)
    return limited(made, max_bytes)


def limited(made: SparseArray, max_bytes: int | None) -> SparseArray:
    """Return a matrix of a user's parts, most of which lie where they did, if it is within the limit."""
    if max_bytes is not None:
        memory.require(made.nbytes, max_bytes, f"{made.format}_array: the matrix of these parts")
    return made


def _from_dense(
    cls: type[SparseArray], dense: np.ndarray, arg: Any, shape: Any, dtype: Any, max_bytes: int | None, target: Place
) -> SparseArray:
    """Build from what NumPy made of the user's `arg`."""
    who = f"{cls.format}_array"
    if dense.dtype.kind not in "iubfc":
        raise TypeError(
            f"{who}: got {type(arg).__name__} of {dense.dtype} values; expected a sparse matrix, "
            "a dense 2-D array of numbers, a shape, or the parts"
        )
    if dense.ndim != 2:
        raise ValueError(f"{who}: got an array of shape {dense.shape}, expected two dimensions")
    _same_shape(dense.shape, shape, who)
    kept = value_dtype(dense.dtype, floats_for(dense.dtype, dtype, who), who)
    if (each := 24 + 2 * kept.itemsize) * dense.size > memory.SMALL:  # of an entry: row, column, value, and as csr
        entries = int(np.count_nonzero(dense))
        memory.require_free(entries * each, f"{who}: {entries} entries of a dense array of shape {dense.shape}")
    return from_scipy(cls, sp.csr_array(dense.astype(kept, copy=False)), None, False, max_bytes, target)


def _from_device_dense(cls: type[SparseArray], x: Any, shape: Any, dtype: Any, max_bytes: int | None) -> SparseArray:
    """Build from a dense array on a GPU, on that GPU: CuPy's there, others by way of the host."""
    who, owner = f"{cls.format}_array", owners.owner_of(x)
    assert owner is not None
    if len(x.shape) != 2:
        raise ValueError(f"{who}: got an array of shape {tuple(x.shape)}, expected two dimensions")
    _same_shape(x.shape, shape, who)
    kept, home = value_dtype(owner.dtype(x), dtype, who), gpu(owner.where(x))
    if owner is owners.CuPy:
        return cupy_sparse.from_dense(cls, x, kept, max_bytes)
    fits = owner is owners.Own or owner.dtype(x) == kept
    dense = owner.view(home.core, x if fits else owner.cast(x, kept), home.index).get()
    return _from_dense(cls, dense, x, shape, kept, max_bytes, home).to(home.name)


def _same_shape(given: tuple[int, ...], wanted: tuple[int, int] | None, who: str) -> None:
    if len(given) != 2:
        raise ValueError(f"{who}: got shape {given}, expected two dimensions")
    if wanted is not None and tuple(given) != wanted:
        raise ValueError(f"{who}: shape={wanted}, but the matrix is {given[0]} x {given[1]}")
