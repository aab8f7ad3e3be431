"""Time evolution, compared with the exponential of the dense matrix."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import raises, random, to_device, to_host
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm

import diagsparse as ds
from diagsparse._evolution import chebyshev, choice

METHODS = pytest.mark.parametrize("method", [None, "chebyshev", "krylov"])
TIMES = ([0.0, 0.1, -3.0, 7.0, 0.1], 1.5, [-2.0], np.linspace(0, 4, 60))
ROUNDING = 2e-13  # in addition to the tolerance


def chain(sites=6):
    """A chain of spins: real and symmetric."""
    return ds.gallery.heisenberg(sites).toarray()


def hermitian(n=40, dtype="complex128"):
    """A Hermitian band."""
    draw = np.random.default_rng(0)
    a = np.triu(np.tril(draw.standard_normal((n, n)) + 1j * draw.standard_normal((n, n)), 3), -3)
    return (a + a.conj().T).astype(dtype)


def check(a, psi, times, device, format="csr", factor=-1j, **options):
    """Compare an evolution with dense exponentials; return it."""
    H = ds.array(sp.csr_array(a), format, device=device)
    result = ds.evolve(H, to_device(psi, device), times, generator=factor == 1, **options)
    largest = max(1.0, *(np.linalg.norm(expm(factor * t * a), 2) for t in result.times))
    size = largest * max(np.linalg.norm(psi, axis=0).max(initial=0.0), 1e-300)
    for t, state in zip(result.times, to_host(result.states), strict=True):
        error = np.linalg.norm(state - expm(factor * t * a) @ psi, axis=0).max(initial=0.0)
        assert error <= (result.tol + ROUNDING) * size, (t, error / size)
    assert np.array_equal(to_host(result.final), to_host(result.states)[-1])
    return result


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
            result = check(a, psi, times, device, "csr", 1)
            assert (result.method, result.reason) == ("krylov", "the matrix is not Hermitian")
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


def test_states_that_are_not_finite(device):
    """Each column is on its own, and is computed once."""
    x = random((64, 2), "complex128")
    x[3, 0] = np.nan
    H = ds.array(sp.csr_array(chain()), device=device)
    y = to_host(ds.evolve(H, to_device(x, device), 1.0, method="chebyshev").final)
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


def test_the_choice(device):
    H = ds.gallery.heisenberg(10, format="mdia").to(device)
    x = to_device(random(1024, "complex128"), device)
    many, once, long = ds.evolve(H, x, np.linspace(0, 1, 50)), ds.evolve(H, x, 1.0), ds.evolve(H, x, 20.0)
    assert (once.method, long.method) == ("chebyshev", "chebyshev")
    if device == "cpu":  # on a GPU, the sums of vectors for each time take longer than the products
        assert many.method == "krylov"
        assert "chebyshev would need" in many.reason
    assert "krylov would need" in long.reason
    assert once.spectrum[1] - once.spectrum[0] > long.spectrum[1] - long.spectrum[0]  # Gershgorin's circles
    given = ds.evolve(H, x, 1e-3, spectrum=(-20.0, 20.0))
    assert (given.method, given.spectrum) == ("chebyshev", (-20.0, 20.0))
    assert ds.evolve(ds.gallery.tridiagonal(30), np.ones(30), 1e6).products < 40  # the whole space
    assert "chebyshev" in str(long)
    assert "1024" in repr(long)


def test_an_interval_that_is_too_small(device, monkeypatch):
    """The norm grows: a given interval is refused, and one of ours is widened."""
    a = hermitian()
    psi, H = random(len(a), "complex128"), ds.array(sp.csr_array(a), device=device)
    with raises(ValueError, "spectrum=(-0.1, 0.1)", "does not contain all eigenvalues"):
        ds.evolve(H, to_device(psi, device), 20.0, spectrum=(-0.1, 0.1))
    monkeypatch.setattr(choice, "_enclosed", lambda *_: (chebyshev.Interval(-1.0, 1.0, 0.0, 1e-300), 1))
    assert check(a, psi, [20.0], device, method="chebyshev").spectrum[0] < -2


def test_intervals_of_decay(device):
    """A given interval may be too wide, and costs no more products than one of ours."""
    A = -ds.dia_array(ds.gallery.tridiagonal(100)).to(device)
    psi = np.eye(100)[50]
    exact, plain = expm(-80 * ds.gallery.tridiagonal(100).toarray()) @ psi, None
    for spectrum in (None, (-4.0, 0.0), (-5.0, 3.0)):
        result = ds.evolve(A, to_device(psi, device), 80.0, generator=True, method="chebyshev", spectrum=spectrum)
        plain = plain or result.products
        assert result.products <= 1.1 * plain < 250
        np.testing.assert_allclose(to_host(result.final), exact, rtol=0, atol=1e-10)
    with raises(ValueError, "spectrum=(5.0, 6.0)", "does not contain"):
        ds.evolve(A, to_device(psi, device), 80.0, generator=True, spectrum=(5.0, 6.0))


def test_objects_of_other_classes():
    H = ds.gallery.heisenberg(2, format="mdia")
    with raises(TypeError, "psi is a sparse csr_array", "psi.toarray()"):
        ds.evolve(H, sp.csr_array(np.ones((4, 1))), 1.0)
    qutip = pytest.importorskip("qutip")
    with raises(TypeError, "H is QuTiP's Qobj", "H.data_as('csr_matrix')"):
        ds.evolve(qutip.sigmax(), np.ones(2), 1.0)
    with raises(TypeError, "psi is QuTiP's Qobj", "psi.full()"):
        ds.evolve(H, qutip.basis(4, 0), 1.0)
    assert ds.evolve(qutip.sigmax().data_as("csr_matrix"), np.ones(2), 1.0).states.shape == (1, 2)


@pytest.mark.parametrize("options", [{}, {"method": "chebyshev"}, {"spectrum": (-50, 50)}, {"method": "krylov"}])
def test_times_that_are_too_long(options):
    H = ds.gallery.heisenberg(10, format="mdia")
    with raises(ValueError, "evolve", "these times need about", "products"):
        ds.evolve(H, np.ones(1024), [1.0, 1e12], **options)


@given(n=st.integers(1, 12), seed=st.integers(0, 1000), times=st.lists(st.floats(-9, 9), min_size=1, max_size=4))
def test_random_matrices(n, seed, times):
    draw = np.random.default_rng(seed)
    a = draw.standard_normal((n, n)) + 1j * draw.standard_normal((n, n))
    a = (a + a.conj().T) * 10.0 ** draw.uniform(-3, 1)
    psi = draw.standard_normal(n) + 1j * draw.standard_normal(n)
    for method in (None, "chebyshev", "krylov"):
        check(a, psi, times, "cpu", method=method)


def test_spectral_bounds(device):
    for a in (chain(), hermitian(), np.zeros((4, 4)), np.array([[-3.0]]), np.diag([1.0, 1.0, 5.0]), 1e-200 * chain()):
        for dtype in (a.dtype, np.result_type(a.dtype, np.float32)):
            low, high = ds.spectral_bounds(ds.array(sp.csr_array(a.astype(dtype)), device=device))
            values = np.linalg.eigvalsh(a)
            width = values[-1] - values[0]
            assert values[0] - 0.1 * width - 1e-12 * abs(values[0]) <= low <= values[0]
            assert values[-1] <= high <= values[-1] + 0.1 * width + 1e-12 * abs(values[-1])


def test_errors(device):
    H = ds.array(sp.csr_array(chain()), device=device)
    x = to_device(np.ones(64), device)
    for bad in ([], [[1.0]], "1", [np.nan], np.inf, 1j):
        with raises(ValueError, "times", "real and finite"):
            ds.evolve(H, x, bad)
    with raises(ValueError, "method='taylor'", "chebyshev, krylov"):
        ds.evolve(H, x, 1.0, method="taylor")
    for bad in (0, -1e-3, 1e-17, np.nan, "1"):
        with raises(ValueError, "tol", "precision of complex128"):
            ds.evolve(H, x, 1.0, tol=bad)
    for bad in ((1, 0), (0, np.inf), 3, (0, 1, 2)):
        with raises(ValueError, "spectrum", "two ends"):
            ds.evolve(H, x, 1.0, spectrum=bad)
    with raises(ValueError, "psi", "63 elements", "H", "64"):
        ds.evolve(H, to_device(np.ones(63), device), 1.0)
    with raises(TypeError, "psi", "<U1"):
        ds.evolve(H, np.full(64, "a"), 1.0)
    with raises(ValueError, "3 x 4", "square"):
        ds.evolve(ds.array(sp.csr_array(np.ones((3, 4))), device=device), x, 1.0)
    skew = ds.array(sp.csr_array(np.triu(chain())), device=device)
    with raises(ValueError, "H is not Hermitian", "generator=True"):
        ds.evolve(skew, x, 1.0)
    with raises(ValueError, "Hermitian matrix"):
        ds.evolve(skew, x, 1.0, generator=True, method="chebyshev")
    with raises(ValueError, "spectral_bounds", "not Hermitian"):
        ds.spectral_bounds(skew)
    with raises(TypeError, "observables", "list"):
        ds.evolve(H, x, 1.0, observables=H)
    with raises(TypeError, "progress=3", "function"):
        ds.evolve(H, x, 1.0, progress=3)
    with raises(ValueError, "an observable is 3 x 3", "64 x 64"):
        ds.evolve(H, x, 1.0, observables=[sp.eye_array(3)])
    a = chain()
    a[3, 3] = np.nan
    for bad in (a, np.where(np.isnan(a), np.inf, a)):
        with raises(ValueError, "not finite"):
            ds.evolve(ds.array(sp.csr_array(bad), device=device), x, 1.0)
    with raises(TypeError, "sparse matrix"):
        ds.evolve(np.eye(3), np.ones(3), 1.0)
    if device == "cpu":
        with raises(ValueError, "evolve", "stream"):
            ds.evolve(H, x, 1.0, stream=0)


def test_memory(device):
    H = ds.array(sp.csr_array(chain()), device=device)
    with raises(MemoryError, "times"):
        ds.evolve(H, to_device(np.ones(64), device), np.broadcast_to(1.0, 10**10))
