"""jds: position p holds row ``row_order[p]``; the positions of a section are an ell without padding."""

import numpy as np

EXAMPLE = {  # what the header of src/cpp/formats draws
    "indices": [0, 1, 2, 1, 2, 3, 2, 3, 4, 0, 1],
    "row_order": [1, 2, 3, 0],
    "section_rows": [0, 3, 4],
    "section_indptr": [0, 9, 11],
    "values": [9.0, 10, 11, 2, 3, 4, 6, 7, 8, 1, 5],
}
ORDER = "values", "indices", "row_order", "section_rows", "section_indptr"


def decode(parts, shape):
    A = np.zeros(shape, parts["values"].dtype)
    rows, entries = parts["section_rows"], parts["section_indptr"]
    for s in range(len(rows) - 1):
        section = parts["row_order"][rows[s] : rows[s + 1]]
        for e in range(entries[s], entries[s + 1]):
            A[section[(e - entries[s]) % len(section)], parts["indices"][e]] += parts["values"][e]
    return A


def sizes(a, item):
    """Return the number of values in the matrix, and its bytes."""
    lengths = np.diff(a.indptr)
    return a.nnz, a.nnz * (item + 4) + 4 * a.shape[0] + 12 * (len(set(lengths[lengths > 0])) + 1)


def draw(case, dense, mask):
    """Return parts for the constructor."""
    lengths = mask.sum(axis=1)
    kind = case.pick([np.int32, np.int64])
    sections = [np.flatnonzero(lengths == length) for length in np.unique(lengths[lengths > 0])[::-1]]
    positions = [(i, np.flatnonzero(mask[i])[w]) for rows in sections for w in range(lengths[rows[0]]) for i in rows]
    i, j = np.array(positions, kind).reshape(-1, 2).T
    section_rows = np.cumsum([0, *(len(rows) for rows in sections)]).astype(kind)
    section_indptr = np.cumsum([0, *(lengths[rows].sum() for rows in sections)])
    row_order = np.concatenate([*sections, np.flatnonzero(lengths == 0)]).astype(kind)
    return (dense[i, j], j, row_order, section_rows, section_indptr), {}
