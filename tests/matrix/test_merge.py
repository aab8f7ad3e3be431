"""Sums and products of csr, csc and coo: what is stored, entry by entry, as SciPy's csr stores it."""

import operator

import numpy as np
import pytest
import scipy.sparse as sp
from cases import VIEWS, at_night, random
from oracle import seen

import diagsparse as ds

ENTRIES = ("csr", "csc", "coo")
FORMATS = pytest.mark.parametrize("format", ENTRIES)
PAIRS = (("float64", "float64"), ("complex64", "complex64"), ("float32", "float64"), ("float64", "complex64"),
         ("complex128", "float32"))  # fmt: skip
OPERATIONS = {"+": operator.add, "-": operator.sub, "*": lambda a, b: a.multiply(b)}


def drawn(m, n, count, dtype, *seed):
    """Return `count` entries at random positions, or fewer if some coincide."""
    positions = (abs(random(count, "float64", *seed)) * 1e9).astype(np.int64) % max(1, m * n)
    positions = np.unique(positions[: count if m * n else 0])
    at = positions // max(n, 1), positions % max(n, 1)
    return sp.csr_array((random(len(positions), dtype, *seed, "v"), at), shape=(m, n))


def structures(dtype_a, dtype_b):
    """Yield pairs: empty, disjoint, identical, nested, overlapping, one row, one column, many empty lines."""
    for m, n in ((0, 0), (0, 5), (5, 0), (1, 1), (1, 40), (40, 1), (17, 29)):
        yield drawn(m, n, 12, dtype_a, m, n), drawn(m, n, 15, dtype_b, n, m, "b")
    a = drawn(30, 20, 90, dtype_a, "a")
    twin = sp.csr_array((random(a.nnz, dtype_b, "t"), a.indices, a.indptr), shape=a.shape)
    nothing = sp.csr_array(a.shape, dtype=dtype_b)
    yield from ((a, twin), (a, nothing), (nothing, a), (sp.tril(a, format="csr"), sp.triu(twin, 1, format="csr")))
    yield a, sp.tril(twin, format="csr")
    yield drawn(500, 3, 4, dtype_a, "sparse"), drawn(500, 3, 4, dtype_b, "sparser")


def assert_stored(result, expected, format, what):
    """Assert that the parts are those of SciPy's canonical result, bit for bit."""
    expected = sp.csr_array(expected).asformat(format)
    expected.sum_duplicates()
    assert (result.format, result.shape, result.dtype) == (format, expected.shape, expected.dtype), what
    theirs = expected.coords if format == "coo" else (expected.indices, expected.indptr)
    names = ("row", "col") if format == "coo" else ("indices", "indptr")
    for name, index in zip(names, theirs, strict=True):
        assert np.array_equal(result.parts()[name], index), (what, name)
    assert np.array_equal(result.values, expected.data, equal_nan=True), what


@FORMATS
@pytest.mark.parametrize("right", ENTRIES)
@pytest.mark.parametrize("dtypes", at_night(PAIRS, before=PAIRS[1:3]), ids="-".join)
def test_stored_arrays(format, right, dtypes):
    for a, b in structures(*dtypes):
        for op_a, op_b in (("N", "N"), ("T", "T"), ("H", "H"), ("C", "N"), ("N", "C")):
            A, B = VIEWS[op_a](ds.array(a, format)), VIEWS[op_b](ds.array(b, right))
            for name, operation in OPERATIONS.items():
                expected = operation(seen(a, op_a).tocsr(), seen(b, op_b).tocsr())
                what = f"{op_a} {name} {op_b}, {a.shape}, {a.nnz} and {b.nnz} entries"
                assert_stored(operation(A, B), expected, A.format, what)


@FORMATS
def test_cancelled_and_stored_zeros_are_dropped(format, device):
    a = drawn(40, 30, 200, "float64", "cancel")
    A = ds.array(a, format, device=device)
    assert (A - A).nnz == 0 and (A - A).shape == A.shape
    b = a.copy()
    b.data[::3] += 1
    assert (A - ds.array(b, format, device=device)).nnz == len(b.data[::3])
    b.data[::2] = 0
    B = ds.array(b, format, device=device)
    for result in (A + B, B + sp.csr_array(a.shape)):
        assert result.count_nonzero() == result.nnz
    assert B.multiply(A).nnz == np.count_nonzero(b.data)
    B = B.copy()
    B.eliminate_zeros()
    b.eliminate_zeros()
    assert_stored(B.to("cpu"), b, format, "eliminate_zeros")


@FORMATS
def test_infinities_combined_with_nothing(format):
    """A product with an element that is not stored is NaN, as with 0 in NumPy; in a sum infinities stay."""
    a = sp.csr_array(np.array([[np.inf, np.nan, 1.0, 0], [-np.inf, 2.0, 0, np.inf]]))
    b = sp.csr_array(np.array([[0, 0, np.inf, 3.0], [-np.inf, np.nan, 0, np.inf]]))
    for dtype in ("float32", "complex128"):
        left, right = a.astype(dtype), b.astype(dtype)
        A, B = ds.array(left, format), ds.array(right, format)
        with np.errstate(invalid="ignore"):
            for name, operation in OPERATIONS.items():
                assert_stored(operation(A, B), operation(left, right), format, name)
            assert_stored(A - A, left - left, format, "inf - inf")


