"""The gallery against constructions by SciPy and NumPy, and against the counts that Haque, Parvez and Hossain print."""

import numpy as np
import pytest
import scipy.linalg
from scipy import sparse

import diagsparse as ds
from diagsparse import gallery

DTYPES = [np.float32, np.float64, np.complex64, np.complex128]
RANDOM = {
    "banded": lambda n, **options: gallery.banded(n, 2, 1, **options),
    "triangular": gallery.triangular,
    "hessenberg": gallery.hessenberg,
    "arrow": gallery.arrow,
    "ci": gallery.ci_matrix,
    "random_diagonals": lambda n, **options: gallery.random_diagonals(n, min(n, 3), 0.5, **options),
    "quasi_band": lambda n, **options: gallery.quasi_band(n, 15, **options),
    "blocked": lambda n, **options: gallery.blocked(np.ones((n, 2)), 6 * n, **options),
}
FIXED = {
    "tridiagonal": gallery.tridiagonal,
    "toeplitz": lambda n, **options: gallery.toeplitz(np.arange(n) - 2, np.arange(n) - 2, **options),
    "stencil-3": lambda n, **options: gallery.stencil(3, n, **options),
    "stencil-5": lambda n, **options: gallery.stencil(5, (n, 2), **options),
    "stencil-9": lambda n, **options: gallery.stencil(9, (2, n), **options),
    "stencil-7": lambda n, **options: gallery.stencil(7, (2, n, 3), **options),
    "stencil-27": lambda n, **options: gallery.stencil(27, (n, 1, 2), **options),
    "ising": gallery.spin_chain,
    "heisenberg": lambda n, **options: gallery.spin_chain(n, model="heisenberg", **options),
}
ALL = RANDOM | FIXED

# n, diagonals of A and B, nonzeros of A, B and C = A B as printed; seeds for A and B.  Nine or five offsets scatter by
# some 4 % from draw to draw, so that the seeds of the first line had to be looked for; below, any do.
TABLE = [
    (1000, 9, 5, 7446, 3968, 33824, 3, 34),
    (10000, 109, 35, 938979, 310455, 24738090, 0, 3),
    (10000, 200, 200, 1746454, 1734514, 69689071, 0, 1),
    (10000, 300, 300, 2574174, 2599683, 76317794, 0, 1),
    (10000, 400, 400, 3462833, 3499657, 75463181, 0, 1),
    (10000, 500, 500, 4358737, 4372825, 75504513, 0, 1),
    (10000, 600, 600, 5237042, 5233209, 75281188, 0, 1),
]


def stored(n, offsets):
    return int((n - abs(offsets)).clip(0).sum())


def product_offsets(a, b):
    return np.unique(a[:, None] + b)


# ---- What all share --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 2, 5])
@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
def test_every_order_and_dtype(make, n):
    for dtype in DTYPES:
        A = make(n, dtype=dtype)
        assert isinstance(A, sparse.dia_array | sparse.csr_array)
        assert A.dtype == dtype
        assert A.toarray().shape == A.shape
        if A.format == "dia":
            assert len(set(A.offsets)) == len(A.offsets)
            assert all(-A.shape[0] < k < A.shape[1] for k in A.offsets)
            columns = np.arange(A.data.shape[1])
            rows = columns - A.offsets[:, None].astype(int)
            assert not A.data[(rows < 0) | (rows >= A.shape[0])].any(), "values in the padding"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("make", RANDOM.values(), ids=RANDOM)
def test_random_values(make, dtype):
    A = make(40, dtype=dtype, seed=7)
    values = A.tocsr().data
    parts = (values.real, values.imag) if values.dtype.kind == "c" else (values,)
    for part in parts:
        assert (abs(part) >= 0.1 - 1e-6).all() and (abs(part) <= 1).all()
        assert (part > 0).any() and (part < 0).any()
    again, other = make(40, dtype=dtype, seed=7), make(40, dtype=dtype, seed=8)
    assert A.data.tobytes() == again.data.tobytes()
    assert A.data.tobytes() != other.data.tobytes()
    generator = make(40, dtype=dtype, seed=np.random.default_rng(7))
    assert A.data.tobytes() == generator.data.tobytes()


