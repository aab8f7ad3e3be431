"""dia: ``values[d, i] = A[i, i + offsets[d]]``; what falls outside is padding."""

import numpy as np


def decode(parts, shape):
    A = np.zeros(shape, parts["values"].dtype)
    for k, row in zip(parts["offsets"], parts["values"], strict=True):
        for i in range(shape[0]):
            if 0 <= i + k < shape[1]:
                A[i, i + k] = row[i]
    return A
