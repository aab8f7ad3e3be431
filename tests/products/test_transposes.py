"""Transposed products on the CPU of matrices so large that several threads work on them: exact sums, same bits."""

import functools

import numpy as np
import pytest
import scipy.sparse as sp
from cases import DIAGONAL, at_night

import diagsparse as ds


def band(m, n, offsets):
    return sp.diags_array([np.ones(max(m, n))] * len(offsets), offsets=offsets, shape=(m, n)).tocsr()


def scattered(m, n, each):
    rng = np.random.default_rng(m)
    columns = np.concatenate([np.sort(rng.choice(n, each, replace=False)) for _ in range(m)])
    return sp.csr_array((np.ones(len(columns)), columns, np.arange(m + 1) * each), shape=(m, n))


def arrow(n):
    line = np.ones((1, n))
    return sp.csr_array(sp.vstack([line, sp.hstack([line.T[1:], sp.eye_array(n - 1)])]))


MATRICES = {  # more than 131072 entries each
    "band": lambda: band(30_000, 30_000, range(-3, 4)),
    "wide band": lambda: band(20_000, 40_000, range(-5, 20_000, 1999)),
    "antidiagonals": lambda: band(30_000, 30_000, range(-3, 4))[::-1],
    "tall and scattered": lambda: scattered(70_000, 2_000, 2),
    "scattered": lambda: scattered(6_000, 6_000, 30),
    "wide and scattered": lambda: scattered(1_500, 90_000, 100),
    "arrow": lambda: arrow(70_000),
    "arrow upside down": lambda: arrow(70_000)[::-1, ::-1],
    "columns without entries": lambda: sp.hstack(
        [sp.csr_array((30_000, 50_000)), band(30_000, 30_000, range(5)), sp.csr_array((30_000, 9))]
    ),
    "rows without entries": lambda: sp.vstack([sp.csr_array((100_000, 30_000)), band(30_000, 30_000, range(5))]),
}
FORMATS = [format for format in ds.formats() if format not in DIAGONAL]


@functools.cache
def csr_of(name):
    a = sp.csr_array(MATRICES[name]())
    a.data = np.random.default_rng(0).integers(1, 9, a.nnz).astype(float)
    assert a.nnz > 1 << 17
    return a


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", at_night(MATRICES, before=("band", "scattered")))
def test_shares_of_a_matrix(name, format):
    a = csr_of(name)
    A = ds.csr_array(a)
    if "arrow" in name and format == "ell":
        pytest.skip("70000 x 70000 elements")
    A = A.asformat(format)
    rng = np.random.default_rng(1)
    for V, expected in ((A.T, a.T), (A, a)):
        X = rng.integers(-9, 10, (V.shape[1], 6)).astype(float)
        Y = rng.integers(-9, 10, (V.shape[0], 6)).astype(float)
        for x, y in ((X[:, 0].copy(), Y[:, 0].copy()), (X[:, ::2], Y[:, ::2]), (np.asfortranarray(X), Y.copy())):
            results = []
            for threads in (1, 2, 5):
                ds.set_num_threads(threads)
                out = y.copy()
                V.matvec(x, out=out, alpha=2.0, beta=-1.0)
                results.append(out)
                assert np.array_equal(V @ x, expected @ x)
            assert all(np.array_equal(out, 2 * (expected @ x) - y) for out in results)
        x = rng.standard_normal(V.shape[1])  # sums that round
        bits = set()
        for threads in (1, 2, 5):
            ds.set_num_threads(threads)
            bits.add((V @ x).tobytes())
        assert len(bits) == 1
