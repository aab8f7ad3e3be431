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


# ---- systems of `ds.solve` ------------------------------------------------------------------------------------------
ROUNDING = {"float32": 1000 * 2.0**-23, "complex64": 1000 * 2.0**-23, "float64": 1000 * 2.0**-52,
            "complex128": 1000 * 2.0**-52}  # fmt: skip


def backward_error(dense, x, b):
    """Return the largest backward error of the columns, computed in long doubles."""
    dense, x, b = (np.asarray(one, np.result_type(one.dtype, np.longdouble)) for one in (dense, x, b))
    x, b = (one[:, np.newaxis] if one.ndim == 1 else one for one in (x, b))
    size = abs(dense).sum(axis=1).max(initial=0) * abs(x).max(axis=0, initial=0) + abs(b).max(axis=0, initial=0)
    return float((abs(b - dense @ x).max(axis=0, initial=0) / np.where(size == 0, 1, size)).max(initial=0))


def scattered(n, each=3):
    """Return a matrix with random positions, whose factors fill up, and with a dominant main diagonal."""
    random = sp.random_array((n, n), density=each / n, rng=np.random.default_rng(0))
    return sp.csr_array(random + 4 * sp.eye_array(n))


#: a matrix for each method that `ds.solve` chooses by itself
SOLVED_BY = {
    "diagonal": sp.diags_array([np.arange(1.0, 41)], offsets=[0]),
    "tridiagonal": ds.gallery.tridiagonal(200),
    "banded": ds.gallery.banded(300, 8, 8, seed=0) + 4 * sp.eye_array(300),
    "dense": sp.csr_array(np.random.default_rng(0).standard_normal((30, 30)) + 8 * np.eye(30)),
    "superlu": ds.gallery.arrow(400, seed=0) + 4 * sp.eye_array(400),
    "multigrid": ds.gallery.diffusion((150, 160)),
    "ilu": scattered(1500),
}
