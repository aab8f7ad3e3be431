"""Common to the tests of solvers: matrices, right-hand sides, batches, and the bound on a residual."""

import numpy as np
import scipy.sparse as sp

import diagsparse as ds

TOLERANCE = {"float32": 2e-4, "complex64": 2e-4, "float64": 1e-11, "complex128": 1e-11}


def banded(n, below, above, dtype, seed=0):
    """Return a dense band; its main diagonal is large, but not in every row."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((n, n)) + (1j * rng.standard_normal((n, n)) if dtype[0] == "c" else 0)
    return (np.triu(np.tril(values, above), -below) + 3 * np.diag(rng.random(n) < 0.8)).astype(dtype)


def right_sides(n, dtype, k=3):
    rng = np.random.default_rng(1)
    return (rng.standard_normal((n, k)) + (1j * rng.standard_normal((n, k)) if dtype[0] == "c" else 0)).astype(dtype)


def operations(dense):
    return {"N": dense, "T": dense.T, "H": dense.conj().T}.items()


def assert_solves(x, op, b):
    """The residual is within what rounding allows for a solution of this size."""
    size = abs(op).sum(axis=1).max() * abs(x).max() + abs(b).max()
    assert abs(op @ x - b).max() <= TOLERANCE[x.dtype.name] * size


def like(dense, format, count, seed=3):
    """Return a batch of matrices near `dense`, and its members as dense arrays."""
    A = ds.array(sp.csr_array(dense), format)
    factors = np.random.default_rng(seed).uniform(0.5, 2, (count, *A.values.shape))
    batch = ds.batch_array((A.values * factors).astype(dense.dtype), A)
    return batch, [member.toarray() for member in batch]
