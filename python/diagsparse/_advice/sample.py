"""Properties of a matrix that are estimated from a few rows, in much less time than one product."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._matrix.sparse_array import SparseArray


class Sample(NamedTuple):
    """Estimated properties of a matrix, see src/cpp/core/sample.hpp."""

    offsets: NDArray[np.int64]  # of the diagonals with sampled entries, ascending
    fill: NDArray[np.int64]  # entries on each of them, scaled to the entire matrix
    blocks: int  # occupied 8 x 8 blocks, scaled to the entire matrix
    in_full_blocks: float  # fraction of the entries
    masks: float  # occupied masks (32 rows of one diagonal) per entry: 1/32 if diagonals are full
    lines: float  # cache lines of x per entry that the entries just before it have not loaded
    branches: float  # branches per row that differ from those of the previous row

    @classmethod
    def of(cls, csr: SparseArray) -> Sample:
        """Sample a matrix in csr, not a view, on any device."""
        return cls(*csr._core.sample(csr._matrix))
