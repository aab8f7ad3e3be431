"""hm: element (i, j) at position min(i, j) of diagonal j - i, the diagonals one after another."""

import numpy as np
from fuzz import layouts

from formats import diagonals

EXAMPLE = {  # what the header of src/cpp/formats draws
    "offsets": [0, 1, -1],
    "values": [1.0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
    "starts": [0, 4, 8, 11],
}
ORDER = "values", "offsets"


def decode(parts, shape):
    A = np.zeros(shape, parts["values"].dtype)
    for k, start, end in zip(parts["offsets"], parts["starts"], parts["starts"][1:], strict=False):
        for t, value in enumerate(parts["values"][start:end]):
            A[t - min(k, 0), t + max(k, 0)] = value
    return A


def sizes(a, item):
    """Return the number of values in the matrix, and its bytes."""
    found = diagonals.of(a)
    stored = diagonals.stored(a.shape, found)
    return stored, stored * item + 16 * len(found) + 8


def draw(case, dense, mask):
    """Return parts for the constructor, and its options."""
    return layouts.hm(case, dense, layouts.offsets_of(mask)), {}
