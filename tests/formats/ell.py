"""ell: ``A[i, indices[w, i]] = values[w, i]``; where the index is -1 is padding."""

import numpy as np

from . import short

EXAMPLE = {  # what the header of src/cpp/formats draws
    "indices": [[0, 0, 1, 2], [1, 1, 2, 3], [-1, 2, 3, 4]],
    "values": [[1.0, 9, 10, 11], [5, 2, 3, 4], [0, 6, 7, 8]],
}
ORDER = "values", "indices"


def decode(parts, shape):
    A = np.zeros(shape, parts["values"].dtype)
    columns = short.lengthen(parts["indices"], parts.get("bases"))
    for row, values in zip(columns, parts["values"], strict=True):
        for i, (j, value) in enumerate(zip(row, values, strict=True)):
            if j >= 0:
                A[i, j] += value
    return A


def sizes(a, item):
    """Return the number of values in the matrix, and its bytes."""
    width = np.diff(a.indptr).max(initial=0)
    return a.nnz, width * a.shape[0] * (item + 4)


def draw(case, dense, mask):
    """Return parts for the constructor, wider than they need be or not; what is padding may be anything."""
    lengths = mask.sum(axis=1)
    width = int(lengths.max(initial=0)) + case.pick([0, 0, 1, 3])
    values = np.full((width, len(dense)), case.pick([np.nan, 7, 0]), dense.dtype)
    indices = np.full(values.shape, -1, case.pick([np.int32, np.int64]))
    for i, row in enumerate(mask):
        indices[: lengths[i], i] = np.flatnonzero(row)
        values[: lengths[i], i] = dense[i, row]
    indices, *bases = short.drawn(case, indices, dense.shape[1])
    lengths = [lengths] if case.chance(0.5) else [None] * len(bases)
    return (values, indices, *lengths, *bases), {}
