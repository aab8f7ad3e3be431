"""Interleaved and cyclic batches on a GPU: sizes, layouts, pivoting, errors that name the member."""

import numpy as np
import pytest
from cases import EACH_DTYPE, NO_CUDA

import diagsparse as ds

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)]
EPS = {"float32": 6e-8, "complex64": 6e-8, "float64": 1.1e-16, "complex128": 1.1e-16}
MANY = 2048  # members from which they are solved in this layout


def numbers(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    return (rng.uniform(-1, 1, shape) + (1j * rng.uniform(-1, 1, shape) if dtype[0] == "c" else 0)).astype(dtype)


def batch(n, count, dtype, *, main=2.5, corners=False, format="dia"):
    """Return an interleaved batch on the CPU with a dominant main diagonal, and its diagonals."""
    diagonals = {k: numbers((n - abs(k), count), dtype, 3 + k) for k in (-1, 0, 1) if abs(k) < n}
    diagonals[0] = (diagonals[0] / 4 + main).astype(dtype)
    if corners:
        diagonals |= {k: numbers((1, count), dtype, n + k) / 4 for k in (n - 1, 1 - n)}
    like = ds.diags({k: v[:, 0] for k, v in diagonals.items()}, shape=(n, n), format=format)
    values = np.zeros((*like.values.shape, count), dtype)
    for k, v in diagonals.items():  # where the values of a diagonal are: those of a matrix with ones on it
        ones = ds.diags({j: np.full(len(w), j == k, dtype) for j, w in diagonals.items()}, shape=(n, n), format=format)
        values[ones.values != 0] = v
    return ds.interleaved_batch(values, like), diagonals


def image(diagonals, x, trans="N"):
    """Return the products of all members with the columns of x, in double precision, and the sums of rows."""
    y, size = 0 * x, np.zeros(x.shape)
    for k, v in diagonals.items():
        v = v.astype(x.dtype).conj() if trans == "H" else v.astype(x.dtype)
        rows, cols = slice(max(0, -k), len(x) - max(0, k)), slice(max(0, k), len(x) + min(0, k))
        rows, cols = (rows, cols) if trans == "N" else (cols, rows)
        y[rows] += v * x[cols]
        size[rows] += abs(v)
    return y, size


def check(diagonals, x, b, dtype, trans="N", factor=256):
    wide = np.result_type(dtype, np.float64)
    y, size = image(diagonals, x.astype(wide), trans)
    b = b[:, None] if b.ndim == 1 else b
    error = abs(b - y).max(axis=0) / (size.max(axis=0) * abs(x).max(axis=0) + abs(b).max(axis=0))
    assert error.max() <= factor * EPS[dtype], (int(error.argmax()), error.max())


@EACH_DTYPE
@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 16, 17, 64, 65, 150, 257, 1000])
def test_sizes(n, dtype):
    """Members that fit in shared memory and others; counts that are no multiple of a warp."""
    for count in (MANY, MANY + 29) if n < 300 else (MANY,):
        b, diagonals = batch(n, count, dtype)
        B = numbers((n, count), dtype, 11)
        A = b.to("cuda")
        F = ds.factorized(A)
        assert F.method == ("tridiagonal" if n > 1 else "diagonal")
        check(diagonals, ds.solve(A, B), B, dtype)
        for trans in "NTH":
            check(diagonals, F.solve(B, trans), B, dtype, trans)
        assert np.array_equal(F.solve(B), F.solve(B))
        check(diagonals, F.solve(B[:, 0]), B[:, 0], dtype)  # one for all members
        check({**diagonals, 0: diagonals[0] + 1}, ds.factorized(A, -1).solve(B), B, dtype)


@pytest.mark.parametrize("format", ["dia", "hm", "cdm"])
@pytest.mark.parametrize("count", [3, MANY])
def test_both_layouts_give_the_same(format, count):
    b, diagonals = batch(33, count, "float64", format=format)
    A, B = b.to("cuda"), numbers((33, count), "float64", 1)
    rows = A.contiguous()
    x = ds.solve(A, B)
    check(diagonals, x, B, "float64")
    assert np.allclose(ds.solve(rows, B.T).T, x, rtol=1e-12, atol=1e-14)
    assert np.array_equal(ds.solve(A, np.asfortranarray(B)), x)  # b in the other memory order
    assert np.array_equal(ds.interleaved_batch(rows).values.get(), b.values)
    y = A @ B
    assert np.allclose(y, image(diagonals, B)[0], atol=1e-13) and np.allclose((rows @ B.T).T, y, atol=1e-13)
    wide = ds.factorized(A).solve(B + 1j * B)
    assert wide.dtype == np.complex128 and np.allclose(wide, x + 1j * x)
    assert np.allclose((A[-1].to("cpu") @ x[:, -1]), B[:, -1])


def test_arrays_of_cupy_stay_there():
    cupy = pytest.importorskip("cupy")
    b, diagonals = batch(20, MANY, "float64")
    A, B = b.to("cuda"), cupy.asarray(numbers((20, MANY), "float64", 1))
    for given in (B, cupy.asfortranarray(B)):
        for x in (ds.solve(A, given), ds.factorized(A)(given)):
            assert isinstance(x, cupy.ndarray)
            check(diagonals, x.get(), B.get(), "float64")
    values = cupy.asarray(b.values)
    shared = ds.interleaved_batch(values, b[0].to("cuda"))
    assert shared.values.ptr == values.data.ptr


