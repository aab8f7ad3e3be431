"""Evolution by matrices that change with time, compared with SciPy's solver for differential equations."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import raises, random, to_device, to_host
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline
from scipy.linalg import expm

import diagsparse as ds
from diagsparse._evolution import spectrum

SITES = 5
ROUNDING = 1e-12  # in addition to the tolerance


def operators(device="cpu", format="mdia", **layout):
    """Return a chain, two fields, and the operator of which only the sum with its adjoint is Hermitian."""
    n = SITES
    chain = ds.gallery.heisenberg(n).toarray()
    fields = [ds.gallery.pauli_sum([s + "I" * (n - 1), "I" * (n - 1) + s], [1.0, -0.5]).toarray() for s in "XZ"]
    lower = np.kron(np.array([[0, 1], [0, 0]]), np.eye(2 ** (n - 1))) * (1 + 0.5j)
    dense = [chain, *fields, lower]
    return dense, [ds.array(sp.csr_array(a), format, device=device, **layout) for a in dense]


def exact(a_of, psi, times, factor=-1j):
    """Return the states at these times, of which the initial one belongs to 0."""
    states = np.empty((len(times), *psi.shape), complex)
    flat = psi.astype(complex).ravel()
    for sign in (1, -1) if psi.size else ():
        side = sorted({t for t in times if sign * t > 0}, key=abs)
        if side:
            found = solve_ivp(
                lambda t, y: (factor * (a_of(t) @ y.reshape(psi.shape))).ravel(), (0, side[-1]), flat,
                method="DOP853", t_eval=side, rtol=1e-13, atol=1e-15,
            )  # fmt: skip
            for t, y in zip(side, found.y.T, strict=True):
                for i in np.flatnonzero(np.asarray(times) == t):
                    states[i] = y.reshape(psi.shape)
    states[np.asarray(times) == 0] = psi
    return states


def check(H, a_of, psi, times, device, generator=False, growth=1.0, **options):
    """Compare an evolution with SciPy's; return it."""
    result = ds.evolve(H, to_device(psi, device), times, generator=generator, **options)
    expected = exact(a_of, psi, result.times.tolist(), 1.0 if generator else -1j)
    size = np.linalg.norm(psi, axis=0)
    for t, state, y in zip(result.times, to_host(result.states), expected, strict=True):
        error = np.linalg.norm(state - y, axis=0)
        assert (error <= (result.tol + ROUNDING) * growth * size).all(), (t, error)
    return result


def f(t):
    return np.sin(3 * t)


def g(t):
    return 0.7 * np.cos(t) ** 2


@pytest.mark.parametrize("format", ["mdia", "dia", "csr"])
def test_states(device, format):
    (a, b, c, _), (A, B, C, _) = operators(device, format)
    psi = random(len(a), "complex128")
    for times in ([0.0, 0.1, -1.0, 2.0, 0.1], 1.5, [-0.5], np.linspace(0, 1, 15)):
        result = check([A, [B, f], (C, g)], lambda t: a + f(t) * b + g(t) * c, psi, times, device)
        assert result.method == "chebyshev"
        assert result.steps >= 1 and result.rejected >= 0 and result.products > result.steps
        assert f"{result.steps}, and {result.rejected} rejected" in str(result)


@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("method", ["chebyshev", "krylov"])
def test_tolerances(device, method, tol):
    (a, b, _, _), (A, B, _, _) = operators(device, palette=True)
    check([A, [B, f]], lambda t: a + f(t) * b, random(len(a), "complex128"), [0.3], device, tol=tol, method=method)


def test_a_smaller_tolerance_takes_more_products():
    _, (A, B, _, _) = operators()
    counts = [ds.evolve([A, [B, f]], random(32, "float64"), 1.0, tol=tol).products for tol in (1e-3, 1e-6, 1e-12)]
    assert counts == sorted(set(counts))


