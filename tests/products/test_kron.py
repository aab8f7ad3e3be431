"""`ds.kron`: diagonals of small factors, and everything else by rows."""

import time
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from cases import NO_CUDA, at_night

import diagsparse as ds
from diagsparse._products.kron import _Pairs

LIMIT = 8  # times the bytes of csr that A's own format of diagonals may need
SMALLEST = "hm", "mdia", "csr"  # of which one is chosen otherwise
DTYPE_PAIRS = [("float32", "float32"), ("float64", "complex64"), ("complex128", "float32")]
SHAPES = [(4, 5), (5, 4), (1, 7), (6, 6), (3, 3), (1, 1), (0, 3), (3, 0)]


def factor(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    a = sp.random_array(shape, density=0.6, rng=rng, format="csr")
    a.data = rng.integers(-4, 5, a.nnz) + (1j * rng.integers(-4, 5, a.nnz) if np.dtype(dtype).kind == "c" else 0)
    return a.astype(dtype)


@pytest.mark.parametrize("of_b", [(3, 3), (1, 1), (0, 0), (5, 5), (2, 3), (3, 1)])
@pytest.mark.parametrize("format", ["hm", "dia", "csr", "bmsparse"])
@pytest.mark.parametrize("dtypes", at_night(DTYPE_PAIRS, before=DTYPE_PAIRS[1:2]), ids="-".join)
def test_as_scipy(format, of_b, dtypes):
    for of_a in SHAPES:
        a, b = factor(of_a, dtypes[0], 1), factor(of_b, dtypes[1], 2)
        expected = sp.kron(a, b).toarray()
        A, B = ds.array(a, format), ds.hm_array(b)
        result = ds.kron(A, B)
        assert result.dtype == np.result_type(*dtypes)
        assert np.array_equal(result.toarray(), expected), of_a
        if format in ("hm", "dia") and of_b[0] == of_b[1]:
            assert result.format == format
        for given in (ds.kron(A, B, format="csr"), ds.kron(A, B, format="dia"), ds.kron(A.toarray(), b)):
            assert np.array_equal(given.toarray(), expected), of_a
        assert ds.kron(A, B, format="csr").format == "csr"


@pytest.mark.quick
def test_square_factors_in_columns_of_diagonals():
    a, b = factor((4, 4), float, 1), factor((3, 3), float, 2)
    result = ds.kron(ds.cdm_array(a), ds.cdm_array(b))
    assert result.format == "cdm" and np.array_equal(result.toarray(), sp.kron(a, b).toarray())


@pytest.mark.parametrize("shape", [(3, 3), (2, 3)])
def test_hollow_factors(shape):
    a, b = factor((40, 40), float, 1), factor(shape, float, 2)
    A, B = ds.mdia_array(a), ds.mdia_array(b)
    expected = sp.kron(a, b).toarray()
    sizes = ds.memory_report(sp.csr_array(sp.kron(a, b)))
    smallest = min(SMALLEST, key=sizes.get)
    full = "dia" if sizes["dia"] <= LIMIT * sizes["csr"] else smallest
    for result, format in (
        (ds.kron(A, B), "mdia"),
        (ds.kron(A, ds.hm_array(b)), "mdia"),
        (ds.kron(A, ds.csr_array(b)), "mdia"),
        (ds.kron(ds.dia_array(a), B), full),
        (ds.kron(ds.csr_array(a), B), smallest),
    ):
        assert result.format == format and np.array_equal(result.toarray(), expected)


@pytest.mark.parametrize("convert", [ds.csr_array, ds.coo_array, sp.csr_array, sp.dia_array, lambda a: a.toarray()])
@pytest.mark.parametrize("density", [0.02, 0.05, 0.2])
def test_the_smallest_format_where_diagonals_are_not_requested(convert, density):
    a = sp.random_array((30, 30), density=density, rng=np.random.default_rng(0), format="csr")
    for first, second in ((a, a), (sp.eye_array(9, format="csr"), a), (a, sp.eye_array(9, format="csr"))):
        sizes = ds.memory_report(ds.csr_array(sp.kron(first, second)))
        for b in (convert(second), ds.hm_array(second)):
            result = ds.kron(convert(first), b)
            assert result.format == min(SMALLEST, key=sizes.get), (result, sizes)
            assert abs(result.to_scipy("csr") - sp.kron(first, second)).sum() == 0


SHIFTS = [((7, 7), [-6, -1, 0, 1, 2, 6]), ((5, 9), [-4, -3, 0, 8]), ((9, 5), [-8, 3, 4]), ((1, 1), [0]), ((6, 6), [])]


@pytest.mark.parametrize("of_a", SHIFTS)
@pytest.mark.parametrize("of_b", [SHIFTS[0], *SHIFTS[3:], ((2, 2), [-1, 1]), ((40, 40), [-39, -20, 1, 20])])
@pytest.mark.parametrize("format", ["dia", "hm"])
def test_bytes_are_known_without_a_table_of_offsets(of_a, of_b, format):
    a, b = (ds.diags(dict.fromkeys(offsets, 1.0), shape=shape, format=format) for shape, offsets in (of_a, of_b))
    pairs, result = _Pairs(a, b), ds.csr_array(sp.kron(a.to_scipy("csr"), b.to_scipy("csr"), "csr"))
    sizes, s = ds.memory_report(result), result._summary()
    assert np.array_equal(pairs.summary.offsets, s.offsets) and np.array_equal(pairs.summary.fill, s.fill)
    assert pairs.in_dia() == sizes["dia"] and pairs.summary.entries == result.nnz
    assert pairs.least_bytes() <= min(sizes[name] for name in ("dia", "hm", "mdia"))


def test_scattered_diagonals_are_not_listed(monkeypatch):
    """If the diagonals would need far more memory than csr, wherever they are."""
    r = ds.hm_array(sp.csr_array(np.eye(150)[::-1]))
    monkeypatch.setattr(_Pairs, "_offsets", lambda pairs: pytest.fail("all pairs of offsets were listed"))
    for format in (None, "csr", "mdia"):
        assert ds.kron(r, r, format).count_nonzero() == 150**2
    assert ds.kron(r, r).format == "csr"


@pytest.mark.parametrize("format", [None, "dia", "hm", "csr", "mdia"])
def test_a_result_beyond_the_limit_is_refused_before_anything_is_listed(format):
    """All pairs of offsets would need 29 MB, and the values of both factors 0.8 MB."""
    a, b = ds.hm_array(np.ones((1, 6000))), ds.hm_array(np.ones((300, 300)))
    tracemalloc.start()
    try:
        with pytest.raises(MemoryError, match=r"kron: .* would need .*, the limit is 1.0 MB"):
            ds.kron(a, b, format=format, max_bytes=10**6)
        assert tracemalloc.get_traced_memory()[1] < 10**6
    finally:
        tracemalloc.stop()


def test_a_result_beyond_all_memory_is_refused_at_once():
    """The list of its diagonals might fit, the product of 2 TB does not."""
    a, b = ds.hm_array(np.ones((1, 60_000))), ds.hm_array(np.ones((2000, 2000)))
    start = time.process_time()
    for format in (None, "dia", "hm", "csr"):
        with pytest.raises(MemoryError, match=r"kron: .* would need .* TB, .* are free"):
            ds.kron(a, b, format)
    assert time.process_time() - start < 5


def test_forecasts_of_entries_include_what_scipy_needs():
    a = ds.csr_array(sp.random_array((200, 200), density=0.1, rng=np.random.default_rng(0)))
    tracemalloc.start()
    try:
        ds.kron(a, a, "csr")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    with pytest.raises(MemoryError, match="kron: the entries would need"):
        ds.kron(a, a, "csr", max_bytes=int(0.95 * peak))


PAULI = {"I": np.eye(2), "X": np.array([[0.0, 1], [1, 0]]), "Y": np.array([[0, -1j], [1j, 0]]), "Z": np.diag([1.0, -1])}


@pytest.mark.parametrize("string", ["XX", "ZZZ", "IIIXIIII", "XZYIXY", "IXIYIZIXIY"])
def test_strings_of_pauli_matrices_are_diagonals(string):
    """From the constructor on, where some of the matrices flip."""
    for build in (ds.array, ds.hm_array, lambda a: a):
        result, expected = ds.array(PAULI[string[0]]), PAULI[string[0]]
        for letter in string[1:]:
            result, expected = ds.kron(result, build(PAULI[letter])), sp.kron(sp.csr_array(expected), PAULI[letter])
        assert result.format in ("dia", "hm", "cdm", "mdia"), result
        assert np.array_equal(result.to_scipy("csr").toarray(), expected.toarray())
        assert result.nbytes <= 16 * ds.csr_array(expected).nbytes, result
    rows = ds.csr_array(PAULI["X"])
    assert ds.kron(ds.kron(ds.csr_array(ds.eye(64)), rows), ds.csr_array(ds.eye(16))).format == "mdia"  # half empty
    assert ds.kron(rows, ds.eye(16)).format == "hm"


@pytest.mark.parametrize("build", [ds.array, ds.csr_array, ds.mdia_array, ds.hm_array, sp.coo_array])
@pytest.mark.parametrize("from_left", [True, False])
def test_flips_of_many_sites_end_in_csr(build, from_left):
    """Each flip doubles the diagonals: A's own stay up to the limit, others while they are smaller than csr."""
    result = X = build(PAULI["X"])
    for sites in range(2, 15):
        own = (result if from_left else X).format
        result = ds.kron(result, X) if from_left else ds.kron(X, result)
        sizes = ds.memory_report(ds.csr_array(result))
        few = own in ("dia", "hm", "mdia") and sizes[own] <= LIMIT * sizes["csr"]
        assert result.format == (own if few else min(SMALLEST, key=sizes.get)), (sites, result)
    assert result.format == "csr" and result.nbytes < 10**6
    assert np.array_equal(result.to_scipy().indices, np.arange(2**14)[::-1])


@pytest.mark.parametrize("order", ["left", "right"])
def test_a_few_sites_of_a_long_chain_stay_diagonals(order):
    identity, factors = ds.eye(2), {0: "Z", 5: "X", 6: "X", 11: "Y", 15: "Z"}
    chain = [ds.array(PAULI[factors[site]]) if site in factors else identity for site in range(16)]
    result, expected = None, sp.eye_array(1)
    for one in chain:
        expected = sp.kron(expected, one.to_scipy("csr"), "csr")
    for one in chain if order == "left" else chain[::-1]:
        result = one if result is None else ds.kron(*((result, one) if order == "left" else (one, result)))
    assert result.format in ("dia", "hm", "mdia") and abs(result.to_scipy("csr") - expected).sum() == 0


@pytest.mark.quick
def test_the_format_is_that_of_the_first_factor():
    a, b = ds.gallery.tridiagonal(50), ds.gallery.tridiagonal(30)
    for format in ("dia", "hm", "cdm", "mdia"):
        for other in (b, b.toarray(), ds.csr_array(b), ds.mdia_array(b), ds.hm_array(b), ds.coo_array(b)):
            result = ds.kron(ds.array(a, format), other)
            assert result.format == format and abs(result.tocsr() - ds.csr_array(sp.kron(a, b))).sum() == 0
    thin = ds.kron(ds.cdm_array(a), b.toarray()[:, :7])
    assert thin.format == "csr" and thin.shape == (1500, 350)
    wide = ds.kron(ds.cdm_array(ds.gallery.tridiagonal(3)), sp.eye_array(2, 3))
    assert wide.format == "hm" and wide.shape == (6, 9)  # no cdm, which is square


@pytest.mark.nightly
def test_rows_of_scattered_diagonals_are_not_stored_in_full_on_the_way():
    """Two reversals of order 300 have 600 diagonals each, and one entry in each row."""
    n = 300
    reversal = sp.csr_array((np.ones(n), np.arange(n)[::-1], np.arange(n + 1)), shape=(n, n))
    r = ds.hm_array(reversal)
    expected = sp.kron(reversal, reversal, "csr")
    for format in (None, "csr", "coo", "mdia"):
        result = ds.kron(r, r, format=format)
        assert result.count_nonzero() == n * n and format in (None, result.format)
        assert (abs(result.to_scipy("csr") - expected)).nnz == 0


def test_offsets_and_stored_positions():
    """A diagonal of the result for each pair that falls on it, and no more."""
    x, y = (ds.hm_array(ds.gallery.stencil(3, (n,))) for n in (4, 5))
    result = ds.kron(x, y)
    assert sorted(result.offsets.tolist()) == [5 * j + k for j in (-1, 0, 1) for k in (-1, 0, 1)]
    eyes = [ds.dia_array(sp.eye_array(n)) for n in (4, 5)]
    assert (ds.kron(x, eyes[1]) + ds.kron(eyes[0], y)).nnz == ds.hm_array(ds.gallery.stencil(5, (4, 5))).nnz


def test_symmetric_and_narrow_factors_are_unpacked():
    a = ds.gallery.stencil(3, (6,))
    for A in (ds.hm_array(a, symmetry="symmetric"), ds.hm_array(a).astype("float16")):
        result = ds.kron(A, np.eye(2))
        assert result.format == "hm" and np.array_equal(result.toarray(), np.kron(a.toarray(), np.eye(2)))


def test_a_transpose_is_not_converted():
    a, b = factor((4, 5), complex, 1), factor((3, 3), complex, 2)
    result = ds.kron(ds.hm_array(a).H, ds.dia_array(b).T)
    assert np.array_equal(result.toarray(), np.kron(a.toarray().conj().T, b.toarray().T))


def test_infinities_stay_where_they_meet_stored_values():
    a, b = sp.diags_array([1.0, 2.0], offsets=1), sp.diags_array([np.inf], offsets=0)
    result = ds.kron(ds.hm_array(a), ds.hm_array(b)).toarray()
    assert result[0, 1] == result[1, 2] == np.inf and np.count_nonzero(result) == 2


@pytest.mark.quick
def test_errors_at_the_door():
    a = ds.hm_array(ds.gallery.stencil(3, (1000,)))
    with pytest.raises(MemoryError, match=r"kron: the diagonals would need 80.0 MB.*limit is 1"):
        ds.kron(a, a, max_bytes=1e6)
    with pytest.raises(ValueError, match="format"):
        ds.kron(a, np.eye(2), format="none")
    for factors, kind, words in (
        (("a", a), TypeError, "kron: A is str, expected a sparse matrix .* or a dense 2-D array"),
        ((a, None), TypeError, "kron: B is NoneType, expected"),
        ((a, 3.0), TypeError, "kron: B is float, expected"),
        ((a, [1, 2, 3]), ValueError, r"kron: B has shape \(3,\), expected"),
        (((3, 3), a), TypeError, "kron: A is tuple, expected"),
    ):
        with pytest.raises(kind, match=words):
            ds.kron(*factors)
    with pytest.warns(ds.ConversionWarning, match="int"):
        ds.kron(a, [[1, 2], [3, 4]])


@pytest.mark.gpu
@pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)
def test_factors_are_read_on_the_host():
    a = ds.hm_array(ds.gallery.stencil(3, (5,)))
    result = ds.kron(a, a, device="cuda")
    assert result.device.startswith("cuda")
    assert np.array_equal(result.to("cpu").toarray(), np.kron(a.toarray(), a.toarray()))
    with pytest.raises(ValueError, match=r'A.to\("cpu"\)'):
        ds.kron(a.to("cuda"), a)
