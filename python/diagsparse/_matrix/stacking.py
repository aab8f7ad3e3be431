"""Matrices built from blocks, as in SciPy, in diagonal formats where possible: `hstack`, `vstack`, `block_diag`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._backends import memory
from .._backends.backend import CPU
from .._backends.docstrings import completed_by
from .._backends.types import value_dtype
from .construct import array
from .convert import unpacked
from .registry import COMMON, FORMATS, format_named
from .sparse_array import SparseArray
from .summary import Summary

_DIAGONALS = "hm"  # the format in which blocks of diagonals are joined
# By default the result stores diagonals if they need at most this many times the bytes of csr, including all zeros that
# the blocks store: the factor limits the zeros that joining adds. `kron` (_products/kron.py) has a larger limit, which
# is relative to csr without zeros.
_MOST_ZEROS = 2


def hstack(
    blocks: Sequence[Any], format: str | None = None, dtype: Any = None, *, max_bytes: int | None = None
) -> SparseArray:
    """Stack matrices horizontally (column-wise).

    Parameters
    ----------
    blocks : sequence of sparse matrices (of diagsparse or SciPy) or dense 2-D arrays
        The blocks, on the CPU, with the same number of rows.
    format : str, optional
        By default the format of the first block if all blocks store diagonals that nearly fill those of the result;
        else hm or csr, whichever needs fewer bytes.
    dtype : dtype, optional
        By default NumPy's result type.
    max_bytes : int, optional
        Limit for the result and the temporary memory.

    Returns
    -------
    sparse matrix

    Raises
    ------
    TypeError
        If a block is not a matrix, such as None.
    ValueError
        For shapes that do not fit, and matrices on a GPU.
    MemoryError
        If the result does not fit.

    Examples
    --------
    >>> import diagsparse as ds
    >>> A = ds.eye(3)
    >>> ds.hstack([A, 2 * A])
    <hm_array 3 x 6 float64: 2 diagonals from 0 to 3, 6 stored, 88 B, cpu>
    """
    matrices = _blocks("hstack", blocks)
    if len({a.shape[0] for a in matrices}) > 1:
        raise ValueError(f"hstack: shapes {[a.shape for a in matrices]}: expected equal numbers of rows")
    at = np.cumsum([0, *(a.shape[1] for a in matrices)]).tolist()
    positioned = [(a, 0, c) for a, c in zip(matrices, at, strict=False)]
    return _joined("hstack", positioned, (matrices[0].shape[0], at[-1]), format, dtype, max_bytes)


@completed_by(hstack, ("number of rows", "number of columns"))
def vstack(
    blocks: Sequence[Any], format: str | None = None, dtype: Any = None, *, max_bytes: int | None = None
) -> SparseArray:
    """Stack matrices vertically (row-wise).

    Examples
    --------
    >>> import diagsparse as ds
    >>> ds.vstack([ds.eye(2), 3 * ds.eye(1, 2)]).toarray()
    array([[1., 0.],
           [0., 1.],
           [3., 0.]])
    """
    matrices = _blocks("vstack", blocks)
    if len({a.shape[1] for a in matrices}) > 1:
        raise ValueError(f"vstack: shapes {[a.shape for a in matrices]}: expected equal numbers of columns")
    at = np.cumsum([0, *(a.shape[0] for a in matrices)]).tolist()
    positioned = [(a, r, 0) for a, r in zip(matrices, at, strict=False)]
    return _joined("vstack", positioned, (at[-1], matrices[0].shape[1]), format, dtype, max_bytes)


@completed_by(hstack, (", with the same number of rows", ""))
def block_diag(
    blocks: Sequence[Any], format: str | None = None, dtype: Any = None, *, max_bytes: int | None = None
) -> SparseArray:
    """Build a block diagonal matrix. The diagonals of square blocks continue from block to block.

    Examples
    --------
    >>> import diagsparse as ds
    >>> ds.block_diag([ds.eye(2), 3 * ds.eye(1)]).toarray()
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 3.]])
    """
    matrices = _blocks("block_diag", blocks)
    rows, cols = (np.cumsum([0, *(a.shape[i] for a in matrices)]).tolist() for i in (0, 1))
    positioned = list(zip(matrices, rows, cols, strict=False))
    return _joined("block_diag", positioned, (rows[-1], cols[-1]), format, dtype, max_bytes)


def _blocks(who: str, blocks: Sequence[Any]) -> list[SparseArray]:
    if not isinstance(blocks, Iterable) or isinstance(blocks, str):
        raise TypeError(f"{who}: blocks is {blocks!r}, expected a sequence of matrices")
    matrices = [_block(who, i, block) for i, block in enumerate(blocks)]
    if not matrices:
        raise ValueError(f"{who}: no blocks")
    if on_gpu := [a for a in matrices if a._backend is not CPU]:
        raise ValueError(
            f'{who}: {on_gpu[0]!r}: blocks must be on the CPU; use A.to("cpu"), and .to("cuda") for the result'
        )
    return matrices


def _block(who: str, i: int, block: Any) -> SparseArray:
    if block is None or isinstance(block, (str, bytes)):
        raise TypeError(f"{who}: blocks[{i}] is {block!r}, expected a sparse matrix or a dense 2-D array")
    try:
        return unpacked(block if isinstance(block, SparseArray) else array(block))
    except (TypeError, ValueError) as error:
        error.args = (f"{who}: blocks[{i}]: {error}",)
        raise


def _joined(
    who: str, positioned: list[tuple[SparseArray, int, int]], shape: tuple[int, int], format: str | None, dtype: Any,
    max_bytes: int | None,
) -> SparseArray:  # fmt: skip
    """Return the matrix with blocks at these rows and columns."""
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
    rows = getattr(sp, who)([a.to_scipy(COMMON) for a, _, _ in positioned], format=COMMON, dtype=dtype)
    return array(rows) if format is None else array(rows, COMMON).asformat(format, max_bytes=max_bytes)
