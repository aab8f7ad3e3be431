"""Multigrid: the native parts against dense matrices, and the grids of matrices."""

import tracemalloc
from itertools import product
from math import prod

import numpy as np
import pytest
import scipy.sparse as sp
from cases import case, raises

import diagsparse as ds
from diagsparse import gallery
from diagsparse._backends.backend import CPU, get_backend
from diagsparse._multigrid import arrays, grids
from diagsparse._multigrid.hierarchy import Hierarchy, forecast

STEPS = list(product((-1, 0, 1), repeat=3))


def neighbour(size, periodic, point, step):
    """Return the number of the point at a distance of one step, or None."""
    to = [p + s for p, s in zip(point, step, strict=True)]
    for axis, n in enumerate(size):
        if not 0 <= to[axis] < n:
            if not periodic[axis]:
                return None
            to[axis] %= n
    return np.ravel_multi_index(to, size)


def problem(size, periodic, steps, seed=0):
    """Return random coefficients, with dominant main diagonals, and the dense matrix."""
    rng = np.random.default_rng(seed)
    n = prod(size)
    values, A = np.zeros((len(steps), n)), np.zeros((n, n))
    for s, step in enumerate(steps):
        for i, point in enumerate(np.ndindex(*size)):
            if (j := neighbour(size, periodic, point, step)) is not None:
                values[s, i] = 26 + rng.random() if step == (0, 0, 0) else -rng.random()
                A[i, j] += values[s, i]
    return values, A


def dense_weights(grid, size, periodic, coarsened, weights):
    """Return the interpolation as a dense matrix."""
    coarse = grid.coarse_size
    P = np.zeros((prod(size), prod(coarse)))
    for c, point in enumerate(np.ndindex(*coarse)):
        origin = [2 * p if half else p for p, half in zip(point, coarsened, strict=True)]
        P[np.ravel_multi_index(origin, size), c] = 1
        for t, target in enumerate(grid.targets):
            if (i := neighbour(size, periodic, origin, target)) is not None:
                P[i, c] += weights[t, c]
            else:
                assert weights[t, c] == 0
    return P


GRIDS = [
    ((1, 1, 7), (False, False, False), (False, False, True)),
    ((1, 1, 8), (False, False, True), (False, False, True)),
    ((1, 1, 9), (False, False, True), (False, False, True)),
    ((6, 1, 7), (False, False, False), (True, False, True)),
    ((6, 1, 35), (True, False, False), (True, False, True)),
    ((7, 1, 36), (True, False, True), (True, False, True)),
    ((5, 1, 20), (False, False, False), (False, False, True)),
    ((20, 1, 5), (False, False, True), (True, False, False)),
    ((5, 6, 7), (False, False, False), (True, True, True)),
    ((6, 7, 8), (True, True, True), (True, True, True)),
    ((5, 6, 5), (True, False, True), (False, True, False)),
]


@pytest.mark.parametrize(("size", "periodic", "coarsened"), GRIDS)
def test_levels(size, periodic, coarsened, device):
    """Interpolation, the Galerkin product, and the parts of a cycle."""
    backend = get_backend(device)
    all_steps = [s for s in STEPS if all(step == 0 or n > 1 for step, n in zip(s, size, strict=True))]
    for steps in (all_steps, [s for s in all_steps if sum(map(abs, s)) <= 1]):
        values, A = problem(size, periodic, steps)
        grid = backend.core.Grid(size, periodic, coarsened, steps)
        given = arrays.on_device(backend, values)
        found = grid.statistics(given)
        sums = np.abs(values).sum(axis=0)
        assert np.isclose(found["norm"], sums.max())
        assert np.isclose(found["bound"], (sums / values[steps.index((0, 0, 0))]).max())
        assert np.isclose(found["row_sum"], np.abs(values.sum(axis=0)).max())
        assert np.allclose(found["coupling"], np.abs(values).sum(axis=1))
        assert grid.definite(given, 1e-10) == (True, np.array_equal(A, A.T))
        symmetric = np.stack([one for one in mirrored(size, periodic, steps, values)])
        assert grid.definite(arrays.on_device(backend, symmetric), 1e-10) == (True, True)
        assert grid.definite(arrays.on_device(backend, -symmetric), 1e-10) == (False, True)
        to = arrays.empty(backend, values.shape, "float32")
        grid.rounded(given, to)
        rounded = arrays.on_host(to)
        assert np.allclose(rounded, values, rtol=1e-6)
        off = np.abs(rounded.sum(axis=0, dtype=float) - values.sum(axis=0))
        assert (off <= 1e-7 * rounded[steps.index((0, 0, 0))]).all()  # that of the main diagonal alone
        count = prod(grid.coarse_size)
        weights = arrays.empty(backend, (len(grid.targets), count), "float64")
        coarse = arrays.empty(backend, (len(grid.coarse_steps), count), "float64")
        grid.interpolation(given, weights)
        grid.galerkin(given, weights, coarse)
        weights, coarse = arrays.on_host(weights), arrays.on_host(coarse)
        P = dense_weights(grid, size, periodic, coarsened, weights)
        assert (P >= 0).all()
        assert (P.sum(axis=1) <= 1 + 1e-12).all()
        B = np.zeros((prod(grid.coarse_size),) * 2)
        for c, step in enumerate(grid.coarse_steps):
            for i, point in enumerate(np.ndindex(*grid.coarse_size)):
                j = neighbour(grid.coarse_size, periodic, point, step)
                assert j is not None or coarse[c, i] == 0
                if j is not None:
                    B[i, j] += coarse[c, i]
        assert np.allclose(B, P.T @ A @ P, rtol=1e-12, atol=1e-12)
        for dtype in (np.float32, np.float64):
            with case((len(steps), dtype)):
                cycle_parts(backend, grid, values.astype(dtype), weights.astype(dtype), A, P)
                line_parts(backend, grid, values, weights.astype(dtype), A, P)