def test_steps_are_long_where_little_changes(device):
    """A constant matrix, and a function that soon vanishes."""
    (a, b, _, _), (A, B, _, _) = operators(device)
    psi = random(len(a), "complex128")
    assert check([A], lambda t: a, psi, 20.0, device).steps < 20
    assert check([A, [B, lambda t: 0.5]], lambda t: a + 0.5 * b, psi, 20.0, device).steps < 20
    pulse = check([A, [B, lambda t: np.exp(-40 * t**2)]], lambda t: a + np.exp(-40 * t**2) * b, psi, 8.0, device)
    assert pulse.steps < 120


def test_jumps(device):
    """A function may jump: steps are short there."""
    (a, b, _, _), (A, B, _, _) = operators(device)
    psi = random(len(a), "complex128")
    result = ds.evolve([A, [B, lambda t: float(0.3 < t < 0.71)]], to_device(psi, device), 1.0)
    expected = expm(-0.29j * a) @ expm(-0.41j * (a + b)) @ expm(-0.3j * a) @ psi
    assert np.linalg.norm(to_host(result.final) - expected) <= 1.1e-10 * np.linalg.norm(psi)
    assert result.rejected > 5


def test_a_narrow_pulse_is_found_with_max_step(device):
    (a, b, _, _), (A, B, _, _) = operators(device)

    def pulse(t):
        return 20 * np.exp(-((t - 5) ** 2) / 2e-4)

    psi = np.linalg.eigh(a)[1][:, 3]
    result = check([A, [B, pulse]], lambda t: a + pulse(t) * b, psi, 5.2, device, max_step=0.02, tol=1e-8)
    assert result.steps >= 260


def test_complex_functions(device):
    """Terms that are Hermitian only together."""
    (a, _, _, s), (A, _, _, S) = operators(device)

    def rotating(t):
        return np.exp(2j * t)

    H = [A, [S, rotating], [S.H, lambda t: np.conj(rotating(t))]]
    psi = random(len(a), "float64")
    check(H, lambda t: a + rotating(t) * s + rotating(t).conj() * s.conj().T, psi, [1.0, -0.5], device)
    with raises(ValueError, "H is not Hermitian at t", "generator=True"):
        ds.evolve([A, [S, rotating]], to_device(psi, device), 1.0)


def test_only_functions_and_blocks(device):
    (_, b, c, _), (_, B, C, _) = operators(device, "hm")
    psi = random((len(b), 3), "complex128") * [1.0, 1e-6, 0.0]
    for x in (psi, psi[:, ::2], psi[:, :0]):
        result = check([[B, f], [C, g]], lambda t: f(t) * b + g(t) * c, x, [1.0, -0.5], device)
        assert result.states.shape == (2, *x.shape)


def test_generators(device):
    """Real vectors stay real; growth, decay and transport."""
    a, b = -ds.gallery.tridiagonal(30).toarray(), np.diag(np.ones(29), 1) - np.diag(np.ones(29), -1)
    A, B = (ds.array(sp.csr_array(m), "dia", device=device) for m in (a, b))
    x = random(30, "float64")
    result = check([A, [B, f]], lambda t: a + f(t) * b, x, [1.0, 3.0], device, generator=True)
    assert to_host(result.states).dtype == "float64" and result.method == "krylov"
    check([[A, f], B], lambda t: f(t) * a + b, x, [1.0], device, generator=True, growth=np.exp(4))
    growing = [A, [B, lambda t: 1j * t]]
    check(growing, lambda t: a + 1j * t * b, x, [0.5], device, generator=True, growth=np.exp(1))


def test_observables(device):
    (a, b, c, _), (A, B, C, _) = operators(device)
    psi, times = random((len(a), 2), "complex128"), [0.5, 0.0, -0.5]
    result = ds.evolve([A, [B, f]], to_device(psi, device), times, observables=[A, C])
    assert result.states is None
    expected = [
        [np.sum(y.conj() * (m @ y), axis=0).real for m in (a, c)] for y in exact(lambda t: a + f(t) * b, psi, times)
    ]
    np.testing.assert_allclose(result.expect, expected, rtol=0, atol=1e-6)


