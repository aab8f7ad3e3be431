"""cdm: ``values[r, i] = A[i, (i + rows[r]) mod n]``."""

import numpy as np
from fuzz import layouts

from formats import diagonals

EXAMPLE = {  # what the header of src/cpp/formats draws
    "rows": [0, 1, 3],
    "values": [[1.0, 2, 3, 4], [5, 6, 7, 0], [0, 9, 10, 11]],
}
ORDER = "values", "rows"


def decode(parts, shape):
    A = np.zeros(shape, parts["values"].dtype)
    for k, row in zip(parts["rows"], parts["values"], strict=True):
        for i, value in enumerate(row):
            A[i, (i + k) % shape[0]] = value
    return A


def sizes(a, item):
    """Return the number of values in the matrix, and its bytes."""
    n = a.shape[1]
    rows = len(np.unique(diagonals.of(a) % max(1, n)))
    return rows * n, rows * (n * item + 8)


def draw(case, dense, mask):
    """Return parts for the constructor, and its options."""
    return layouts.cdm(case, dense, layouts.offsets_of(mask)), {}
