"""csr: row i holds ``values[indptr[i]:indptr[i + 1]]`` in columns ``indices[...]``."""

import numpy as np
from fuzz import layouts

EXAMPLE = {  # what the header of src/cpp/formats draws
    "indptr": [0, 2, 5, 8, 11],
    "indices": [0, 1, 0, 1, 2, 1, 2, 3, 2, 3, 4],
    "values": [1.0, 5, 9, 2, 6, 10, 3, 7, 11, 4, 8],
}
ORDER = "values", "indices", "indptr"


def decode(parts, shape):
    A = np.zeros(shape, parts["values"].dtype)
    for i in range(shape[0]):
        for e in range(parts["indptr"][i], parts["indptr"][i + 1]):
            A[i, parts["indices"][e]] += parts["values"][e]
    return A


def sizes(a, item):
    """Return the number of values in the matrix, and its bytes."""
    return a.nnz, a.nnz * (item + 4) + 8 * (a.shape[0] + 1)


def draw(case, dense, mask):
    """Return parts for the constructor, sorted or in any order, and its options."""
    return (layouts.compressed(dense, mask, False) if case.chance(0.7) else layouts.entries(case, dense, mask)), {}
