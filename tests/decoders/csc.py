"""csc: column j holds ``values[indptr[j]:indptr[j + 1]]`` in rows ``indices[...]``."""

import numpy as np


def decode(parts, shape):
    A = np.zeros(shape, parts["values"].dtype)
    for j in range(shape[1]):
        for e in range(parts["indptr"][j], parts["indptr"][j + 1]):
            A[parts["indices"][e], j] += parts["values"][e]
    return A
