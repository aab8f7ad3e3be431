"""Wrong operands of chains of products: the type of the error, and what it says was given and expected."""

import numpy as np
from cases import MEDIUM, matrix, ours, raises

import diagsparse as ds


def test_errors(device):
    A, x = ours("banded 9", "dia", "float64", device), np.ones(9)
    for name in MEDIUM:
        m, n = matrix(name).shape
        if m != n:
            with raises(ValueError, "power_multiply", f"{m} x {n}", "square"):
                ds.power_multiply(ours(name, "dia", "float64", device), np.ones(n), 2)
    with raises(TypeError, "power_multiply", "ndarray", "sparse matrix"):
        ds.power_multiply(np.eye(9), x, 2)
    for bad, kind in ((-1, ValueError), (1.5, TypeError), ("2", TypeError), (None, TypeError)):
        with raises(kind, "power_multiply: k", repr(bad)):
            ds.power_multiply(A, x, bad)
    with raises(ValueError, "8 elements", "A is 9 x 9"):
        ds.power_multiply(A, np.ones(8), 2)
    with raises(TypeError, "multiply", "<U1"):
        ds.power_multiply(A, np.full(9, "a"), 2)
    for bad in ([], 1.0, [[1.0, 2.0]]):
        with raises(ValueError, "chebyshev_multiply", "coefficients", np.shape(bad)):
            ds.chebyshev_multiply(A, x, bad)
    with raises(TypeError, "coefficients", "numbers"):
        ds.chebyshev_multiply(A, x, ["a"])
    for bad in ((1, 1), (0, 1, 2), (0, np.inf), (0, 1j), 3, None):
        with raises(ValueError, "domain", repr(bad), "two different"):
            ds.chebyshev_multiply(A, x, [1.0], domain=bad)
    with raises(ValueError, "recurrence_multiply", "beta", "(3,)", "(2,)"):
        ds.recurrence_multiply(A, x, 1, [1, 2, 3], 0, [1, 2, 3])
    with raises(TypeError, "gamma", "numbers"):
        ds.recurrence_multiply(A, x, 1, 1, None, [1, 2, 3])


def test_errors_of_out(device):
    A, x = ours("banded 9", "dia", "float64", device), np.ones(9)
    with raises(ValueError, "out", "(8,)", "(9,)"):
        ds.power_multiply(A, x, 2, out=np.ones(8))
    with raises(TypeError, "out", "float32", "float64"):
        ds.power_multiply(A, x, 2, out=np.ones(9, "float32"))
    with raises(TypeError, "out", "float64", "complex128"):
        ds.chebyshev_multiply(A, x, [1j], out=np.ones(9))
    with raises(TypeError, "out", "list"):
        ds.power_multiply(A, x, 2, out=[0.0] * 9)
    frozen = np.ones(9)
    frozen.flags.writeable = False
    with raises(ValueError, "read-only"):
        ds.power_multiply(A, x, 2, out=frozen)
    if device == "cpu":
        with raises(ValueError, "power_multiply", "stream"):
            ds.power_multiply(A, x, 2, stream=0)
