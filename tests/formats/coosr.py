"""coosr: ``A[row[e], col[e]] = values[e]``, row by row; those of row i from indptr[i] to indptr[i + 1]."""

import numpy as np
from fuzz import layouts

EXAMPLE = {  # what the header of src/cpp/formats draws
    "row": [0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3],
    "col": [0, 1, 0, 1, 2, 1, 2, 3, 2, 3, 4],
    "values": [1.0, 5, 9, 2, 6, 10, 3, 7, 11, 4, 8],
    "indptr": [0, 2, 5, 8, 11],
}
ORDER = "values", "row", "col", "indptr"


def decode(parts, shape):
    A = np.zeros(shape, parts["values"].dtype)
    for i, j, value in zip(parts["row"], parts["col"], parts["values"], strict=True):
        A[i, j] += value
    assert np.array_equal(np.bincount(parts["row"], minlength=shape[0]), np.diff(parts["indptr"]))
    return A


def sizes(a, item):
    """Return how many values lie in the matrix, and its bytes."""
    return a.nnz, a.nnz * (item + 8) + 8 * (a.shape[0] + 1)


def draw(case, dense, mask):
    """Return parts for the constructor."""
    values, indices, pointers = layouts.compressed(dense, mask, False)
    lines = np.repeat(np.arange(len(pointers) - 1), np.diff(pointers)).astype(case.pick([np.int32, np.int64]))
    return (values, lines, indices, pointers), {}
