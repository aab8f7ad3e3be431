"""Matrices whose index arrays are written to, and SciPy's in which the same is written."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import diagsparse as ds

INDEXED = pytest.mark.parametrize("format", ["csr", "csc", "coo"])
N = 12
X = np.linspace(1, 2, N)


def theirs(format="csr", dtype="float64"):
    rng = np.random.default_rng(3)
    a = sp.random_array((N, N), density=0.4, rng=rng, format=format, dtype=np.float64)
    a = a.astype(dtype)
    if np.dtype(dtype).kind == "c":
        a.data += 1j * rng.random(a.nnz)
    return a


def both(format, dtype="float64"):
    """Return a matrix, and SciPy's."""
    s = theirs(format, dtype)
    if format != "coo":
        s.sort_indices()
    else:
        s = sp.coo_array(sp.csr_array(s))
    return getattr(ds, f"{format}_array")(s, copy=True), s


def mirror(a):
    """Number the columns of csr, the rows of the others from the end, which leaves them out of order."""
    index = a.row if a.format == "coo" else a.indices
    index[:] = N - 1 - index


def permute(a):
    """Reverse the entries of each line, values and indices."""
    if a.format == "coo":
        row, col = a.coords
        for part in (row, col, a.data):
            part[:] = part[::-1].copy()
        return
    for first, last in zip(a.indptr[:-1], a.indptr[1:], strict=True):
        a.indices[first:last] = a.indices[first:last][::-1].copy()
        a.data[first:last] = a.data[first:last][::-1].copy()


def drop(a):
    """Write zeros away as SciPy's compiled code does: entries move up, and pointers become smaller."""
    if a.format == "coo":
        a.col[a.col == 0] = 1  # some repeat now
        return
    count = 0
    indptr, indices, data = a.indptr, a.indices, a.data
    first = 0
    for line in range(N):
        last = indptr[line + 1]
        for at in range(first, last):
            if data[at] > 0.5:
                indices[count], data[count] = indices[at], data[at]
                count += 1
        first, indptr[line + 1] = last, count


def repeat(a):
    """Create duplicate entries."""
    index = a.col if a.format == "coo" else a.indices
    index[:] = index // 2


WRITES = {"mirror": mirror, "permute": permute, "drop": drop, "repeat": repeat}
USES = {
    "A @ x": lambda A: A @ X,
    "A.T @ x": lambda A: A.T @ X,
    "x @ A": lambda A: X @ A,
    "A @ A": lambda A: (A @ A).toarray(),
    "toarray": lambda A: A.toarray(),
    "sum": lambda A: A.sum(axis=0),
    "A + A.T": lambda A: (A + A.T).toarray(),
    "copy": lambda A: A.copy().toarray(),
    "csr": lambda A: A.tocsr().toarray(),
    "csc": lambda A: A.tocsc().toarray(),
    "SciPy's": lambda A: sp.csr_array(A).toarray(),
    "pickle": lambda A: pickle.loads(pickle.dumps(A)).toarray(),
    "diagonal": lambda A: A.diagonal(),
    "A[3]": lambda A: A[3].toarray(),
    "max": lambda A: A.max(),
    "-A": lambda A: (-A).toarray(),
}
