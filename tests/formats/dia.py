"""dia: ``values[d, i] = A[i, i + offsets[d]]``; what falls outside is padding."""

import numpy as np
from fuzz import layouts

from formats import diagonals

EXAMPLE = {  # what the header of src/cpp/formats draws
    "offsets": [-1, 0, 1],
    "values": [[0.0, 9, 10, 11], [1, 2, 3, 4], [5, 6, 7, 8]],
}
ORDER = "values", "offsets"


def decode(parts, shape):
    A = np.zeros(shape, parts["values"].dtype)
    for k, row in zip(parts["offsets"], parts["values"], strict=True):
        for i in range(shape[0]):
            if 0 <= i + k < shape[1]:
                A[i, i + k] = row[i]
    return A


def sizes(a, item):
    """Return the number of values in the matrix, and its bytes."""
    found = diagonals.of(a)
    return diagonals.stored(a.shape, found), len(found) * (a.shape[0] * item + 8)


def draw(case, dense, mask):
    """Return parts for the constructor, by row or as SciPy aligns them, and its options."""
    align, offsets = case.pick(["row", "row", "column"]), layouts.offsets_of(mask)
    return (layouts.dia if align == "row" else layouts.by_column)(case, dense, offsets), {"align": align}
