"""Batches of random members for the tests, and what their products must be."""

import numpy as np
from cases import ours, random, to_device
from oracle import assert_within, long, longest_row

import diagsparse as ds


def batch(like, count, dtype="float64"):
    """Return a batch of random members like this matrix, its padding included."""
    shape = count, *like.values.shape
    return ds.batch_array(to_device(random(int(np.prod(shape)), dtype, count).reshape(shape), like.device), like)


def of(name, format, count, dtype="float64", device="cpu"):
    """Return a batch of random members with the structure of a case of the gallery."""
    return batch(ours(name, format, dtype, device), count, dtype)


def dense(b):
    """Return the members as NumPy arrays, (count, m, n)."""
    return np.array([A.toarray() for A in b]).reshape(b.count, *b.shape)


def check_rows(y, b, x, what, op="N", alpha=1, beta=0, y0=None):
    """Assert that y is the product of the members with the rows of x, within the bound of rounding."""
    assert y.shape == (b.count, b.shape[1 if op == "H" else 0]), what
    a = dense(b)
    a = long(np.conj(a.transpose(0, 2, 1)) if op == "H" else a)
    rows = long(np.broadcast_to(x, (b.count, a.shape[2])))
    ref, magnitude = np.einsum("imn,in->im", a, rows), np.einsum("imn,in->im", abs(a), abs(rows))
    ref, magnitude = alpha * ref, abs(alpha) * magnitude
    if beta != 0:
        ref, magnitude = ref + beta * long(y0), magnitude + abs(beta) * abs(long(y0))
    assert_within(y, ref, magnitude, a.shape[2], what, np.result_type(b.dtype, x.dtype))


def check_products(c, a, b, what):
    """Assert that the members of c are the products of those of a and b (batches, or single matrices for all)."""
    assert isinstance(c, ds.batch_array) and c.dtype == np.result_type(a.dtype, b.dtype), what
    left, right = (side if isinstance(side, ds.batch_array) else [side] * c.count for side in (a, b))
    for i in range(c.count):
        one = left[i] @ right[i]
        assert c.format == one.format and np.array_equal(c.offsets, one.offsets), what
        if c.device == "cpu":
            assert np.array_equal(c[i].values, one.values), f"{what}: member {i}"
            continue
        p, q = long(left[i].toarray()), long(right[i].toarray())
        assert_within(c[i].toarray(), p @ q, abs(p) @ abs(q), longest_row(left[i].to_scipy()), f"{what}: member {i}")