def mirrored(size, periodic, steps, values):
    """Yield the coefficients of the mean of a matrix and its transpose."""
    for s, step in enumerate(steps):
        opposite, mean = values[steps.index(tuple(-o for o in step))], values[s].copy()
        for i, point in enumerate(np.ndindex(*size)):
            if (j := neighbour(size, periodic, point, step)) is not None:
                mean[i] = (values[s, i] + opposite[j]) / 2
        yield mean


class Written(int):
    """In place of an array of this length that a native function writes."""


def called(backend, grid, dtype, name, *arguments):
    """Call a part with NumPy arrays, and return the arrays that it writes."""
    given = list(arguments)
    for i, one in enumerate(given):
        if isinstance(one, Written):
            given[i] = arrays.empty(backend, (int(one),), dtype)
        elif isinstance(one, np.ndarray):
            given[i] = arrays.on_device(backend, one)
    temporary = backend is not CPU and name in ("descend", "ascend", "smooth_lines")
    work = [arrays.empty(backend, (prod(grid.size),), dtype)] if temporary else []
    getattr(grid, name)(*given, *work)
    return [arrays.on_host(to) for to, one in zip(given, arguments, strict=True) if isinstance(one, Written)]


def cycle_parts(backend, grid, values, weights, A, P):
    rng, dtype = np.random.default_rng(1), values.dtype
    n, m = P.shape
    b, x, e = (rng.standard_normal(k).astype(dtype) for k in (n, n, m))
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    a1, a2 = 1.3, -0.4
    scaled = np.diag(1 / A.diagonal())

    def smoothed(r):
        s = scaled @ r
        return a1 * s + a2 * scaled @ (A @ s)

    def run(name, *arguments):
        return called(backend, grid, dtype, name, *arguments)

    out, r = run("descend", values, weights, a1, a2, b, Written(n), Written(m))
    assert np.allclose(out, smoothed(b), rtol=tolerance, atol=tolerance)
    assert np.allclose(r, P.T @ (b - A @ smoothed(b)), rtol=tolerance, atol=30 * tolerance)
    (out,) = run("ascend", values, weights, a1, a2, b, x, e, Written(n))
    u = x + P @ e
    assert np.allclose(out, u + smoothed(b - A @ u), rtol=tolerance, atol=30 * tolerance)
    (out,) = run("residual", values, b, x, Written(n))
    assert np.allclose(out, b - A @ x, rtol=tolerance, atol=30 * tolerance)


def line_parts(backend, grid, values, weights, A, P):
    """Solving along the lines of each axis, and the transfers alone."""
    rng, dtype, steps = np.random.default_rng(2), weights.dtype, [tuple(s) for s in grid.steps]
    n, m = P.shape
    r, x, e = (rng.standard_normal(k).astype(dtype) for k in (n, n, m))
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    for axis, count in enumerate(grid.size):
        if count == 1:
            continue
        T = np.diag(A.diagonal())
        for back in (-1, 1):
            step = tuple(back * (axis == d) for d in range(3))
            for i, point in enumerate(np.ndindex(*grid.size)):
                a = values[steps.index(step), i]
                if 0 <= point[axis] + back < count:
                    T[i, neighbour(grid.size, grid.periodic, point, step)] += a
                else:
                    T[i, i] += abs(a)  # over the ends of a periodic axis
        (inverse,) = called(backend, grid, dtype, "pivots", axis, values, Written(n))
        given = arrays.on_device(backend, x.copy())
        called(backend, grid, dtype, "smooth_lines", axis, values.astype(dtype), inverse, 0.7, r, given)
        assert np.allclose(arrays.on_host(given), x + 0.7 * np.linalg.solve(T, r), rtol=tolerance, atol=tolerance)
    (out,) = called(backend, grid, dtype, "restricted", weights, r, Written(m))
    assert np.allclose(out, P.T @ r, rtol=tolerance, atol=30 * tolerance)
    (out,) = called(backend, grid, dtype, "corrected", weights, x, e, Written(n))
    assert np.allclose(out, x + P @ e, rtol=tolerance, atol=30 * tolerance)


