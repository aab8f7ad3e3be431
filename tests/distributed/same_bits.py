"""Results whose bits do not depend on the number of processes: `digests` of them for fixed operands."""

import hashlib

import every_process
import numpy as np
from cases import random
from every_process import FORMATS, SPLITS

import diagsparse as ds
from diagsparse import distributed

LARGE, SMALL = (2003, (-1800, -64, -3, -1, 0, 1, 2, 64, 900)), (92, (-3, -2, -1, 0, 1, 2, 3))


def digests(comm, sizes=(SMALL, LARGE)):
    """Return digests of sums, products, powers, series and solutions, by their names."""
    found = {}
    for name, results in [*sums(comm), *products(comm, sizes)]:
        digest = hashlib.sha256(b"".join(np.ascontiguousarray(one).tobytes() for one in results)).hexdigest()
        found.setdefault(name, set()).add(digest[:16])
    return {name: sorted(one) for name, one in found.items()}


def differing(found, others):
    """Return the names of the digests that differ, or have several values, though they should be equal."""
    assert found.keys() == others.keys()
    return [name for name in found if found[name] != others[name] or len(found[name]) > 1]


def sums(comm):
    """Yield sums of vectors whose elements differ by orders of magnitude, over ranges that divide blocks of rows."""
    for n in (3 * 8192 + 700, 5):
        for kind in SPLITS if n > 8192 else SPLITS[:1]:
            ranges = every_process.split(n, comm.size, kind)
            for dtype in ("float32", "float64", "complex128"):
                scale = np.geomspace(1e-3, 1e3, n)[:, None].astype("float32")
                x, y = (random((n, 2), dtype, name) * scale for name in "xy")
                X, Y = (distributed.vector(n, lambda a, b, z=z: z[a:b], comm=comm, row_ranges=ranges) for z in (x, y))
                u, v = (distributed.Vector(z.local[:, 0].copy(), z._rows, comm) for z in (X, Y))
                yield f"sums of {n} {dtype}", [distributed.dot(u, v), distributed.dot(X, Y), distributed.sum(u)]


def products(comm, sizes):
    """Yield products, powers, series and solutions with matrices of all formats."""
    for (n, offsets), format in ((size, format) for size in sizes for format in FORMATS):
        values = [random(n - abs(k), "float64", "diagonal", k) for k in offsets]
        A = ds.diags(values, offsets=offsets, format="csr")
        if format in ("mdia", "csr", "qband"):
            A = A.multiply((random((n, 1), "float64", "mask") > -0.3).astype(float))
        A = ds.array(A, format=format)
        ranges = every_process.split(n, comm.size, SPLITS[comm.size % 3])
        # from_global keeps the bands of a quasi-band matrix, of which rows alone may have others.
        D = distributed.from_global(A, comm=comm, row_ranges=ranges)
        v = distributed.vector(D, lambda a, b, n=n: random(n, "float64", "x")[a:b])
        V = distributed.vector(D, lambda a, b, n=n: random((n, 3), "float64", "X")[a:b])
        name = f"products of {format} {n}"
        yield name, [(D @ one).gather(None) for one in (v, V)]
        yield f"{name}, transposed", [(D.T @ v).gather(None)]
        for steps in (None, 1, 2, 3) if format in ("dia", "hm", "mdia") else (None,):
            yield f"{name}, powers", [distributed.power_multiply(D, v, 4, steps=steps).gather(None)]
        series = distributed.chebyshev_multiply(D, v, [1, 0.5, 0.25, 0.125], domain=(-9, 9))
        yield f"{name}, series", [series.gather(None)]
        square = ds.array((D @ D).gather(None), "csr")
        yield f"values of D @ D, {format} {n}", [square.data, square.indices]
    A = ds.gallery.stencil(5, 30, format="csr")
    n = A.shape[0]
    D = distributed.from_rows(lambda a, b: A[a:b], (n, n), comm=comm)
    x, _ = distributed.cg(D, distributed.vector(D, 1.0), M="jacobi", maxiter=10)
    yield "products of csr by cg", [x.gather(None)]
