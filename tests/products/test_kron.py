"""`ds.kron`: diagonals of small factors, and everything else by rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import NO_CUDA

import diagsparse as ds

LIMIT = 8  # times the bytes of csr that diagonals take at most
SHAPES = [(4, 5), (5, 4), (1, 7), (6, 6), (3, 3), (1, 1), (0, 3), (3, 0)]


def factor(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    a = sp.random_array(shape, density=0.6, rng=rng, format="csr")
    a.data = rng.integers(-4, 5, a.nnz) + (1j * rng.integers(-4, 5, a.nnz) if np.dtype(dtype).kind == "c" else 0)
    return a.astype(dtype)


@pytest.mark.parametrize("of_b", [(3, 3), (1, 1), (0, 0), (5, 5), (2, 3), (3, 1)])
@pytest.mark.parametrize("format", ["hm", "dia", "csr", "bmsparse"])
@pytest.mark.parametrize("dtypes", [("float32", "float32"), ("float64", "complex64"), ("complex128", "float32")])
def test_as_scipy(format, of_b, dtypes):
    for of_a in SHAPES:
        a, b = factor(of_a, dtypes[0], 1), factor(of_b, dtypes[1], 2)
        expected = sp.kron(a, b).toarray()
        A, B = ds.array(a, format), ds.hm_array(b)
        made = ds.kron(A, B)
        assert made.dtype == np.result_type(*dtypes)
        assert np.array_equal(made.toarray(), expected), of_a
        if format in ("hm", "dia") and of_b[0] == of_b[1]:
            assert made.format == format
        for given in (ds.kron(A, B, format="csr"), ds.kron(A, B, format="dia"), ds.kron(A.toarray(), b)):
            assert np.array_equal(given.toarray(), expected), of_a
        assert ds.kron(A, B, format="csr").format == "csr"


def test_square_factors_in_columns_of_diagonals():
    a, b = factor((4, 4), float, 1), factor((3, 3), float, 2)
    made = ds.kron(ds.cdm_array(a), ds.cdm_array(b))
    assert made.format == "cdm" and np.array_equal(made.toarray(), sp.kron(a, b).toarray())


@pytest.mark.parametrize("shape", [(3, 3), (2, 3)])
def test_hollow_factors(shape):
    a, b = factor((40, 40), float, 1), factor(shape, float, 2)
    A, B = ds.mdia_array(a), ds.mdia_array(b)
    expected = sp.kron(a, b).toarray()
    sizes = ds.memory_report(sp.csr_array(sp.kron(a, b)))
    full = "dia" if sizes["dia"] <= LIMIT * sizes["csr"] else min(("hm", "mdia"), key=sizes.get)
    for made, format in (
        (ds.kron(A, B), "mdia"),
        (ds.kron(A, ds.hm_array(b)), "mdia"),
        (ds.kron(ds.dia_array(a), B), full),
    ):
        assert made.format == format and np.array_equal(made.toarray(), expected)
    assert ds.kron(A, ds.csr_array(b)).format == "mdia"
    assert ds.kron(ds.csr_array(a), B).format == min(("hm", "mdia"), key=sizes.get)


PAULI = {"I": np.eye(2), "X": np.array([[0.0, 1], [1, 0]]), "Y": np.array([[0, -1j], [1j, 0]]), "Z": np.diag([1.0, -1])}


@pytest.mark.parametrize("string", ["XX", "ZZZ", "IIIXIIII", "XZYIXY", "IXIYIZIXIY", "XXXXXXXXXX"])
def test_strings_of_pauli_matrices_are_diagonals(string):
    """From the constructor on, and however many matrices have zeros in them."""
    for build in (ds.array, ds.hm_array, lambda a: a):
        made, expected = ds.array(PAULI[string[0]]), PAULI[string[0]]
        for letter in string[1:]:
            made, expected = ds.kron(made, build(PAULI[letter])), sp.kron(sp.csr_array(expected), PAULI[letter])
        assert made.format in ("dia", "hm", "cdm", "mdia"), made
        assert np.array_equal(made.to_scipy("csr").toarray(), expected.toarray())
        assert made.nbytes <= 16 * ds.csr_array(expected).nbytes, made  # in full, ten flips would take 8 MB
    rows = ds.csr_array(PAULI["X"])
    assert ds.kron(ds.kron(ds.csr_array(ds.eye(64)), rows), ds.csr_array(ds.eye(16))).format == "mdia"  # half empty
    assert ds.kron(rows, ds.eye(16)).format == "hm"


@pytest.mark.parametrize("build", [ds.array, ds.csr_array, ds.mdia_array, ds.hm_array, sp.coo_array])
@pytest.mark.parametrize("from_left", [True, False])
def test_flips_of_many_sites_end_in_csr(build, from_left):
    """Each flip doubles the diagonals, which stay while they are not far larger than csr."""
    made = X = build(PAULI["X"])
    for sites in range(2, 15):
        made = ds.kron(made, X) if from_left else ds.kron(X, made)
        sizes = ds.memory_report(ds.csr_array(made))
        assert made.nbytes <= LIMIT * sizes["csr"]
        assert (made.format == "csr") == (min(sizes["hm"], sizes["mdia"]) > LIMIT * sizes["csr"]), (sites, made)
    assert made.format == "csr" and made.nbytes < 10**6
    assert np.array_equal(made.to_scipy().indices, np.arange(2**14)[::-1])


@pytest.mark.parametrize("order", ["left", "right"])
def test_a_few_sites_of_a_long_chain_stay_diagonals(order):
    identity, factors = ds.eye(2), {0: "Z", 5: "X", 6: "X", 11: "Y", 15: "Z"}
    chain = [ds.array(PAULI[factors[site]]) if site in factors else identity for site in range(16)]
    made, expected = None, sp.eye_array(1)
    for one in chain:
        expected = sp.kron(expected, one.to_scipy("csr"), "csr")
    for one in chain if order == "left" else chain[::-1]:
        made = one if made is None else ds.kron(*((made, one) if order == "left" else (one, made)))
    assert made.format in ("dia", "hm", "mdia") and abs(made.to_scipy("csr") - expected).sum() == 0


def test_the_format_is_that_of_the_first_factor():
    a, b = ds.gallery.tridiagonal(50), ds.gallery.tridiagonal(30)
    for format in ("dia", "hm", "cdm", "mdia"):
        for other in (b, b.toarray(), ds.csr_array(b), ds.mdia_array(b), ds.hm_array(b), ds.coo_array(b)):
            made = ds.kron(ds.array(a, format), other)
            assert made.format == format and abs(made.tocsr() - ds.csr_array(sp.kron(a, b))).sum() == 0
    thin = ds.kron(ds.cdm_array(a), b.toarray()[:, :7])
    assert thin.format in ("hm", "mdia") and thin.shape == (1500, 350)  # no cdm, which is square


def test_rows_of_scattered_diagonals_are_not_stored_in_full_on_the_way():
    """Two reversals of order 300 have 600 diagonals each, and one entry in each row."""
    n = 300
    reversal = sp.csr_array((np.ones(n), np.arange(n)[::-1], np.arange(n + 1)), shape=(n, n))
    r = ds.hm_array(reversal)
    expected = sp.kron(reversal, reversal, "csr")
    for format in (None, "csr", "coo", "mdia"):
        made = ds.kron(r, r, format=format)
        assert made.count_nonzero() == n * n and format in (None, made.format)
        assert (abs(made.to_scipy("csr") - expected)).nnz == 0


def test_offsets_and_stored_places():
    """A diagonal of the result for each pair that falls on it, and no more."""
    x, y = (ds.hm_array(ds.gallery.stencil(3, (n,))) for n in (4, 5))
    made = ds.kron(x, y)
    assert sorted(made.offsets.tolist()) == [5 * j + k for j in (-1, 0, 1) for k in (-1, 0, 1)]
    eyes = [ds.dia_array(sp.eye_array(n)) for n in (4, 5)]
    assert (ds.kron(x, eyes[1]) + ds.kron(eyes[0], y)).nnz == ds.hm_array(ds.gallery.stencil(5, (4, 5))).nnz


def test_symmetric_and_narrow_factors_are_unpacked():
    a = ds.gallery.stencil(3, (6,))
    for A in (ds.hm_array(a, symmetry="symmetric"), ds.hm_array(a).astype("float16")):
        made = ds.kron(A, np.eye(2))
        assert made.format == "hm" and np.array_equal(made.toarray(), np.kron(a.toarray(), np.eye(2)))


def test_a_transpose_is_taken_as_it_is():
    a, b = factor((4, 5), complex, 1), factor((3, 3), complex, 2)
    made = ds.kron(ds.hm_array(a).H, ds.dia_array(b).T)
    assert np.array_equal(made.toarray(), np.kron(a.toarray().conj().T, b.toarray().T))


def test_infinities_stay_where_they_meet_stored_values():
    a, b = sp.diags_array([1.0, 2.0], offsets=1), sp.diags_array([np.inf], offsets=0)
    made = ds.kron(ds.hm_array(a), ds.hm_array(b)).toarray()
    assert made[0, 1] == made[1, 2] == np.inf and np.count_nonzero(made) == 2


def test_errors_at_the_door():
    a = ds.hm_array(ds.gallery.stencil(3, (1000,)))
    with pytest.raises(MemoryError, match=r"kron: the diagonals would take 80.0 MB.*limit is 1"):
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
    made = ds.kron(a, a, device="cuda")
    assert made.device.startswith("cuda")
    assert np.array_equal(made.to("cpu").toarray(), np.kron(a.toarray(), a.toarray()))
    with pytest.raises(ValueError, match=r'A.to\("cpu"\)'):
        ds.kron(a.to("cuda"), a)
