"""sell: entry w of stored row p is at ``slice_indptr[p // C] + w C + p % C`` of values and indices; -1 is padding."""

import numpy as np

from . import short

EXAMPLE = {  # what the header of src/cpp/formats draws
    "indices": [[0, 0], [1, 1], [-1, 2], [1, 2], [2, 3], [3, 4]],
    "values": [[1.0, 9], [5, 2], [0, 6], [10, 11], [3, 4], [7, 8]],
    "slice_indptr": [0, 6, 12],
}
OPTIONS = {"slice_height": 2}
ORDER = "values", "indices", "slice_indptr"


def decode(parts, shape):
    A = np.zeros(shape, parts["values"].dtype)
    values, height = np.asarray(parts["values"]), np.shape(parts["indices"])[1]
    columns = short.lengthen(np.ravel(parts["indices"]), parts.get("bases"))
    rows = parts.get("row_order", range(shape[0]))
    for p, i in enumerate(rows):
        begin, end = (parts["slice_indptr"][p // height + k] for k in (0, 1))
        for position in range(begin + p % height, end, height):
            if columns[position] >= 0:
                A[i, columns[position]] += values.flat[position]
    return A


def positions(lengths, height):
    """Return the number of positions in slices of rows with these lengths."""
    return sum(height * lengths[p : p + height].max() for p in range(0, len(lengths), height))


def sizes(a, item):
    """Return the number of values in the matrix, and its bytes."""
    m, lengths = a.shape[0], np.diff(a.indptr)
    nbytes = [positions(lengths, height) * (item + 4) + 8 * (-(-m // height) + 1) for height in (32, 16, 8)]
    return a.nnz, next(taken for taken in nbytes if taken <= 1.02 * min(nbytes))


def draw(case, dense, mask):
    """Return parts for the constructor: slices wider than they need be or not, rows in any order."""
    m, height = len(dense), case.pick([1, 2, 3, 8, 11, 32])
    lengths = mask.sum(axis=1)
    order = case.rng.permutation(m) if case.chance(0.5) else np.arange(m)
    widths = [int(lengths[order[p : p + height]].max(initial=0)) + case.pick([0, 0, 1]) for p in range(0, m, height)]
    starts = np.cumsum([0, *widths])
    values = np.full((starts[-1], height), case.pick([np.nan, 7, 0]), dense.dtype)
    indices = np.full(values.shape, -1, case.pick([np.int32, np.int64]))
    for p, i in enumerate(order):
        first = starts[p // height]
        indices[first : first + lengths[i], p % height] = np.flatnonzero(mask[i])
        values[first : first + lengths[i], p % height] = dense[i, mask[i]]
    optional = [order, lengths[order]][: case.pick([1, 2])] if (order != np.arange(m)).any() or case.chance(0.5) else []
    columns, *bases = short.drawn(case, indices.ravel(), dense.shape[1])
    optional += [None] * (2 - len(optional)) if bases else []
    return (values, columns.reshape(indices.shape), starts * height, *optional, *bases), {}