def test_single_precision(device):
    (a, b, _, _), (A, B, _, _) = operators(device)
    psi = random(len(a), "complex64")
    result = ds.evolve([A.astype("float32"), [B.astype("float32"), f]], to_device(psi, device), 1.0)
    assert result.tol == 1e-5 and to_host(result.final).dtype == "complex64"
    error = np.linalg.norm(to_host(result.final) - exact(lambda t: a + f(t) * b, psi, [1.0])[0])
    assert error <= 5e-5 * np.linalg.norm(psi)


def test_samples(device):
    """A spline through samples is a function."""
    (a, b, _, _), (A, B, _, _) = operators(device)
    grid = np.linspace(0, 1, 41)
    spline = CubicSpline(grid, np.sin(5 * grid))
    check([A, [B, spline]], lambda t: a + spline(t) * b, random(len(a), "complex128"), 1.0, device)


def test_progress(device):
    _, (A, B, _, _) = operators(device)
    calls = []
    ds.evolve([A, [B, f]], to_device(random(32, "complex128"), device), [2.0, -1.0], progress=calls.append)
    assert calls == sorted(calls) and calls[-1] == pytest.approx(1)


def test_an_interval_that_is_too_small(device, monkeypatch):
    """Steps become short, and if norms grow nevertheless, only Gershgorin's circles are used, which are certain."""
    (a, b, _, _), (A, B, _, _) = operators(device)
    psi = random(len(a), "complex128")
    monkeypatch.setattr(spectrum, "_SHARE", 1)
    for width in (3.0, 8.0):
        monkeypatch.setattr(spectrum, "bounds", lambda a, v, size, width=width: (-width, width, 0.0))
        check([A, [B, f]], lambda t: a + f(t) * b, psi, 1.0, device, tol=1e-6, growth=3)


def test_special_cases(device):
    """One row, no time, times that are nearly the same, zeros, columns that are not finite, and very large values."""
    a = np.diag(np.arange(5.0))
    A, one = (ds.array(sp.csr_array(m), device=device) for m in (a, np.array([[2.0]])))
    assert ds.evolve([one, [one, f]], to_device(np.ones(1), device), 0.0).steps == 0
    check([one, [one, g]], lambda t: (1 + g(t)) * np.array([[2.0]]), np.ones(1), [0.0, 2.0], device)
    check([[A, f], [A, lambda t: -f(t)]], lambda t: 0 * a, np.ones(5), [1.0, 1 + 2e-16, 1e-300], device)
    x = np.ones((5, 2))
    x[0, 0] = np.nan
    final = to_host(ds.evolve([A, [A, np.cos]], to_device(x, device), 1.0).final)
    np.testing.assert_allclose(final[:, 1], np.exp(-1j * np.arange(5) * (1 + np.sin(1))), atol=1e-9)
    assert not to_host(ds.evolve([A, [A, f]], to_device(np.zeros(5), device), 1.0).final).any()
    large = 1e200 * A
    np.testing.assert_allclose(
        to_host(ds.evolve([large, [large, f]], to_device(np.ones(5), device), 1e-200).final),
        np.exp(-1j * np.arange(5)), atol=1e-9,
    )  # fmt: skip


