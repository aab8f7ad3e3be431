"""csc: column j holds ``values[indptr[j]:indptr[j + 1]]`` in rows ``indices[...]``."""

import numpy as np
from fuzz import layouts

EXAMPLE = {  # what the header of src/cpp/formats draws
    "indptr": [0, 2, 5, 8, 10, 11],
    "indices": [0, 1, 0, 1, 2, 1, 2, 3, 2, 3, 3],
    "values": [1.0, 9, 5, 2, 10, 6, 3, 11, 7, 4, 8],
}
ORDER = "values", "indices", "indptr"


def decode(parts, shape):
    A = np.zeros(shape, parts["values"].dtype)
    for j in range(shape[1]):
        for e in range(parts["indptr"][j], parts["indptr"][j + 1]):
            A[parts["indices"][e], j] += parts["values"][e]
    return A


def sizes(a, item):
    """Return the number of values in the matrix, and its bytes."""
    return a.nnz, a.nnz * (item + 4) + 8 * (a.shape[1] + 1)


def draw(case, dense, mask):
    """Return parts for the constructor, sorted or in any order, and its options."""
    return (layouts.compressed(dense, mask, True) if case.chance(0.7) else layouts.entries(case, dense, mask)), {}