@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
def test_format_gives_one_of_ours(make):
    options = {"seed": 3} if make in RANDOM.values() else {}
    A = make(4, format="hm", **options)
    assert ds.issparse(A) and A.format == "hm"
    assert np.array_equal(A.toarray(), make(4, **options).toarray())


@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
@pytest.mark.parametrize("dtype", [np.int64, np.float16, np.longdouble, bool, "no dtype"])
def test_other_dtypes_are_refused(make, dtype):
    with pytest.raises(TypeError):
        make(3, dtype=dtype)


# ---- Bands and other shapes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "kl", "ku"), [(6, 0, 0), (6, 2, 1), (6, 0, 5), (6, 9, 9), (1, 1, 1), (0, 2, 2)])
def test_banded(n, kl, ku):
    A = gallery.banded(n, kl, ku, seed=0)
    pattern = np.tri(n, n, ku) - np.tri(n, n, -kl - 1)
    assert np.array_equal(A.toarray() != 0, pattern.astype(bool))
    assert len(A.offsets) == (min(kl, n - 1) + min(ku, n - 1) + 1 if n else 0)


@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_triangular_hessenberg_arrow(n):
    assert np.array_equal(gallery.triangular(n, seed=0).toarray() != 0, np.tri(n, dtype=bool))
    assert np.array_equal(gallery.triangular(n, lower=False, seed=0).toarray() != 0, np.tri(n, dtype=bool).T)
    assert np.array_equal(gallery.hessenberg(n, seed=0).toarray() != 0, np.tri(n, n, 1, dtype=bool).T)
    arrow = np.eye(n, dtype=bool)
    arrow[:1], arrow[:, :1] = True, True
    assert np.array_equal(gallery.arrow(n, seed=0).toarray() != 0, arrow)


def test_tridiagonal():
    expected = np.diag([2.0] * 5) - np.diag([1.0] * 4, 1) - np.diag([1.0] * 4, -1)
    assert np.array_equal(gallery.tridiagonal(5).toarray(), expected)
    A = gallery.tridiagonal(4, lower=1j, main=0, upper=3, dtype=np.complex64)
    assert A.offsets.tolist() == [-1, 1]
    assert np.array_equal(A.toarray(), np.diag([1j] * 3, -1) + np.diag([3.0] * 3, 1))


@pytest.mark.parametrize(
    ("column", "row"),
    [([1, 2, 3], [9, 4, 0, 5, 6]), ([1, 0, 0, 4], [1, 2]), ([1j, 2 + 1j, 0], None), ([5], [5, 1]), ([0, 0], [0, 0, 0])],
)
def test_toeplitz(column, row):
    A = gallery.toeplitz(column, row)
    expected = scipy.linalg.toeplitz(column, row)
    assert np.array_equal(A.toarray(), expected)
    assert A.dtype == (np.complex128 if expected.dtype.kind == "c" else np.float64)
    assert A.nnz == np.count_nonzero(expected)


def test_toeplitz_dtype_and_empty():
    assert gallery.toeplitz(np.ones(3, np.float32)).dtype == np.float32
    assert gallery.toeplitz([1, 2], dtype=np.complex64).dtype == np.complex64
    assert gallery.toeplitz([], [1, 2]).shape == (0, 2)
    assert gallery.toeplitz([1, 2], []).shape == (2, 0)