def test_errors(device):
    _, (A, B, _, S) = operators(device)
    x = to_device(random(32, "complex128"), device)
    with raises(ValueError, "empty list"):
        ds.evolve([], x, 1.0)
    with raises(ValueError, "term 1", "3 elements", "[matrix, function of t]"):
        ds.evolve([A, [B, f, g]], x, 1.0)
    for bad in (np.ones(3), "sin(t)", 2.0):
        with raises(TypeError, "term 1", "in place of a function", "CubicSpline"):
            ds.evolve([A, [B, bad]], x, 1.0)
    with raises(TypeError, "term 1", "sparse matrix"):
        ds.evolve([A, [np.eye(32), f]], x, 1.0)
    with raises(ValueError, "32 x 32", "3 x 3"):
        ds.evolve([A, [sp.eye_array(3), f]], x, 1.0)
    with raises(ValueError, "3 x 4", "square"):
        ds.evolve([sp.csr_array(np.ones((3, 4)))], x, 1.0)
    with raises(TypeError, "term 1", "'a'", "t = 0", "number"):
        ds.evolve([A, [B, lambda t: "a"]], x, 1.0)
    with raises(ValueError, "term 1", "inf", "finite"):
        ds.evolve([A, [B, lambda t: np.inf]], x, 1.0)
    with raises(ZeroDivisionError):
        ds.evolve([A, [B, lambda t: 1 / 0]], x, 1.0)
    with raises(ValueError, "not finite"):
        ds.evolve([A, [np.nan * B, f]], x, 1.0)
    with raises(ValueError, "spectrum"):
        ds.evolve([A, [B, f]], x, 1.0, spectrum=(-1, 1))
    with raises(ValueError, "chebyshev", "generator", "krylov"):
        ds.evolve([A, [B, f]], x, 1.0, generator=True, method="chebyshev")
    with raises(ValueError, "method='taylor'", "chebyshev, krylov"):
        ds.evolve([A, [B, f]], x, 1.0, method="taylor")
    for bad in (0, -1.0, "1", np.nan):
        with raises(ValueError, "max_step", "positive"):
            ds.evolve([A, [B, f]], x, 1.0, max_step=bad)
    with raises(ValueError, "max_step", "does not change"):
        ds.evolve(A, x, 1.0, max_step=0.1)
    with raises(ValueError, "psi", "31 elements"):
        ds.evolve([A, [B, f]], x[:31], 1.0)
    with raises(TypeError, "complex at some times", "psi is real"):
        real = to_device(random(32, "float64"), device)
        ds.evolve([A, [B, lambda t: 1j * (0.1 < t < 0.2)]], real, 1.0, generator=True, max_step=0.01, tol=1e-2)
    with raises(ValueError, "norm of a state changes"):
        ds.evolve([A, [S, lambda t: 9 * (0.1 < t < 0.3)]], x, 1.0, max_step=0.01, tol=1e-2)


@pytest.mark.parametrize("jumps, tol", [(20, 1e-6), (50, 1e-8), (50, 1e-3)])
def test_many_jumps(jumps, tol):
    """Jumps that are symmetric to the middle of a step once cancelled in the check of its integrals."""
    x_matrix, z_matrix = np.array([[0, 1], [1, 0.25]]), np.diag([1.0, -1.0])
    psi, y, end = np.array([1.0, 0j]), np.array([1.0, 0j]), 0.7
    for i in range(round(end * jumps)):
        y = expm(-1j / jumps * (x_matrix + i * z_matrix)) @ y
    H = [sp.csr_array(x_matrix), [sp.csr_array(z_matrix), lambda t: np.floor(jumps * t + 1e-12)]]
    assert np.linalg.norm(ds.evolve(H, psi, end, tol=tol).final - y) <= tol


def test_functions_and_times_that_cannot_be_resolved():
    H, field = (sp.csr_array(a) for a in (np.array([[0, 1], [1, 0.0]]), np.diag([1.0, -1.0])))
    with raises(ValueError, "term 1", "float32", "tol=1e-10"):
        ds.evolve([H, [field, lambda t: np.float32(np.cos(t))]], np.ones(2), 0.7)
    assert ds.evolve([H, [field, lambda t: np.float32(np.cos(t))]], np.ones(2), 0.7, tol=1e-4).steps < 100
    with raises(ValueError, "these times need about"):
        ds.evolve([H, [field, np.cos]], np.ones(2), 1e9)


def test_matrices_in_single_precision():
    """Their coefficients are rounded to single precision, too, which no step could make smaller."""
    _, (A, B, *_) = operators()
    A, B, x = A.astype("float32"), B.astype("float32"), random(32, "complex128")
    with raises(ValueError, "H has float32 values", "tol=1e-10"):
        ds.evolve([A, [B, f]], x, 1.0)
    exact_one = ds.evolve([A.astype("float64"), [B.astype("float64"), f]], x, 1.0).final
    assert np.linalg.norm(ds.evolve([A, [B, f]], x, 1.0, tol=1e-4).final - exact_one) < 1e-4 * np.linalg.norm(x)
