"""What the constructors accept: matrices of SciPy and ours, dense arrays, shapes, and the recommended format."""

import tracemalloc
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from cases import DIAGONAL, DTYPES, MEDIUM, SMALL, holding, make, matrix, random, rng_of

import diagsparse as ds

FORMATS = pytest.mark.parametrize("format", ds.formats())
CLASSES = [f"{f}_{kind}" for f in ("dia", "csr", "csc", "coo", "bsr", "lil", "dok") for kind in ("array", "matrix")]


@pytest.mark.quick
@FORMATS
def test_every_scipy_class(format):
    for name, cls in product(holding(format, ("0x0", "banded 8", "corners 65", "empty rows", "1x7")), CLASSES):
        if not (cls.startswith("bsr") and name == "0x0"):
            A, a = make(format, getattr(sp, cls)(matrix(name, "complex64"))), matrix(name, "complex64")
            assert A.dtype == "complex64" and np.array_equal(A.toarray(), a.toarray()), (name, cls)


@FORMATS
def test_dense_arrays(format):
    for dtype in DTYPES:
        for name in holding(format, MEDIUM):
            dense = matrix(name, dtype).toarray()
            for given in (dense, np.asfortranarray(dense), np.repeat(dense, 2, axis=1)[:, ::2]):
                A = make(format, given)
                assert A.dtype == dtype and np.array_equal(A.toarray(), dense), name
    assert np.array_equal(make(format, [[1.0, 2.0], [0.0, 3.0]]).toarray(), [[1, 2], [0, 3]])
    assert np.array_equal(make(format, [[1, 2], [0, 3]], dtype="float32").toarray(), [[1, 2], [0, 3]])


@FORMATS
def test_empty_of_a_shape(format):
    for shape in ((0, 0), (3, 3), *([(0, 4), (5, 0), (2, 7)] if format != "cdm" else [])):
        for dtype in (None, *DTYPES):
            A = make(format, shape, dtype=dtype)
            assert (A.shape, A.nnz, A.dtype) == (shape, 0, np.dtype(dtype or "float64"))
            assert np.array_equal(A @ np.ones(shape[1], A.dtype), np.zeros(shape[0]))


@FORMATS
def test_dtype_on_request(format):
    ints = sp.csr_array(np.array([[1, 0], [2, 3]]))
    for given in (
        ints,
        ints.todia(),
        ints.tocoo(),
        ints.toarray(),
        ints.astype(bool),
        ints.toarray().astype(np.float16),
    ):
        for dtype in DTYPES:
            A = make(format, given, dtype=dtype)
            expected = given.toarray() if sp.issparse(given) else given
            assert A.dtype == dtype and np.array_equal(A.toarray(), expected)
    narrow = make(format, matrix("banded 9", "float64"), dtype=np.complex64)
    assert narrow.dtype == np.complex64
    assert np.array_equal(narrow.toarray(), matrix("banded 9", "float64").toarray().astype(np.complex64))
    again = make(format, narrow, dtype=np.complex128)
    assert again.dtype == np.complex128 and np.array_equal(again.toarray(), narrow.toarray())