@FORMATS
@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_any_number_of_threads(format, dtype):
    """Large enough for several tasks, with one long line, with lines that are empty; the same bits."""
    n = 30_000
    long_line = sp.csr_array((random(n, dtype, "long"), (np.full(n, n // 3), np.arange(n))), shape=(n, n))
    a = drawn(n, n, 200_000, dtype, "threads a") + long_line
    b = drawn(n // 2, n, 150_000, dtype, "threads b")
    b.resize(n, n)
    b = sp.csr_array(b + sp.tril(a, format="csr"))
    A, B = ds.array(a, format), ds.array(b, format)
    factors = random(n, A.values.real.dtype.name, "factors")
    for threads in (1, 4):
        ds.set_num_threads(threads)
        for name, operation in OPERATIONS.items():
            assert_stored(operation(A, B), operation(a, b), format, f"{name} on {threads} threads")
        assert_stored(A.T + B, a.T.tocsr() + b, A.T.format, f"A.T + B on {threads} threads")
        assert_stored(A + 2 * A, a + 2 * a, format, "one structure")
        assert np.array_equal(A.diagonal(7), a.diagonal(7))
        differ = A != B
        assert (differ != (a != b).asformat(differ.format)).nnz == 0 and differ.nnz == (a != b).nnz
        b_like_a = a.copy()
        b_like_a.data[::3] *= 2
        assert_stored(A - ds.array(b_like_a, format), a - b_like_a, format, "much cancels")
        assert (ds.array(b_like_a, format) != A).nnz == len(b_like_a.data[::3])
        assert_stored(A * factors, a.multiply(factors), format, "columns scaled")
        assert_stored(factors[:, None] * A, a.multiply(factors[:, None]), format, "rows scaled")


def test_few_entries_of_a_tall_matrix():
    """For coo, nothing is allocated per row."""
    m = 2**31 - 1
    A = ds.coo_array((np.ones(3), (np.array([0, 5, m - 1]), np.array([1, 1, 0]))), shape=(m, 2))
    assert (A + A).nnz == 3 and np.array_equal((A - 2 * A).values, -A.values) and A.multiply(A).nnz == 3


@pytest.mark.parametrize("format", ds.formats())
def test_factors_with_any_strides(format):
    """Arrays that native code cannot traverse directly, read-only ones, other types."""
    a = drawn(12, 12, 60, "complex128", "strides")
    A = ds.array(a, format)
    record = np.zeros(12, np.dtype([("x", "c16"), ("y", "f8")]))
    record["x"] = random(12, "complex128", "record")
    whole = random((24, 36), "float64", "whole")[::2, ::-3]
    packed = np.frombuffer(b"\0" + random(12, "float64", "bytes").tobytes(), np.float64, offset=1)
    for factors in (record["x"], whole, whole.T, packed, np.arange(12), np.arange(12)[:, None] > 4, np.float32(whole)):
        expected = a.toarray() * factors
        assert np.allclose(A.multiply(factors).toarray(), expected, rtol=1e-14)
        assert np.allclose(A.conj().T.multiply(factors).toarray(), a.toarray().conj().T * factors, rtol=1e-14)


@pytest.mark.parametrize("format", ds.formats())
def test_quotients(format):
    """Correctly rounded, even if the reciprocal overflows; infinities stay in their part."""
    for dtype in ("float32", "float64", "complex64", "complex128"):
        a = sp.csr_array((random(9, dtype, "quotients"), (np.arange(9), np.arange(9))), shape=(9, 9))
        for divisor in (3, -7.25, 0.5, 2.0**60, 2.0**-149, 2.0**-1074, 1e300, np.float32(2.0**100), np.float64(3)):
            with np.errstate(all="ignore"):
                result, given = (ds.array(a, format) / divisor).diagonal(), a.diagonal()
                assert result.dtype == (given / divisor).dtype
                for part in ("real", "imag") if given.dtype.kind == "c" else ("real",):
                    got, expected = getattr(result, part), getattr(given, part) / divisor
                    assert np.array_equal(got, expected), (dtype, divisor)
    A = ds.array(sp.csr_array(np.diag([complex(np.inf, 1), 1 + 1j])), format)
    assert np.array_equal((A / 3).diagonal()[:1].real, [np.inf]) and (A / 3).diagonal()[0].imag == 1 / 3


@pytest.mark.parametrize("format", ds.formats())
def test_diagonals_far_outside(format):
    A = ds.array(sp.csr_array(np.eye(3)), format)
    for k in (3, -3, 2**62, -(2**63), 10**30, -(10**30)):
        assert A.diagonal(k).shape == (0,) and A.trace(k) == 0
