"""coo: ``A[row[e], col[e]] = values[e]``."""

import numpy as np


def decode(parts, shape):
    A = np.zeros(shape, parts["values"].dtype)
    for i, j, value in zip(parts["row"], parts["col"], parts["values"], strict=True):
        A[i, j] += value
    return A
