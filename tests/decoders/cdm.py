"""cdm: ``values[r, i] = A[i, (i + rows[r]) mod n]``."""

import numpy as np


def decode(parts, shape):
    A = np.zeros(shape, parts["values"].dtype)
    for k, row in zip(parts["rows"], parts["values"], strict=True):
        for i, value in enumerate(row):
            A[i, (i + k) % shape[0]] = value
    return A
