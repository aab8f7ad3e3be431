"""Matrices of small, partly full blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .arguments import Dtype, Format, Seed, checked_dtype, gallery_function, whole_number
from .construction import as_format, random_values, require_memory_for_entries


@gallery_function
def blocked(
    pattern: Any,
    nnz: int,
    *,
    size: int = 8,
    shape: tuple[int, int] | None = None,
    dtype: Dtype = float,
    seed: Seed = None,
    format: Format = None,
) -> Any:
    """Return a random matrix of square blocks, one for each entry of a pattern. No block is empty.

    Parameters
    ----------
    pattern : sparse or dense matrix
        The positions of the blocks: its stored entries, or the nonzeros of a dense matrix.
    nnz : int
        Number of nonzeros: at least one at random in each block, and the others at random among all blocks.
    size : int
        Number of rows and columns of a block.
    shape : tuple, optional
        Shape of the matrix if the last row or column of blocks is incomplete; by default `size` times that of
        `pattern`.

    Returns
    -------
    csr_array

    Raises
    ------
    ValueError
        If there are fewer nonzeros than blocks, or more than the blocks have elements.

    Examples
    --------
    >>> from diagsparse import gallery
    >>> A = gallery.blocked(gallery.stencil(7, 10), 20 * 6400, seed=0, format="bmsparse")
    >>> A.shape, A.blocks, A.mean_fill
    ((8000, 8000), 6400, 20.0)
    """
    nnz, size, dtype = whole_number("nnz", nnz, "a count"), _size(size), checked_dtype(dtype)
    require_memory_for_entries(nnz, dtype)
    grid = sparse.coo_array(pattern)
    rows, columns = (shape[i] if shape else size * grid.shape[i] for i in range(2))
    if (-(-rows // size), -(-columns // size)) != grid.shape:
        blocks = f"{grid.shape[0]} x {grid.shape[1]} blocks of {size}"
        raise ValueError(f"shape is {shape}, but the pattern has {blocks}")
    corners = np.unique(grid.coords[0] * np.int64(grid.shape[1]) + grid.coords[1])
    top, left = size * (corners // max(1, grid.shape[1])), size * (corners % max(1, grid.shape[1]))
    widths = np.minimum(size, columns - left)
    rng = np.random.default_rng(seed)
    block, position = _positions(np.minimum(size, rows - top) * widths, nnz, rng)
    at = top[block] + position // widths[block], left[block] + position % widths[block]
    csr = sparse.csr_array((np.ones(nnz, dtype), at), shape=(rows, columns)).sorted_indices()
    csr.data = random_values(nnz, dtype, rng)
    return as_format(csr, format)


def _size(size: int) -> int:
    if whole_number("size", size, "a count of rows") < 1:
        raise ValueError(f"size is {size}, expected a count of rows >= 1")
    return int(size)


def _positions(
    room: NDArray[np.int64], count: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return `count` random positions, at least one in each block: the block, and the position in it.

    `room` is the number of positions of each block.
    """
    blocks, total = len(room), int(room.sum())
    if not blocks <= count <= total:
        raise ValueError(f"nnz is {count}, but {blocks} blocks contain from {blocks} to {total} nonzeros")
    first = rng.integers(0, room) if blocks else room
    ends = np.cumsum(room - 1)  # of the other positions, block by block
    others = rng.choice(total - blocks, count - blocks, replace=False, shuffle=False)
    block = np.searchsorted(ends, others, side="right")
    position = others - (ends - room + 1)[block]
    position += position >= first[block]
    return np.concatenate((np.arange(blocks), block)), np.concatenate((first, position))
