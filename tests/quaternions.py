"""Dense matrices of quaternions as arrays of shape (m, n, 4): random ones, and Hamilton's product in NumPy."""

import numpy as np
from cases import random, rng_of

CONJUGATE = np.array([1, -1, -1, -1])


def hamilton(p, q):
    """The product of arrays of quaternions, element by element."""
    (a, b, c, d), (e, f, g, h) = (np.moveaxis(np.asarray(x), -1, 0) for x in (p, q))
    one, i = a * e - b * f - c * g - d * h, a * f + b * e + c * h - d * g
    j, k = a * g - b * h + c * e + d * f, a * h + b * g - c * f + d * e
    return np.stack([one, i, j, k], -1)


def product(p, q):
    """The product of dense matrices of quaternions, of shapes (m, n, 4) and (n, k, 4)."""
    return hamilton(p[:, :, None], q[None]).sum(1)


def adjoint(p):
    return p.swapaxes(0, 1) * CONJUGATE


def embedding(p):
    """The complex matrix [[A, B], [-conj(B), conj(A)]] of a dense matrix of quaternions."""
    a, b = p[..., 0] + 1j * p[..., 1], p[..., 2] + 1j * p[..., 3]
    return np.block([[a, b], [-b.conj(), a.conj()]])


def dense(shape, dtype="float64", *key):
    """Random quaternions; the components have nonzeros at different places, close to the diagonal and elsewhere."""
    values = random((*shape, 4), dtype, *key)
    near = abs(np.subtract.outer(np.arange(shape[0]), np.arange(shape[1])))[..., None] < np.arange(1, 5)
    return np.where(near | (rng_of(shape, *key).random((*shape, 4)) < 0.1), values, values.dtype.type(0))


def close(result, expected, dtype="float64"):
    """Whether two arrays differ by the rounding of sums of a few hundred products of numbers below 2."""
    result = np.asarray(result)
    assert result.shape == expected.shape
    assert result.dtype == dtype
    assert abs(result - expected).max(initial=0) <= 4000 * np.finfo(dtype).eps
