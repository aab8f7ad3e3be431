"""Common to coosr and coosc: ``A[row[e], col[e]] = values[e]``, and pointers along one axis."""

import numpy as np
from fuzz import layouts

ORDER = "values", "row", "col", "indptr"


class Pointed:
    """Coordinates in the order of their rows (axis 0) or columns, and the position where each of them begins."""

    def __init__(self, axis):
        self.axis = axis

    def decode(self, parts, shape):
        A = np.zeros(shape, parts["values"].dtype)
        for i, j, value in zip(parts["row"], parts["col"], parts["values"], strict=True):
            A[i, j] += value
        lines = parts["col" if self.axis else "row"]
        assert np.array_equal(np.bincount(lines, minlength=shape[self.axis]), np.diff(parts["indptr"]))
        return A

    def sizes(self, a, item):
        """Return the number of values in the matrix, and its bytes."""
        return a.nnz, a.nnz * (item + 8) + 8 * (a.shape[self.axis] + 1)

    def draw(self, case, dense, mask):
        """Return parts for the constructor."""
        values, within, pointers = layouts.compressed(dense, mask, bool(self.axis))
        lines = np.repeat(np.arange(len(pointers) - 1), np.diff(pointers)).astype(case.pick([np.int32, np.int64]))
        return (values, *((within, lines) if self.axis else (lines, within)), pointers), {}
