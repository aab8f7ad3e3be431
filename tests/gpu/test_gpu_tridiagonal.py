"""Tridiagonal solves on a GPU by partitions: sizes around those of chunks, dominance, batches, pivoting, memory."""

import numpy as np
import pytest
from cases import EACH_DTYPE, NO_CUDA

import diagsparse as ds

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)]
EPS = {"float32": 6e-8, "complex64": 6e-8, "float64": 1.1e-16, "complex128": 1.1e-16}


def three(n, dtype, excess, seed=0):
    """Return the lower, main and upper diagonal; the main one exceeds the sum of the others by `excess`."""
    rng = np.random.default_rng(seed)

    def values(count):
        v = rng.uniform(-1.1, -0.1, count)
        return v * np.exp(1j * rng.uniform(-0.3, 0.3, count)) if dtype[0] == "c" else v

    lower, upper = values(max(0, n - 1)), values(max(0, n - 1))
    main = np.abs(np.append(0, lower)) + np.abs(np.append(upper, 0)) + excess * rng.uniform(1, 2, n)
    main[[0, -1]] += 1  # otherwise the matrix is singular without an excess
    return [v.astype(dtype) for v in (lower, main, upper)]


def right_side(n, dtype, seed=1):
    rng = np.random.default_rng(seed)
    return (rng.uniform(-1, 1, n) + (1j * rng.uniform(-1, 1, n) if dtype[0] == "c" else 0)).astype(dtype)


def backward_error(diagonals, x, b):
    lower, main, upper = (d.astype(np.result_type(d, np.float64)) for d in diagonals)
    x, b = x.astype(main.dtype), b.astype(main.dtype)
    off = b - main * x
    off[1:] -= lower * x[:-1]
    off[:-1] -= upper * x[1:]
    size = abs(main) + np.append(0, abs(lower)) + np.append(abs(upper), 0)
    return abs(off).max() / (size.max() * abs(x).max() + abs(b).max())


def matrix(diagonals, format="hm"):
    lower, main, upper = diagonals
    return ds.diags({-1: lower, 0: main, 1: upper}, shape=(len(main),) * 2, format=format).to("cuda")


@EACH_DTYPE
@pytest.mark.parametrize("excess", [0.5, 1e-3])
def test_sizes_around_those_of_chunks(excess, dtype):
    for n in (2, 3, 7, 8, 9, 31, 33, 255, 256, 257, 1023, 1024, 1025, 2047, 2048, 2049, 4096, 6145, 100003):
        diagonals, b = three(n, dtype, excess), right_side(n, dtype)
        A = matrix(diagonals)
        F = ds.factorized(A)
        assert F.method == "tridiagonal"
        conjugate = [d.conj() for d in diagonals]
        for x, of in (
            (ds.solve(A, b), diagonals),
            (F.solve(b), diagonals),
            (F.solve(b, "T"), diagonals[::-1]),
            (F.solve(b, "H"), conjugate[::-1]),
        ):
            assert x.dtype == np.dtype(dtype) and backward_error(of, x, b) <= 256 * EPS[dtype], n
        B = np.stack([b, 2 * b[::-1], np.ones_like(b)], 1)
        X = F.solve(B)
        for k in range(3):
            assert backward_error(diagonals, X[:, k], B[:, k]) <= 256 * EPS[dtype], n
        assert np.array_equal(F.solve(B[:, 1]), X[:, 1]) and np.array_equal(F.solve(B), X)  # the same bits


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_a_million_rows_without_decay(dtype):
    """-1, 2, -1: every row of the solution depends on every element of b."""
    n = 1 << 20
    if dtype == "complex64":
        n = 5000
    ones = np.ones(n, dtype)
    diagonals, b = (-ones[1:], 2 * ones, -ones[1:]), right_side(n, dtype)
    F = ds.factorized(matrix(diagonals, "dia"))
    for x in (F.solve(b), ds.solve(matrix(diagonals, "csr"), b)):
        assert backward_error(diagonals, x, b) <= 256 * EPS[dtype]


