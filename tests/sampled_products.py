"""What products sampled on a structure have to be, and random operands for them."""

import numpy as np
from cases import random, to_device
from oracle import assert_within, long

import diagsparse as ds

FORMATS = "dia", "hm", "cdm", "csr", "csc", "mdia", "bmsparse"


def structure(A):
    """Return 1 where a matrix stores an element, else 0, as a NumPy array."""
    ones = A.copy()
    ones.values = 1
    return ones.toarray().real


def operands(shape, width, dtype, key, orders="CC"):
    """Return random X and Y with `width` columns in these memory orders."""
    shapes = [(n,) if width is None else (n, width) for n in shape]
    return tuple(
        np.array(random(int(np.prod(s)), dtype, key, *s, side).reshape(s), order=order)
        for s, side, order in zip(shapes, "XY", orders, strict=True)
    )


def columns(v):
    """Return a vector or block in extended precision, as a block."""
    return long(v[:, np.newaxis] if v.ndim == 1 else v)


def check(C, stored, x, y, what, dtype=None):
    """Assert that C has the elements of x y^T where `stored` is not 0, within the bound of rounding."""
    left, right = columns(x), columns(y)
    terms = left.shape[1]
    assert_within(C.toarray(), (left @ right.T) * stored, (abs(left) @ abs(right.T)) * stored, terms, what, dtype)


def sampled(A, x, y, device, **options):
    return ds.sampled_product(A, to_device(x, device), to_device(y, device), **options)