@FORMATS
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_unsorted_and_duplicate_entries(format, index):
    rng, n = rng_of("duplicates"), 30
    rows, columns = rng.integers(0, n, (2, 400)).astype(index)
    values = rng.integers(-5, 6, 400).astype(float)  # sums of small integers are exact
    coo = sp.coo_array((values, (rows, columns)), shape=(n, n))
    order = np.argsort(rows, kind="stable")
    indptr = np.searchsorted(rows[order], np.arange(n + 1)).astype(index)
    csr = sp.csr_array((values[order], columns[order], indptr), shape=(n, n))
    csc = sp.csc_array((values[order], columns[order], indptr), shape=(n, n)).T
    for given in (coo, csr, csc.T.tocsc(), sp.coo_matrix(coo), sp.csr_matrix(csr)):
        before = [part.copy() for part in (given.data, *(given.coords if given.format == "coo" else (given.indices,)))]
        A = make(format, given)
        assert np.array_equal(A.toarray(), given.toarray()), given.format
        after = (given.data, *(given.coords if given.format == "coo" else (given.indices,)))
        assert all(map(np.array_equal, before, after)), "the caller's arrays were changed"
        x = rng.integers(-5, 6, n).astype(float)
        assert np.array_equal(A @ x, given @ x) and np.array_equal(A.T @ x, given.T @ x)
    if format in ("csr", "csc", "coo"):
        A = make(format, coo)
        assert A.nnz == len(set(zip(rows.tolist(), columns.tolist(), strict=True)))
        for name, part in A.parts().items():
            assert part.dtype == {"values": np.float64, "indptr": np.int64}.get(name, np.int32), name


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_parts_unsorted_and_duplicate(format):
    values, minor, major = np.array([1.0, 2, 4, 8, 16]), np.array([2, 0, 2, 1, 1]), np.array([0, 0, 0, 1, 1])
    dense = np.array([[2.0, 0, 5], [0, 24, 0]])
    if format == "csr":
        A = ds.csr_array((values, minor, [0, 3, 5]), shape=(2, 3))
    elif format == "csc":
        A, dense = ds.csc_array((values, minor, [0, 3, 5]), shape=(3, 2)), dense.T
    else:
        A = ds.coo_array((values, (major, minor)), shape=(2, 3))
    assert A.nnz == 3 and np.array_equal(A.toarray(), dense)
    assert values.tolist() == [1, 2, 4, 8, 16] and minor.tolist() == [2, 0, 2, 1, 1]


@FORMATS
def test_scipy_dia_with_offsets_outside_and_short_or_long_data(format):
    for shape in ((5, 5), *([(4, 9), (9, 4)] if format != "cdm" else [])):
        for width in (1, 3, 5, 9, 12):
            offsets = np.array([0, -20, 2, 30, -3, 9, -9])
            data = random((len(offsets), width), "float64", shape)
            a = sp.dia_array((data, offsets), shape=shape)
            A = make(format, a)
            expected = np.zeros(shape)
            for k, row in zip(offsets, data, strict=True):
                for j in range(min(width, shape[1])):
                    if 0 <= j - k < shape[0]:
                        expected[j - k, j] = row[j]
            assert np.array_equal(A.toarray(), expected), (shape, width)
            x = random(shape[1], "float64")
            assert np.allclose(A @ x, expected @ x, rtol=1e-14, atol=1e-14)


@FORMATS
def test_nan_and_inf_survive_conversions(format):
    dense = np.diag([np.nan, np.inf, 1, -np.inf, 0.0]) + np.diag([0, np.nan, 2, 0.0], 1)
    for dtype in ("float32", "complex128"):
        a = dense.astype(dtype)
        for given in (a, sp.csr_array(a), sp.dia_array(a)):
            A = make(format, given)
            assert np.array_equal(A.toarray(), a, equal_nan=True)
            for target in ds.formats():
                assert np.array_equal(A.asformat(target).T.toarray(), a.T, equal_nan=True), target


@pytest.mark.parametrize("format", DIAGONAL)
def test_stored_values_of_parts_in_any_layout(format):
    """Parts that are lists, F order, strided, of another byte order or narrower integers are brought to shape."""
    n, labels = 6, {"hm": [0, -1], "cdm": [0, 5]}.get(format, [-1, 0])
    count = 2 * n - 1 if format == "hm" else (2, n)
    values = random(count, "float64", format)
    reference = make(format, (values, labels), shape=(n, n)).toarray()
    strided = np.repeat(values, 2, axis=-1)[..., ::2]
    for given in (values.tolist(), np.asfortranarray(values), strided, values[..., ::-1].copy()[..., ::-1]):
        assert np.array_equal(make(format, (given, labels), shape=(n, n)).toarray(), reference)
    swapped = values.astype(values.dtype.newbyteorder())
    A = make(format, (swapped, np.array(labels, np.int16)), shape=(n, n))
    assert A.dtype == np.float64 and A.dtype.isnative and np.array_equal(A.toarray(), reference)


@pytest.mark.parametrize("format", ["dia", "cdm"])
def test_one_diagonal_may_be_flat(format):
    A = make(format, (np.array([1.0, 2, 3]), [0]), shape=(3, 3))
    assert np.array_equal(A.toarray(), np.diag([1.0, 2, 3]))