@pytest.mark.parametrize(("n", "dg_a", "dg_b", "nz_a", "nz_b", "nz_c", "seed_a", "seed_b"), TABLE)
def test_random_diagonals_fit_the_table(n, dg_a, dg_b, nz_a, nz_b, nz_c, seed_a, seed_b):
    A, B = (
        gallery.random_diagonals(n, count, dtype=np.float32, seed=s) for count, s in ((dg_a, seed_a), (dg_b, seed_b))
    )
    assert len(A.offsets) == dg_a and len(B.offsets) == dg_b
    assert np.count_nonzero(A.data) == stored(n, A.offsets)
    assert stored(n, A.offsets) == pytest.approx(nz_a, rel=0.02)
    assert stored(n, product_offsets(A.offsets, B.offsets)) == pytest.approx(nz_c, rel=0.05)


@pytest.mark.parametrize(("n", "dg_a", "dg_b", "nz_a", "nz_b", "nz_c"), [row[:6] for row in TABLE[1:]])
def test_random_diagonals_fit_the_table_on_average(n, dg_a, dg_b, nz_a, nz_b, nz_c):
    rng = np.random.default_rng(0)
    pairs = [
        [gallery.random_diagonals(n, count, dtype=np.float32, seed=rng).offsets for count in (dg_a, dg_b)]
        for _ in range(4)
    ]
    assert np.mean([stored(n, a) for a, _ in pairs]) == pytest.approx(nz_a, rel=0.02)
    assert np.mean([stored(n, product_offsets(a, b)) for a, b in pairs]) == pytest.approx(nz_c, rel=0.05)


def test_random_diagonals_at_the_limits():
    assert gallery.random_diagonals(10, 19, 1.0).nnz == 100
    assert gallery.random_diagonals(10, 1, 0.0).offsets.tolist() == [0]
    assert gallery.random_diagonals(10, 0).nnz == 0


# ---- Differential operators and Hamiltonians -------------------------------------------------------------------------


def shift(n, step, periodic):
    """The matrix that takes the neighbour at this step along an axis."""
    return np.roll(np.eye(n), step, axis=1) if periodic else np.eye(n, k=step)


def kron(*factors):
    product = np.ones((1, 1))
    for factor in factors:
        product = np.kron(product, factor)
    return product


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize(
    ("points", "shape"), [(3, (5,)), (5, (3, 4)), (9, (4, 3)), (7, (3, 4, 5)), (27, (4, 3, 3)), (5, (7, 3)), (3, (3,))]
)
def test_stencil(points, shape, periodic):
    A = gallery.stencil(points, shape, periodic=periodic)
    axes = range(len(shape))
    if points in (9, 27):
        near = kron(*(sum(shift(n, step, periodic) for step in (-1, 0, 1)) for n in shape))
        expected = points * np.eye(len(near)) - near
    else:
        second = [2 * np.eye(n) - shift(n, 1, periodic) - shift(n, -1, periodic) for n in shape]
        expected = sum(kron(*(second[i] if i == axis else np.eye(shape[i]) for i in axes)) for axis in axes)
    assert np.array_equal(A.toarray(), expected)
    assert A.format == ("csr" if periodic and len(shape) > 1 else "dia")
    assert (A.diagonal() == points - 1).all()
    if periodic:
        assert not A.sum(axis=1).any()


def test_stencil_shapes():
    assert np.array_equal(gallery.stencil(5, 4).toarray(), gallery.stencil(5, (4, 4)).toarray())
    assert np.array_equal(gallery.stencil(7, [3, 1, 2]).toarray()[:2, :2], [[6, -1], [-1, 6]])
    assert np.array_equal(gallery.stencil(5, (3, 1)).toarray(), gallery.tridiagonal(3, main=4).toarray())
    assert gallery.stencil(27, 20).offsets.size == 27


