"""Matrices with partly filled diagonals whose products and sums are exact."""

import numpy as np
import scipy.sparse as sp

SYMMETRIES = "symmetric", "hermitian"


def masked(m, n, offsets, fill, seed=0, dtype="float64"):
    """Return small integers at some positions of these diagonals; sums of their products are exact."""
    rng = np.random.default_rng(seed)
    i = np.concatenate([np.arange(max(0, -k), min(m, n - k)) for k in offsets] or [np.zeros(0, int)])
    j = np.concatenate([np.arange(max(0, k), min(m + k, n)) for k in offsets] or [np.zeros(0, int)])
    chosen = rng.random(len(i)) < fill
    values = rng.integers(1, 9, chosen.sum()) + (1j * rng.integers(1, 9, chosen.sum()) if dtype[0] == "c" else 0)
    return sp.coo_array((values.astype(dtype), (i[chosen], j[chosen])), shape=(m, n)).tocsr()


def squared(a, symmetry):
    """Return `a` and its mirror image."""
    whole = (a + (a.T.conj() if symmetry == "hermitian" else a.T)).tocsr()
    whole.eliminate_zeros()
    return whole
