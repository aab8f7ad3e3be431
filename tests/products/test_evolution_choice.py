"""Time evolution: the method and the interval that are chosen, bounds of spectra, and errors."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import raises, random, to_device, to_host
from evolutions import chain, check, hermitian
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm

import diagsparse as ds
from diagsparse._evolution import chebyshev, choice


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


@pytest.mark.parametrize(
    "options", [{}, {"method": "chebyshev"}, {"spectrum": (-50, 50)}, {"method": "krylov"}, {"method": "taylor"}]
)
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
    for method in (None, "chebyshev", "krylov", "taylor"):
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
    with raises(ValueError, "method='euler'", "chebyshev, krylov, taylor"):
        ds.evolve(H, x, 1.0, method="euler")
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


@pytest.mark.parametrize("offset", [1e3, 1e6])
@pytest.mark.parametrize("n", [3, 20, 48])
def test_large_multiples_of_the_identity(device, n, offset):
    """Of a Hermitian matrix and a generator: products nearly cancel when they are orthogonalized."""
    draw = np.random.default_rng(n).standard_normal((n, n))
    x = random(n, "complex128")
    for a, factor in (((draw + draw.T) / 2 + offset * np.eye(n), -1j), (draw / 2 + 1j * offset * np.eye(n), 1.0)):
        H = ds.array(sp.csr_array(a), device=device)
        phase = np.exp(factor * a[0, 0] * 1.5)
        exact = phase * (expm(factor * 1.5 * (a - a[0, 0] * np.eye(n))) @ x)
        for method in (None, "krylov"):
            result = ds.evolve(H, to_device(x, device), 1.5, generator=factor == 1, method=method)
            assert result.products < 600, method  # thousands if the multiple needed some
            state = to_host(result.final)
            error = np.linalg.norm(state - exact) / np.linalg.norm(exact)
            assert error <= 1e-10 + 100 * offset * 2.0**-53, (method, error)


@pytest.mark.parametrize("offset", [-3e4, -300, 40, -200 + 1e3j])
@pytest.mark.parametrize("tol", [1e-13, 1e-8])
def test_multiples_of_the_identity_that_scale_states(device, offset, tol):
    """At times before and after most has decayed, and where the rest of the matrix is what needs products."""
    n = 60
    rest = np.eye(n, k=1) + np.eye(n, k=-1)
    x = random(n, "complex128" if np.iscomplex(offset) else "float64")
    H = ds.array(sp.csr_array(rest + offset * np.eye(n)), device=device)
    for times in ([0.006, 0.013, 0.027, 0.054], [2e-3, 0.006, 0.013, 0.027, 0.054, 5.3]):
        result = ds.evolve(H, to_device(x, device), times, generator=True, method="krylov", tol=tol)
        assert result.products < 400
        for t, state in zip(times, to_host(result.states), strict=True):
            exact = np.exp(offset * t) * (expm(t * rest) @ x)
            size = np.linalg.norm(x) * max(1.0, np.exp((np.real(offset) + 2) * t))
            rounding = 2e-16 * (20 + abs(offset) * t)
            assert np.linalg.norm(state - exact) <= (tol + rounding) * size, (t, times)


def test_slow_modes_in_states_of_fast_ones(device):
    """A vector that decays says nothing of others that hardly do, and errors consist of those."""
    n, size, t, tol = 200, 75.94, 0.1814, 1e-8
    slow = np.arange(n) < 0.865 * n
    modes = np.where(slow, -0.0038 * size * np.linspace(0, 1, n), -size * np.linspace(0.98, 1, n))
    x = np.where(slow, 1.18e-6, 1.0)
    for format in ("csr", "dia"):
        H = ds.array(sp.diags_array(modes).tocsr(), format, device=device)
        y = ds.evolve(H, to_device(x, device), t, generator=True, method="krylov", tol=tol)
        assert np.linalg.norm(to_host(y.final) - np.exp(t * modes) * x) <= tol * np.linalg.norm(x)


def test_phases_that_are_known(device):
    """Rows may have much larger sums than eigenvalues, times may have both signs, and states of zero stay zero."""
    star = np.zeros((400, 400), "float32")
    star[0, 1:] = star[1:, 0] = 1
    x = random(400, "complex64")
    y = to_host(ds.evolve(ds.csr_array(star, device=device), to_device(x, device), 3e4, method="krylov").final)
    assert np.isclose(np.linalg.norm(y), np.linalg.norm(x), rtol=1e-2)
    swap = ds.csr_array(np.array([[0, 1e4], [1e4, 0]], "float32"), device=device)
    both = ds.evolve(swap, to_device(np.array([1, 0], "complex64"), device), [-1e4, 1e4])
    np.testing.assert_allclose(to_host(both.final), [np.cos(1e8), -1j * np.sin(1e8)], atol=1e-5)
    A = ds.csr_array(1.65e8 * np.eye(45) + 2.5 * np.eye(45, k=-1), device=device)
    assert not to_host(ds.evolve(A, to_device(np.zeros(45), device), 1e-3, generator=True, method="taylor").final).any()
    with raises(ValueError, "not Hermitian", "generator=True"):
        ds.evolve(ds.csr_array(1e16 * np.eye(45, k=1), device=device), to_device(np.ones(45), device), 10.0)


@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-10])
def test_taylor_series_of_many_parts_with_a_far_center(device, tol):
    """Products lose digits to the center, so that parts have to be shorter."""
    a = np.eye(56, k=1) - np.eye(56, k=-1)
    x = np.eye(56)[28]
    H = ds.array(sp.csr_array(a + 968j * np.eye(56)), device=device)
    y = ds.evolve(H, to_device(x, device), 170.0, generator=True, method="taylor", tol=tol).final
    error = np.linalg.norm(to_host(y) - np.exp(968j * 170) * (expm(170 * a) @ x))
    assert error <= tol + 170 * 968 * 2.0**-52


def test_multiples_of_the_identity_are_no_work(device):
    """They are neither refused nor counted, in the first interval of a series or in the one that is certain."""
    n = 45
    eye, ones, chain = np.eye(n), np.ones(n), np.eye(n, k=1) + np.eye(n, k=-1) - 2 * np.eye(n)

    def evolved(a, x, t, generator=True, method=None):
        H = ds.array(sp.csr_array(a), device=device)
        return ds.evolve(H, to_device(x, device), t, generator=generator, method=method)

    assert evolved((chain + 1e5 * eye).astype("float32"), np.float32(ones), 14.0, False).products < 500
    for method in (None, "krylov", "taylor"):
        assert evolved(1e9j * eye, ones, 10.0, method=method).products < 10
        assert not to_host(evolved(-3e9 * eye + np.eye(n, k=1), ones, 2.0, method=method).final).any()
        with np.errstate(all="ignore"), raises(OverflowError, "not finite"):
            evolved(1e3 * eye, ones, 1e5, method=method)
    with raises(OverflowError, "not finite"):
        evolved(1.65e8 * eye + 2.5 * np.eye(n, k=-1), ones, 1.16, method="taylor")
    for dtype, c in (("float32", 1e7), ("float64", 1e16)):
        with raises(OverflowError, "eigenvalues so large", "phases"):
            evolved((chain + c * eye).astype(dtype), ones.astype(dtype), 14.0, False)
    with raises(ValueError, "these times need about"):
        evolved(1e9 * chain, ones, 10.0, False)


def test_sizes_at_the_end_of_the_range(device):
    """The mean of the diagonal, and powers of the matrix, would overflow."""
    a = 1e308 * np.eye(40) + 1e307 * np.eye(40, k=1)
    x = random(40, "float64")
    for method in ("krylov", "taylor"):
        y = ds.evolve(
            ds.array(sp.csr_array(a), device=device), to_device(x, device), 1e-309, generator=True, method=method
        )
        np.testing.assert_allclose(to_host(y.final), expm(1e-309 * a) @ x, rtol=1e-9)


def test_small_matrices_far_from_normal(device):
    """Of so few rows that the matrix is a small one itself; and tiny states, and phases that nobody knows."""
    a = np.diag([1e3, 1e3, 0, 0], 1)
    x = np.array([0.3, -0.7, 0.5, 0.2, -0.4])
    A = ds.csr_array(a, device=device)
    state = to_host(ds.evolve(A, to_device(x, device), 1.0, generator=True).final)
    np.testing.assert_allclose(state, x + a @ x + a @ a @ x / 2, rtol=1e-13)
    walk = sp.diags_array([1.0, -2.0, 0.5], offsets=[-1, 0, 1], shape=(48, 48)).tocsr()
    for n, method in ((20, None), (48, None), (48, "krylov")):
        small = walk[:n, :n]
        tiny = ds.evolve(ds.csr_array(small, device=device), to_device(np.full(n, 1e-310), device), 2.0,
                         generator=True, method=method)  # fmt: skip
        np.testing.assert_allclose(
            to_host(tiny.final) * 1e300, expm(2 * small.toarray()) @ np.full(n, 1e-10), rtol=1e-6
        )
    with raises(OverflowError, "eigenvalues so large", "phases", "1e+17"):
        ds.evolve(ds.csr_array(np.eye(3), device=device), to_device(x[:3], device), 1e17)


def test_observables_of_real_states_may_be_complex(device):
    A = ds.csr_array(np.array([[0, 1.0], [-2, 0]]), device=device)
    observable = ds.csr_array(np.diag([1j, 2j]), device=device)
    found = ds.evolve(A, to_device(np.ones(2), device), [0.0, 1.0], generator=True, observables=[observable]).expect
    y = expm(A.toarray()) @ np.ones(2)
    np.testing.assert_allclose(found[:, 0], [3j, 1j * y[0] ** 2 + 2j * y[1] ** 2], rtol=1e-9)
