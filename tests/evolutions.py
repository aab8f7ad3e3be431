"""Evolution in time, compared with the exponential of the dense matrix: what the tests of `evolve` share."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import to_device, to_host
from scipy.linalg import expm

import diagsparse as ds

METHODS = pytest.mark.parametrize("method", [None, "chebyshev", "krylov", "taylor"])
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