@EACH_DTYPE
@pytest.mark.parametrize("interleaved", [False, True])
def test_pivoting(interleaved, dtype):
    """A main diagonal of zeros in some members only: elimination without pivoting fails in their first rows."""
    n, count = 40, MANY + 5
    b, diagonals = batch(n, count, dtype)
    values = b.values.copy()
    weak = np.where(np.arange(n - 1) % 2, 0.1, 1.0)[:, None].astype(dtype)  # pairs of rows determine their values
    for some, main in ((slice(3, None, 500), 0.0), (slice(4, None, 500), 1e-7)):
        for k, v in diagonals.items():
            v[:, some] = v[:, some] * main if k == 0 else np.exp(1j * v[:, some]).real * weak
            values[list(b.offsets).index(k), max(0, -k) : n - max(0, k)] = v
    A = ds.interleaved_batch(values, b[0]).to("cuda")
    B = numbers((n, count), dtype, 2)
    if not interleaved:
        rows = A.contiguous()
        x = [ds.solve(rows, B.T).T, ds.factorized(rows).solve(B.T).T, ds.factorized(rows).solve(B.T, "T").T]
    else:
        x = [ds.solve(A, B), ds.factorized(A).solve(B), ds.factorized(A).solve(B, "T")]
    for one, trans in zip(x, "NNT", strict=True):
        check(diagonals, one, B, dtype, trans, 1e4)


@pytest.mark.parametrize("interleaved", [False, True])
def test_errors_name_the_member(interleaved):
    n, count = 12, MANY + 3
    b, _ = batch(n, count, "float64")
    values = b.values.copy()
    values[:, 5, 1234] = 0  # a row of zeros, which pivoting moves down to the last pivot
    values[:, 7, 1500] = 0
    A = ds.interleaved_batch(values, b[0]).to("cuda")
    A = A if interleaved else A.contiguous()
    with pytest.raises(np.linalg.LinAlgError, match="the pivot of row 11 of member 1234 is zero"):
        ds.factorized(A)
    with pytest.raises(np.linalg.LinAlgError, match="member 1234"):
        ds.solve(A, np.ones(n))
    values[:, 5, 1234] = values[:, 7, 1500] = 1
    values[1, 3, 77] = np.nan
    A = ds.interleaved_batch(values, b[0]).to("cuda")
    with pytest.raises(np.linalg.LinAlgError, match="member 77"):
        ds.factorized(A if interleaved else A.contiguous())


def test_one_member_of_another_scale_is_verified_by_itself():
    """The backward error is that of each member: a large one does not hide what is wrong with a small one."""
    n, count = 30, MANY
    b, _ = batch(n, count, "float64")
    values = b.values.copy()
    values[..., ::2] *= 1e-12
    values[1, ::2, 10] *= 1e-9  # needs pivoting
    A = ds.interleaved_batch(values, b[0])
    B, member = numbers((n, count), "float64", 2), A[10].toarray()
    expected = np.linalg.solve(member, B[:, 10])
    A = A.to("cuda")
    for x in (ds.factorized(A).solve(B), ds.factorized(A.contiguous()).solve(B.T).T):
        assert abs(x[:, 10] - expected).max() <= 1e-12 * np.linalg.cond(member) * abs(expected).max()


@EACH_DTYPE
@pytest.mark.parametrize("count", [3, MANY + 1])
@pytest.mark.parametrize("n", [4, 50])
def test_cyclic_batches(n, count, dtype):
    b, diagonals = batch(n, count, dtype, corners=True, main=3)
    B = numbers((n, count), dtype, 2)
    for scale in (1, 1e-12, 1e12):
        if scale != 1 and dtype in ("float32", "complex64"):
            continue
        A = ds.interleaved_batch(scale * b.values, b[0]).to("cuda")
        F, G = ds.factorized(A), ds.factorized(A.contiguous())
        assert F.method == G.method == "cyclic"
        for trans in "NTH":
            for x in (F.solve(B, trans), G.solve(B.T, trans).T):
                check(diagonals, scale * x, B, dtype, trans, 1000)
        x = scale * ds.solve(A, B[:, 0])
        check(diagonals, x, B[:, 0], dtype, factor=1000)


def test_a_singular_member_of_a_cyclic_batch():
    n, count = 16, MANY
    b, _ = batch(n, count, "float64", corners=True, main=3)
    values = b.values.copy()
    row = list(b.offsets).index
    for k, v in ((0, 2.0), (1, -1.0), (-1, -1.0), (n - 1, -1.0), (1 - n, -1.0)):  # its rows add up to zero
        values[row(k), max(0, -k) : n - max(0, k), 321] = v
    A = ds.interleaved_batch(values, b[0]).to("cuda")
    with pytest.raises(np.linalg.LinAlgError, match="member 321"):
        ds.factorized(A)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_a_cyclic_matrix_of_any_scale_and_condition(scale):
    """The residual is compared with |A| |x| + |b|: a solution that is much larger than b may have a larger one."""
    n = 4000
    A = ds.diags(
        {-1: -np.ones(n - 1), 0: np.full(n, 2 + 1e-10), 1: -np.ones(n - 1), n - 1: [-1.0], 1 - n: [-1.0]}, shape=(n, n)
    )
    b = numbers(n, "float64", 4)
    A.values = scale * A.values
    F = ds.factorized(A.to("cuda"))
    assert F.method == "cyclic"
    x = F.solve(b)
    assert abs(A @ x - b).max() <= 1e-9 * (4 * scale * abs(x).max() + 1)