@pytest.mark.parametrize("shape", [(9000,), (90, 100), (20, 21, 22)])
def test_bytes(shape, device, monkeypatch):
    """The forecast holds, and so does the number of bytes after the first cycle."""
    monkeypatch.setattr("diagsparse._multigrid.hierarchy._SMALL", 50)  # so that the inverse is small
    symmetric = sp.csr_array(gallery.diffusion(shape))
    for S in (symmetric, sp.csr_array(sp.tril(symmetric))):
        A = ds.hm_array(S).to(device)
        found = grids.coefficients(A, shape)
        for dtype, smoother, visits in product(("float32", "float64"), ("jacobi", "line"), (1, 2)):
            expected = forecast(found, A._backend, len(shape), dtype, smoother == "line", visits)
            tracemalloc.start()
            hierarchy = Hierarchy(found, A._backend, dtype, smoother, visits)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            small = 40 * hierarchy.levels[-1].e.size ** 2 + 100_000  # the inverse, and objects of Python
            nbytes = [level.nbytes for level in hierarchy.levels]
            assert max(peak, sum(nbytes)) <= expected + small
            hierarchy.cycle()
            assert nbytes == [level.nbytes for level in hierarchy.levels]


def test_constants_are_interpolated_exactly_where_rows_add_up_to_zero():
    rng = np.random.default_rng(2)
    k = 10.0 ** rng.uniform(-3, 3, (12, 15))
    found = grids.coefficients(ds.hm_array(gallery.diffusion(k.shape, k, boundary="neumann")), k.shape)
    hierarchy = Hierarchy(found, CPU, np.float64, "chebyshev", 1)
    assert hierarchy.singular
    level = hierarchy.levels[0]
    grid = CPU.core.Grid(level.grid.size, (False,) * 3, (True, False, True), found.steps)
    weights = np.empty((8, 6 * 8))
    grid.interpolation(found.values, weights)
    P = dense_weights(grid, level.grid.size, (False,) * 3, (True, False, True), weights)
    assert np.allclose(P.sum(axis=1), 1, rtol=1e-12)


# ---- grids ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("boundary", ["dirichlet", "periodic", "neumann"])
@pytest.mark.parametrize("shape", [(50,), (7, 9), (9, 7), (3, 40), (40, 3), (5, 6, 7), (4, 4, 4), (3, 5, 3), (16, 16)])
def test_the_grid_is_found(shape, boundary):
    for points in {1: (3,), 2: (5, 9), 3: (7, 27)}[len(shape)]:
        if boundary == "neumann":
            A = gallery.diffusion(shape, boundary=boundary)
        else:
            A = gallery.stencil(points, shape, periodic=boundary == "periodic")
        A = ds.array(sp.csr_array(A), "hm")
        shape_found, found = grids.shape_of(A)
        assert found.size == grids.three_axes(shape_found)
        again = np.zeros(A.shape)
        for step, values in zip(found.steps, found.values, strict=True):
            for i, point in enumerate(np.ndindex(*found.size)):
                if values[i]:
                    again[i, neighbour(found.size, found.periodic, point, step)] += values[i]
        assert np.array_equal(again, A.toarray())
        if boundary != "neumann" and min(shape) > 3:
            assert shape_found == shape
        assert grids.coefficients(A, shape) is not None


def test_matrices_that_are_no_grids():
    for A in (
        gallery.banded(100, 5, 5, seed=0), gallery.random_diagonals(100, 9, seed=1), gallery.heisenberg(8),
        ds.diags({-9: -1.0, 0: 4.0, 9: -1.0, 20: -1.0, -20: -1.0}, shape=(101, 101)),
        sp.random_array((100, 100), density=0.1, rng=0),
    ):  # fmt: skip
        with raises(ValueError, "multigrid: A has", "PyAMG"):
            ds.multigrid(A)
