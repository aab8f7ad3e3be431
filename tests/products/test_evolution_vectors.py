"""What an evolution does with vectors gives the same on each device."""

import numpy as np
import pytest
from cases import random, to_host

from diagsparse._backends.backend import get_backend
from diagsparse._evolution.vectors import vectors


@pytest.fixture
def v(device):
    return vectors(get_backend(device))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_random_vectors(v, dtype):
    """They are the same in every call, and their parts look independent."""
    n = 100_000
    x, again = (to_host(v.random(n, np.dtype(dtype))) for _ in range(2))
    assert x.dtype == dtype and (x == again).all()
    parts = x.view(x.real.dtype).reshape(n, -1)
    assert abs(parts).max() <= 0.5 and len(np.unique(parts)) > 0.98 * parts.size
    assert np.allclose(parts.mean(axis=0), 0, atol=0.005) and np.allclose(parts.var(axis=0), 1 / 12, atol=0.002)
    for shift in (1, 2, 64):
        assert abs(np.mean(parts[shift:] * parts[:-shift])) < 0.002
    assert abs(np.mean(parts[:, 0] * parts[:, -1])) < 0.002 or parts.shape[1] == 1


def test_inner_products_of_different_types(v):
    for x, y in ((random(70, "float64"), random(70, "complex128")), (random(70, "complex64"), random(70, "complex64"))):
        assert np.isclose(v.inner(v.given(x), v.given(y)), np.vdot(x, y), rtol=1e-6)


def test_products_of_elements(v):
    a, x, y = np.array([1.0, -2.0, 3.0, np.nan, 0.0]), np.arange(5.0), np.array([1.0, 1.0, -9.0, 2.0, 3.0])
    there = v.given(y.copy())
    v.add_clipped_products(v.given(a), v.given(x), there)
    np.testing.assert_array_equal(to_host(there), [1, 0, 0, np.nan, 3])
    assert np.isnan(v.largest(there)) and v.largest(v.given(np.arange(1e5))) == 1e5 - 1
