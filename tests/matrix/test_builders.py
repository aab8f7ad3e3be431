"""`ds.diags`, `eye`, `hstack`, `vstack`, `block_diag`, `norm`: compared with SciPy's; diagonals stay diagonals."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from cases import DIAGONAL, EACH_DTYPE, matrix, ours, raises

import diagsparse as ds

FORMATS = pytest.mark.parametrize("format", ds.formats())


@FORMATS
@EACH_DTYPE
def test_diags_as_scipy(format, dtype):
    rng = np.random.default_rng(0)
    for shape in ((7, 7), (5, 9), (9, 4), (1, 3)):
        if format == "cdm" and shape[0] != shape[1]:
            continue
        m, n = shape
        ks = [k for k in (-3, -1, 0, 2, 3) if -m < k < n]
        values = [rng.integers(1, 9, len(np.diagonal(np.empty(shape), k))).astype(dtype) for k in ks]
        expected = sp.diags_array(values, offsets=ks, shape=shape).toarray()
        data = sp.dia_array(sp.diags_array(values, offsets=ks, shape=shape))
        for result in (
            ds.diags(values, ks, shape=shape, format=format),
            ds.diags(dict(zip(ks, values, strict=True)), shape=shape, format=format),
            ds.diags(data.data, data.offsets, shape=shape, format=format),
            ds.diags(values[::-1], ks[::-1], shape=shape, format=format),
        ):
            assert result.format == format and result.dtype == dtype and np.array_equal(result.toarray(), expected)
    assert np.array_equal(ds.diags([1.0, 2.0, 3.0]).toarray(), np.diag([1.0, 2, 3]))
    assert np.array_equal(ds.diags([1.0, 2.0], 1).toarray(), np.diag([1.0, 2], 1))
    assert np.array_equal(ds.diags({0: 2.0, 1: 1.0}, shape=(3, 4)).toarray(), 2 * np.eye(3, 4) + np.eye(3, 4, 1))
    assert ds.diags({}, shape=(0, 3)).shape == (0, 3) and ds.diags([], [], shape=(2, 2)).nnz == 0


def test_diags_that_do_not_fit():
    for call, words in (
        (lambda: ds.diags([[1.0], [2.0]], [0]), "2 diagonals for the offsets [0]"),
        (lambda: ds.diags([1.0, 2.0], [1, 1], shape=(3, 3)), "none twice"),
        (lambda: ds.diags({5: 1.0}, shape=(3, 3)), "offset 5 lies outside of a 3 x 3"),
        (lambda: ds.diags({1: [1.0, 2, 3]}, shape=(3, 3)), "has 2 elements, got 3"),
        (lambda: ds.diags({0: np.ones((2, 2))}, shape=(3, 3)), "shape (2, 2)"),
        (lambda: ds.diags({}), "pass shape="),
    ):
        with raises(ValueError, "diags", words):
            call()


@FORMATS
def test_eye(format):
    for m, n, k in ((4, None, 0), (3, 5, 2), (5, 3, -2), (3, 3, 7), (0, 4, 0)):
        if format == "cdm" and n not in (None, m):
            continue
        result = ds.eye(m, n, k, format=format)
        assert result.format == format and np.array_equal(result.toarray(), np.eye(m, n, k))
    assert ds.eye(3, dtype="complex64").dtype == np.complex64


@pytest.mark.quick
@FORMATS
@pytest.mark.parametrize("name", ["hstack", "vstack", "block_diag"])
def test_blocks_as_scipy(format, name):
    a, b = matrix("banded 9", "float32"), matrix("banded 9", "complex64")
    A, B = ours("banded 9", format, "float32"), ours("banded 9", format, "complex64")
    expected = getattr(sp, name)([a, b, a]).toarray()
    for blocks in ([A, B, A], [A.T.T, B, a], [A, B.toarray(), A]):
        result = getattr(ds, name)(blocks)
        assert result.dtype == np.complex64 and np.array_equal(result.toarray(), expected)
    assert getattr(ds, name)([A, B, A], format="ell").format == "ell"
    assert np.array_equal(getattr(ds, name)([A.T, B.H]).toarray(), getattr(sp, name)([a.T, b.conj().T]).toarray())


@pytest.mark.parametrize("format", DIAGONAL)
def test_results_of_diagonals_are_diagonals(format):
    A = ds.array(ds.gallery.tridiagonal(100), format)
    expected_format = "hm" if format == "cdm" else format
    result = ds.block_diag([A, A, 3 * A])
    assert result.format == format and abs(result.offsets).tolist().count(1) == 2 and result.nnz <= 900
    assert ds.hstack([A, A]).format == ds.vstack([A, A]).format == expected_format
    wide = ds.dia_array(sp.random_array((50, 7), density=0.1, rng=np.random.default_rng(0)))
    assert ds.block_diag([wide] * 20).format == "csr"  # whose diagonals are none of the whole
    assert ds.block_diag([wide] * 3, format="hm").format == "hm"
    packed = ds.hm_array(ds.gallery.tridiagonal(50), symmetry="symmetric")
    assert np.array_equal(ds.hstack([packed, packed])[:, 50:].toarray(), packed.toarray())


def test_blocks_that_do_not_fit():
    A = ds.eye(3)
    for call, words in (
        (lambda: ds.hstack([A, ds.eye(4)]), "equal numbers of rows"),
        (lambda: ds.vstack([A, ds.eye(3, 4)]), "equal numbers of columns"),
        (lambda: ds.block_diag([]), "no blocks"),
    ):
        with raises(ValueError, words):
            call()
    for stack in (ds.hstack, ds.vstack, ds.block_diag):
        for wrong in (None, "A"):
            with raises(TypeError, f"{stack.__name__}: blocks[1] is {wrong!r}", "expected a sparse matrix"):
                stack([A, wrong])
            with raises(TypeError, f"{stack.__name__}: blocks is {wrong!r}", "expected a sequence of matrices"):
                stack(wrong)
        with raises(ValueError, f"{stack.__name__}: blocks[0]: ", "two dimensions"):
            stack([np.ones(3), A])
    with raises(MemoryError, "limit"):
        ds.hstack([A] * 50, max_bytes=100)
    blocks = [ds.eye(2, 100, 50), ds.eye(2, 100)]
    with raises(MemoryError, f"4 nonzeros need {ds.block_diag(blocks, 'csr').nbytes} B as csr_array"):
        ds.block_diag(blocks, "hm", max_bytes=10)


@FORMATS
@EACH_DTYPE
def test_norms(format, dtype, device):
    for name in ("banded 9", "explicit zeros"):
        A, a = ours(name, format, dtype, device), matrix(name, dtype)
        for ord in (None, "fro", 1, -1, np.inf, -np.inf):
            assert np.isclose(ds.norm(A, ord), sla.norm(a, ord or "fro"), rtol=1e-6), ord
    assert ds.norm(ds.array(np.zeros((0, 3)), "csr")) == ds.norm(ds.array(np.zeros((0, 3)), "csr"), 1) == 0
    with raises(ValueError, "svds"):
        ds.norm(A, 2)


@EACH_DTYPE
def test_norms_of_values_whose_squares_leave_the_range(dtype, device):
    limits = np.finfo(dtype)
    dense = np.triu(np.tril(np.random.default_rng(0).uniform(0.5, 1, (40, 40)), 2), -1)
    for scale in (limits.max / 100, limits.tiny, limits.tiny * 2.0**-10, limits.max**0.5, limits.tiny**0.5, 1):
        a = (dense * float(scale)).astype(dtype)
        # the values of a are exact in longdouble, and far from the ends of its range
        expected = np.sqrt((np.abs(a.astype(np.clongdouble)) ** 2).sum())
        A = ds.array(a, "hm", device=device)
        assert ds.norm(A) == pytest.approx(
            float(expected), rel=float(40 * limits.eps), abs=float(limits.smallest_subnormal)
        )
    a[3, 3] = np.inf
    assert ds.norm(ds.array(a, "csr", device=device)) == np.inf
    a[4, 4] = np.nan
    assert np.isnan(ds.norm(ds.array(a, "csr", device=device)))


@FORMATS
@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "bool"])
def test_whole_numbers_become_float64(format, dtype):
    dense = np.triu(np.tril(np.ones((9, 9), dtype), 1), -1)
    given = [dense, sp.csr_array(dense), sp.dia_array(dense), dense.tolist()]
    if format in ("csr", "csc"):
        parts = sp.csr_array(dense).asformat(format)
        given.append(tuple(tuple(part.tolist()) for part in (parts.data, parts.indices, parts.indptr)))
    for arg in given:
        with pytest.warns(ds.ConversionWarning, match=f"{format}_array: .* become float64; pass dtype=") as caught:
            A = getattr(ds, f"{format}_array")(arg)
        assert A.dtype == np.float64 and np.array_equal(A.toarray(), dense) and caught[0].filename == __file__
        assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert getattr(ds, f"{format}_array")(dense, dtype=np.float32).dtype == np.float32
        A = ds.array(dense.astype(float), format)
        for result in (A + given[1], A @ given[1], A.multiply(given[2]), given[1] @ A):
            assert result.dtype == np.float64
    with pytest.warns(ds.ConversionWarning, match="diags"):
        assert ds.diags([[1, 2, 3]], [0]).dtype == np.float64


@pytest.mark.parametrize("format", DIAGONAL)
def test_diagonals_that_repeat(format):
    """Of each the first values are stored, whether these were given, or all, or one number."""
    for period in (1, 2, 5, 40):
        whole = {k: np.resize(np.arange(1.0, period + 1) + k, 9 - abs(k)) for k in (-3, 0, 2)}
        expected = sp.diags_array(list(whole.values()), offsets=list(whole), shape=(9, 9)).toarray()
        for given in (whole, {k: v[:period] for k, v in whole.items()}):
            result = ds.diags(given, shape=(9, 9), format=format, period=period)
            assert result.format == format and result.period == period and np.array_equal(result.toarray(), expected)
            assert result.values.size <= (2 * 5 if format == "cdm" else 3) * min(period, 9)
        data = sp.dia_array(sp.diags_array(list(whole.values()), offsets=list(whole), shape=(9, 9)))
        assert np.array_equal(ds.diags(data.data, data.offsets, shape=(9, 9), period=period).toarray(), expected)
    E = ds.eye(2**40, k=-3, format=format, period=1)
    assert E.shape == (2**40, 2**40) and E.nbytes < 100 and E[7, 4] == 1 and E[7, 7] == 0
    assert ds.eye(2**31, format=format, dtype="float32", period=5).nbytes < 100
    longest = ds.diags({0: 1.0, 1: 2.0}, shape=(10, 10), format=format, period=2**31 - 1)
    assert longest.period == 2**31 - 1 and longest.nbytes < 500
    assert np.array_equal(longest.toarray(), ds.diags({0: 1.0, 1: 2.0}, shape=(10, 10)).toarray())
    part = longest[2:5, 1:4]
    assert part.period == 2**31 - 1 and np.array_equal(part.toarray(), longest.toarray()[2:5, 1:4])


def test_periods_that_do_not_fit():
    for call, error, words in (
        (lambda: ds.diags({0: [1.0, 2, 1, 3]}, shape=(4, 4), period=2), ValueError, "do not repeat after period=2"),
        (
            lambda: ds.diags({0: [1.0, 2, 1]}, shape=(4, 4), period=2),
            ValueError,
            "4 elements and repeats after 2, got 3",
        ),
        (lambda: ds.diags({0: 1.0}, shape=(4, 4), period=0), ValueError, "period=0: expected 1 to 2^31 - 1"),
        (lambda: ds.diags({0: 1.0}, shape=(4, 4), period="auto"), TypeError, "period='auto'"),
        (lambda: ds.diags([1.0, 2.0], period=2), ValueError, "period=2 without shape="),
        (lambda: ds.eye(4, format="csr", period=1), TypeError, "csr stores every element; expected one of dia, hm"),
        (lambda: ds.eye(3, 4, format="cdm", period=1), ValueError, "cdm_array"),
        (lambda: ds.diags({5: 1.0}, shape=(3, 3), period=1), ValueError, "offset 5 lies outside of a 3 x 3"),
    ):
        with raises(error, words):
            call()


# ---- 16-bit values, shapes left to the library, small matrices -------------------------------------------------------
@pytest.mark.parametrize("format", ["dia", "hm", "cdm", "mdia", "bmsparse"])
def test_narrow_values(format):
    diagonals = {0: [1.5, 2.0, 1e-3, 7.0], 1: 0.1}
    result, wide = (ds.diags(diagonals, shape=(4, 4), format=format, dtype=dtype) for dtype in ("float16", "float32"))
    assert result.format == format and result.dtype == np.float16
    assert np.array_equal(result.toarray(), wide.toarray().astype("float16"))
    values = np.array([1, 2, 3], "float16")
    assert ds.diags(values, format=format).dtype == ds.eye(3, format=format, dtype="float16").dtype == np.float16
    assert ds.diags(values, format=format, dtype="float64").dtype == np.float64


@pytest.mark.parametrize("format", DIAGONAL)
def test_narrow_periods(format):
    result = ds.diags({0: [1.0, 2.0], 3: 0.5}, shape=(2**40, 2**40), period=2, format=format, dtype="float16")
    assert (result.dtype, result.period) == (np.float16, 2) and result[1, 1] == 2 and result[5, 8] == 0.5


def test_formats_without_narrow_values_name_those_with_them():
    for call in (
        lambda: ds.diags([1.0, 2.0], format="csr", dtype="float16"),
        lambda: ds.eye(3, format="sell", dtype="float16"),
    ):
        with raises(TypeError, "diags: dtype float16", "stores no 16-bit floats", "dia, hm, cdm, mdia"):
            call()
    with raises(TypeError, "diags: got float16 values", "pass dtype="):
        ds.diags(np.ones(3, "float16"), format="csr")
    with raises(TypeError, "diags: dtype int16", "float16"):
        ds.diags([1.0, 2.0], dtype="int16")


def test_numbers_for_whole_diagonals_need_the_shape():
    for call in (lambda: ds.diags([1.0, 2.0], [0, 1]), lambda: ds.diags({0: 1.0, 1: 2.0})):
        with raises(ValueError, "diags: offset 1 lies outside of a 1 x 1 matrix", "1 value on diagonal 0", "shape="):
            call()
    with raises(ValueError, "offset -5 lies outside of a 3 x 3 matrix", "2 values on diagonal 1"):
        ds.diags({1: [1.0, 2.0], -5: [1.0]})
    assert np.array_equal(ds.diags([1.0, 2.0], [1, -1]).toarray(), [[0, 1], [2, 0]])
    assert ds.diags([[1.0, 2.0], []], [0, 5]).shape == (2, 2)


@pytest.mark.parametrize(("call", "words"), [
    (lambda: ds.diags([1.0], [0, 1], shape=(3, 3)), "diags: 1 diagonal for the offsets [0, 1]"),
    (lambda: ds.dia_array(ds.eye(9), max_bytes=1), "1 diagonal of a 9 x 9"),
    (lambda: ds.mdia_array(ds.csr_array(ds.eye(9)), max_bytes=1), "masks of 1 diagonal of a 9 x 9"),
    (lambda: ds.eye(9, period=1).asformat("hm", period=2, max_bytes=1), "1 diagonal of a 9 x 9"),
])  # fmt: skip
def test_one_diagonal_is_one(call, words):
    with raises((ValueError, MemoryError), words):
        call()


def test_small_matrices_are_not_counted_before_they_are_built(monkeypatch):
    from diagsparse._backends import memory

    asked = []
    monkeypatch.setattr(memory, "require_free", lambda *args: asked.append(args))
    for format in ("hm", "csr", "mdia", "coo"):
        ds.diags({0: 1.0, 1: [2.0] * 99}, shape=(100, 100), format=format)
    before = len([one for one in asked if "entries of a 100 x 100" in one[1]])
    ds.diags({0: 1.0, 1: 2.0}, shape=(10**6, 10**6))
    assert before == 0 and any("entries of a 1000000 x 1000000" in one[1] for one in asked)
