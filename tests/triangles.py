"""Triangular systems for tests, and the bound of their backward error."""

import numpy as np
import scipy.sparse as sp

OPERATIONS = {"N": lambda a: a, "T": lambda a: a.T, "H": lambda a: a.conj().T}


def values(rng, dtype, *shape):
    return (rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if dtype[0] == "c" else 0)).astype(dtype)


def dominant(pattern, dtype, seed=0):
    """Return a csr matrix with this pattern whose main diagonal is larger than the sum of each row and column."""
    rng = np.random.default_rng(seed)
    entries = sp.coo_array(pattern)
    n, away = pattern.shape[0], entries.row != entries.col
    row, col = entries.row[away], entries.col[away]
    most = max(1, np.bincount(row).max(initial=0), np.bincount(col).max(initial=0))
    off = sp.coo_array((values(rng, dtype, len(row)) / (3 * most), (row, col)), shape=(n, n))
    return sp.csr_array(off + sp.diags_array(2 + rng.random(n))).astype(dtype)


def with_holes(pattern, share):
    """Return a pattern without a share of its elements, on both sides of the main diagonal at random."""
    entries = sp.coo_array(pattern)
    kept = (entries.row == entries.col) | (np.random.default_rng(0).random(entries.nnz) >= share)
    return sp.csr_array((np.ones(kept.sum()), (entries.row[kept], entries.col[kept])), shape=pattern.shape)


def triangle(matrix, lower, unit):
    """Return one triangle, with ones as its main diagonal if it is `unit`."""
    if unit:
        part = sp.tril(matrix, -1) if lower else sp.triu(matrix, 1)
        return sp.csr_array(part + sp.eye_array(matrix.shape[0], dtype=matrix.dtype))
    return sp.csr_array(sp.tril(matrix) if lower else sp.triu(matrix))


def assert_solves(x, matrix, b):
    """Check the backward error of substitution, at most about (terms + 2) eps for each row.

    It is twice that in complex arithmetic, and the residual has rounding errors of its own.
    """
    eps = np.finfo(x.dtype).eps
    wide = sp.csr_array(matrix).astype(complex if np.iscomplexobj(x) else float)
    terms = np.diff(wide.indptr).max(initial=0) + 4
    bound = 4 * terms * eps * (abs(wide) @ abs(x).astype(float) + abs(b)) + np.finfo(x.dtype).tiny
    assert x.shape == b.shape
    residual = abs(wide @ x - b)
    assert (residual <= bound).all(), (residual / bound).max()