@pytest.mark.parametrize("format", DIAGONAL)
def test_no_diagonals_at_all(format):
    values = np.zeros(0) if format == "hm" else np.zeros((0, 4))
    A = make(format, (values, []), shape=(4, 4))
    assert A.nnz == 0 and np.array_equal(A.toarray(), np.zeros((4, 4)))


def test_array_accepts_the_names_of_recommend():
    for name in SMALL:
        a = sp.csr_array(matrix(name))
        A = ds.array(a)
        assert A.format == ds.recommend(a).format if a.nnz >= 10_000 else A.format in ("csr", "dia", "hm"), name
        assert np.array_equal(A.toarray(), a.toarray()), name
    assert ds.array(ds.gallery.stencil(5, (400, 400))).format in DIAGONAL
    A = ds.csc_array(matrix("banded 9"))
    assert ds.array(A).format == ds.recommend(A).format and ds.array(A, "csc") is not A
    A = ds.array(A)
    assert ds.array(A) is A
    assert ds.array(matrix("banded 9", "complex64").todia()).dtype == "complex64"
    for format in ds.formats():
        assert ds.array(matrix("banded 9"), format).format == format
    assert ds.issparse(ds.array(np.eye(2))) and not ds.issparse(sp.eye_array(2)) and not ds.issparse(np.eye(2))


@pytest.mark.quick
@FORMATS
def test_copy_of_ours(format):
    A = make(format, matrix("banded 9"))
    assert np.shares_memory(make(format, A).values, A.values)
    assert not np.shares_memory(make(format, A, copy=True).values, A.values)
    for view in (A.T, A.conj()):
        B = make(format, view)
        assert B.format == format and np.array_equal(B.toarray(), view.toarray())


@pytest.mark.parametrize("dtype", [np.int8, np.bool_])
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "hm", "ell"])
def test_duplicates_are_summed_in_the_type_they_are_stored_in(format, dtype):
    value = 100 if dtype is np.int8 else 1
    for shape in ((9, 1), (1, 9), (2, 2)):
        for kind in (sp.coo_array, sp.csr_array):
            s = sp.coo_array((np.array([value] * 2, dtype), ([0, 0], [0, 0])), shape=shape)
            if kind is sp.csr_array:
                s = sp.csr_array((s.data, np.zeros(2, int), np.array([0] + [2] * shape[0])), shape=shape)
            result = getattr(ds, f"{format}_array")(s, dtype=float)
            assert result.toarray()[0, 0] == 2 * value and result.count_nonzero() == 1
            assert s.data.dtype == dtype and s.data.tolist() == [value] * 2


# ---- shapes that 32-bit indices do not reach ------------------------------------------------------------------------
def long_and_thin(dtype="float64", tall=False):
    """Return SciPy's coo with duplicates and an explicit zero, far from the origin, and what its diagonals are."""
    row, col = np.array([0, 1, 99, 1, 3]), np.array([2**39, 2**39 + 1, 2**40 - 1, 2**39 + 1, 0])
    values = np.array([1, 2, 3, 4, 0], dtype)
    shape = (100, 2**40)
    ways = ((col, row), shape[::-1]) if tall else ((row, col), shape)
    sign = -1 if tall else 1
    diagonals = {sign * 2**39: [1, 6] + [0] * 98, sign * (2**40 - 100): [0] * 99 + [3], sign * -3: [0] * 97}
    return sp.coo_array((values, ways[0]), shape=ways[1]), diagonals


