"""Norms, sums, traces and extremes of matrices with a period: what the same matrix in full gives, at any size."""

import tracemalloc
from math import inf, nan, sqrt

import numpy as np
import pytest
from cases import EACH_DTYPE, VIEWS, case, raises
from packings import FORMATS, PERIODS, holds, mirrored, repeating

import diagsparse as ds

ORDERS = (None, "fro", 1, -1, inf, -inf)
EXTREMES = ("max", "min", "nanmax", "nanmin")
SPECIAL = {
    "NaN": [1.0, nan, -2.0], "infinite": [1.0, inf, -3.0], "both signs": [inf, -inf, 2.0],
    "zeros": [0.0, 0.0, 0.0], "negative": [-1.0, -2.0, -3.0], "negative zero": [-0.0, -1.0, -0.0],
}  # fmt: skip


def in_full(packed):
    return packed.unpacked().tocsr()


def same(result, expected, scale=None):
    """Whether two numbers are the same up to rounding, infinities and NaN exactly."""
    tolerance = 64 * np.finfo(np.asarray(expected).dtype).eps
    close = np.isclose(result, expected, rtol=tolerance, atol=tolerance * (scale or 0), equal_nan=True)
    return bool(close) and np.asarray(result).dtype == np.asarray(expected).dtype


def check(A, orders=ORDERS):
    """Compare everything with the matrix in full."""
    for op, view in VIEWS.items():
        V, full = view(A), view(in_full(A))
        dense = full.toarray()
        with np.errstate(invalid="ignore", over="ignore"):
            size = float(abs(dense).sum())
            size = size if np.isfinite(size) else 0.0
            assert same(V.sum(), full.sum(), size), op
            for k in (0, 1, -3, dense.shape[1]):
                assert same(V.trace(k), np.trace(dense, k, dtype=dense.dtype), size), (op, k)
            for order in orders:
                if dense.size:
                    expected = np.linalg.norm(dense, order).astype(float)
                    assert np.isclose(ds.norm(V, order), expected, rtol=1e-5, equal_nan=True), (op, order)
            for which in EXTREMES if dense.size else ():
                for explicit in (False, True):
                    expected = getattr(full.to_scipy("csr"), which)(explicit=explicit)
                    assert same(getattr(V, which)(explicit=explicit), expected), (op, which, explicit)


@FORMATS
@EACH_DTYPE
@pytest.mark.parametrize("name", [name for name in PERIODS if "00" not in name and "150" not in name])
def test_small_matrices(format, dtype, name):
    make, period = PERIODS[name]
    a = make(dtype)
    if holds(format, a):
        check(ds.array(a, format, period=period))


@FORMATS
@EACH_DTYPE
@pytest.mark.parametrize("name", SPECIAL)
def test_infinities_nan_and_zeros(format, dtype, name):
    special = np.array(SPECIAL[name], dtype)
    given = {0: special, 1: np.array([1, -5, 2], dtype), -8: special}
    for shape in ((11, 11), (2, 2), (1, 1), *(((11, 30), (30, 11)) if format != "cdm" else ())):
        diagonals = {k: v for k, v in given.items() if -shape[0] < k < shape[1]}
        lengths = {k: min(shape[0] + min(k, 0), shape[1] - max(k, 0)) for k in diagonals}
        diagonals = {k: v[: lengths[k]] for k, v in diagonals.items()}
        with case(shape):
            check(ds.diags(diagonals, shape=shape, period=3, format=format))


@FORMATS
def test_one_triangle_of_a_period(format):
    A = ds.diags({0: [2.0, 3.0, -4.0], 3: [1.0, nan, 5.0], -3: [1.0, nan, 5.0]}, shape=(20, 20), period=3)
    check(A.asformat(format, symmetry="symmetric", period=3))
    values = np.array([1 + 2j, -3j, 4.0])
    B = ds.diags({0: np.array([2.0, 3, -4]) + 0j, 3: values, -3: values.conj()}, shape=(20, 20), period=3)
    check(B.asformat(format, symmetry="hermitian", period=3))


@FORMATS
@pytest.mark.parametrize("narrow", ["float16"])
def test_narrow_values_are_summed_as_wide_ones(format, narrow):
    a = repeating(200, 200, [-17, 0, 3], 5, "float32")
    check(ds.array(a, format, period=5, dtype=narrow))


