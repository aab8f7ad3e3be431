"""Sums of all elements, of rows and columns, traces and diagonals, against dense NumPy arrays and SciPy."""

import math

import numpy as np
import pytest
from cases import EACH_DTYPE, VIEWS, holding, matrix, ours, raises
from oracle import assert_within, long, seen

import diagsparse as ds
from diagsparse import measure

FORMATS = pytest.mark.parametrize("format", ds.formats())
SQUARE = ("0x0", "1x1", "banded 9", "corners 65", "stencil 27", "nothing stored", "explicit zeros", "arrow 33")
WIDE = ("wide 20 x 70", "0x5", "5x0", "1x7", "empty rows")


@FORMATS
@EACH_DTYPE
def test_sums_as_scipy_gives_them(format, dtype):
    for name in holding(format, ("0x0", "0x5", "banded 9", "nothing stored", "wide 20 x 70")):
        A, a = ours(name, format, dtype), matrix(name, dtype)
        for axis in (None, 0, 1, -1, -2, (0,), (-1,), (0, 1)):
            for sum_dtype in (None, "float64", "complex64", "complex128", np.longdouble):
                if np.dtype(sum_dtype or dtype).kind != "c" and dtype.startswith("complex"):
                    continue  # the imaginary parts would be lost
                expected = np.asarray(a.tocoo().sum(axis=axis, dtype=sum_dtype))
                result = A.sum(axis=axis, dtype=sum_dtype)
                assert (result.dtype, np.shape(result)) == (expected.dtype, expected.shape), (
                    f"{name} {axis} {sum_dtype}"
                )
                assert np.allclose(result, expected, rtol=1e-5, atol=1e-5), f"{name} {axis} {sum_dtype}"
                out = np.full(expected.shape, 7, expected.dtype)
                assert A.sum(axis, sum_dtype, out) is out and np.array_equal(out, result), f"{name} {axis} {sum_dtype}"
        assert np.array_equal(np.sum(A, axis=0), A.sum(axis=np.int64(0))) and np.sum(A) == A.sum()


@FORMATS
def test_integer_sums_truncate_each_value_first(format):
    A = ours("banded 65", format)
    for axis in (None, 0, 1):
        assert np.array_equal(A.sum(axis, dtype=int), A.toarray().sum(axis, dtype=int))
    assert A.sum(0, dtype=int, keepdims=True).shape == (1, A.shape[1])


@FORMATS
def test_sums_that_cannot_be(format):
    A = ours("banded 9", format)
    for axis, shape in ((None, (1,)), (None, (9,)), (0, (8,)), (0, (1, 9)), (1, ()), (1, (9, 1))):
        with raises(ValueError, f"sum: out has shape {shape}, expected {() if axis is None else (9,)}"):
            A.sum(axis=axis, out=np.zeros(shape))
        with pytest.raises(ValueError):
            matrix("banded 9").sum(axis=axis, out=np.zeros(shape))
    with raises(TypeError, "out is list", "NumPy array"):
        A.sum(axis=0, out=[0.0] * 9)
    with pytest.raises(TypeError, match="complex128"):
        ours("banded 9", format, "complex128").sum(axis=0, out=np.zeros(9))
    for axis, kind in ((2, ValueError), (-3, ValueError), ((), ValueError), ((0, 0), ValueError), (1.0, TypeError),
                       ("0", TypeError), ((0, 1.0), TypeError)):  # fmt: skip
        with raises(kind, "sum: axis", repr(axis)):
            A.sum(axis=axis)
        with pytest.raises((ValueError, TypeError)):
            matrix("banded 9").tocoo().sum(axis=axis)


@FORMATS
def test_wide_sums_of_narrow_values(format):
    a = np.full((4, 4), 1e8, "float32") + np.diag(np.ones(4, "float32"))
    a[:, 0], a[:, 2] = 1, -1e8
    A = ds.array(a, format)
    for axis in (None, 0, 1):
        assert np.array_equal(A.sum(axis=axis, dtype="float64"), a.sum(axis=axis, dtype="float64"))


@FORMATS
@EACH_DTYPE
def test_sum_trace_diagonal(format, dtype):
    for name in holding(format, (*SQUARE, *WIDE, "tall 70 x 20")):
        for op in VIEWS:
            A, a = VIEWS[op](ours(name, format, dtype)), seen(matrix(name, dtype), op).toarray()
            ref, magnitude, (m, n) = long(a), abs(long(a)), a.shape
            for axis in (None, 0, 1, -1, -2):
                total = np.asarray(A.sum(axis=axis) if axis is not None else A.sum())
                assert_within(total, np.asarray(ref.sum(axis=axis)), np.asarray(magnitude.sum(axis=axis)), m * n + 1,
                              f"{name} {op} sum over {axis}", a.dtype)  # fmt: skip
            for k in {-m - 1, -m, 1 - m, -5, -2, -1, 0, 1, 2, 3, n - 1, n, n + 1}:
                d = A.diagonal(k)
                expected = a.diagonal(k) if -m < k < n else np.zeros(0, dtype)
                assert d.dtype == dtype and np.array_equal(d, expected), f"{name} {op} diagonal {k}"
                assert d.flags.writeable and not (d.size and not A._op and np.shares_memory(d, A.values))
            for k in (0, 1, -2):
                expected, size = ref.diagonal(k).sum() if -m < k < n else 0, magnitude.sum()
                assert_within(np.asarray(A.trace(k)), np.asarray(expected), np.asarray(size), m + n, f"{name} trace")


@FORMATS
def test_sums_do_not_overwrite_the_matrix(format):
    A = ds.array(2 * np.eye(3), format)
    with raises(ValueError, "sum: out is part of A's values"):
        A.sum(axis=0, out=A.values.reshape(-1)[:3])
    still = np.zeros(3)
    still.flags.writeable = False
    for name in ("sum", "mean"):
        with raises(ValueError, f"{name}: out is read-only"):
            getattr(A, name)(axis=0, out=still)
        with raises(ValueError, f"{name}: axis 7"):
            getattr(A, name)(axis=7)
    with raises(TypeError, "values: got a masked array"):
        A.values = np.ma.masked_equal(A.values, 2)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("n", [1, 31, 32, 33, 16384, 16385, 300_001])
def test_norms_of_many_values_on_any_number_of_threads(n, dtype):
    """Squares are added in double precision, in chunks of 16384 numbers by 32 sums each."""
    rng = np.random.default_rng(n)
    values = rng.uniform(-1, 1, n) + (1j * rng.uniform(-1, 1, n) if dtype[0] == "c" else 0)
    A = ds.csr_array((values.astype(dtype), np.arange(n), np.arange(n + 1)), shape=(n, n))
    parts = A.values.view(A.values.real.dtype).astype(float)
    expected = math.sqrt(math.fsum(parts * parts))
    results = []
    for threads in (1, 2, 3):
        with measure.using_threads(threads):
            results.append(ds.norm(A))
    steps = len(parts) / 32 / max(1, len(parts) // 16384) + 32 + len(parts) / 16384 + 2
    assert abs(results[0] - expected) <= steps * 2.0**-53 * expected
    assert results[0] == results[1] == results[2]


def test_norms_of_diagonals_on_any_number_of_threads():
    """Whose values are several arrays, without the padding."""
    A = ds.dia_array(ds.gallery.banded(100_000, 2, 3, seed=0))
    results = []
    for threads in (1, 2, 3):
        with measure.using_threads(threads):
            results.append(ds.norm(A))
    assert results[0] == results[1] == results[2]
    assert np.isclose(results[0], np.linalg.norm(A.tocsr().values), rtol=1e-14, atol=0)
