"""coosc: ``A[row[e], col[e]] = values[e]``, column by column; those of column i from indptr[i] to indptr[i + 1]."""

import numpy as np
from fuzz import layouts

EXAMPLE = {  # what the header of src/cpp/formats draws
    "row": [0, 1, 0, 1, 2, 1, 2, 3, 2, 3, 3],
    "col": [0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4],
    "values": [1.0, 9, 5, 2, 10, 6, 3, 11, 7, 4, 8],
    "indptr": [0, 2, 5, 8, 10, 11],
}
ORDER = "values", "row", "col", "indptr"


def decode(parts, shape):
    A = np.zeros(shape, parts["values"].dtype)
    for i, j, value in zip(parts["row"], parts["col"], parts["values"], strict=True):
        A[i, j] += value
    assert np.array_equal(np.bincount(parts["col"], minlength=shape[1]), np.diff(parts["indptr"]))
    return A


def sizes(a, item):
    """Return how many values lie in the matrix, and its bytes."""
    return a.nnz, a.nnz * (item + 8) + 8 * (a.shape[1] + 1)


def draw(case, dense, mask):
    """Return parts for the constructor."""
    values, indices, pointers = layouts.compressed(dense, mask, True)
    lines = np.repeat(np.arange(len(pointers) - 1), np.diff(pointers)).astype(case.pick([np.int32, np.int64]))
    return (values, indices, lines, pointers), {}