PAULI = {"X": np.array([[0, 1], [1, 0]]), "Y": np.array([[0, -1j], [1j, 0]]), "Z": np.diag([1, -1])}
MODELS = {"ising": ("Z", "X"), "xy": ("XY", "Z"), "heisenberg": ("XYZ", "Z")}


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("sites", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("model", MODELS)
def test_spin_chain(model, sites, periodic):
    def on(matrix, *where):
        return kron(*(matrix if s in where else np.eye(2) for s in range(sites)))

    pairs, along = MODELS[model]
    bonds = [(s, s + 1) for s in range(sites - 1)] + ([(sites - 1, 0)] if periodic and sites > 2 else [])
    expected = np.zeros((2**sites, 2**sites), complex)
    for axis in pairs:
        expected -= 0.5 * sum(on(PAULI[axis], s, t) for s, t in bonds)
    expected -= 0.25 * sum(on(PAULI[along], s) for s in range(sites))
    A = gallery.spin_chain(sites, coupling=0.5, field=0.25, periodic=periodic, model=model)
    assert np.array_equal(A.toarray(), expected)
    assert len(A.offsets) <= 2 * sites + 1
    assert all(abs(A.diagonal(k)).any() for k in A.offsets)


def test_spin_chain_ground_state():
    """The critical Ising chain with open ends: E = 1 - 1 / sin(pi / (2 (2 L + 1))) (Pfeuty 1970)."""
    sites = 8
    energy = sparse.linalg.eigsh(gallery.spin_chain(sites).tocsr(), k=1, which="SA", return_eigenvectors=False)
    assert energy[0] == pytest.approx(1 - 1 / np.sin(np.pi / (2 * (2 * sites + 1))))


# ---- Mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: gallery.banded(5, -1, 2),
            ValueError,
            "gallery.banded: kl is -1, expected a count of subdiagonals >= 0",
        ),
        (lambda: gallery.banded(5, 1, 2.5), TypeError, "gallery.banded: ku is 2.5"),
        (lambda: gallery.banded(-5, 1, 2), ValueError, "gallery.banded: n is -5"),
        (lambda: gallery.tridiagonal("5"), TypeError, "gallery.tridiagonal: n is '5'"),
        (lambda: gallery.tridiagonal(5, main=1j), TypeError, "complex values do not fit dtype float64"),
        (lambda: gallery.tridiagonal(5, main="a"), TypeError, "gallery.tridiagonal: .lower, main, upper. is <U"),
        (lambda: gallery.toeplitz([[1, 2]]), TypeError, r"first_column is int64 \(1, 2\)"),
        (lambda: gallery.toeplitz([1j], dtype=float), TypeError, "complex values do not fit dtype float64"),
        (lambda: gallery.stencil(6, 4), ValueError, "points is 6, expected one of 3, 5, 7, 9, 27"),
        (lambda: gallery.stencil(5, (4, 4, 4)), ValueError, r"shape is \(4, 4, 4\), but 5 points need a 2-D grid"),
        (lambda: gallery.stencil(5, (4, -4)), ValueError, "shape is -4"),
        (lambda: gallery.stencil(5, (4, 2), periodic=True), ValueError, "needs at least 3 points"),
        (
            lambda: gallery.random_diagonals(10, 6, 0.1),
            ValueError,
            "count is 6, but n = 10 and reach = 0.1 allow only 3",
        ),
        (lambda: gallery.random_diagonals(0, 1), ValueError, "allow only 0"),
        (lambda: gallery.random_diagonals(10, 3, 1.5), ValueError, "reach is 1.5"),
        (lambda: gallery.random_diagonals(10, 3, np.nan), ValueError, "reach is nan"),
        (lambda: gallery.ci_matrix(9, 1.5), ValueError, "reference_fraction is 1.5, expected a fraction from 0 to 1"),
        (lambda: gallery.spin_chain(31), ValueError, "31 sites, expected at most 30"),
        (lambda: gallery.spin_chain(3, model="potts"), ValueError, "model is 'potts', expected one of 'ising'"),
        (lambda: gallery.spin_chain(3, field="strong"), ValueError, "strong"),
        (lambda: gallery.arrow(3, dtype=int), TypeError, "gallery.arrow: dtype is int64, expected float32"),
    ],
)
def test_mistakes_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
