"""What a result must be, and how far it may be from it: products in extended precision, and their rounding bound."""

from functools import cache

import numpy as np
import scipy.sparse as sp
from cases import matrix


def long(a):
    """Return an array, dense or SciPy's, in extended precision."""
    return a.astype(np.clongdouble if a.dtype.kind == "c" else np.longdouble)


def seen(a, op):
    """Return op(a) of a NumPy or SciPy array, for op "N", "T", "C" (conjugate) or "H"."""
    a = a.T if op in "TH" else a
    return a.conj() if op in "CH" else a


@cache
def operand(name, dtype, op="N"):
    """Return op(A) of a matrix of the gallery: in extended precision, its absolute values, its longest row."""
    a = sp.csr_array(seen(long(matrix(name, dtype)), op))
    return a, abs(a), longest_row(a)


def longest_row(a):
    """Return the largest count of stored entries in a row of a SciPy array."""
    return int(np.diff(sp.csr_array(a).indptr).max(initial=0))


def assert_within(y, ref, magnitude, terms, what, dtype=None):
    """Assert ``|y - ref| <= (terms + 4) eps magnitude`` element by element.

    A sum of k products, scaled and added to another one, has at most k + 3 roundings of eps / 2 each. A
    complex product takes sqrt(8) eps / 2 at most (Higham, lemma 3.5), hence the factor.
    """
    assert y.shape == ref.shape, f"{what}: shape {y.shape}, expected {ref.shape}"
    if dtype is not None:
        assert y.dtype == dtype, f"{what}: dtype {y.dtype}, expected {dtype}"
    factor = 2 * np.sqrt(2) if y.dtype.kind == "c" else 1
    limit = np.asarray((terms + 4) * float(np.finfo(y.dtype).eps) * factor * magnitude)
    error = abs(long(y) - ref)
    wrong = np.argwhere(~(error <= limit))
    if len(wrong):
        at = tuple(wrong[0])
        raise AssertionError(
            f"{what}: {len(wrong)} of {y.size} elements are off; first at {at}: got {y[at]}, expected "
            f"{ref[at]:.17g}, error {error[at]:.3g} > bound {limit[at]:.3g}"
        )


def check_matvec(y, name, dtype, op, x, what, alpha=1, beta=0, y0=None):
    """Assert that y is ``alpha op(A) x + beta y0`` within the bound, and of NumPy's result type."""
    a, absolute, longest = operand(name, str(dtype), op)
    ref = (a @ long(x)) * alpha
    magnitude = (absolute @ abs(long(x))) * abs(alpha)
    if beta != 0:
        ref, magnitude = ref + beta * long(y0), magnitude + abs(beta) * abs(long(y0))
    assert_within(y, ref, magnitude, longest, what, np.result_type(np.dtype(dtype), x.dtype))


def check_matmul(c, a, b, what, alpha=1, beta=0, c0=None, dtype=None, mask=None):
    """Assert that c (ours) is ``alpha a b + beta c0`` of SciPy arrays within the bound; `mask` keeps a triangle."""
    la, lb = sp.csr_array(long(a)), sp.csr_array(long(b))
    ref = (la @ lb).toarray() * alpha
    magnitude = (abs(la) @ abs(lb)).toarray() * abs(alpha)
    if beta != 0:
        ref, magnitude = ref + beta * long(c0.toarray()), magnitude + abs(beta) * abs(long(c0.toarray()))
    if mask is not None:
        ref, magnitude = mask(ref), mask(magnitude)
    assert_within(c.toarray(), ref, magnitude, longest_row(a), what, dtype or np.result_type(a.dtype, b.dtype))
