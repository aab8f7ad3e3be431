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
    for position, ((i, _), j) in enumerate(np.ndenumerate(columns)):
        if j >= 0:
            A[i, j] += parts["values"][position]
    if "symmetric_columns" in parts:
        A += A.T
    if "hermitian_columns" in parts:
        A += A.conj().T
    for i in range(shape[0]):
        for e in range(parts["csr_indptr"][i], parts["csr_indptr"][i + 1]):
            A[i, rest[e]] += parts["values"][columns.size + e]
    return A


def sizes(a, item):
    """Return the number of values in the matrix, and its bytes: without padding those of csr."""
    return a.nnz, a.nnz * (item + 4) + 8 * (a.shape[0] + 1)


def draw(case, dense, mask):
    """Return parts for the constructor, cut after some entries of each row or before a column, or of one triangle."""
    mirror = case.chance(0.5) and mirror_of(dense, mask)
    if mirror:
        return triangle(case, dense, mask, mirror)
    position = np.cumsum(mask, axis=1) - 1
    if case.chance(0.5):
        leading = mask & (position < case.pick([0, 1, 2, 5]))
    else:
        leading = mask & (np.arange(mask.shape[1]) < case.pick([0, 1, mask.shape[1] // 2, mask.shape[1]]))
    width = int(leading.sum(axis=1).max(initial=0)) + case.pick([0, 0, 2])
    values = np.full((len(dense), width), case.pick([np.nan, 7, 0]), dense.dtype)
    indices = np.full(values.shape, -1, case.pick([np.int32, np.int64]))
    for i, j in zip(*np.nonzero(leading), strict=True):
        indices[i, position[i, j]], values[i, position[i, j]] = j, dense[i, j]
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


def mirror_of(dense, mask):
    """Return the part that says so of a matrix that is symmetric or Hermitian, else None."""
    if mask.shape[0] != mask.shape[1] or not (mask == mask.T).all():
        return None
    for name, image in (("symmetric_columns", dense.T), ("hermitian_columns", dense.conj().T)):
        if np.array_equal(dense, image):
            return name
    return None


def triangle(case, dense, mask, mirror):
    """Return the arrays of a matrix whose leading entries represent their mirror images as well, in any order."""
    m = len(dense)
    before = case.between(0, m)
    i, j = np.indices(mask.shape)
    leading = mask & (j < np.minimum(i, before))
    width = int(leading.sum(axis=1).max(initial=0)) + case.pick([0, 0, 2])
    values = np.full((m, width), case.pick([np.nan, 7, 0]), dense.dtype)
    indices = np.full(values.shape, -1, np.int32)
    for row in range(m):
        columns = case.rng.permutation(np.flatnonzero(leading[row]))
        indices[row, : len(columns)], values[row, : len(columns)] = columns, dense[row, columns]
    rest, columns, pointers = layouts.compressed(dense, mask & ((i == j) | (np.minimum(i, j) >= before)), False)
    if case.chance(0.5) and m < 2**16:
        indices, columns = (short.shorten(part, np.uint16, m)[0] for part in (indices, columns))
    mirrored = [None, np.array([before])] if mirror == "hermitian_columns" else [np.array([before])]
    return (np.concatenate([values.ravel(), rest]), indices, columns, pointers, None, None, *mirrored), {}
