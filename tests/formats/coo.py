"""coo: ``A[row[e], col[e]] = values[e]``."""

import numpy as np
from fuzz import layouts

EXAMPLE = {  # what the header of src/cpp/formats draws
    "row": [0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3],
    "col": [0, 1, 0, 1, 2, 1, 2, 3, 2, 3, 4],
    "values": [1.0, 5, 9, 2, 6, 10, 3, 7, 11, 4, 8],
}
ORDER = "values", ("row", "col")


def decode(parts, shape):
    A = np.zeros(shape, parts["values"].dtype)
    for i, j, value in zip(parts["row"], parts["col"], parts["values"], strict=True):
        A[i, j] += value
    return A


def sizes(a, item):
    """Return the number of values in the matrix, and its bytes."""
    return a.nnz, a.nnz * (item + 8)


def draw(case, dense, mask):
    """Return parts for the constructor, in any order, and its options."""
    return layouts.entries(case, dense, mask), {}
