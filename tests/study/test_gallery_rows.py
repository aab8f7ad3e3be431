"""Some rows of matrices of the gallery: the bits of the whole matrix, without its memory."""

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from cases import case, raises

import diagsparse as ds
from diagsparse import gallery

RNG = np.random.default_rng(0)
STRINGS = ["".join(RNG.choice(list("IXYZ"), 5)) for _ in range(12)]
FACTORS = RNG.normal(size=12) + 1j * RNG.normal(size=12)
COLUMN, ROW = (RNG.normal(size=n) * (RNG.random(n) > 0.4) for n in (11, 17))

MATRICES = {
    "tridiagonal": lambda **o: gallery.tridiagonal(13, lower=1j, main=0.1, upper=0, **{"dtype": complex} | o),
    "toeplitz-wide": lambda **o: gallery.toeplitz(COLUMN, ROW, **o),
    "toeplitz-tall": lambda **o: gallery.toeplitz(ROW * 1j, COLUMN, **o),
    "toeplitz-symmetric": lambda **o: gallery.toeplitz(COLUMN, **{"dtype": np.float32} | o),
    "stencil-3": lambda **o: gallery.stencil(3, 14, **o),
    "stencil-3-periodic": lambda **o: gallery.stencil(3, 14, periodic=True, **o),
    "stencil-5": lambda **o: gallery.stencil(5, (5, 7), **o),
    "stencil-5-periodic": lambda **o: gallery.stencil(5, (5, 3), periodic=True, **o),
    "stencil-9": lambda **o: gallery.stencil(9, (7, 2), **o),
    "stencil-7": lambda **o: gallery.stencil(7, (2, 5, 3), **{"dtype": np.complex64} | o),
    "stencil-27": lambda **o: gallery.stencil(27, (4, 1, 5), **o),
    "stencil-27-periodic": lambda **o: gallery.stencil(27, (3, 4, 5), periodic=True, **o),
    "stencil-1-point": lambda **o: gallery.stencil(7, 1, **o),
    "pauli_sum": lambda **o: gallery.pauli_sum(STRINGS, FACTORS, **o),
    "pauli_sum-real": lambda **o: gallery.pauli_sum(["XYYI", "ZIIX", "ZZII"], [0.1, 0.2, 0.3], **o),
    "pauli_sum-no-sites": lambda **o: gallery.pauli_sum([""], [2], **o),
    "heisenberg": lambda **o: gallery.heisenberg(6, couplings=(0.1, 0.7, -0.3), periodic=True, **o),
    "heisenberg-field": lambda **o: gallery.heisenberg(5, field=(0.1, [0.3, 0, 1, 2, 3], -0.7), **o),
    "transverse_ising": lambda **o: gallery.transverse_ising(6, longitudinal=0.3, periodic=True, **o),
    "spin_chain": lambda **o: gallery.spin_chain(5, model="xy", **{"dtype": np.float32} | o),
    "bose_hubbard": lambda **o: gallery.bose_hubbard(4, hopping=0.3, interaction=0.7, potential=[0, 1, 2, 3], **o),
    "bose_hubbard-periodic": lambda **o: gallery.bose_hubbard(3, levels=4, interaction=0, periodic=True, **o),
    "bose_hubbard-one-level": lambda **o: gallery.bose_hubbard(3, levels=1, **o),
}


