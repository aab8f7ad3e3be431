"""Multigrid: which smoother is for which problem, by the number of iterations."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import case
from scipy.sparse.linalg import LinearOperator, cg, splu

import diagsparse as ds
from diagsparse import gallery
from diagsparse._multigrid.hierarchy import _polynomial


def iterations(A, b, **options):
    """Return how many conjugate gradient steps a solution takes, or 100 if it fails."""
    M, counts = ds.multigrid(A, **options), []
    native = M._vectors.conjugate_gradients
    M._vectors.conjugate_gradients = lambda *a: counts.append(native(*a)) or counts[-1]
    try:
        x = M.solve(b, tol=1e-9)
    except np.linalg.LinAlgError:
        return 100
    assert np.linalg.norm(b - A @ x) <= 1e-9 * np.linalg.norm(b)
    return sum(counts)


def coupled(shape, strong, weak=0.001):
    """Return diffusion that is strong along the first axis in a part of the square, and along the second elsewhere."""
    y, x = np.meshgrid(*((np.arange(n) + 0.5) / n for n in shape), indexing="ij")
    first = strong(y, x)
    return gallery.diffusion(shape, (np.where(first, 1.0, weak), np.where(first, weak, 1.0)))


def test_the_same_direction_everywhere(device):
    """Coarsening along the strong axis alone is enough: points and lines need about the same iterations."""
    b = np.random.default_rng(0).standard_normal(128 * 128)
    for weak in (0.3, 0.1, 0.001):
        A = ds.hm_array(gallery.diffusion((128, 128), (weak, 1.0))).to(device)
        counts = iterations(A, b), iterations(A, b, smoother="line")
        assert counts[0] <= 11 and counts[1] <= 9


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_directions_that_vary(dtype, device):
    """Lines are needed where points are coupled strongly along one axis here, along the other one there."""
    halves, layer = (lambda y, x: x < 0.5), (lambda y, x: y > 0.8)
    for size in (64, 128):
        for strong in (halves, layer):
            A = ds.hm_array(coupled((size, size), strong)).to(device)
            b = np.random.default_rng(0).standard_normal(size * size)
            counts = {one: iterations(A, b, smoother=one, dtype=dtype) for one in ("chebyshev", "jacobi", "line")}
            with case(f"{size} {counts}"):
                assert counts["line"] <= 14 and min(counts["chebyshev"], counts["jacobi"]) >= 50


def test_chebyshev_needs_no_more_iterations_than_red_black_gauss_seidel():
    """Why there is no Gauss-Seidel: a polynomial of the whole matrix does as well as two passes over half of it."""
    n = 63
    rows = np.add.outer(2 * np.arange(31), np.arange(3)).ravel()
    half = sp.csr_array((np.tile([0.5, 1, 0.5], 31), (rows, np.repeat(np.arange(31), 3))))
    P, a1, a2 = sp.kron(half, half, "csr"), *_polynomial("chebyshev", 2.0)
    red = (np.add.outer(np.arange(n), np.arange(n)).ravel() % 2 == 0).astype(float)
    for k in (1.0, (0.4, 1.0)):
        S = sp.csr_array(gallery.diffusion((n, n), k))
        coarse, d, counts = splu((P.T @ S @ P).tocsc()), S.diagonal(), {}

        def chebyshev(b, colours, S=S, d=d):
            return a1 * (b / d) + a2 * (S @ (b / d)) / d

        def gauss_seidel(b, colours, S=S, d=d):
            x = np.zeros_like(b)
            for colour in colours:
                x += colour * (b - S @ x) / d
            return x

        for smooth in (chebyshev, gauss_seidel):

            def cycle(b, smooth=smooth, S=S, coarse=coarse):
                x = smooth(b, (red, 1 - red))
                x += P @ coarse.solve(P.T @ (b - S @ x))
                return x + smooth(b - S @ x, (1 - red, red))

            steps = []
            M = LinearOperator(S.shape, cycle, dtype=float)
            cg(S, np.random.default_rng(0).standard_normal(n * n), M=M, rtol=1e-9, callback=steps.append)
            counts[smooth.__name__] = len(steps)
        assert counts["chebyshev"] <= counts["gauss_seidel"], counts


def test_lines_have_one_form_on_all_grids(device):
    """A cycle with lines is symmetric and positive, on any grid."""
    grids = ((26, 27), "dirichlet"), ((25, 24), "periodic"), ((9, 10, 11), "neumann"), ((700,), "dirichlet")
    for shape, boundary in grids:
        A = ds.array(sp.csr_array(gallery.diffusion(shape, boundary=boundary)), "hm").to(device)
        for cycle in "VW":
            M = ds.multigrid(A, shape, smoother="line", cycle=cycle)
            U = np.random.default_rng(0).standard_normal((A.shape[0], 12))
            U -= U.mean(axis=0)
            projected = U.T @ (M @ U)
            assert np.allclose(projected, projected.T, rtol=1e-9, atol=1e-9 * abs(projected).max())
            assert np.linalg.eigvalsh((projected + projected.T) / 2).min() > 0
            assert M.convergence_factor() < 0.4


def test_thin_grids(device):
    """A short axis is coarsened, too: without a boundary that holds the values, all its points belong together."""
    for shape in ((3, 60, 60), (60, 3, 60), (2, 300), (300, 3), (5, 60, 60)):
        k = 10.0 ** np.random.default_rng(0).uniform(-1, 1, shape)
        A = ds.hm_array(gallery.diffusion(shape, k, boundary="neumann")).to(device)
        b = np.random.default_rng(1).standard_normal(A.shape[0])
        with case(shape):
            assert iterations(A, b - b.mean(), shape=shape) <= 16


def test_lines_around_periodic_axes():
    """Also where the strong coupling is along them, and where their number of points is odd."""
    rng = np.random.default_rng(0)
    for shape, boundary, k in (
        ((64, 64), "periodic", 1.0), ((61, 67), "periodic", (1.0, 0.01)),
        ((61, 67), ("dirichlet", "periodic"), (0.01, 1.0)),
        ((17, 19, 23), "periodic", (1.0, 0.01, 0.0001)), ((17, 19, 23), ("periodic", "dirichlet", "neumann"), 1.0),
        ((600,), "periodic", 1.0), ((3, 300), "periodic", 1.0),
    ):  # fmt: skip
        A = ds.csr_array(sp.csr_array(ds.gallery.diffusion(shape, k, boundary=boundary)))
        M = ds.multigrid(A, shape, smoother="line", cycle="W")
        b = rng.standard_normal(A.shape[0])
        b -= b.mean() * M.singular
        with case(f"{shape} {boundary} {k}"):
            assert M.convergence_factor() < 0.2
            assert np.linalg.norm(b - A @ M.solve(b)) <= 1e-10 * np.linalg.norm(b)
