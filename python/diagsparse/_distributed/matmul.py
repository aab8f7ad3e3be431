"""Products of two distributed matrices."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from .._matrix.convert import convert
from .._matrix.sparse_array import SparseArray
from . import columns
from .collective import together
from .ranges import Ranges
from .rows import fetched

DistributedArray: TypeAlias = Any  # of a module above


def matmul(D: DistributedArray, E: DistributedArray) -> SparseArray:
    """Return the rows of this process of the product of two distributed matrices, those that it has of the first one.

    The rows of E that the rows of D need follow from the offsets of D, and are fetched once. Over the rows that a
    process has then, both factors are matrices of diagonals again (see `columns`), and are multiplied as such. If E's
    rows come in several ranges, each of its diagonals becomes one diagonal for each of them there.
    """

    def checked() -> tuple[SparseArray, Ranges]:
        if D.shape[1] != E.shape[0] or D._cols != E._rows:
            raise ValueError(
                f"matmul: {D!r} and {E!r}: expected as many rows as the first one has columns, in the same ranges"
            )
        left = D._plan.local()
        left = convert(left, "csr") if left.format == "qband" else left
        return left, columns.needed(left, 0, left.shape[0])

    left, needed = together(D.comm, checked)
    right = fetched(E, needed)

    def product() -> SparseArray:
        factor = columns.relabelled(left, needed.position, needed.size)
        found = columns.local_matrix(factor @ (convert(right, "csr") if right.format == "qband" else right))
        return _structural(found, left, right, needed)

    found = together(D.comm, product)
    # The format of a product may depend on its elements, of which a process may have none.
    formats = D.comm.allgather((found.format, found.nnz > 0))
    wanted = next((one for one, stored in formats if stored), formats[0][0])
    return together(D.comm, lambda: convert(found, wanted if all(one == wanted for one, s in formats if s) else "csr"))


def _structural(found: SparseArray, left: SparseArray, right: SparseArray, needed: Ranges) -> SparseArray:
    """Return a product by diagonals without those that no pair of diagonals of the factors contributes to."""
    if found.format not in ("dia", "hm") or len(needed) < 2:
        return found
    k = columns.offsets_of(left)
    expected: list[Any] = [np.zeros(0, np.int64)]
    for a, b in needed:
        begin = int(needed.position(a))
        of_rows = right._format.runs(right, (begin, begin + b - a), (0, right.shape[1]))
        # From rows of the product to rows of the second factor, in the numbers of the whole matrices.
        offsets = np.array([j + begin - a for j, _, values in of_rows if values.any()], np.int64)
        first = np.maximum(0, -k) + k
        expected.append(np.add.outer(k[(first >= a) & (first < b)], offsets).ravel())
    keep = set(np.concatenate(expected).tolist())
    runs = [(j, row, values) for j, row, values in found._format.runs(found) if j in keep]
    return found._format.from_runs(found.shape, found.dtype, runs)
