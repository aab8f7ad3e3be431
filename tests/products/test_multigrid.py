"""Multigrid: the native parts against dense matrices, the grids of matrices, and solutions."""

from itertools import product
from math import prod

import numpy as np
import pytest
import scipy.sparse as sp
from cases import at_night, case, raises
from scipy.sparse.linalg import cg, gmres, lobpcg

import diagsparse as ds
from diagsparse import gallery
from diagsparse._backends.backend import CPU
from diagsparse._multigrid import grids
from diagsparse._multigrid.hierarchy import Hierarchy

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
def test_levels(size, periodic, coarsened):
    """Interpolation, the Galerkin product, and the parts of a cycle."""
    all_steps = [s for s in STEPS if all(step == 0 or n > 1 for step, n in zip(s, size, strict=True))]
    for steps in (all_steps, [s for s in all_steps if sum(map(abs, s)) <= 1]):
        values, A = problem(size, periodic, steps)
        grid = CPU.core.Grid(size, periodic, coarsened, steps)
        found = grid.statistics(values)
        sums = np.abs(values).sum(axis=0)
        assert found["largest"] == np.abs(values).max() and np.isclose(found["norm"], sums.max())
        assert np.isclose(found["bound"], (sums / values[steps.index((0, 0, 0))]).max())
        assert np.isclose(found["row_sum"], np.abs(values.sum(axis=0)).max())
        assert np.allclose(found["coupling"], np.abs(values).sum(axis=1))
        rounded = np.empty(values.shape, np.float32)
        grid.rounded(values, rounded)
        assert np.allclose(rounded, values, rtol=1e-6)
        off = np.abs(rounded.sum(axis=0, dtype=float) - values.sum(axis=0))
        assert (off <= 1e-7 * rounded[steps.index((0, 0, 0))]).all()  # that of the main diagonal alone
        weights, coarse = np.empty((len(grid.targets), prod(grid.coarse_size))), np.empty((27, prod(grid.coarse_size)))
        grid.interpolation(values, weights)
        P = dense_weights(grid, size, periodic, coarsened, weights)
        assert (P >= 0).all()
        assert (P.sum(axis=1) <= 1 + 1e-12).all()
        present = grid.galerkin(values, weights, coarse)
        B = np.zeros((prod(grid.coarse_size),) * 2)
        for c, step in enumerate(STEPS):
            assert present[c] == coarse[c].any()
            for i, point in enumerate(np.ndindex(*grid.coarse_size)):
                j = neighbour(grid.coarse_size, periodic, point, step)
                assert j is not None or coarse[c, i] == 0
                if j is not None:
                    B[i, j] += coarse[c, i]
        assert np.allclose(B, P.T @ A @ P, rtol=1e-12, atol=1e-12)
        for dtype in (np.float32, np.float64):
            with case((len(steps), dtype)):
                cycle_parts(grid, values.astype(dtype), weights.astype(dtype), A, P)


def cycle_parts(grid, values, weights, A, P):
    rng, dtype = np.random.default_rng(1), values.dtype
    n, m = P.shape
    b, x, e = (rng.standard_normal(k).astype(dtype) for k in (n, n, m))
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    a1, a2 = 1.3, -0.4
    scaled = np.diag(1 / A.diagonal())

    def smoothed(r):
        s = scaled @ r
        return a1 * s + a2 * scaled @ (A @ s)

    out, r = np.empty(n, dtype), np.empty(m, dtype)
    grid.descend(values, weights, a1, a2, b, out, r)
    assert np.allclose(out, smoothed(b), rtol=tolerance, atol=tolerance)
    assert np.allclose(r, P.T @ (b - A @ smoothed(b)), rtol=tolerance, atol=30 * tolerance)
    grid.ascend(values, weights, a1, a2, b, x, e, out)
    u = x + P @ e
    assert np.allclose(out, u + smoothed(b - A @ u), rtol=tolerance, atol=30 * tolerance)
    grid.residual(values, b, x, out)
    assert np.allclose(out, b - A @ x, rtol=tolerance, atol=30 * tolerance)


