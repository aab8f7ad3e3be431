"""Common to dia, hm and cdm: the diagonals of a matrix."""

import numpy as np


def of(a):
    """Return the offsets of the diagonals on which a SciPy matrix stores something, ascending."""
    entries = a.tocoo()
    return np.unique(entries.col - entries.row)


def stored(shape, offsets):
    """Return how many elements these diagonals have."""
    return int(sum(np.eye(*shape, k=int(k)).sum() for k in offsets))
