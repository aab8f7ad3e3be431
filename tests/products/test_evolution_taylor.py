"""Exponentials by Taylor series: matrices far from normal, the choice of the method, and the ends of the range."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import random, to_device, to_host
from evolutions import check
from scipy.linalg import expm

import diagsparse as ds


def evolved(a, x, times, device, format="csr", **options):
    H = ds.array(sp.csr_array(a), format, device=device)
    return ds.evolve(H, to_device(x, device), times, generator=True, **({"method": "taylor"} | options))


def flow(n, speed):
    """Advection and diffusion on n points: not normal, and all states decay."""
    return ((1 - speed) * np.eye(n, k=1) + (1 + speed) * np.eye(n, k=-1) - 2 * np.eye(n)) * n / 4


def test_matrices_far_from_normal(device):
    """Triangles, nilpotent matrices, decay along a chain, and rotations: exact results are those of expm."""
    n = 70
    nilpotent = np.diag(np.linspace(1, 3, n - 1), 1)
    triangle = np.triu(np.random.default_rng(2).uniform(-1, 1, (n, n))) / 4
    decay = np.diag(-np.arange(n) % 7.0) + np.diag(np.arange(1, n) % 7.0, 1)
    rotation = 5 * (np.eye(n, k=1) - np.eye(n, k=-1))
    complex_center = np.diag((2 - 3j) * np.ones(n)) + 0.5j * np.eye(n, k=2)
    for a in (nilpotent, triangle, decay, rotation, complex_center, 10 * decay, -30 * np.eye(n) + triangle):
        for psi in (random(n, "float64"), random((n, 3), "complex128")):
            psi = psi if a.dtype.kind != "c" else psi.astype(complex)
            result = check(a, psi, [0.0, 0.4, -0.1, 1.0], device, "csr", 1, method="taylor")
            assert result.spectrum is None and result.products < 3000


def test_it_is_chosen(device):
    """Unless products take much longer than operations with vectors, and many times are close together."""
    A = ds.dia_array(sp.csr_array(flow(2000, 0.5) / 500), device=device)
    dense = ds.csr_array(np.random.default_rng(3).standard_normal((600, 600)) / 20, device=device)
    x = random(2000, "float64")
    long = ds.evolve(A, to_device(x, device), 50.0, generator=True)
    block = ds.evolve(A, to_device(random((2000, 4), "float64"), device), [0.0, 5.0], generator=True)
    close = ds.evolve(dense, to_device(x[:600], device), np.linspace(0, 1, 100), generator=True)
    few = ds.evolve(ds.csr_array(np.triu(np.ones((9, 9))), device=device), to_device(x[:9], device), 1, generator=True)
    assert [one.method for one in (long, block, close, few)] == ["taylor", "taylor", "krylov", "krylov"]
    assert "krylov would need about" in long.reason and "taylor would need about" in close.reason
    exact = ds.evolve(A, to_device(x, device), 50.0, generator=True, method="krylov")
    np.testing.assert_allclose(to_host(long.final), to_host(exact.final), rtol=0, atol=1e-9 * np.linalg.norm(x))


VIEWS = {"A": lambda a: a, "A.T": lambda a: a.T, "A.conj()": lambda a: a.conj(), "A.H": lambda a: a.conj().T}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64", "complex128"])
def test_dtypes_and_views(device, view, dtype):
    a = (flow(60, 0.5) / 15).astype(dtype)
    if dtype[0] == "c":
        a = a * (1 + 0.25j)
    stored = sp.csr_array(a.astype("float32") if dtype == "float16" else a)
    A = VIEWS[view](ds.hm_array(stored, dtype=dtype, device=device))
    x = random(60, "complex128" if dtype[0] == "c" else "float64")
    result = ds.evolve(A, to_device(x, device), [1.0, -0.5], generator=True, method="taylor")
    dense = VIEWS[view](stored.toarray().astype(x.dtype))
    for t, state in zip(result.times, to_host(result.states), strict=True):
        bound = 1e-10 * max(1, np.linalg.norm(expm(t * dense), 2)) * np.linalg.norm(x)
        assert np.linalg.norm(state - expm(t * dense) @ x) <= bound


def test_products_follow_from_powers_and_decay(device):
    """The norm of a matrix can be much larger than the radius of its powers; where all decays, parts are longer."""
    n = 200
    a = np.zeros((n, n))
    a[0, 1:], a[np.arange(1, n), np.arange(1, n)] = 5.0, -0.1
    assert np.linalg.norm(a, 2) > 70
    assert evolved(a, np.ones(n), 1.0, device).products < 60
    blocks = np.kron(np.eye(30), 50 * np.eye(3, k=1))  # the third power is 0
    result = evolved(blocks, np.ones(90), 100.0, device)
    assert result.products < 12
    np.testing.assert_allclose(to_host(result.final), expm(100 * blocks) @ np.ones(90), rtol=1e-13)
    diffusion = -ds.gallery.tridiagonal(n).toarray()
    long = evolved(diffusion, np.ones(n), 50.0, device)
    assert long.products < 2 * 50 * 2 + 60
    np.testing.assert_allclose(to_host(long.final), expm(50 * diffusion) @ np.ones(n), rtol=0, atol=1e-9)


@pytest.mark.parametrize("count", [1, 10, 1000])
def test_errors_of_many_steps_do_not_add_up(device, count):
    """States of this matrix grow for a while, so errors do, too."""
    a = -ds.gallery.tridiagonal(50).toarray() + 0.3 * np.eye(50, k=1)
    x = random(50, "float64")
    state = to_host(evolved(a, x, np.linspace(0, 20, count + 1)[1:], device).final)
    assert np.linalg.norm(state - expm(20 * a) @ x) <= 2e-10 * np.linalg.norm(x)


@pytest.mark.parametrize("tol", [1e-3, 1e-8])
@pytest.mark.parametrize("center", [-10.0, 5.0, 13.0])
def test_errors_are_relative_to_the_largest_state(device, center, tol):
    """Of the same norm: it is bounded by the largest eigenvalue of the Hermitian part."""
    a = np.diag(center + np.resize([-1.0, 1.0], 50)) + 1e-3 * np.eye(50, k=1)
    x, largest = random(50, "float64"), np.linalg.eigvalsh(a + a.T)[-1] / 2
    state = to_host(evolved(a, x, 2.0, device, tol=tol).final)
    assert np.linalg.norm(state - expm(2 * a) @ x) <= tol * max(1.0, np.exp(2 * largest)) * np.linalg.norm(x)


def test_ends_of_the_range(device):
    """Large states of which all decays, large matrices for short times, and a diagonal that nearly cancels."""
    for dtype, size, rate in (("float32", 1e28, 20), ("float64", 1e280, 50), ("float64", 1e-280, 50)):
        a = (-rate * np.eye(50) + rate * np.eye(50, k=1)).astype(dtype)
        x = np.full(50, size, dtype)
        state = to_host(evolved(a, x, 2.0, device).final)
        exact = expm(2 * a.astype(float)) @ np.ones(50)
        assert np.linalg.norm(state / size - exact) <= (1e-9 if dtype == "float64" else 1e-4)
    large = np.diag([1.2e308, 1e308, 1.2e308] * 20)
    state = to_host(evolved(large, np.ones(60), 1e-308, device).final)
    np.testing.assert_allclose(state, np.exp(np.diag(large) * 1e-308), rtol=1e-9)
    a = ((-0.24 + 1000j) * np.eye(50) + 2.8e-5 * np.eye(50, k=1)).astype("complex64")
    x = random(50, "complex128")
    state = to_host(evolved(a, x, 4.0, device).final)
    exact = expm(4 * a.astype(complex)) @ x
    assert np.linalg.norm(state - exact) <= 1e-10 * np.linalg.norm(x)
