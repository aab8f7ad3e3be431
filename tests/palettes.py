"""Matrices whose diagonals have few different values, in mdia with palettes and without."""

import numpy as np
import scipy.sparse as sp

import diagsparse as ds

SHAPE = 300, 333
COLORS = {-299: 1, -70: 1, -33: 2, -1: 3, 0: 1, 1: 9, 31: 2, 32: 70, 64: 400, 100: 1, 332: 1}  # values of each diagonal


def painted(dtype="float64", colors=COLORS, shape=SHAPE, special=False, seed=0):
    """Return a csr matrix whose diagonals have these numbers of different values, integers if not `special`."""
    rng = np.random.default_rng(seed)
    rows, cols, values = [], [], []
    for k, count in colors.items():
        i = np.arange(max(0, -k), min(shape[0], shape[1] - k))
        i = i[(rng.random(len(i)) < 0.8) | (len(i) < 3) | (k == 0)]
        some = rng.choice(np.arange(1, 2000), count, replace=False).astype(dtype)
        if np.dtype(dtype).kind == "c":
            some = some - 1j * some[::-1]
        if special and count > 1:
            some[:2] = -0.0, np.nan
        rows.append(i)
        cols.append(i + k)
        values.append(some[rng.integers(0, count, len(i))])
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(cols))
    return sp.coo_array(entries, shape=shape).tocsr()


def pair(a, device, **layout):
    """Return a matrix with a palette, and the same without."""
    with_one = ds.mdia_array(a, device=device, palette=True, **layout)
    without = ds.mdia_array(a, device=device, palette=False, **layout)
    assert with_one.palette and not without.palette and with_one.nbytes < without.nbytes
    return with_one, without


def bits(values, device="cpu"):
    """Return the bytes of an array."""
    return (values if isinstance(values, np.ndarray) else values.get()).tobytes()


def same(a, b):
    """Whether two matrices store the same bits at the same positions."""
    a, b = a.to("cpu").to_scipy("csr"), b.to("cpu").to_scipy("csr")
    return all(x.tobytes() == y.tobytes() for x, y in zip((a.indptr, a.indices, a.data), (b.indptr, b.indices, b.data)))
