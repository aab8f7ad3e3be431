"""Bands on a GPU by block cyclic reduction: widths, sizes around those of blocks, pivoting, errors, memory."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from cases import EACH_DTYPE, NO_CUDA, raises

import diagsparse as ds

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)]
EPS = {"float32": 6e-8, "complex64": 6e-8, "float64": 1.1e-16, "complex128": 1.1e-16}
WIDTHS = [(1, 2), (2, 2), (2, 0), (3, 3), (3, 4), (5, 5), (0, 3), (8, 7), (9, 9), (20, 20), (33, 17), (64, 64)]


def band(n, below, above, dtype, excess=0.5, seed=0):
    """Return diagonals by offset, of which the main one exceeds the sum of the others by `excess`."""
    rng = np.random.default_rng(seed)

    def values(count):
        v = rng.uniform(-1, 1, count)
        return v * np.exp(1j * rng.uniform(-3, 3, count)) if dtype[0] == "c" else v

    result = {k: values(n - abs(k)) for k in range(-below, above + 1) if k and abs(k) < n}
    main = excess * rng.uniform(1, 2, n)
    for k, v in result.items():
        main[max(0, -k) : n - max(0, k)] += abs(v)
    return {k: v.astype(dtype) for k, v in (result | {0: main}).items()}


def matrix(diagonals, n, format="hm"):
    return ds.diags(diagonals, shape=(n, n), format=format).to("cuda")


def right_side(n, dtype, seed=1):
    rng = np.random.default_rng(seed)
    return (rng.uniform(-1, 1, n) + (1j * rng.uniform(-1, 1, n) if dtype[0] == "c" else 0)).astype(dtype)


def backward_error(diagonals, x, b):
    wide = np.result_type(x, np.float64)
    off, size = b.astype(wide), np.zeros(len(x))
    for k, values in diagonals.items():
        rows, columns = slice(max(0, -k), len(x) - max(0, k)), slice(max(0, k), len(x) - max(0, -k))
        off[rows] -= values.astype(wide) * x[columns].astype(wide)
        size[rows] += abs(values)
    return abs(off).max() / (size.max() * abs(x).max() + abs(b).max())


def transposed(diagonals, conjugated=False):
    return {-k: v.conj() if conjugated else v for k, v in diagonals.items()}


def small_sizes(below, above):
    """Return sizes around those of a few blocks."""
    reach = max(below, above)
    b = next((rows for rows in (2, 3, 5, 8) if rows >= reach), reach + reach % 2)
    return sorted(
        {1, 2, 3, 7, b - 1, b, b + 1, 2 * b - 1, 2 * b, 2 * b + 1, 3 * b, 4 * b + 1, 5 * b - 1, 9 * b, 200} - {0}
    )


@EACH_DTYPE
@pytest.mark.parametrize("below, above", WIDTHS)
def test_sizes_around_those_of_blocks(below, above, dtype):
    for n in [*small_sizes(below, above), 1001]:
        lower, upper = min(below, n - 1), min(above, n - 1)
        diagonals, b = band(n, lower, upper, dtype), right_side(n, dtype)
        F = ds.factorized(matrix(diagonals, n), method="banded")
        assert F.method == "banded"
        for x, of in (
            (F.solve(b), diagonals),
            (F.solve(b, "T"), transposed(diagonals)),
            (F.solve(b, "H"), transposed(diagonals, True)),
        ):
            assert x.dtype == np.dtype(dtype) and backward_error(of, x, b) <= 64 * EPS[dtype], n
        B = np.stack([b, 2 * b[::-1], np.ones_like(b), b - 1, b * b], 1)
        X = F.solve(B)
        for k in range(5):
            assert backward_error(diagonals, X[:, k], B[:, k]) <= 64 * EPS[dtype], n
        assert np.array_equal(F.solve(np.asfortranarray(B)), X)
        assert np.array_equal(F.solve(b), F.solve(b)) and np.array_equal(F.solve(B), X)  # the same bits


@EACH_DTYPE
@pytest.mark.parametrize("below, above", [(2, 2), (5, 5), (20, 20), (33, 17)])
def test_long_bands_are_the_default(below, above, dtype):
    n = 100_000 if above < 20 else 20_001
    diagonals, b = band(n, below, above, dtype, excess=0.01), right_side(n, dtype)
    A = matrix(diagonals, n)
    F = ds.factorized(A)
    assert F.method == "banded" == ds.recommend(A, "solve").method and F.nbytes > A.nbytes
    x, report = ds.solve(A, b, report=True)
    assert report.method == "banded" and report.backward_error.max() <= report.tol
    for solution in (x, F.solve(b)):
        assert backward_error(diagonals, solution, b) <= 64 * EPS[dtype]


@pytest.mark.parametrize("format", ["dia", "hm", "cdm", "csr", "csc", "mdia", "ell", "coo"])
def test_formats_views_and_shifts(format):
    n, dtype = 300, "complex128"
    diagonals, b = band(n, 3, 2, dtype), right_side(n, dtype)
    A = matrix(diagonals, n, format)
    shifted = diagonals | {0: diagonals[0] - 0.25}
    for view, of in ((A, diagonals), (A.T, transposed(diagonals)), (A.H, transposed(diagonals, True))):
        assert backward_error(of, ds.factorized(view, method="banded").solve(b), b) <= 1e-14
    F = ds.factorized(A, 0.25)
    assert F.method == "banded" and backward_error(shifted, F.solve(b), b) <= 1e-14
    A *= 2  # the factors have a copy
    assert backward_error(shifted, F.solve(b, "N"), b) <= 1e-14
    assert backward_error(transposed(shifted), F.solve(b, "T"), b) <= 1e-14


def test_packed_and_mixed_types():
    n = 500
    S = ds.gallery.tridiagonal(n)
    square = S @ S  # 5 diagonals, ill-conditioned
    A = ds.hm_array(square, symmetry="symmetric").to("cuda")
    b = right_side(n, "float64")
    dense = square.toarray()
    x = ds.factorized(A).solve(b)
    assert abs(dense @ x - b).max() <= 64 * 1.1e-16 * (16 * abs(x).max() + 1)
    z = ds.factorized(A).solve(b + 2j * b)
    assert np.allclose(z, x + 2j * x, rtol=1e-6)
    narrow = ds.factorized(A.astype(np.float32) + 16 * ds.eye(n, dtype=np.float32, device="cuda"))
    assert narrow.solve(b).dtype == np.float64


def test_arrays_on_the_device():
    cupy = pytest.importorskip("cupy")
    n, below, above = 3000, 6, 4
    diagonals = band(n, below, above, "float64")
    F = ds.factorized(matrix(diagonals, n))
    B = cupy.random.default_rng(0).standard_normal((n, 6))
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        X = F.solve(B)
    stream.synchronize()
    for given in (B, cupy.asfortranarray(B), B[:, ::2], cupy.repeat(B, 2, axis=0)[::2], B[:, 0], B[:, :0]):
        X = F.solve(given)
        assert isinstance(X, cupy.ndarray) and X.shape == given.shape
        for k in range(0 if X.size == 0 else 1 if X.ndim == 1 else X.shape[1]):
            x, b = (one.get() if one.ndim == 1 else one[:, k].get() for one in (X, given))
            assert backward_error(diagonals, x, b) <= 64 * 1.1e-16
    for wrong in (B[:-1], cupy.zeros(n + 1), cupy.zeros((1, n, 1))):
        with pytest.raises(ValueError, match="b has shape"):
            F.solve(wrong)


@EACH_DTYPE
@pytest.mark.parametrize("below, above", [(2, 2), (5, 3), (20, 20), (40, 64)])
def test_matrices_that_need_pivoting(below, above, dtype):
    """The main diagonal is small, and whole blocks of it are zero, so that they have no pivots."""
    for n in (150, 1000):
        diagonals = band(n, below, above, dtype)
        main = np.zeros(n, dtype)
        main[::7] = 1e-3
        first, count = max(below, above), min(below, above)
        diagonals[0] = main
        for k in range(1, count):
            for sign in (-1, 1):
                diagonals[sign * k][first : first + count] = 0
        A, b = matrix(diagonals, n), right_side(n, dtype)
        F = ds.factorized(A, method="banded")
        B = np.stack([b, 1 - b], 1)
        for trans, of in (("N", diagonals), ("T", transposed(diagonals)), ("H", transposed(diagonals, True))):
            X = F.solve(B, trans)
            for k in range(2):
                assert backward_error(of, X[:, k], B[:, k]) <= 256 * EPS[dtype]


@pytest.mark.parametrize("below, above", [(2, 2), (5, 5), (20, 20), (64, 33)])
def test_singular_and_nearly_singular(below, above):
    n = 400
    diagonals = band(n, below, above, "float64")
    singular = {k: v.copy() for k, v in diagonals.items()}
    for k, v in singular.items():  # column 100
        rows = np.arange(len(v)) + max(0, -k)
        v[rows + k == 100] = 0
    with raises(np.linalg.LinAlgError, "singular", "the pivot of row 100 is zero"):
        ds.factorized(matrix(singular, n), method="banded")
    with raises(np.linalg.LinAlgError, "singular"):
        ds.solve(matrix(singular, n), np.ones(n))
    nearly = singular | {0: singular[0] + 1e-13 * (np.arange(n) == 100)}
    x = ds.factorized(matrix(nearly, n), method="banded").solve(np.ones(n))
    assert backward_error(nearly, x, np.ones(n)) <= 256 * 1.1e-16


@pytest.mark.parametrize("width", [2, 5, 20, 64])
def test_values_that_are_not_finite(width):
    n = 500
    for bad in (np.nan, np.inf):
        diagonals = band(n, width, width, "float64")
        diagonals[1][n // 2] = bad
        with raises(np.linalg.LinAlgError, "singular", "finite"):
            ds.factorized(matrix(diagonals, n), method="banded")
    F = ds.factorized(matrix(band(n, width, width, "float64"), n))
    b = np.ones(n)
    b[3] = np.nan
    assert np.isnan(F.solve(b)).any()


def test_large_and_small_values():
    n = 2000
    for scale in (1e-150, 1e150):
        diagonals = {k: v * scale for k, v in band(n, 3, 5, "float64").items()}
        b = right_side(n, "float64")
        x = ds.factorized(matrix(diagonals, n)).solve(b)
        assert backward_error({k: v / scale for k, v in diagonals.items()}, x * scale, b) <= 64 * 1.1e-16


def test_limits():
    n = 1000
    A = matrix(band(n, 65, 2, "float64"), n)
    with raises(ValueError, "method 'banded'", "-65 to 2"):
        ds.factorized(A, method="banded")
    assert "banded" in ds.recommend(A, "solve").left_out
    with raises(ValueError, "square"):
        ds.factorized(ds.hm_array((3, 4)).to("cuda"), method="banded")


def test_batches_of_bands():
    n, count = 60, 200
    like = ds.diags(band(n, 2, 3, "float64"), shape=(n, n), format="dia")
    factors = np.random.default_rng(2).uniform(0.5, 0.6, (count, *like.values.shape))
    batch = ds.batch_array(like.values * factors, like)
    B = right_side(count * n, "float64").reshape(count, n)
    F = ds.factorized(batch.to("cuda"))
    assert F.method == "banded"
    for X in (F.solve(B), ds.solve(batch.to("cuda"), B)):
        for i, member in enumerate(batch):
            dense = member.toarray()
            assert abs(dense @ X[i] - B[i]).max() <= 1e-13 * (abs(dense).sum(1).max() * abs(X[i]).max() + 1)


@EACH_DTYPE
def test_periodic_bands(dtype):
    """Corners are a correction of small rank."""
    n, half = 2000, 3
    diagonals = band(n, half, half, dtype, excess=8)
    for k in range(1, half + 1):
        diagonals |= {n - k: np.full(k, 0.5, dtype), k - n: np.full(k, -0.25, dtype)}
    A, b = matrix(diagonals, n), right_side(n, dtype)
    F = ds.factorized(A)
    assert F.method == "cyclic" == ds.recommend(A, "solve").method
    for trans, of in (("N", diagonals), ("T", transposed(diagonals)), ("H", transposed(diagonals, True))):
        assert backward_error(of, F.solve(b, trans), b) <= 64 * EPS[dtype]
    X = F.solve(np.stack([b, b * b], 1))
    assert backward_error(diagonals, X[:, 1], b * b) <= 64 * EPS[dtype]


@EACH_DTYPE
def test_quasi_bands(dtype):
    n = 3000
    rng = np.random.default_rng(3)
    S = sp.lil_array(sp.diags_array(list(band(n, 4, 4, dtype, excess=60).values()),
                                    offsets=list(band(n, 4, 4, dtype))))  # fmt: skip
    for row in (5, 700, 2999):
        S[[row], rng.integers(0, n, 50)] = rng.uniform(-1, 1, 50)
    S = sp.csr_array(S).astype(dtype)
    b = right_side(n, dtype)
    A = ds.qband_array(S).to("cuda")
    F = ds.factorized(A)
    assert F.method == "woodbury" == ds.recommend(A, "solve").method
    for trans, of in (("N", S), ("T", S.T), ("H", S.conj().T)):
        x = F.solve(b, trans)
        size = abs(S).sum(axis=1).max() * abs(x).max() + abs(b).max()
        assert abs(of @ x - b).max() <= 256 * EPS[dtype] * size
    X = F.solve(np.stack([b, 2 * b], 1))
    assert np.allclose(X[:, 1], 2 * X[:, 0], rtol=1e-4)


def test_against_lapack():
    n, below, above = 777, 11, 6
    diagonals, b = band(n, below, above, "float64"), right_side(n, "float64")
    rows = np.zeros((below + above + 1, n))
    for k, v in diagonals.items():
        rows[above - k, max(0, k) : n + min(0, k)] = v
    expected = scipy.linalg.solve_banded((below, above), rows, b)
    assert np.allclose(ds.solve(matrix(diagonals, n), b), expected, rtol=1e-12, atol=1e-13)


def test_memory_is_refused_and_returned(monkeypatch):
    from diagsparse._backends import memory

    n = 500_000
    A = matrix(band(n, 5, 5, "float64"), n)
    core, device = A._core, A._backend.index
    ds.factorized(A)
    before = core.used(device)
    F = ds.factorized(A)
    assert 0.99 * F.nbytes <= core.used(device) - before <= 1.1 * F.nbytes
    del F
    assert core.used(device) == before
    monkeypatch.setattr(memory, "available_bytes", lambda backend=None: 1000)
    with pytest.raises(MemoryError, match="factors of a band of 500000 rows"):
        ds.factorized(A)
