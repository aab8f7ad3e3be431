"""hyb: ``A[i, ell_indices[w, i]] = values[w m + i]``; after these, ``A[coo_row[e], coo_col[e]]``."""

import numpy as np
from fuzz import layouts

EXAMPLE = {  # what the header of src/cpp/formats draws
    "ell_indices": [[0, 0, 1, 2], [1, 1, 2, 3]],
    "coo_row": [1, 2, 3],
    "coo_col": [2, 3, 4],
    "values": [1.0, 9, 10, 11, 5, 2, 3, 4, 6, 7, 8],
}
ORDER = "values", "ell_indices", "coo_row", "coo_col"


def decode(parts, shape):
    A = np.zeros(shape, parts["values"].dtype)
    columns = np.asarray(parts["ell_indices"])
    for (w, i), j in np.ndenumerate(columns):
        if j >= 0:
            A[i, j] += parts["values"][w * shape[0] + i]
    for i, j, value in zip(parts["coo_row"], parts["coo_col"], parts["values"][columns.size :], strict=True):
        A[i, j] += value
    return A


def sizes(a, item):
    """Return the number of values in the matrix, and its bytes."""
    lengths = np.diff(a.indptr)

    def nbytes(width):
        return width * a.shape[0] * (item + 4) + np.maximum(lengths - width, 0).sum() * (item + 8)

    return a.nnz, min(nbytes(width) for width in range(lengths.max(initial=0) + 1))


def draw(case, dense, mask):
    """Return parts for the constructor, of any width, and its options."""
    width = case.pick([0, 1, 2, int(mask.sum(axis=1).max(initial=0))])
    position = np.cumsum(mask, axis=1) - 1
    values = np.full((width, len(dense)), case.pick([np.nan, 7, 0]), dense.dtype)
    indices = np.full(values.shape, -1, np.int32)
    for i, j in zip(*np.nonzero(mask & (position < width)), strict=True):
        indices[position[i, j], i], values[position[i, j], i] = j, dense[i, j]
    rest, _, _ = layouts.compressed(dense, mask & (position >= width), False)
    row, col = np.nonzero(mask & (position >= width))
    return (np.concatenate([values.ravel(), rest]), indices, row, col), {}
