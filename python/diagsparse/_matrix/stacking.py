"""Matrices built from blocks, with SciPy's names, that stay diagonals: `hstack`, `vstack` and `block_diag`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._backends import memory
from .._backends.backend import CPU
from .._backends.types import value_dtype
from .construct import array
from .convert import unpacked
from .registry import COMMON, FORMATS, format_named
from .sparse_array import SparseArray
from .summary import Summary

_DIAGONALS = "hm"  # the format in which blocks by diagonals are joined
# Times the bytes of csr that diagonals may take where nobody named a format: of csr with all that the blocks store, so
# that it limits the zeros that joining them adds. `kron` (_products/kron.py) has a wider limit, of csr without zeros.
_MOST_ZEROS = 2


def hstack(
    blocks: Sequence[Any], format: str | None = None, dtype: Any = None, *, max_bytes: int | None = None
) -> SparseArray:
    """Return matrices side by side.

    Parameters
    ----------
    blocks : sequence of sparse matrices (ours or SciPy's) or dense 2-D arrays
        On the CPU, with as many rows each.
    format : str, optional
        By default that of the first one where all are by diagonals and nearly fill those of the result; else hm or csr,
        whichever takes fewer bytes.
    dtype : dtype, optional
        By default NumPy's result type.
    max_bytes : int, optional
        Limit for the result and what is there while it is made.

    Raises
    ------
    ValueError
        For shapes that do not fit, and matrices on a GPU.
    MemoryError
        With the bytes.

    Examples
    --------
    >>> import diagsparse as ds
    >>> A = ds.eye(3)
    >>> ds.hstack([A, 2 * A])
    <hm_array 3 x 6 float64: 2 diagonals from 0 to 3, 6 stored, 88 B, cpu>
    """
    result = _blocks("hstack", blocks)
    if len({a.shape[0] for a in result}) > 1:
        raise ValueError(f"hstack: rows of {[a.shape for a in result]}: expected as many each")
    at = np.cumsum([0, *(a.shape[1] for a in result)]).tolist()
    positioned = [(a, 0, c) for a, c in zip(result, at, strict=False)]
    return _joined("hstack", positioned, (result[0].shape[0], at[-1]), format, dtype, max_bytes)


def vstack(
    blocks: Sequence[Any], format: str | None = None, dtype: Any = None, *, max_bytes: int | None = None
) -> SparseArray:
    """Return matrices one below the other; as `hstack`."""
    result = _blocks("vstack", blocks)
    if len({a.shape[1] for a in result}) > 1:
        raise ValueError(f"vstack: columns of {[a.shape for a in result]}: expected as many each")
    at = np.cumsum([0, *(a.shape[0] for a in result)]).tolist()
    positioned = [(a, r, 0) for a, r in zip(result, at, strict=False)]
    return _joined("vstack", positioned, (at[-1], result[0].shape[1]), format, dtype, max_bytes)


def block_diag(
    blocks: Sequence[Any], format: str | None = None, dtype: Any = None, *, max_bytes: int | None = None
) -> SparseArray:
    """Return matrices along the main diagonal; as `hstack`.

    Square blocks keep their diagonals, each of which runs through all of them.
    """
    result = _blocks("block_diag", blocks)
    rows, cols = (np.cumsum([0, *(a.shape[i] for a in result)]).tolist() for i in (0, 1))
    positioned = list(zip(result, rows, cols, strict=False))
    return _joined("block_diag", positioned, (rows[-1], cols[-1]), format, dtype, max_bytes)


def _blocks(who: str, blocks: Sequence[Any]) -> list[SparseArray]:
    result = [unpacked(array(block)) for block in blocks]
    if not result:
        raise ValueError(f"{who}: no blocks")
    if away := [a for a in result if a._backend is not CPU]:
        raise ValueError(f'{who}: {away[0]!r}: blocks are read on the host; A.to("cpu"), and the result .to("cuda")')
    return result


def _joined(
    who: str, positioned: list[tuple[SparseArray, int, int]], shape: tuple[int, int], format: str | None, dtype: Any,
    max_bytes: int | None,
) -> SparseArray:  # fmt: skip
    """Return blocks at these rows and columns in one matrix."""
    dtype = value_dtype(np.result_type(*(a.dtype for a, _, _ in positioned)), dtype, who)
    diagonals: Any = FORMATS[_DIAGONALS]
    first: Any = positioned[0][0]
    if all(a._format.family == diagonals.family for a, _, _ in positioned):
        blocks: list[Any] = positioned
        runs = [(k + c - r, i + r, v) for a, r, c in blocks for k, i, v in a._format.runs(a)]
        offsets = np.unique(np.array([k for k, _, _ in runs], np.int64))
        s = Summary(shape, dtype.itemsize, sum(len(v) for _, _, v in runs), offsets=lambda: offsets)
        kind = first._format.format_for_shape(shape) if format is None else format_named(format)
        full = diagonals.nbytes(s) <= _MOST_ZEROS * FORMATS[COMMON].nbytes(s.at_most())
        if full or (format is not None and kind.family == diagonals.family):
            return diagonals.from_runs(shape, dtype, runs, max_bytes).asformat(kind.name, max_bytes=max_bytes)
    stored = sum(a.nnz for a, _, _ in positioned)
    memory.require(2 * stored * (dtype.itemsize + 16), max_bytes, f"{who}: the entries")
    parts = [(a.to_scipy("coo"), r, c) for a, r, c in positioned]
    row, col = (np.concatenate([(x.row, x.col)[i].astype(np.int64) + (r, c)[i] for x, r, c in parts]) for i in (0, 1))
    values = np.concatenate([x.data.astype(dtype, copy=False) for x, _, _ in parts])
    result = sp.coo_array((values, (row, col)), shape=shape)
    return array(result) if format is None else array(result, COMMON).asformat(format, max_bytes=max_bytes)
