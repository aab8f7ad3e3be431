"""Matrices whose diagonals can be packed: symmetric, Hermitian, periodic ones, and the options that pack them."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from cases import DIAGONAL, random

FORMATS = pytest.mark.parametrize("format", DIAGONAL)


def toeplitz(n, offsets, dtype):
    """Return a matrix with one value on each of these diagonals."""
    values = random(len(offsets), dtype, "toeplitz", n)
    inside = [(k, v) for k, v in zip(offsets, values, strict=True) if abs(k) < n]
    return sp.csr_array(
        sum((v * sp.eye_array(n, k=k, dtype=dtype) for k, v in inside), sp.csr_array((n, n), dtype=dtype))
    )


def repeating(m, n, offsets, period, dtype):
    """Return a matrix whose diagonals repeat after `period` rows, and hold zeros here and there."""
    i = np.arange(m)
    rows, columns, values = [], [], []
    for k in offsets:
        one = random(period, dtype, "repeating", k)
        one[::3] = 0
        inside = i[(i + k >= 0) & (i + k < n)]
        rows, columns = [*rows, *inside], [*columns, *(inside + k)]
        values = [*values, *one[inside % period]]
    return sp.csr_array((np.array(values, dtype), (rows, columns)), shape=(m, n))


def mirrored(n, offsets, dtype, conjugated=False):
    """Return a symmetric, or Hermitian, matrix with these diagonals above the main one and below."""
    upper = sp.csr_array((n, n), dtype=dtype)
    for k in offsets:
        if 0 < k < n:
            upper = upper + sp.diags_array(random(n - k, dtype, "mirrored", k), offsets=k, shape=(n, n))
    main = random(n, np.dtype(dtype).char.lower() if conjugated else dtype, "main")
    below = upper.conj().T if conjugated else upper.T
    return sp.csr_array(upper + below + (sp.diags_array(main) if 0 in offsets else 0 * sp.eye_array(n)), dtype=dtype)


SYMMETRIC = {f"{n}: {offsets}": (n, offsets) for n, offsets in (
    (0, []), (1, [0]), (2, [0, 1]), (7, [0, 3]), (8, [0, 1, 4]), (9, [1, 8]), (65, [0, 1, 2, 30, 64]), (700, range(40)),
    (3000, [0, 1, 2, 55, 1500, 2999]), (150_000, [0, 1, 300, 75_000]),
)}  # fmt: skip
PERIODS = {
    "constants 1": (lambda dtype: toeplitz(1, [0], dtype), 1),
    "constants 9": (lambda dtype: toeplitz(9, [-8, -2, -1, 0, 3], dtype), 1),
    "constants 5000": (lambda dtype: toeplitz(5000, [-4999, -71, -70, -1, 0, 1, 2, 3, 2500], dtype), 1),
    "constants, 150 of them": (lambda dtype: toeplitz(9000, range(-70, 80), dtype), 1),
    "wide": (lambda dtype: repeating(20, 70, [-19, -3, 0, 1, 50, 69], 7, dtype), 7),
    "tall": (lambda dtype: repeating(70, 20, [-69, -50, -2, 0, 19], 1, dtype), 1),
    "period 3": (lambda dtype: repeating(200, 200, [-199, -100, -1, 0, 2, 17], 3, dtype), 3),
    "period 60 of 6000": (lambda dtype: repeating(6000, 6000, [-60, -1, 0, 1, 60], 60, dtype), 60),
    "period 2500 of 20000": (lambda dtype: repeating(20000, 20000, [-7000, -1, 0, 1, 2500], 2500, dtype), 2500),
    "period beyond the matrix": (lambda dtype: repeating(30, 30, [-3, 0, 9], 64, dtype), 64),
}


@cache
def packed_cases(dtype):
    """Return the name of each case, the matrix, which is read-only, and the options of its layout."""
    cases = []
    for name, (n, offsets) in SYMMETRIC.items():
        cases.append((f"symmetric {name}", mirrored(n, offsets, dtype), {"symmetry": "symmetric"}))
        if np.dtype(dtype).kind == "c":
            cases.append((f"hermitian {name}", mirrored(n, offsets, dtype, True), {"symmetry": "hermitian"}))
    cases += [(name, make(dtype), {"period": period}) for name, (make, period) in PERIODS.items()]
    step = sp.eye_array(800, k=5, dtype=dtype) * random(1, dtype)[0]
    both = sp.csr_array(toeplitz(800, [0], dtype) + step + step.T)
    cases.append(("symmetric constants", both, {"symmetry": "symmetric", "period": 1}))
    for _, a, _ in cases:
        a.sum_duplicates()
        for array in (a.data, a.indices, a.indptr):
            array.flags.writeable = False
    return tuple(cases)


def holds(format, a):
    return format != "cdm" or a.shape[0] == a.shape[1]


def within(y, reference, a, x, alpha=1):
    """Check against the bound of a sum of as many terms as the longest row has."""
    eps = np.finfo(np.result_type(y.dtype, np.float32)).eps
    terms = int(np.diff(sp.csr_array(a).indptr).max(initial=0)) + 8
    bound = 4 * terms * eps * abs(alpha) * (abs(a) @ abs(x)) + np.finfo(np.float64).tiny
    assert np.all(abs(y - reference) <= bound), float(np.max(abs(y - reference) - bound))


def narrow_dtype(name):
    """Return NumPy's dtype; that of bfloat16 is there once its package is imported."""
    if name == "bfloat16":
        pytest.importorskip("ml_dtypes")
    return np.dtype(name)


def rounded(a, narrow):
    """Return a SciPy matrix with its values rounded to 16 bits, in float64."""
    result = sp.csr_array(a)
    return sp.csr_array(
        (result.data.astype(narrow_dtype(narrow)).astype(float), result.indices, result.indptr), shape=a.shape
    )