def test_constants_are_interpolated_exactly_where_rows_add_up_to_zero():
    rng = np.random.default_rng(2)
    k = 10.0 ** rng.uniform(-3, 3, (12, 15))
    found = grids.coefficients(ds.hm_array(gallery.diffusion(k.shape, k, boundary="neumann")), k.shape)
    hierarchy = Hierarchy(k.shape, found, np.float64, "chebyshev")
    assert hierarchy.singular
    level = Hierarchy(k.shape, found, np.float64, "chebyshev").levels[0]
    grid = CPU.core.Grid(level.shape, (False,) * 3, (True, False, True), [(s[0], 0, s[1]) for s in found])
    weights = np.empty((8, 6 * 8))
    grid.interpolation(np.stack([one.ravel() for one in found.values()]), weights)
    P = dense_weights(grid, level.shape, (False,) * 3, (True, False, True), weights)
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
        shape_found, coefficients = grids.shape_of(A)
        again = np.zeros(A.shape)
        for step, values in coefficients.items():
            for i, point in enumerate(np.ndindex(*shape_found)):
                to = [(p + s) % n for p, s, n in zip(point, step, shape_found, strict=True)]
                again[i, np.ravel_multi_index(to, shape_found)] += values[point]
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


# ---- solutions --------------------------------------------------------------------------------------
def blocks(shape, size, contrast, seed=0):
    small = 10.0 ** np.random.default_rng(seed).choice([0, contrast], [-(-n // size) for n in shape])
    return np.kron(small, np.ones((size,) * len(shape)))[tuple(slice(n) for n in shape)]


PROBLEMS = {
    "5 points": lambda: gallery.stencil(5, (60, 71)),
    "9 points": lambda: gallery.stencil(9, (61, 64)),
    "7 points": lambda: gallery.stencil(7, (17, 18, 20)),
    "27 points": lambda: gallery.stencil(27, (12, 17, 16)),
    "a line": lambda: gallery.tridiagonal(3000),
    "smooth": lambda: gallery.diffusion((80, 75), lambda y, x: np.exp(np.sin(6 * x) * np.cos(9 * y))),
    "jumps": lambda: gallery.diffusion((70, 90), blocks((70, 90), 7, 3)),
    "jumps of 10^6": lambda: gallery.diffusion((70, 90), blocks((70, 90), 7, 6)),
    "jumps in 3-D": lambda: gallery.diffusion((20, 21, 22), blocks((20, 21, 22), 5, 3)),
    "anisotropic, 0.1": lambda: gallery.diffusion((70, 90), (0.1, 1.0)),
    "anisotropic, 0.001": lambda: gallery.diffusion((70, 90), (1.0, 0.001)),
    "anisotropic in 3-D": lambda: gallery.diffusion((20, 30, 25), (1.0, 0.01, 0.1)),
    "neumann": lambda: gallery.diffusion((60, 71), blocks((60, 71), 9, 2), boundary="neumann"),
    "periodic": lambda: gallery.diffusion((64, 48), blocks((64, 48), 8, 2), boundary="periodic"),
    "periodic, odd": lambda: gallery.diffusion((65, 49), boundary=("periodic", "dirichlet")),
    "periodic in 3-D": lambda: gallery.diffusion((15, 16, 17), boundary="periodic"),
    "shifted": lambda: gallery.stencil(5, (50, 60)) + 0.1 * sp.eye_array(3000),
    "small": lambda: gallery.stencil(5, (3, 4)),
    "one point": lambda: sp.eye_array(1) * 2,
    "narrow": lambda: gallery.stencil(5, (2, 700)),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_solutions(name):
    A = ds.array(sp.csr_array(PROBLEMS[name]()), "hm")
    b = np.random.default_rng(0).standard_normal(A.shape[0])
    for options in ({}, {"dtype": "float32"}, {"cycle": "W"}, {"smoother": "jacobi"}):
        M = ds.multigrid(A, **options)
        b -= b.mean() if M.singular else 0
        with case(f"{name} {options} {M}"):
            x = M.solve(b, tol=1e-9)
            assert np.linalg.norm(b - A @ x) <= 1e-9 * np.linalg.norm(b) or name == "jumps of 10^6"
            assert not M.singular or abs(x.mean()) < 1e-10 * np.abs(x).max()
            assert M.singular == (name in ("neumann", "periodic", "periodic in 3-D"))


@pytest.mark.parametrize("seed", at_night(range(60), before=range(12)))
def test_random_problems(seed):
    """Any number of axes, sizes, boundaries, contrasts up to 10^7 and anisotropies up to 10^6."""
    rng = np.random.default_rng(seed)
    axes = int(rng.integers(1, 4))
    shape = tuple(int(n) for n in rng.integers(3, {1: 400, 2: 60, 3: 18}[axes], axes))
    spread = int(rng.integers(0, 7))
    k = tuple(
        10.0 ** rng.uniform(-spread / 2, spread / 2, shape) if rng.random() < 0.5 else 10.0 ** rng.uniform(-3, 3)
        for _ in shape
    )
    boundaries = tuple(rng.choice(["dirichlet", "neumann", "periodic"]) for _ in shape)
    A = ds.array(sp.csr_array(gallery.diffusion(shape, k, boundary=boundaries)), "hm")
    M = ds.multigrid(A, shape, dtype=rng.choice(["float32", "float64"]), cycle=rng.choice(["V", "W"]))
    assert M.singular == ("dirichlet" not in boundaries)
    b = rng.standard_normal(A.shape[0])
    b -= b.mean() if M.singular else 0
    x = M.solve(b, tol=1e-8)
    residual, size = np.abs(b - A @ x).max(), abs(A).sum(axis=1).max() * np.abs(x).max() + np.abs(b).max()
    assert np.linalg.norm(b - A @ x) <= 1e-8 * np.linalg.norm(b) or residual <= 1e-14 * size


def test_few_iterations():
    """The number of iterations hardly depends on the size, here or for coefficients that jump."""
    for k in (1.0, lambda y, x: np.where((y > 0.3) & (x > 0.4), 1000.0, 1.0)):
        for size in (40, 80, 160):
            A = ds.hm_array(gallery.diffusion((size, size), k))
            counted = []
            _, info = cg(A, np.ones(size * size), M=ds.multigrid(A), rtol=1e-8, callback=counted.append)
            assert info == 0 and len(counted) <= 12


def test_a_cycle_is_symmetric_and_positive():
    for cycle in "VW":
        A = ds.hm_array(gallery.diffusion((26, 27), blocks((26, 27), 5, 2)))
        M = ds.multigrid(A, cycle=cycle)
        assert len(M.levels) >= 2
        U = np.random.default_rng(0).standard_normal((702, 20))
        projected = U.T @ (M @ U)
        assert np.allclose(projected, projected.T, rtol=1e-10, atol=1e-10)
        assert np.linalg.eigvalsh((projected + projected.T) / 2).min() > 0
        assert M.convergence_factor() < 0.5
        assert np.allclose(M.T @ np.ones(702), M @ np.ones(702))


def test_other_solvers():
    A = ds.hm_array(gallery.stencil(5, (50, 50)))
    M, b = ds.multigrid(A), np.ones(2500)
    assert cg(A, b, M=M, rtol=1e-9)[1] == 0 and gmres(A, b, M=M, rtol=1e-9)[1] == 0
    values, _ = lobpcg(A, np.random.default_rng(0).standard_normal((2500, 3)), M=M, largest=False, tol=1e-6, maxiter=60)
    k = 2 - 2 * np.cos(np.pi * np.arange(1, 3) / 51)
    assert np.allclose(np.sort(values), np.sort([2 * k[0], k.sum(), k.sum()]), rtol=1e-6)


def test_right_hand_sides():
    A = ds.hm_array(gallery.diffusion((30, 31)))
    M, n = ds.multigrid(A), 930
    rng = np.random.default_rng(0)
    B = rng.standard_normal((n, 3)) + 1j * rng.standard_normal((n, 3))
    X = M.solve(B)
    assert X.dtype == complex and np.allclose(A @ X, B)
    assert np.array_equal(X[:, 1], M.solve(B[:, 1])) and np.allclose(M @ B, M @ B.real + 1j * (M @ B.imag))
    for scale in (1e-300, 1e300):
        assert np.allclose(A @ M.solve(B.real * scale), B.real * scale, rtol=1e-6, atol=0)
    assert not M.solve(np.zeros(n)).any() and M.solve(np.zeros((n, 0))).shape == (n, 0)
    x = M.solve(np.ones(n, int))
    assert np.allclose(M.solve(np.ones(n), x0=x), x) and np.allclose(M.solve(np.ones(n), x0=1e6 * rng.random(n)), x)
    narrow = ds.multigrid(A.astype("float32"))
    assert narrow.cycle_dtype == np.float32
    y = narrow.solve(np.ones(n, "float32"), tol=1e-5)
    assert y.dtype == np.float32 and np.allclose(y, x, rtol=1e-4)


def test_formats_and_shapes():
    S = gallery.stencil(5, (20, 31))
    expected = ds.multigrid(S).solve(np.ones(620))
    for A in (S, S.tocsr(), ds.array(S, "mdia"), ds.array(S, "csr"), ds.hm_array(S, symmetry="symmetric")):
        M = ds.multigrid(A, (20, 31))
        assert M.grid == (20, 31) and np.allclose(M.solve(np.ones(620)), expected)
    assert "20 x 31" in repr(M) and M.nbytes == sum(level.nbytes for level in M.levels)
    assert "level" in M.report() and "reduces errors to" in M.report()
    assert ds.multigrid(gallery.tridiagonal(10), 10).grid == (10,)
    nothing = ds.multigrid(sp.csr_array((0, 0)))
    assert nothing.solve(np.zeros(0)).shape == (0,) and nothing.convergence_factor() == 0


def test_the_same_bits_for_any_number_of_threads():
    A = ds.hm_array(gallery.diffusion((70, 300), blocks((70, 300), 9, 2)))
    found = set()
    for threads in (1, 2, 3):
        ds.set_num_threads(threads)
        M = ds.multigrid(A)
        found.add((M @ np.arange(21000.0)).tobytes() + M.solve(np.ones(21000)).tobytes())
    assert len(found) == 1


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: ds.multigrid(np.eye(3)), TypeError, "expected a sparse matrix"),
        (lambda: ds.multigrid(sp.eye_array(3, 4)), ValueError, "expected a square matrix"),
        (lambda: ds.multigrid(gallery.stencil(5, 5) * 1j), TypeError, "expected float32 or float64"),
        (lambda: ds.multigrid(-gallery.stencil(5, 5)), ValueError, "not positive"),
        (lambda: ds.multigrid(gallery.tridiagonal(9, upper=-2)), ValueError, "not symmetric"),
        (lambda: ds.multigrid(gallery.stencil(5, 6), (4, 9)), ValueError, "not neighbours"),
        (lambda: ds.multigrid(gallery.stencil(5, 6), (6, 7)), ValueError, "36 points"),
        (lambda: ds.multigrid(gallery.stencil(5, 6), (3, 2, 2, 3)), ValueError, "1 to 3 axes"),
        (lambda: ds.multigrid(gallery.stencil(5, 6), cycle="F"), ValueError, "cycle='F', expected one of V, W"),
        (lambda: ds.multigrid(gallery.stencil(5, 6), smoother="ilu"), ValueError, "smoother='ilu'"),
        (lambda: ds.multigrid(gallery.stencil(5, 6), dtype="float16"), ValueError, "dtype='float16'"),
        (lambda: ds.multigrid(gallery.stencil(5, 6)).solve(np.ones(35)), ValueError, "expected 36 rows"),
        (lambda: ds.multigrid(gallery.stencil(5, 6)).solve(np.full(36, np.nan)), ValueError, "not finite"),
        (lambda: ds.multigrid(gallery.stencil(5, 6)).solve(np.ones(36), x0=np.ones(3)), ValueError, "x0 has shape"),
        (lambda: ds.multigrid(gallery.stencil(5, 60)).solve(np.ones(3600), maxiter=2), np.linalg.LinAlgError,
         "after 2 iterations"),
        (lambda: ds.multigrid(gallery.diffusion((8, 9), boundary="neumann")).solve(np.ones(72)), np.linalg.LinAlgError,
         "the mean 1, expected 0"),
    ],
)  # fmt: skip
def test_bad_calls(call, kind, words):
    with raises(kind, "multigrid", words):
        call()