def splits(m):
    """Return ranges of rows: uneven parts, single rows, empty ones and all of them."""
    at = sorted({0, min(1, m), m // 3, m // 2 + m % 2, m * 5 // 7, m - 1, m})
    return [*pairwise(at), (0, m), (m // 2, m // 2), (m, m), (m // 5, m * 4 // 5)]


@pytest.mark.parametrize("make", MATRICES.values(), ids=MATRICES)
def test_rows_are_those_of_the_whole_matrix(make):
    whole = make()
    csr = whole.tocsr()
    for first, last in splits(whole.shape[0]):
        with case((first, last)):
            rows, expected = make(rows=(first, last)), csr[first:last]
            assert rows.format == "csr" and rows.shape == expected.shape and rows.dtype == expected.dtype
            for name in ("indptr", "indices", "data"):
                assert np.array_equal(getattr(rows, name), getattr(expected, name))
            assert rows.data.tobytes() == expected.data.tobytes()


@pytest.mark.parametrize("make", MATRICES.values(), ids=MATRICES)
def test_rows_in_formats_of_ours(make):
    for format in ("hm", "dia", "csr", "mdia"):
        whole = make(format=format).toarray()
        for first, last in splits(len(whole)):
            with case((format, first, last)):
                A, expected = make(rows=(first, last), format=format), whole[first:last]
                assert A.format == format and A.toarray().tobytes() == expected.tobytes()
                if format in ("hm", "dia"):
                    rows, columns = expected.nonzero()
                    assert sorted(A.offsets.tolist()) == np.unique(columns - rows).tolist()


def test_zeros_within_diagonals_are_stored_in_hm():
    A = gallery.heisenberg(6, rows=(21, 50), format="hm")
    assert A.nnz == sum(min(29, 29 + k, 64 - k) for k in A.offsets.tolist()) > np.count_nonzero(A.toarray())


@pytest.mark.quick
def test_rows_of_36_sites():
    first = 2**35 - 50
    A = gallery.heisenberg(36, rows=(first, first + 100))
    assert A.shape == (100, 2**36)
    for i in range(100):
        bits = [first + i >> s & 1 for s in range(36)]
        expected = {first + i: float(sum(1 if a == b else -1 for a, b in pairwise(bits)))}
        expected |= {first + i ^ 3 << s: 2.0 for s, (a, b) in enumerate(pairwise(bits)) if a != b}
        row = slice(A.indptr[i], A.indptr[i + 1])
        found = dict(zip(A.indices[row].tolist(), A.data[row].tolist(), strict=True))
        assert found == {column: value for column, value in expected.items() if value}
    B = gallery.heisenberg(36, rows=(first, first + 100), format="hm")
    assert B.shape == (100, 2**36) and B.nbytes < 100 * 8 * len(B.offsets) + 16 * len(B.offsets) + 9
    assert sorted(B.offsets.tolist()) == np.unique(A.indices - np.repeat(np.arange(100), np.diff(A.indptr))).tolist()


def test_rows_of_2_to_the_40():
    n = 2**40
    A = gallery.tridiagonal(n, rows=(n - 2, n))
    assert A.indices.tolist() == [n - 3, n - 2, n - 1, n - 2, n - 1] and A.data.tolist() == [-1, 2, -1, -1, 2]
    assert gallery.tridiagonal(n, rows=(n, n)).shape == (0, n)
    assert gallery.stencil(5, 2**20, rows=(2**39, 2**39 + 1)).indices.tolist() == [
        2**39 - 2**20, 2**39, 2**39 + 1, 2**39 + 2**20
    ]  # fmt: skip
    A = gallery.stencil(27, 10**4, periodic=True, rows=(10**12 - 1, 10**12))
    B = gallery.stencil(27, 10**4, periodic=True, rows=(10**12 - 1, 10**12), format="hm")
    assert A.nnz == B.nnz == 27 and A.indices.tolist() == sorted(B.offsets.tolist()) and A.sum() == 0
    assert A.indices[0] == 0 and A.indices[-1] == 10**12 - 1
    A = gallery.pauli_sum(["X" * 40, "Y" + "I" * 38 + "Z"], [1, 3], rows=(1, 2))
    assert A.indices.tolist() == [n // 2 + 1, n - 2] and A.data.tolist() == [3j, 1]
    A = gallery.bose_hubbard(20, levels=4, hopping=2, rows=(1, 2))  # a boson on the last site
    assert A.indices.tolist() == [4] and A.data.tolist() == [-2]


@pytest.mark.parametrize(
    "make",
    [
        lambda rows, format: gallery.tridiagonal(2**24, rows=rows, format=format),
        lambda rows, format: gallery.stencil(27, 256, periodic=True, rows=rows, format=format),
        lambda rows, format: gallery.heisenberg(24, rows=rows, format=format),
        lambda rows, format: gallery.bose_hubbard(12, levels=4, rows=rows, format=format),
    ],
)
def test_memory_is_that_of_the_rows(make):
    middle = 2**23
    for format in (None, "hm"):
        make((0, 1), format)  # imports
        tracemalloc.start()
        make((middle - 500, middle + 500), format)
        assert tracemalloc.get_traced_memory()[1] < 1000 * 130 * 40  # 125 diagonals at most
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: gallery.tridiagonal(9, rows=3), TypeError, ["gallery.tridiagonal: rows is 3", "(first, last)"]),
        (lambda: gallery.tridiagonal(9, rows=(1, 2, 3)), TypeError, ["(1, 2, 3)", "two whole numbers"]),
        (lambda: gallery.stencil(5, 3, rows=(0, 2.5)), TypeError, ["gallery.stencil: rows is (0, 2.5)"]),
        (lambda: gallery.pauli_sum(["X"], [1], rows="ab"), TypeError, ["gallery.pauli_sum: rows is 'ab'"]),
        (lambda: gallery.toeplitz([1, 2], [1, 2, 3], rows=(0, 3)), ValueError, ["(0, 3)", "0 <= first <= last <= 2"]),
        (lambda: gallery.tridiagonal(9, rows=(5, 4)), ValueError, ["gallery.tridiagonal: rows is (5, 4)", "<= 9"]),
        (lambda: gallery.bose_hubbard(2, rows=(-1, 4)), ValueError, ["gallery.bose_hubbard: rows is (-1, 4)", "<= 9"]),
        (lambda: gallery.heisenberg(41, rows=(0, 1)), ValueError, ["41 sites", "at most 40", "2**40 rows"]),
        (lambda: gallery.spin_chain(31), ValueError, ["31 sites", "at most 30"]),
        (lambda: gallery.bose_hubbard(21, levels=4, rows=(0, 1)), ValueError, ["21 sites", "2**40"]),
        (
            lambda: gallery.tridiagonal(2**40, rows=(0, 2**39)),
            MemoryError,
            ["gallery.tridiagonal: the entries"],
        ),
        (lambda: gallery.stencil(27, 8192, periodic=True, rows=(0, 2**38)), MemoryError, ["the entries", "free"]),
        (lambda: gallery.stencil(7, 8192, rows=(9, 2**38), format="hm"), MemoryError, ["the diagonals", "free"]),
        (lambda: gallery.heisenberg(40, rows=(2**38, 2**39)), MemoryError, ["the entries", "free"]),
        (lambda: gallery.bose_hubbard(20, levels=4, rows=(0, 2**38), format="hm"), MemoryError, ["the diagonals"]),
        (lambda: gallery.tridiagonal(9, rows=(0, 4), format="cdm"), ValueError, ["4 x 9", "square"]),
    ],
)
def test_mistakes(call, error, words):
    with raises(error, *words):
        call()


def test_the_rows_of_processes_join_to_the_product():
    x = np.linspace(-1, 1, 2**10)
    at = [0, 333, 700, 2**10]
    parts = [gallery.transverse_ising(10, rows=rows, format="hm") @ x for rows in pairwise(at)]
    whole = ds.hm_array(gallery.transverse_ising(10))
    assert np.allclose(np.concatenate(parts), whole @ x, rtol=1e-14, atol=1e-14)