@pytest.mark.parametrize("n", [2, 5, 64, 100, 1500, 2047, 2048, 3000])
@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_batches(n, dtype):
    format = {5: "hm", 100: "cdm", 3000: "hm"}.get(n, "dia")
    like = ds.diags(dict(zip((-1, 0, 1), three(n, dtype, 0.1), strict=True)), shape=(n, n), format=format)
    count = max(3, 9000 // n)
    factors = np.random.default_rng(2).uniform(0.5, 0.52, (count, *like.values.shape)).astype(dtype)
    batch = ds.batch_array(like.values * factors, like)
    B = right_side(count * n, dtype).reshape(count, n)
    F = ds.factorized(batch.to("cuda"))
    for X in (F.solve(B), ds.solve(batch.to("cuda"), B)):
        for i, member in enumerate(batch):
            of = member.diagonal(-1), member.diagonal(), member.diagonal(1)
            assert backward_error(of, X[i], B[i]) <= 256 * EPS[dtype]
    assert np.array_equal(F.solve(B), F.solve(B)) and ds.solve(batch.to("cuda"), B[0]).shape == B.shape
    wide = ds.solve(batch.to("cuda"), B.astype(np.complex128))
    assert wide.dtype == np.complex128 and np.allclose(wide, X, rtol=1e-3, atol=1e-3)
    shared = F.solve(B[0])
    assert backward_error(of, shared[-1], B[0]) <= 256 * EPS[dtype]


def test_a_batch_of_bidiagonal_matrices_and_one_that_needs_pivoting():
    n, count = 33, 100
    lower, main, upper = three(n, "float64", 0.1)
    for diagonals in ({0: main, 1: upper}, {-1: lower, 0: main}, {-1: lower, 0: 0 * main, 1: upper}):
        m = n + 1 if len(diagonals) == 3 else n  # singular without a main diagonal, if n is odd
        diagonals = {k: np.resize(d, m - abs(k)) for k, d in diagonals.items()}
        like = ds.diags(diagonals, shape=(m, m), format="dia")
        batch = ds.batch_array(np.multiply.outer(np.linspace(1, 2, count), like.values), like)
        B = right_side(count * m, "float64").reshape(count, m)
        X = ds.solve(batch.to("cuda"), B)
        for i, member in enumerate(batch):
            assert abs(member @ X[i] - B[i]).max() <= 1e-11 * (4 * abs(X[i]).max() + 1)


@EACH_DTYPE
def test_matrices_that_need_pivoting(dtype):
    """With a main diagonal of zeros, elimination without pivoting fails in the first row."""
    n = 3000
    lower, main, upper = three(n, dtype, 0.5)
    weak = np.where(np.arange(n - 1) % 2, 0.1, 1.0).astype(dtype)  # pairs of rows, which determine their values
    zeros = lower * weak, np.zeros_like(main), upper * weak
    small = lower * weak, 1e-6 * main, upper * weak
    b = right_side(n, dtype)
    for diagonals in (zeros, small):
        A = matrix(diagonals)
        for x in (ds.factorized(A).solve(b), ds.solve(A, b), ds.factorized(A).solve(np.stack([b, b], 1))[:, 1]):
            assert backward_error(diagonals, x, b) <= 1e5 * EPS[dtype]


def test_huge_and_tiny_values():
    n = 5000
    diagonals, b = three(n, "float64", 0.3), right_side(n, "float64")
    for scale in (1e-300, 1e300):
        x = ds.factorized(matrix([scale * d for d in diagonals])).solve(scale * b)
        assert backward_error(diagonals, x, b) <= 256 * EPS["float64"]


def test_rows_of_very_different_scales():
    """The solution does not change if the rows are scaled, and its accuracy should not, either."""
    n = 20000
    lower, main, upper = three(n, "float64", 0.3)
    b = right_side(n, "float64")
    scale = 2.0 ** np.random.default_rng(5).integers(-60, 60, n)
    scale[5000:9000] *= 2.0**200
    A, S = matrix((lower, main, upper)), matrix((scale[1:] * lower, scale * main, scale[:-1] * upper))
    expected = ds.solve(A, b)
    for x in (ds.solve(S, scale * b), ds.factorized(S).solve(scale * b), ds.factorized(A).solve(b)):
        assert abs(x - expected).max() <= 1e-13 * abs(expected).max()


@pytest.mark.parametrize("format", ["hm", "dia", "cdm", "csr", "coo", "ell"])
def test_every_format_and_writing_to_the_matrix_later(format):
    n = 5000
    diagonals, b = three(n, "float64", 0.2), right_side(n, "float64")
    A = ds.array(matrix(diagonals), format)
    F = ds.factorized(A, -0.5)
    G = ds.factorized(A)
    A.values = 7.0
    diagonals_shifted = diagonals[0], diagonals[1] + 0.5, diagonals[2]
    assert backward_error(diagonals_shifted, F.solve(b), b) <= 256 * EPS["float64"]
    assert backward_error(diagonals, G.solve(b), b) <= 256 * EPS["float64"]
    assert backward_error(diagonals[::-1], G.solve(b, "T"), b) <= 256 * EPS["float64"]


def test_bytes_of_the_factors():
    """Where the inverse decays, few weights are stored; otherwise two for each row."""
    n = 1 << 18
    ones = np.ones(n)
    decaying, slow = (ds.factorized(matrix((-ones[1:], d * ones, -ones[1:]))) for d in (3.0, 2.0))
    assert decaying.nbytes < 8 * n * (3 + 3) and decaying.nbytes + 1.7 * 8 * n < slow.nbytes < 8 * n * 8


def test_singular_matrices():
    n = 4000
    ones = np.ones(n)
    neumann = 2 * ones
    neumann[[0, -1]] = 1
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        ds.factorized(matrix((ones[1:], 0 * ones, 0 * ones[1:])))
    for value in (np.nan,):
        broken = 3 * ones
        broken[1234] = value
        for call in (lambda A: ds.factorized(A), lambda A: ds.solve(A, ones)):
            with pytest.raises(np.linalg.LinAlgError, match="singular"):
                call(matrix((-ones[1:], broken, -ones[1:])))


def test_two_streams():
    cupy = pytest.importorskip("cupy")
    n = 200000
    diagonals = three(n, "float64", 1e-3)
    F, streams = ds.factorized(matrix(diagonals)), [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
    result = []
    for i in range(20):
        with streams[i % 2]:
            result.append(F.solve(cupy.full(n, i + 1.0)))
    cupy.cuda.runtime.deviceSynchronize()
    for i, x in enumerate(result):
        assert backward_error(diagonals, x.get(), np.full(n, i + 1.0)) <= 256 * EPS["float64"]


@EACH_DTYPE
@pytest.mark.parametrize("n", [4, 50, 5000])
def test_cyclic_matrices(n, dtype):
    lower, main, upper = three(n, dtype, 0.3)
    corners = right_side(2, dtype)
    A = ds.diags({-1: lower, 0: main + 1, 1: upper, n - 1: corners[:1], 1 - n: corners[1:]}, shape=(n, n))
    dense_or_sparse = A.to_scipy()
    for format in ("hm", "csr"):
        F = ds.factorized(ds.array(A, format).to("cuda"))
        assert F.method == "cyclic"
        for trans, op in (("N", dense_or_sparse), ("T", dense_or_sparse.T), ("H", dense_or_sparse.conj().T)):
            B = np.stack([right_side(n, dtype), right_side(n, dtype, 2)], 1)
            for b in (B, B[:, 0]):
                x = F.solve(b, trans)
                assert abs(op @ x - b).max() <= 300 * EPS[dtype] * (8 * abs(x).max() + 1)


def test_a_cyclic_matrix_whose_tridiagonal_part_is_singular():
    pytest.importorskip("nvmath")
    n = 100
    shift = ds.diags({1: np.ones(n - 1), 1 - n: np.ones(1)}, shape=(n, n)).to("cuda")
    try:
        x = ds.factorized(shift, method="cyclic").solve(np.arange(n))
    except np.linalg.LinAlgError as error:  # cuDSS 0.8 finds no pivots here
        assert "residual of a solution" in str(error)
    else:
        assert np.array_equal(shift.to("cpu") @ x, np.arange(n))
    with pytest.raises(ValueError, match="two corner elements"):
        ds.factorized(ds.array(ds.gallery.tridiagonal(30)).to("cuda"), method="cyclic")


def test_no_wrong_answers_without_an_error():
    """Values that are not finite, and weakly dominant matrices, of which cuSPARSE solves some inaccurately."""
    diagonals, b = three(5000, "float64", 0.5), right_side(5000, "float64")
    for value in (np.inf, np.nan):
        diagonals[1][777] = value
        with pytest.raises(np.linalg.LinAlgError):
            ds.factorized(matrix(diagonals))
    for n in (1023, 2047, 2049, 6145):
        diagonals, b = three(n, "float64", 0.0), right_side(n, "float64")
        for trans, of in (("N", diagonals), ("T", diagonals[::-1])):
            try:
                x = ds.factorized(matrix(diagonals)).solve(b, trans)
            except np.linalg.LinAlgError:
                continue
            assert backward_error(of, x, b) <= 1e-8
