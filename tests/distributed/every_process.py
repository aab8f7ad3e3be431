"""What every process checks, for threads (`ranks`) and for MPI: all calls of `diagsparse.distributed`.

Matrices and vectors have small integers as elements, so that every order of a sum gives the same numbers, in float32
too, and results are compared exactly.
"""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
from cases import case, rng_of

import diagsparse as ds
from diagsparse import distributed

FORMATS = ("dia", "hm", "mdia", "csr", "qband")
DTYPES = ("float32", "float64", "complex64", "complex128")
SHAPES = ((61, 61), (40, 57), (57, 33))
SPLITS = ("equal", "uneven", "one has all", "one row for most")


def split(rows, processes, kind):
    """Return the rows of each process: some of the uneven ranges are empty."""
    if kind == "equal":
        return None
    if kind == "uneven":
        cuts = np.sort(rng_of("split", rows, processes).integers(0, rows + 1, processes - 1) // 9 * 9)
    elif kind == "one has all":
        cuts = np.where(np.arange(1, processes) <= processes // 2, 0, rows)
    else:
        cuts = np.minimum(np.arange(1, processes), rows)
    borders = [0, *cuts.tolist(), rows]
    return list(pairwise(borders))


def integers(shape, dtype, *key):
    """Return random integers from -4 to 4, complex ones for a complex type."""
    rng, dtype = rng_of(*key), np.dtype(dtype)
    values = rng.integers(-4, 5, shape)
    return (values + 1j * rng.integers(-4, 5, shape) if dtype.kind == "c" else values).astype(dtype)


def dense(shape, dtype, format):
    """Return a matrix of near, far and sparse diagonals, with some scattered elements if the format stores them."""
    m, n = shape
    i, j = np.indices(shape)
    k = j - i
    rng = rng_of("dense", shape, format)
    stored = np.isin(k, [-m + 1, -m + 2, -17, -3, -1, 0, 1, 2, 16, n - 1])
    if format in ("mdia", "csr", "qband"):
        stored &= rng.random(shape) < 0.6
        stored |= np.isin(k, [5, -9]) & (rng.random(shape) < 0.06)
    if format in ("csr", "qband"):
        stored |= rng.random(shape) < 0.01
    return integers(shape, dtype, "dense", shape, format) * stored


def matrix(shape, dtype, format):
    """Return the matrix as NumPy's and as this package's."""
    whole = dense(shape, dtype, format)
    return whole, ds.array(whole, format=format)


def equal(found, expected, what=""):
    """Expect the same elements, and the same type of them."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.dtype == expected.dtype, f"{what}: {found.dtype}, expected {expected.dtype}"
    assert found.shape == expected.shape, f"{what}: shape {found.shape}, expected {expected.shape}"
    assert np.array_equal(found, expected), f"{what}: {np.abs(found - expected).max()} off"


def building(comm, whole, A, ranges):
    """Every way to build it, and all ways to get it back."""
    m, n = whole.shape
    D = distributed.from_global(
        A if comm.rank == comm.size - 1 else None, comm=comm, root=comm.size - 1, row_ranges=ranges
    )
    first, last = D.row_range
    others = [
        distributed.from_rows(lambda a, b: A[a:b], (m, n), comm=comm, row_ranges=ranges),
        distributed.from_local(A[first:last], comm=comm),
        distributed.from_local(D.local, (m, n), comm=comm),
    ]
    assert ranges is None or D.row_range == tuple(ranges[comm.rank])
    for E in (D, *others):
        assert (E.shape, E.dtype, E.format) == ((m, n), A.dtype, A.format)
        assert E.nnz == A.nnz or A.format == "qband"  # whose bands have zeros, and are others in other rows
        assert E.row_range == D.row_range and E.column_range == D.column_range
        equal(E.local.toarray(), whole[first:last], "local")
        assert E.local.format == A.format
        assert E.halo.to_dict() == D.halo.to_dict() or A.format == "qband"
    gathered = D.gather()
    assert (gathered is None) == (comm.rank != 0)
    for G in (D.gather(None), gathered):
        if G is not None:
            assert G.format == A.format
            equal(G.toarray(), whole, "gather")
    assert repr(D) and D._repr_html_() and json.dumps(D.halo.to_dict()) and str(D.halo)
    return D


def operands(shape, dtype):
    """Yield vectors and blocks of columns, in both orders of memory."""
    yield integers(shape, dtype, "x")
    for count in (0, 1, 3):
        X = integers((shape, count), dtype, "X", count)
        yield X
        yield np.asfortranarray(X)


def products(comm, whole, D, brief=False):
    """D @ x for vectors and arrays, with out, alpha and beta."""
    (first, last), (low, high) = D.row_range, D.column_range
    m, n = whole.shape
    dtype = whole.dtype
    for x in list(operands(n, dtype))[:: 3 if brief else 1]:
        mine, expected = x[low:high], (whole @ x)[first:last]
        with case(f"x {x.shape} {x.flags.f_contiguous}"):
            vector = distributed.vector(D, lambda a, b, x=x: x[a:b])
            y = D @ vector
            assert isinstance(y, distributed.Vector) and y.shape == (m, *x.shape[1:]) and y.row_range == D.row_range
            equal(y.local, expected, "D @ x")
            equal(D @ mine, expected, "D @ array")
            before = integers((m, *x.shape[1:]), dtype, "before")[first:last]
            out = distributed.Vector(before.copy(order="K"), D._rows, comm)
            assert D.matvec(vector, out=out, alpha=2, beta=-3) is out
            equal(out.local, (2 * expected - 3 * before).astype(dtype), "out, alpha, beta")
            out = np.full_like(expected, 7, order="F" if x.flags.f_contiguous else "C")
            assert D.matvec(mine, out=out) is out
            equal(out, expected, "out")
    x = integers(2 * n, dtype, "strided")
    equal(D @ x[2 * low : 2 * high : 2], (whole @ x[::2])[first:last], "D @ strided")
    wider = integers(n, "complex128", "wider")
    equal(D @ wider[low:high], (whole @ wider)[first:last], "D @ complex128")
    whole_numbers = integers(n, "int64", "whole numbers")
    assert np.array_equal(D @ whole_numbers[low:high], (whole @ whole_numbers)[first:last])
    equal(D.matvec(vector).gather(None), (whole @ vector.gather(None)), "gather")


def transposes(comm, whole, D):
    """The transpose, and products with the adjoint."""
    (first, last), (low, high) = D.row_range, D.column_range
    m, n = whole.shape
    T = D.T
    assert T.T is D and D.T is T and T.shape == (n, m) and T.format == D.format and T.row_range == (low, high)
    equal(T.local.toarray(), whole.T[low:high], "D.T")
    dtype = whole.dtype
    for x in (integers(m, dtype, "x"), np.asfortranarray(integers((m, 2), dtype, "X"))):
        equal(T @ x[first:last], (whole.T @ x)[low:high], "D.T @ x")
        expected = (whole.conj().T @ x)[low:high]
        vector = distributed.vector(T, lambda a, b, x=x: x[a:b])
        equal(D.rmatvec(x[first:last]), expected, "rmatvec")
        equal(D.rmatvec(vector).local, expected, "rmatvec of a vector")
        alpha, beta = (1 + 2j, 3 - 1j) if dtype.kind == "c" else (2, -3)
        before = integers((n, *x.shape[1:]), dtype, "before")[low:high]
        expected = (alpha * expected + beta * before).astype(dtype)
        out = before.copy()
        assert D.rmatvec(x[first:last], out=out, alpha=alpha, beta=beta) is out
        equal(out, expected, "rmatvec, out")
        out = distributed.Vector(before.copy(), D._cols, comm)
        assert D.rmatvec(vector, out=out, alpha=alpha, beta=beta) is out
        equal(out.local, expected, "rmatvec, out, of a vector")


def files(comm, whole, D, folder):
    """Saving, and loading with the same and with other ranges of rows."""
    distributed.save(folder, D)
    for ranges in (None, *(split(len(whole), comm.size, kind) for kind in SPLITS)):
        loaded(comm, whole, D.format, folder, ranges)


def loaded(comm, whole, format, folder, ranges=None):
    """Load it, which any number of processes may have saved."""
    E = distributed.load(folder, comm=comm, row_ranges=ranges)
    assert E.format == format and E.shape == whole.shape
    equal(E.local.toarray(), whole[slice(*E.row_range)], "load")


def squares(comm, whole, D):
    """Products of the matrix with itself, its transpose and others, and its diagonal."""
    first, last = D.row_range
    equal(D.diagonal().gather(None), whole.diagonal(), "diagonal")
    for name, E, other in (("D @ D", D, whole), ("D @ D.T", D.T, whole.T)):
        C = D @ E
        assert C.shape == whole.shape and C.row_range == D.row_range
        equal(C.local.toarray(), (whole @ other)[first:last], name)
    x = integers(len(whole), whole.dtype, "x")
    for X in (x, integers((len(whole), 2), whole.dtype, "X")):
        mine = X[first:last].copy()
        equal(D.matvec(mine, out=mine, beta=-1), (whole @ X - X)[first:last], "out is x")
    equal((D @ D) @ x[first:last], (whole @ whole @ x)[first:last], "(D @ D) @ x")


def of_two_formats(comm, formats, dtype, kind):
    """D @ E for matrices of two formats that are not square."""
    (m, n), p = SHAPES[1], 23
    a, b = dense((m, n), dtype, formats[0]), dense((n, p), dtype, formats[1])
    A, B = ds.array(a, format=formats[0]), ds.array(b, format=formats[1])
    D = distributed.from_rows(lambda i, j: A[i:j], (m, n), comm=comm, row_ranges=split(m, comm.size, kind))
    E = distributed.from_rows(lambda i, j: B[i:j], (n, p), comm=comm)
    C = D @ E
    first, last = C.row_range
    equal(C.local.toarray(), (a @ b)[first:last], "D @ E")
    x = integers(p, dtype, "x")
    low, high = C.column_range
    equal(C @ x[low:high], (a @ b @ x)[first:last], "(D @ E) @ x")


def recurrences(comm, format, dtype, kind):
    """Powers and Chebyshev series, with any number of steps for each exchange."""
    n, steps = 61, (None, 1, 2, 3, 5) if format in ("dia", "hm", "mdia") else (None, 1)
    i, j = np.indices((n, n))
    whole = (integers((n, n), dtype, "power", format) * np.isin(j - i, [-7, -1, 0, 2])) / 2
    whole = whole.astype(dtype)
    A = ds.array(whole, format=format)
    D = distributed.from_rows(lambda a, b: A[a:b], (n, n), comm=comm, row_ranges=split(n, comm.size, kind))
    c = [1, -2, 0, 3]
    for x in (integers(n, dtype, "x"), integers((n, 2), dtype, "X")):
        vector = distributed.vector(D, lambda a, b, x=x: x[a:b])
        powers = [x, whole @ x, whole @ (whole @ x), whole @ (whole @ (whole @ x))]
        series = 1 * powers[0] - 2 * powers[1] + 3 * (4 * powers[3] - 3 * powers[1])  # T_3(t) = 4 t^3 - 3 t
        for s in steps:
            with case(f"steps {s}, x {x.shape}"):
                for k, expected in enumerate(powers):
                    equal(distributed.power_multiply(D, vector, k, steps=s).gather(None), expected, f"power {k}")
                found = distributed.chebyshev_multiply(D, vector, c, steps=s).gather(None)
                assert found.shape == x.shape and np.array_equal(found, series)
                half = distributed.chebyshev_multiply(D, vector, [2, 1], domain=(0, 4), steps=s).gather(None)
                assert np.array_equal(half, 2 * x + powers[1] / 2 - x)
                equal(vector.gather(None), x, "x")
    one = distributed.deep_halo(D, 4)
    assert comm.allgather(one) == [one] * comm.size


def solvers(comm, format, dtype, kind):
    """The conjugate gradient method, with and without a preconditioner."""
    n = 61
    whole = 4 * np.eye(n) + np.diag(np.arange(n)) - np.eye(n, k=1) - np.eye(n, k=-1)
    whole = whole + (1j * np.eye(n, k=3) - 1j * np.eye(n, k=-3) if dtype[0] == "c" else 0)
    A = ds.array(whole.astype(dtype), format=format)
    D = distributed.from_rows(lambda a, b: A[a:b], (n, n), comm=comm, row_ranges=split(n, comm.size, kind))
    solution = integers(n, dtype, "x")
    b = distributed.vector(D, lambda first, last: (whole @ solution)[first:last].astype(dtype))
    rtol = 1e-5 if dtype in ("float32", "complex64") else 1e-11
    inverse = ds.array(np.diag(1 / whole.diagonal().real), "csr")
    jacobi = distributed.from_local(inverse[slice(*D.row_range)], comm=comm)
    called = []
    for options in ({"M": "jacobi"}, {"M": jacobi, "x0": distributed.vector(D, 1.0), "callback": called.append}):
        x, info = distributed.cg(D, b, rtol=rtol, **options)
        assert info == 0 and x.dtype == np.dtype(dtype)
        assert np.abs(x.gather(None) - solution).max() < 300 * rtol
    assert called and isinstance(called[0], distributed.Vector)
    assert distributed.cg(D, b, rtol=1e-30, maxiter=3, M=lambda r: r / 2)[1] == 3
    for x0 in (None, distributed.vector(D, 1.0)):  # as SciPy
        x, info = distributed.cg(D, distributed.vector(D, 0.0), x0)
        assert info == 0 and not x.local.any()
    zeros = distributed.from_local(ds.array(np.zeros((n, n)), format="csr")[slice(*D.row_range)], comm=comm)
    assert distributed.cg(zeros, b, maxiter=5)[1] == 5


def everything(comm, format, dtype, kind, folder, shapes=SHAPES, brief=False):
    """All checks of a format; `brief` leaves out files and some vectors."""
    for shape in shapes:
        with case(f"{format}, {dtype}, {shape}, {kind}"):
            whole, A = matrix(shape, dtype, format)
            D = building(comm, whole, A, split(shape[0], comm.size, kind))
            products(comm, whole, D, brief)
            transposes(comm, whole, D)
            if not brief:
                files(comm, whole, D, Path(folder) / f"{format}-{dtype}-{shape[0]}")
            if shape[0] == shape[1]:
                squares(comm, whole, D)
