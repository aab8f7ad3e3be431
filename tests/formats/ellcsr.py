"""ellcsr: ``A[i, ell_indices[i, w]] = values[w + i width]``; after these, rows as in csr."""

import numpy as np
from fuzz import layouts

from . import short

EXAMPLE = {  # what the header of src/cpp/formats draws
    "ell_indices": [[0, 1], [0, 1], [1, 2], [2, 3]],
    "csr_indices": [2, 3, 4],
    "csr_indptr": [0, 0, 1, 2, 3],
    "values": [1.0, 5, 9, 2, 10, 3, 11, 4, 6, 7, 8],
}
ORDER = "values", "ell_indices", "csr_indices", "csr_indptr"


def decode(parts, shape):
    A = np.zeros(shape, parts["values"].dtype)
    columns = short.lengthen(parts["ell_indices"], parts.get("ell_bases"))
    rest = short.lengthen(parts["csr_indices"], parts.get("csr_bases"))
    for place, ((i, _), j) in enumerate(np.ndenumerate(columns)):
        if j >= 0:
            A[i, j] += parts["values"][place]
    if "symmetric_columns" in parts:
        A += A.T
    if "hermitian_columns" in parts:
        A += A.conj().T
    for i in range(shape[0]):
        for e in range(parts["csr_indptr"][i], parts["csr_indptr"][i + 1]):
            A[i, rest[e]] += parts["values"][columns.size + e]
    return A


def sizes(a, item):
    """Return how many values lie in the matrix, and its bytes: without padding those of csr."""
    return a.nnz, a.nnz * (item + 4) + 8 * (a.shape[0] + 1)


def draw(case, dense, mask):
    """Return parts for the constructor, cut after some entries of each row or before a column."""
    place = np.cumsum(mask, axis=1) - 1
    if case.chance(0.5):
        leading = mask & (place < case.pick([0, 1, 2, 5]))
    else:
        leading = mask & (np.arange(mask.shape[1]) < case.pick([0, 1, mask.shape[1] // 2, mask.shape[1]]))
    width = int(leading.sum(axis=1).max(initial=0)) + case.pick([0, 0, 2])
    values = np.full((len(dense), width), case.pick([np.nan, 7, 0]), dense.dtype)
    indices = np.full(values.shape, -1, case.pick([np.int32, np.int64]))
    for i, j in zip(*np.nonzero(leading), strict=True):
        indices[i, place[i, j]], values[i, place[i, j]] = j, dense[i, j]
    rest, columns, pointers = layouts.compressed(dense, mask & ~leading, False)
    parts = np.concatenate([values.ravel(), rest]), indices, columns, pointers
    bits = case.pick([32, 32, 16, 8])
    if bits == 32 or dense.shape[1] > 255:
        return parts, {}
    leads, rests = (np.uint8 if bits == 8 else np.uint16), np.uint16
    short_parts = (
        short.shorten(part, dtype, dense.shape[1])[0] for part, dtype in ((indices, leads), (columns, rests))
    )
    return (parts[0], *short_parts, pointers), {}
