"""From whatever a user has to one of our matrices, and from format to format."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import _memory
from ._array import FORMATS, SparseArray
from ._backend import core
from ._diagonal import DiagonalArray, diagonal_length
from ._types import value_dtype

__all__ = ["array", "as_sparse", "build", "convert", "is_dense"]


def array(arg: Any, format: str | None = None, *, op: str = "matvec", device: str | None = None) -> SparseArray:
    """Return `arg` as a matrix of this library.

    Parameters
    ----------
    arg : sparse matrix (ours or SciPy's), dense 2-D array
    format : str, optional
        One of `diagsparse.formats`. By default: a matrix of ours as it is; else the format with the
        fewest bytes among ``hm`` and ``csr`` (`hm` wins where the occupied diagonals are nearly full).
    op : {"matvec", "matmul"}
        What the matrix is for.
    device : str, optional
        ``"cpu"`` or ``"cuda"``.

    Examples
    --------
    >>> import diagsparse as ds
    >>> ds.array(ds.gallery.tridiagonal(4))
    <hm_array 4 x 4 float64: 3 diagonals from -1 to 1, 10 stored, 136 B, cpu>
    """
    if op not in ("matvec", "matmul"):
        raise ValueError(f'array: op is {op!r}, expected "matvec" or "matmul"')
    core(device)  # raises where the device cannot be used
    if format is not None:
        return format_class(format)(arg, device=device)
    if isinstance(arg, SparseArray):
        return arg
    csr = arg if sp.issparse(arg) and arg.format == "csr" else sp.csr_array(arg)
    ours = FORMATS["csr"](csr, device=device)
    offsets = np.array(ours._core.occupied_diagonals(ours._matrix)[0], dtype=np.int64)
    hm = FORMATS["hm"]._forecast(ours.shape, ours.dtype.itemsize, offsets, ours.nnz)
    return ours.asformat("hm") if hm <= ours.nbytes else ours


def format_class(format: str) -> type[SparseArray]:
    """Return the class of a format by its name."""
    if format not in FORMATS:
        raise ValueError(f'no format "{format}"; there are {", ".join(FORMATS)}')
    return FORMATS[format]


def is_dense(x: Any) -> bool:
    """Whether NumPy makes a numeric vector or block of `x`."""
    if isinstance(x, np.ndarray):
        return True
    if isinstance(x, (list, tuple)) or hasattr(x, "__array__"):
        return np.asarray(x).dtype.kind in "iubfc"
    return False


def as_sparse(x: Any) -> SparseArray | None:
    """Return a SciPy sparse matrix as ours (diagonals stay diagonals, the rest is csr), None for anything else."""
    if isinstance(x, SparseArray):
        return x
    if not sp.issparse(x):
        return None
    return FORMATS["dia" if x.format == "dia" else "csr"](x)


# ---- constructors ---------------------------------------------------------------------------------
def build(cls: type[SparseArray], arg: Any, shape: Any, dtype: Any, copy: bool, max_bytes: int | None) -> SparseArray:
    """Do the work of ``cls(arg, shape, dtype, copy=, max_bytes=)``."""
    who = f"{cls.format}_array"
    if shape is not None:
        shape = _shape(shape, who)
    if isinstance(arg, SparseArray):
        _same_shape(arg.shape, shape, who)
        value_dtype(arg.dtype, dtype, who)
        made = convert(arg, cls.format, max_bytes)
        made = made if dtype is None else made.astype(dtype, copy=False)
        return made.copy() if copy and made._matrix is arg._matrix else made
    if sp.issparse(arg):
        _same_shape(arg.shape, shape, who)
        return _from_scipy(cls, arg, dtype, copy, max_bytes)
    if isinstance(arg, tuple):
        if _is_shape(arg):
            kept = value_dtype(np.float64, dtype, who)
            given = _shape(arg, who)
            return cls._empty(given, kept, []) if issubclass(cls, DiagonalArray) else cls._empty(given, kept)
        return cls._from_tuple(arg, shape, dtype, copy)
    dense = np.asarray(arg)
    if dense.dtype.kind not in "iubfc":
        raise TypeError(
            f"{who}: got {type(arg).__name__} of {dense.dtype} values; expected a sparse matrix, "
            "a dense 2-D array of numbers, a shape, or the parts"
        )
    if dense.ndim != 2:
        raise ValueError(f"{who}: got an array of shape {dense.shape}, expected two dimensions")
    _same_shape(dense.shape, shape, who)
    kept = value_dtype(dense.dtype, dtype, who)
    return _from_scipy(cls, sp.csr_array(dense.astype(kept, copy=False)), None, False, max_bytes)


def _is_shape(arg: tuple[Any, ...]) -> bool:
    return len(arg) == 2 and all(isinstance(n, Integral) for n in arg)


def _shape(shape: Any, who: str) -> tuple[int, int]:
    given = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if not _is_shape(given):
        raise TypeError(f"{who}: shape {shape!r}: expected two integers")
    if min(given) < 0 or max(given) >= 2**62:
        raise ValueError(f"{who}: shape {given}: expected extents from 0 to 2^62")
    return int(given[0]), int(given[1])


def _same_shape(given: tuple[int, ...], wanted: tuple[int, int] | None, who: str) -> None:
    if len(given) != 2:
        raise ValueError(f"{who}: got shape {given}, expected two dimensions")
    if wanted is not None and tuple(given) != wanted:
        raise ValueError(f"{who}: shape={wanted}, but the matrix is {given[0]} x {given[1]}")


def _from_scipy(cls: type[SparseArray], a: Any, dtype: Any, copy: bool, max_bytes: int | None) -> SparseArray:
    kept = value_dtype(a.dtype, dtype, f"{cls.format}_array")
    if not issubclass(cls, DiagonalArray):
        if a.format != cls.format:
            _require_entries(cls, a, kept, max_bytes)
        return cls._from_scipy(a, dtype, copy)
    if a.format == "dia":
        return _from_scipy_dia(cls, a, kept, max_bytes)
    return _from_csr(FORMATS["csr"]._from_scipy(a, kept, False), cls, max_bytes)


def _from_scipy_dia(cls: type[DiagonalArray], a: Any, dtype: np.dtype, max_bytes: int | None) -> DiagonalArray:
    """Realign SciPy's diagonals (``data[d, j] = A[j - offsets[d], j]``)."""
    rows = {int(k): row for k, row in zip(a.offsets, a.data, strict=True) if diagonal_length(a.shape, int(k))}
    offsets = sorted(rows)
    require_layout(cls, a.shape, dtype.itemsize, np.array(offsets, np.int64), a.nnz, max_bytes)
    made = cls._empty(a.shape, dtype, offsets)
    for offset, first, values in made._diagonals():
        if offset in rows:  # cdm also holds the other half of a row
            given = rows[offset][first + offset : first + offset + len(values)]
            values[: len(given)] = given
    return made


# ---- conversions ----------------------------------------------------------------------------------
def convert(a: SparseArray, format: str, max_bytes: int | None = None) -> SparseArray:
    """Return `a` in another format (itself in its own)."""
    cls = format_class(format)
    if format == a.format:
        return a
    if not issubclass(cls, DiagonalArray):
        if isinstance(a, DiagonalArray):
            _require_entries(cls, a, a.dtype, max_bytes)
            _require_entries(FORMATS["csr"], a, a.dtype, None)  # on the way
            csr = a._wrap(a._core.csr_from_diagonals(a._matrix, a._op))
            return csr if format == "csr" else convert(csr, format, max_bytes)
        _require_entries(cls, a, a.dtype, max_bytes)
        return cls._from_scipy(a.to_scipy(), None, False)
    if isinstance(a, DiagonalArray):
        offsets = a._spans()[:, 0]
        require_layout(cls, a.shape, a.dtype.itemsize, offsets, a.nnz, max_bytes)
        return a._laid_out(cls, offsets.tolist(), a.dtype)
    return _from_csr(convert(a, "csr"), cls, max_bytes)


def _from_csr(csr: SparseArray, cls: type[DiagonalArray], max_bytes: int | None) -> SparseArray:
    if csr._op:
        csr = csr.copy()
    offsets = csr._core.occupied_diagonals(csr._matrix)[0]
    require_layout(cls, csr.shape, csr.dtype.itemsize, np.array(offsets, np.int64), csr.nnz, max_bytes)
    return cls._wrap(csr._core.diagonals_from_csr(csr._matrix, cls.format, offsets))


def _require_entries(cls: type[SparseArray], a: Any, dtype: np.dtype, max_bytes: int | None) -> None:
    """Raise when the entries of `a`, in csr, csc or coo, exceed the limit."""
    what = f"{cls.format}_array: {a.nnz} entries of a {a.shape[0]} x {a.shape[1]} matrix"
    _memory.require(cls._forecast(a.shape, dtype.itemsize, None, a.nnz), max_bytes, what)


def require_layout(
    cls: type[DiagonalArray],
    shape: tuple[int, int],
    itemsize: int,
    offsets: np.ndarray,
    nnz: int,
    max_bytes: int | None,
) -> None:
    """Raise when this format cannot hold the shape, or its bytes exceed the limit."""
    cls._core.labels_for(cls.format, *shape, [])  # cdm: square only
    csr = FORMATS["csr"]._forecast(shape, itemsize, offsets, nnz)
    _memory.require(
        cls._forecast(shape, itemsize, offsets, nnz),
        max_bytes,
        f"{cls.format}_array: {len(offsets)} diagonals of a {shape[0]} x {shape[1]} matrix",
        f"{nnz} nonzeros take {_memory.human(csr)} as csr_array",
    )
