"""Time evolution, compared with the exponential of the dense matrix."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import random, to_device, to_host
from evolutions import METHODS, TIMES, chain, check, hermitian
from scipy.linalg import expm

import diagsparse as ds


@METHODS
@pytest.mark.parametrize("format", ["mdia", "dia", "csr"])
def test_states(device, method, format):
    for a in (chain(), hermitian()):
        psi = random(len(a), "complex128")
        for times in TIMES:
            result = check(a, psi, times, device, format, method=method)
            assert result.method == method or method is None
            assert result.states.shape == (np.size(times), len(a))


@METHODS
@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-13])
def test_tolerances(device, method, tol):
    a = hermitian()
    check(a, random(len(a), "float64"), [0.4, 5.0], device, tol=tol, method=method)


def test_a_smaller_tolerance_takes_more_products(device):
    a = ds.array(sp.csr_array(hermitian()), device=device)
    x = to_device(random(40, "complex128"), device)
    counts = [ds.evolve(a, x, 5.0, tol=tol, method="chebyshev").products for tol in (1e-2, 1e-6, 1e-12)]
    assert counts == sorted(set(counts))


@METHODS
def test_blocks_of_states(device, method):
    a = chain()
    psi = random((len(a), 3), "complex128")
    for x in (psi, np.asfortranarray(psi), psi[:, ::2], psi[:, :0]):
        result = check(a, x, [1.0, -0.5], device, "mdia", method=method)
        assert result.states.shape == (2, *x.shape)


@METHODS
def test_single_precision(device, method):
    a = hermitian(dtype="complex64")
    result = check(a, random(len(a), "complex64"), [0.5, 1.0], device, "dia", method=method)
    assert result.tol == 1e-5
    assert to_host(result.states).dtype == "complex64"


@METHODS
def test_generators(device, method):
    """Heat flows: real vectors stay real."""
    a = -ds.gallery.tridiagonal(50).toarray()
    for times in (2.0, [30.0, 1.0], -1.0):
        result = check(a, random(50, "float64"), times, device, "dia", 1, method=method)
        assert to_host(result.states).dtype == "float64"


@METHODS
def test_generators_for_long_times(device, method):
    """The error is relative to the largest possible state, although the interval reaches beyond the spectrum."""
    draw = np.random.default_rng(0).standard_normal((41, 41))
    rod = -ds.gallery.tridiagonal(50).toarray()
    for a, times in ((rod, [1e2, 1e3]), (-draw @ draw.T, [1.0, 10.0, 100.0])):
        H = ds.array(sp.csr_array(a), device=device)
        x = random(len(a), "float64")
        result = ds.evolve(H, to_device(x, device), times, generator=True, method=method)
        values, vectors = np.linalg.eigh(a)
        for t, state in zip(times, to_host(result.states), strict=True):
            exact = vectors @ (np.exp(t * values) * (vectors.T @ x))
            error = np.linalg.norm(state - exact) / np.linalg.norm(x) / np.exp(t * values[-1])
            assert error <= 2e-10, (t, error)


def test_intervals_that_end_at_an_eigenvalue(device):
    """A state that decays is possible, and so is one whose error is as large as the tolerance."""
    a = -ds.gallery.tridiagonal(60).toarray()
    check(a, random(60, "float64"), [1.0, -1.0], device, "dia", 1, spectrum=(-4, 0))
    h = hermitian()
    low, high = np.linalg.eigvalsh(h)[[0, -1]]
    check(h, random(len(h), "float64"), 7.0, device, spectrum=(low, high), tol=0.3)


def test_generators_that_are_not_hermitian(device):
    a = np.random.default_rng(1).standard_normal((60, 60)) / 4
    for psi in (random(60, "float64"), random((60, 2), "complex128")):
        for times in (0.3, [-1.0, 2.0], 8.0):
            for method in (None, "krylov", "taylor"):
                result = check(a, psi, times, device, "csr", 1, method=method)
                assert result.method == method or (method is None and "would need about" in result.reason)
    check(-1j * chain(), random(64, "complex128"), [2.0], device, "mdia", 1)


@METHODS
def test_special_matrices(device, method):
    """One row, zeros, one eigenvalue, an eigenvector as the state, and no state at all."""
    for a in (np.array([[2.0]]), np.zeros((5, 5)), 3 * np.eye(7), np.diag([0.0, 1e-200, 2.0])):
        psi = random(len(a), "complex128")
        check(a, psi, [0.0, 2.0, -1.0], device, method=method)
        check(a, 0 * psi, [0.0, 2.0], device, method=method)
    a = chain()
    check(a, np.linalg.eigh(a)[1][:, 5], [3.0], device, method=method)


@METHODS
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_small_values_in_single_precision(device, method, dtype):
    for a in (np.zeros((40, 40), dtype), np.full(40, 1e-40, dtype) * np.eye(40, dtype=dtype)):
        x = np.ones(40, dtype)
        for generator in (False, True):
            H = ds.array(sp.csr_array(a), device=device)
            y = ds.evolve(H, to_device(x, device), 1.0, generator=generator, method=method).final
            np.testing.assert_allclose(to_host(y), x, atol=1e-5)


@METHODS
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_states_that_are_not_finite(device, method, value):
    """Each column is on its own, and is computed once."""
    x = random((64, 2), "complex128")
    x[3, 0] = value
    H = ds.array(sp.csr_array(chain()), device=device)
    y = to_host(ds.evolve(H, to_device(x, device), 1.0, method=method).final)
    assert np.isnan(y[3, 0])
    np.testing.assert_allclose(y[:, 1], expm(-1j * chain()) @ x[:, 1], atol=1e-9)


def test_large_and_small_values(device):
    for scale in (1e-200, 1e-150, 1e150):
        check(scale * chain(), random(64, "complex128"), [2.0 / scale], device, "mdia")
        check(chain(), scale * random(64, "complex128"), [2.0], device, "mdia")


def test_long_times_are_divided(device):
    a = hermitian()
    psi = random(len(a), "complex128")
    calls = []
    result = check(a, psi, [400.0, -1.0], device, "dia", method="chebyshev", progress=calls.append)
    assert len(calls) > 3
    assert calls == sorted(calls)
    assert calls[-1] == pytest.approx(1)
    assert result.spectrum[0] < np.linalg.eigvalsh(a)[0]


@METHODS
def test_observables(device, method):
    a, times = chain(), [0.0, 2.0, -1.0]
    n = len(a)
    skew = np.diag(np.ones(n - 1), 1)
    H, S, N = (ds.array(sp.csr_array(m), device=device) for m in (a, skew, np.diag(np.arange(n) + 1.0)))
    for psi in (random(n, "complex128"), random((n, 2), "complex128")):
        exact = np.array([expm(-1j * t * a) @ psi for t in times])
        for observables, matrices in (([H, N], [a, N.to("cpu").toarray()]), ([S], [skew])):
            result = ds.evolve(H, to_device(psi, device), times, observables=observables, method=method)
            expected = np.array([[np.sum(y.conj() * (m @ y), axis=0) for m in matrices] for y in exact])
            assert result.states is None
            assert result.expect.dtype == (float if len(matrices) == 2 else complex)
            np.testing.assert_allclose(result.expect, expected, rtol=0, atol=1e-7)
            np.testing.assert_allclose(to_host(result.final), exact[-1], rtol=0, atol=1e-8)
    assert ds.evolve(H, to_device(psi, device), times, observables=[H], states=True).states.shape == (3, n, 2)


@pytest.mark.parametrize("method", [None, "krylov", "chebyshev", "taylor"])
def test_states_that_overflow(method):
    """Exponentials above the largest number, and eigenvalues whose squares are."""
    words, errors = ["not finite", "eigenvalues so large"], [OverflowError]
    if method == "taylor":
        words, errors = [*words, "these times need about"], [OverflowError, ValueError]
    for size, generator in ((1000.0, True), (1e300, True), (1e300, False)):
        H = ds.hm_array(np.diag([size, 1, 1]))
        with np.errstate(all="ignore"), pytest.raises(tuple(errors), match="|".join(words)):
            ds.evolve(H, np.ones(3), 1.0, generator=generator, method=method)
    chain = ds.hm_array(np.diag(np.ones(44), 1) + np.diag(np.ones(44), -1))
    with np.errstate(all="ignore"), pytest.raises(OverflowError, match="not finite"):
        ds.evolve(chain, np.full(45, 1e308), 1.0, method=method)
    x = ds.evolve(ds.hm_array(np.diag([600.0, 1, 1])), np.ones(3), 1.0, generator=True, method=method).final
    assert np.isclose(x[0], np.exp(600.0)), "of which the norm overflows"
