"""What every process checks of vectors, as `every_process.py` does of matrices."""

import copy

import numpy as np
from cases import case
from every_process import equal, integers, split

from diagsparse import distributed


def reductions(comm, kind, sizes=(0, 1, 8191, 8192, 8193, 50000)):
    """Sums over blocks of 8192 rows, of vectors and blocks of vectors."""
    for n in sizes:
        ranges = split(n, comm.size, kind)
        for dtype in ("float64", "complex64"):
            x, y = integers((n, 2), dtype, "x"), integers((n, 2), dtype, "y")
            X = distributed.vector(n, lambda a, b, x=x: x[a:b], comm=comm, row_ranges=ranges)
            Y = distributed.vector(X, lambda a, b, y=y: np.asfortranarray(y[a:b]))
            with case(f"n = {n}, {dtype}, {kind}"):
                equal(distributed.dot(X, Y), (x.conj() * y).sum(axis=0), "dot")
                equal(distributed.sum(Y), y.sum(axis=0), "sum")
                if n in (1, 8193):
                    u, v = (distributed.Vector(z.local[:, 1], z._rows, comm) for z in (X, Y))
                    equal(distributed.dot(u, v), np.vdot(x[:, 1], y[:, 1]), "dot of columns")
                    assert distributed.norm(u) == np.sqrt(distributed.dot(u, u).real)


def arithmetic(comm):
    """Element-wise functions of distributed vectors, which do not communicate."""
    n = 30
    a, b = integers(n, "float64", "a"), integers((n, 2), "float64", "b")
    x, X = (distributed.vector(n, lambda i, j, z=z: z[i:j], comm=comm) for z in (a, b))
    equal((2 * x + x**2 - 1).gather(None), 2 * a + a**2 - 1)
    equal(np.exp(x).gather(None), np.exp(a))
    equal((X / 4 - X).gather(None), b / 4 - b)
    y = x.copy()
    y += x
    np.multiply(y, 3, out=y)
    equal(y.gather(None), 6 * a)
    equal(np.divmod(x, 3)[1].gather(None), np.divmod(a, 3)[1])
    assert len(x) == n and x.shape == (n,) and X.shape == (n, 2) and repr(x).startswith("<vector 30 float64")
    for like, fill, dtype in (
        (n, 1, "float64"), (n, 0.1, "float64"), (n, np.float32(0.5), "float32"), (n, 1j, "complex128"),
        (x, 2, "float64"), (x, 1j, "complex128"),
    ):  # fmt: skip
        v = copy.deepcopy(distributed.vector(like, fill, comm=comm))
        equal(v.gather(None), np.full(n, fill, dtype), f"{fill!r}")
    equal(distributed.vector(n, 3, comm=comm, dtype="complex64").gather(None), np.full(n, 3, "complex64"))
    for kind in ("int32", "bool", "float32"):
        v = distributed.vector(n, lambda i, j: np.arange(i, j) % 2, comm=comm, dtype=kind)
        equal(v.gather(None), (np.arange(n) % 2).astype(kind))
    # Lists of processes without rows have neither a type nor a number of columns.
    for one, expected in ((np.float32(2), np.full(1, 2, "float32")), ((1, 2.5), np.array([[1, 2.5]]))):
        v = distributed.vector(1, lambda i, j, one=one: [one] * (j - i), comm=comm)
        equal(v.gather(None), expected)
