"""Indexing: ``A[i, j]``, ``A[2:5]``, ``A[:, order]``, ``A[A > 0]``.

Reading gives the results of SciPy's csr. Only stored elements can be written, because the positions are fixed.
"""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._backends import memory
from .base import CONJUGATED, TRANSPOSED
from .convert import convert
from .registry import COMMON, FORMATS
from .summary import diagonal_length
from .through_scipy import as_scipy_csr, require_host

_READING = "A[...]"  # the name of the operation in errors
_TOO_MANY_DIMENSIONS = (">2D", "Only 1D or 2D", ">2 dimensions")  # the words of SciPy's versions
_BYTES_OF_POSITIONS = 56  # per element that is written: seven temporary arrays of integers


@memory.no_limit
def get(a: Any, which: Any) -> Any:
    """Return an element, a row, a column or a submatrix, as SciPy does.

    Two integers give a number; one gives a row or column as a one-dimensional SciPy sparse array. Slices with unit step
    preserve the format, the period of packed diagonals, and around the main diagonal their symmetry. Other slices,
    index arrays and masks of rows or columns give csr. ``A[mask]``, with a mask for all elements, gives SciPy's result.

    Cost: reading an element or a row of a diagonal format takes one step per diagonal, and so does each of the complete
    rows or columns that a slice, a mask or an index array selects. A slice with unit step copies its elements.
    Everything else needs a conversion to csr.
    """
    if (pair := _pair(which)) is None:
        return _as_scipy_does(a, which)
    (rows, cols), (m, n) = pair, a._shape
    if isinstance(rows, Integral) and isinstance(cols, Integral):
        return a._format.element(a, _index(rows, m, 0), _index(cols, n, 1))
    if isinstance(rows, Integral):
        row = _index(rows, m, 0)
        return a._format.scipy_row(a, row)[0, cols]
    if isinstance(cols, Integral):
        transpose = a.T
        return transpose._format.scipy_row(transpose, _index(cols, n, 1))[0, rows]
    if isinstance(rows, slice) and isinstance(cols, slice):
        (r0, r1, row_step), (c0, c1, col_step) = rows.indices(m), cols.indices(n)
        if row_step == col_step == 1:
            return a._format.window(a, r0, max(r0, r1), c0, max(c0, c1))
    if a._format.rows is not None and (selected := _whole_lines(a, rows, cols)) is not None:
        return selected
    result = _part(as_scipy_csr(a, _READING), which)
    return FORMATS[COMMON].array(result) if sp.issparse(result) and result.ndim == 2 else result


def _as_scipy_does(a: Any, which: Any) -> Any:
    """Return what SciPy's csr returns; where the result would have more dimensions, the error names the format."""
    csr = as_scipy_csr(a, _READING)
    try:
        return csr[which]
    except IndexError as error:
        if not any(words in str(error) for words in _TOO_MANY_DIMENSIONS):
            raise
        raise IndexError(f"{_READING}: {a.format} has no more than two dimensions; use A.toarray()[...]") from None


@memory.no_limit
def set(a: Any, which: Any, values: Any) -> None:
    """Write stored elements, as ``A[i, j] = v``.

    Raises
    ------
    ValueError
        If a nonzero value is assigned to an element that is not stored, or the matrix is packed, so that a stored value
        represents several elements.
    TypeError
        For complex values if the matrix is real.
    """
    if why := a._format.why_not_written(a):
        raise ValueError(f"A[i, j] = v: {why}")
    a._format.sort_in_place(a)
    positions = positions_of(a, which)
    given = values.toarray() if sp.issparse(values) else np.asarray(values)
    while given.ndim > positions.ndim and given.shape[0] == 1:  # as NumPy's assignment does
        given = given[0]
    if given.squeeze().shape == positions.squeeze().shape:  # as in SciPy, e.g. for a column in two dimensions
        given = given.reshape(positions.shape)
    try:
        wanted = np.broadcast_to(given, positions.shape)
    except ValueError:
        raise ValueError(f"A[i, j] = v: v has shape {np.shape(values)}, expected {positions.shape}") from None
    if np.iscomplexobj(wanted) and a._dtype.kind != "c":
        raise TypeError(f"A[i, j] = v: complex values, but {a!r} is real")
    stored = positions >= 0
    if count := np.count_nonzero(wanted[~stored]):
        raise ValueError(
            f"A[i, j] = v: {count} of {positions.size} elements are not stored in {a!r}, and the positions are "
            'fixed; add a matrix, or change A.to_scipy("lil") and convert it back'
        )
    flat = a._matrix.values.reshape(-1)  # a view: values are contiguous
    flat[positions[stored]] = np.conj(wanted[stored]) if a._op & CONJUGATED else wanted[stored]