@FORMATS
def test_a_matrix_of_trillions_of_rows(format):
    n = 2**40
    A = ds.diags({-1: 1.0, 0: -2.0, 1: 1.0, 2**39: 3.0}, shape=(n, n), period=1, format=format)
    squares = 4 * n + 2 * (n - 1) + 9 * (n - 2**39)
    assert ds.norm(A) == sqrt(squares) == ds.norm(A, "fro")
    assert [ds.norm(A, order) for order in (1, -1, inf, -inf)] == [7.0, 3.0, 7.0, 3.0]
    assert A.sum() == -2 + 3 * (n - 2**39) and A.mean() == A.sum() / n**2
    assert (A.max(), A.min(), A.T.max(explicit=True)) == (3.0, -2.0, 3.0)
    assert [A.trace(k) for k in (0, 1, 2**39, 7, -(2**39))] == [-2 * n, n - 1, 3 * (n - 2**39), 0, 0]
    assert A.sum(dtype=complex) == A.sum() and A.astype("float32").sum(dtype=float) == A.sum()
    assert A.sum(keepdims=True).shape == (1, 1)


def test_a_long_period_of_a_huge_matrix():
    n, period = 2**50, 1000
    v = np.arange(1.0, period + 1)
    A = ds.diags({0: v, 5: -v}, shape=(n, n), period=period)
    times, rest = divmod(n, period)
    once, over = int(v.sum()), int(v[:rest].sum())
    assert A.trace() == pytest.approx(times * once + over, rel=1e-15)
    assert (ds.norm(A, inf), ds.norm(A, -inf)) == (2.0 * period, 2.0)
    assert ds.norm(A, 1) == 2 * period - 5 and ds.norm(A, -1) == 1.0


@pytest.mark.parametrize("shape", [(2**40, 7), (7, 2**40)])
def test_norms_of_a_few_long_lines(shape):
    A = ds.diags({0: [1.0, 3.0]}, shape=shape, period=2)
    assert [ds.norm(A, order) for order in (1, inf)] == [3.0, 3.0]
    assert sorted(ds.norm(A, order) for order in (-1, -inf)) == [0.0, 1.0]
    B = ds.diags({0: 1.0, -3: 2.0}, shape=shape, period=1)
    assert max(ds.norm(B, order) for order in (1, inf)) == 3.0


def test_sums_that_would_overflow_on_the_way():
    n = 2**40
    A = ds.diags({0: [1e300, -1e300], 1: [1e-300, 1e-300]}, shape=(n, n), period=2)
    assert A.trace() == 0.0 and ds.norm(A) == 1e300 * sqrt(n)
    assert ds.norm(A / 1e300 * 1e-300) == pytest.approx(1e-300 * sqrt(n))
    assert ds.norm(5e-324 * ds.eye(4, period=1)) == 1e-323
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert ds.diags({0: 1e300}, shape=(n, n), period=1).sum() == inf
    assert ds.norm(ds.eye(2**40, period=1) * np.float32(3e38)) == pytest.approx(3e38 * 2**20)


def test_memory_follows_the_period():
    """In full these diagonals need 80 MB; the sums of rows are computed some at a time."""
    n, period = 2 * 10**6, 20_000
    A = ds.diags({k: np.arange(float(period)) for k in (-7, -1, 0, 1, 7)}, shape=(n, n), period=period)
    calls = [lambda order=order: ds.norm(A, order) for order in ORDERS]
    for call in (*calls, A.sum, A.mean, A.max, A.min, A.trace):
        tracemalloc.start()
        try:
            call()
            assert tracemalloc.get_traced_memory()[1] < 4 * A.nbytes
        finally:
            tracemalloc.stop()


def test_a_period_nearly_as_long_as_the_matrix():
    a = repeating(300, 300, [-50, 0, 7], 250, "float64")
    check(ds.hm_array(a, period=250))


def test_arguments_are_those_of_scipy():
    A = ds.eye(9, period=1)
    with pytest.raises(ValueError, match="out"):
        A.max(out=np.zeros(1))
    with pytest.raises(TypeError):
        A.max(unknown=True)
    assert A.max(axis=0).toarray().tolist() == [1.0] * 9
    with raises(TypeError, "trace", "1.5"):
        A.trace(1.5)
    with pytest.raises(ValueError, match="zero-size"):
        ds.hm_array((0, 3)).asformat("hm", period=1).max()


@FORMATS
def test_norms_of_one_triangle_without_a_period(format):
    for dtype, symmetry in (("float64", "symmetric"), ("complex64", "hermitian"), ("float16", "symmetric")):
        a = mirrored(90, [0, 1, 30], "float32" if dtype == "float16" else dtype, symmetry == "hermitian")
        A = ds.array(a, format, dtype=dtype).asformat(format, symmetry=symmetry)
        assert A.symmetry == symmetry and A.period is None
        for order in ORDERS:
            expected = np.linalg.norm(A.toarray().astype(complex), order)
            assert ds.norm(A, order) == pytest.approx(expected, rel=1e-5), (dtype, order)
