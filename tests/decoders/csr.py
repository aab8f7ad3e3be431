"""csr: row i holds ``values[indptr[i]:indptr[i + 1]]`` in columns ``indices[...]``."""

import numpy as np


def decode(parts, shape):
    A = np.zeros(shape, parts["values"].dtype)
    for i in range(shape[0]):
        for e in range(parts["indptr"][i], parts["indptr"][i + 1]):
            A[i, parts["indices"][e]] += parts["values"][e]
    return A