@pytest.mark.parametrize("dtype", ["float32", "complex128", "int64"])
@pytest.mark.parametrize("tall", [False, True])
@pytest.mark.parametrize("format", ["hm", "dia", None])
def test_entries_of_huge_shapes_become_diagonals_directly(format, tall, dtype):
    a, diagonals = long_and_thin(dtype, tall)
    stored_dtype = "float64" if dtype == "int64" else dtype
    for one in (a, a.tocsc() if tall else a.tocsr()):
        if tall and format == "dia":  # whose rows are padded
            with pytest.raises(MemoryError, match=r"dia_array: 3 diagonals of a 1099511627776 x 100 matrix"):
                ds.array(one, format, dtype=stored_dtype)
            continue
        A = ds.array(one, format, dtype=stored_dtype)
        assert (
            A.format in ([format] if format else ["dia", "hm"])
            and A.shape == a.shape
            and sorted(A.offsets.tolist()) == sorted(diagonals)
        )
        for k, values in diagonals.items():
            assert A.diagonal(k).tolist() == values
    if not tall:
        x = sp.csr_array(([1.0], ([5], [1])), shape=(100, 100))
        assert format or (ds.array(x, "hm") @ a).shape == a.shape


def test_other_formats_refuse_huge_shapes_immediately():
    a = long_and_thin()[0]
    wide = sp.dia_array((np.ones((1, 100)), [5]), shape=a.shape)
    for format in ds.formats():
        if format not in ("dia", "hm"):
            for given in (a, wide, ds.array(a, "hm")):
                with pytest.raises(ValueError, match=f"^{format}_array: .*(stay below 2.31|square)"):
                    ds.array(given, format)
    small = sp.coo_array(([1.0], ([2**33], [2**33])), shape=(2**34, 2**34))
    with pytest.raises(MemoryError, match=r"hm_array: 1 diagonal of a 17179869184 x 17179869184 matrix .*would need"):
        ds.hm_array(small, max_bytes=10**6)


def test_advice_of_csr_only_where_it_takes_less():
    n = 3 * 10**9
    entries = sp.coo_array((np.ones(4), (np.arange(4), np.arange(4))), shape=(n, n))
    with pytest.raises(MemoryError) as refused:
        ds.hm_array(entries, max_bytes=10**6)
    assert "hm_array: 1 diagonal of a 3000000000 x 3000000000 matrix (too large for csr_array" in str(refused.value)
    assert str(refused.value).endswith("the limit is 1.0 MB; pass max_bytes= to change the limit")
    with pytest.raises(MemoryError) as refused:
        ds.hm_array(sp.eye_array(10**5, format="csr"), max_bytes=10**5)
    assert "nonzeros" not in str(refused.value)
    with pytest.raises(MemoryError, match=r"; 1000 nonzeros need 20.0 KB as csr_array, or pass max_bytes="):
        ds.hm_array(sp.csr_array(np.eye(1000)[::-1]), max_bytes=10**5)


def test_few_entries_of_many_rows_need_no_pointers_to_all_rows():
    n = 2**31 - 2
    a = sp.coo_array(([1.0, 2.0, 3.0], ([0, n - 1, n - 1], [3, 4, 0])), shape=(n, 5))
    A = ds.hm_array(a, max_bytes=10**6)  # csr has 17 GB of pointers
    assert A[0, 3] == 1 and A[n - 1, 4] == 2 and A[n - 1, 0] == 3 and A.nbytes < 1000
    with pytest.raises(MemoryError, match="dia_array: 3 diagonals"):
        ds.dia_array(a, max_bytes=10**6)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_forecasts_of_many_columns_include_the_search_for_diagonals(dtype):
    """The matrix needs 24 bytes for each entry, or 12; its copy of the indices and two arrays of int64 are forecast."""
    n = 10**5
    rows = np.arange(n)
    a = sp.coo_array((np.arange(1.0, n + 1), (rows, rows + rows % 3)), shape=(n, 2**34))
    tracemalloc.start()
    try:
        A = ds.hm_array(a, dtype=dtype)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 37 * n and [A[i, i + i % 3] for i in (0, 1, n - 1)] == [1, 2, n]
    ds.hm_array(a, dtype=dtype, max_bytes=A.nbytes + 37 * n)
    with pytest.raises(MemoryError, match=r"hm_array: 3 diagonals .* of it temporary"):
        ds.hm_array(a, dtype=dtype, max_bytes=A.nbytes + 30 * n)
    with pytest.raises(MemoryError, match=r"hm_array: the offsets of 100000 entries would need (1.6|2.0) MB"):
        ds.hm_array(a, dtype=dtype, max_bytes=10**6)