@memory.no_limit
def setdiag(a: Any, values: Any, k: int = 0) -> None:
    """Set diagonal `k` to a number, or its first elements to the given values, in place, as SciPy does.

    If the complete diagonal is stored one by one, its values are overwritten. Otherwise the matrix gets new arrays,
    without packing, and existing views of it do not change.

    Raises
    ------
    ValueError
        If `k` is outside of the matrix, or `values` has more than one dimension.
    TypeError
        For complex values if the matrix is real.
    """
    given, count = checked_diagonal(a, values, k)
    if not count:
        return
    if not a._format.why_not_written(a):
        memory.require_free(_BYTES_OF_POSITIONS * count, f"setdiag: the positions of {count} elements of diagonal {k}")
        along = np.arange(count)
        where = along + max(0, -k), along + max(0, k)
        if (positions_of(a, where) >= 0).all():
            a[where] = given if given.ndim == 0 else given[:count]
            return
    changed = sp.csr_array(as_scipy_csr(a, _READING), copy=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sp.SparseEfficiencyWarning)
        changed.setdiag(given, k)
    layout = {name: option for name, option in a._format.layout(a).items() if name != "symmetry"}
    result = a._format.from_csr_as(FORMATS[COMMON].array(changed), layout).astype(a._dtype, copy=False)
    a._matrix, a._op, a._packed = result._matrix, 0, result._packed


def checked_diagonal(a: Any, values: Any, k: int) -> tuple[np.ndarray, int]:
    """Return the new values of diagonal `k` as an array, and the number of elements that they set."""
    m, n = a._shape
    if (k > 0 and k >= n) or (k < 0 and -k >= m):
        raise ValueError(f"setdiag: k={k} exceeds the {m} x {n} matrix")
    given = np.asarray(values)
    if np.iscomplexobj(given) and a._dtype.kind != "c":
        raise TypeError(f"setdiag: complex values, but {a!r} is real")
    if given.ndim > 1:
        raise ValueError(f"setdiag: values have shape {given.shape}, expected a number or one dimension")
    length = diagonal_length((m, n), k)
    return given, length if given.ndim == 0 else min(length, len(given))


def rows(a: Any) -> Any:
    """Yield the rows as one-dimensional SciPy sparse arrays."""
    rows = as_scipy_csr(a, _READING)
    return (rows[i] for i in range(a._shape[0]))


def positions_of(a: Any, which: Any) -> np.ndarray:
    """Return the positions of these elements among the stored values, -1 for elements that are not stored."""
    require_host(a, _READING)
    stored = a._matrix.values
    numbers = np.arange(1, stored.size + 1, dtype=np.float64).reshape(stored.shape)
    numbered = a._wrap(a._matrix.with_values(numbers), a._op & TRANSPOSED)
    chosen = _part(as_scipy_csr(numbered, _READING), which)
    return (chosen.toarray() if sp.issparse(chosen) else np.asarray(chosen)).astype(np.int64) - 1


def _pair(which: Any) -> tuple[Any, Any] | None:
    """Return the indices of rows and of columns, None for what is left to SciPy: new axes, and invalid indices."""
    given = which if isinstance(which, tuple) else (which,)
    dots = [i for i, index in enumerate(given) if index is Ellipsis]
    if len(given) - len(dots) > 2 or len(dots) > 1 or any(index is None for index in given):
        return None
    if dots:
        given = (*given[: dots[0]], *(slice(None),) * (3 - len(given)), *given[dots[0] + 1 :])
    return (*given, slice(None), slice(None))[:2]


def _part(csr: Any, which: Any) -> Any:
    """Index a SciPy csr; an index array of rows and a slice of columns with a step are applied one after the other."""
    pair = _pair(which)
    if pair and isinstance(pair[1], slice) and pair[1].step not in (None, 1) and np.ndim(pair[0]) == 1:
        return csr[pair[0], :][:, pair[1]]
    return csr[which]


def _whole_lines(a: Any, rows: Any, cols: Any) -> Any:
    """Return complete rows or columns as csr, None for everything else that SciPy computes."""
    if _is_everything(cols, a._shape[1]) and (chosen := _lines(rows, a._shape[0])) is not None:
        return a._format.rows(a, chosen)
    if _is_everything(rows, a._shape[0]) and (chosen := _lines(cols, a._shape[1])) is not None:
        return convert(a._format.rows(a.T, chosen).T, COMMON)
    return None


def _is_everything(index: Any, extent: int) -> bool:
    return isinstance(index, slice) and index.indices(extent) == (0, extent, 1)


def _lines(index: Any, extent: int) -> np.ndarray | None:
    """Return the numbers of the rows or columns that a valid slice, mask or list selects, None for anything else."""
    if isinstance(index, slice):
        return np.arange(*index.indices(extent))
    if not isinstance(index, (list, np.ndarray)) or (given := np.asarray(index)).ndim != 1 or not given.size:
        return None
    if given.dtype == bool:
        return given.nonzero()[0] if len(given) == extent else None
    if given.dtype.kind not in "iu" or given.max() >= extent or given.min() < -extent:
        return None
    lines = given.astype(np.int64)
    lines[lines < 0] += extent
    return lines


def _index(i: Any, extent: int, axis: int) -> int:
    """Return a non-negative index; raise IndexError if it is out of range."""
    if not -extent <= i < extent:
        raise IndexError(f"A[i, j]: index {i} is out of range for axis {axis} of {extent}")
    return int(i) % extent if extent else 0
