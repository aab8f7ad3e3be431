"""Chains of products to try, and how far their results may be off: a running bound of the rounding."""

from functools import cache, lru_cache

import numpy as np
import scipy.sparse as sp
from cases import SMALL, kernel_of, matrix, random, to_device, to_host
from oracle import long, longest_row, seen

import diagsparse as ds

SQUARE = [name for name in SMALL if len(set(matrix(name).shape)) == 1]
LARGE = {  # several blocks of rows on either device; the slopes of a few steps are longer than a block for the second
    "band": (30000, range(-5, 6)),
    "reach 300": (40000, (-300, -1, 0, 7, 300)),
    "one side": (50000, (0, 1, 2, 40)),
    "lower": (50000, (-33, -2)),
    "periodic": (40001, (-40000, -1, 0, 1, 40000)),  # rows in the corners are neighbours
    "one corner": (40000, (-7, -2, 0, 4, 39990)),
    "far": (40000, (-20000, -300, 0, 13000)),
}


@lru_cache(maxsize=4)
def large(name, dtype):
    """Return a matrix of LARGE with rows of modulus 1 at most, as SciPy's."""
    n, offsets = LARGE[name]
    diagonals = [random(n - abs(k), dtype, name, k) / (2 * len(offsets)) for k in offsets]
    return sp.csr_array(sp.diags_array(diagonals, offsets=list(offsets), dtype=dtype))


@lru_cache(maxsize=8)
def large_ours(name, format, dtype, device):
    return ds.array(large(name, dtype), format, device=device)


def factors(k, kind="f", key="factors"):
    """Return random alpha, beta, gamma and coefficients; some of them are zero."""
    result = []
    for what, count in (("alpha", k), ("beta", k), ("gamma", k), ("c", k + 1)):
        values = random(count, "complex128" if kind == "c" else "float64", key, what)
        if what != "alpha":
            values[1::3] = 0
        result.append(values)
    return result


def bounded(a, x, alpha, beta, gamma, c, dtype):
    """Return the sum of the recurrence in a (SciPy's), and how far one computed in this dtype may be from it.

    A step has at most as many roundings as the longest row has entries, and six more: of the three factors, of the
    products with them and of the two sums. The error of a vector goes through the next steps as the vector does. A
    complex product takes sqrt(8) eps / 2 (Higham, lemma 3.5).
    """
    eps = float(np.finfo(dtype).eps) * (2 * np.sqrt(2) if np.dtype(dtype).kind == "c" else 1)
    a = long(sp.csr_array(a))
    absolute, rounding = abs(a), (longest_row(a) + 6) * eps
    v, error, before, error_before = long(x), 0 * abs(long(x)), 0 * long(x), 0 * abs(long(x))
    ref, limit = c[0] * v, (len(c) + 4) * eps * abs(c[0]) * abs(v)
    for j in range(len(alpha)):
        back = gamma[j] if j else 0
        after = alpha[j] * (a @ v) + beta[j] * v + back * before
        seen_v, seen_before = abs(v) + error, abs(before) + error_before
        size = abs(alpha[j]) * (absolute @ seen_v) + abs(beta[j]) * seen_v + abs(back) * seen_before
        grown = abs(alpha[j]) * (absolute @ error) + abs(beta[j]) * error + abs(back) * error_before
        before, error_before, v, error = v, error, after, grown + rounding * size
        ref = ref + c[j + 1] * v
        limit = limit + abs(c[j + 1]) * (error + (len(c) + 4) * eps * (abs(v) + error))
    return ref, limit


def assert_close(y, ref, limit, what):
    """Assert that y is within `limit` of `ref`."""
    assert y.shape == ref.shape, what
    wrong = np.argwhere(~(abs(long(y) - ref) <= limit))
    at = tuple(wrong[0]) if len(wrong) else None
    assert not len(wrong), f"{what}: {len(wrong)} of {y.size} off; first at {at}: {y[at]}, expected {ref[at]:.17g}"


def check(y, a, x, steps, what):
    """Assert that y is the sum of the recurrence in a (SciPy's) within the bound."""
    assert_close(y, *bounded(a, x, *steps, y.dtype), what)


def product(V, x, steps, device, kernel, **options):
    alpha, beta, gamma, c = steps
    kernel = kernel_of(V, kernel, "chain")
    return to_host(ds.recurrence_multiply(V, to_device(x, device), alpha, beta, gamma, c, kernel=kernel, **options))


@cache
def small_case(name, dtype, op, k):
    """Return x, the factors, the exact sum and its bound for a matrix of the gallery."""
    a = seen(matrix(name, dtype), op)
    x, steps = random(a.shape[1], dtype, name), factors(k, np.dtype(dtype).kind)
    return x, steps, *bounded(a, x, *steps, dtype)


@lru_cache(maxsize=4)
def large_case(name, dtype, op, k):
    """The same for one of LARGE."""
    a = seen(large(name, dtype), op)
    x, steps = random(a.shape[1], dtype, name), factors(k, np.dtype(dtype).kind)
    steps[2] /= 2  # or the vectors grow out of float32
    return x, steps, *bounded(a, x, *steps, dtype)
