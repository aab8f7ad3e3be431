"""Multigrid on a GPU: arrays of its libraries, CuPy's solvers, and large grids."""

import numpy as np
import pytest
from cases import raises

import diagsparse as ds
from diagsparse import gallery

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")


def grid(shape=(50, 61), **options):
    return ds.hm_array(gallery.diffusion(shape, **options)).to("cuda")


def test_arrays_of_libraries():
    A = grid()
    M, n = ds.multigrid(A), A.shape[0]
    rng = np.random.default_rng(0)
    B = rng.standard_normal((n, 3)) + 1j * rng.standard_normal((n, 3))
    real = B.real
    for b in (real[:, 0], B[:, 0], real, B, np.asfortranarray(B), B[:, ::2], real.astype("float32"), np.ones(n, int)):
        x = M.solve(b, tol=1e-9)
        assert isinstance(x, np.ndarray) and x.shape == b.shape and np.allclose(A @ x, b, rtol=1e-5, atol=1e-5)
        y = M.solve(cupy.asarray(b), tol=1e-9)
        assert isinstance(y, cupy.ndarray) and y.dtype == x.dtype and np.array_equal(y.get(), x)
        z = M @ cupy.asarray(b)
        assert isinstance(z, cupy.ndarray) and np.array_equal(z.get(), M @ b)
    start = cupy.asarray(1e6 * rng.standard_normal((n, 3)))
    assert np.allclose(A @ M.solve(B, x0=start), B) and np.allclose(A @ M.solve(B.real, x0=start), B.real)
    torch = pytest.importorskip("torch")
    t = M.solve(torch.ones(n, dtype=torch.float64, device="cuda"))
    assert t.is_cuda and np.allclose((A @ t).cpu(), 1)


def test_solvers_of_cupy():
    from cupyx.scipy.sparse.linalg import cg, gmres

    A = grid((90, 80), k=lambda y, x: np.where(x < y, 1.0, 1000.0))
    M, b, steps = ds.multigrid(A, dtype="float32"), cupy.ones(7200), []
    x, info = cg(A, b, M=M, rtol=1e-8, callback=steps.append)
    assert info == 0 and len(steps) < 20 and float(abs(A @ x - b).max()) < 1e-5
    x, info = gmres(A, b, M=ds.multigrid(A), rtol=1e-8, maxiter=100)
    assert info == 0 and float(abs(A @ x - b).max()) < 1e-5


def test_the_same_as_on_the_cpu():
    for boundary in ("dirichlet", "periodic"):
        A = grid((70, 33), k=lambda y, x: np.exp(3 * np.sin(9 * x + y)), boundary=boundary)
        b = np.random.default_rng(0).standard_normal(A.shape[0])
        b -= b.mean()
        here, there = ds.multigrid(A), ds.multigrid(A.to("cpu"))
        assert [one.shape for one in here.levels] == [one.shape for one in there.levels]
        assert np.allclose(here @ b, there @ b, rtol=1e-9, atol=1e-9 * abs(there @ b).max())
        assert np.allclose(here.convergence_factor(), there.convergence_factor(), rtol=1e-3)
        assert np.array_equal(here.solve(b), here.solve(b))


def test_errors():
    A = grid((9, 9))
    M = ds.multigrid(A)
    with raises(ValueError, "expected 81 rows"):
        M.solve(cupy.ones(80))
    with raises(ValueError, "not finite"):
        M.solve(cupy.full(81, np.inf))
    with raises(TypeError, "A is on the cpu"):
        ds.multigrid(A.to("cpu")).solve(cupy.ones(81))
