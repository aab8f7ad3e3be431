"""Blocks of columns on a GPU in C order and in F order, in all formats, with and without memory for copies."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import EACH_DTYPE, NO_CUDA
from libraries import load

import diagsparse as ds
from diagsparse._study.exactness import MatvecCheck, vector

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)]
SAME_BITS = {"dia", "hm", "cdm", "ell", "sell", "jds", "csb"}  # for small blocks in both orders


def of_lengths(lengths, cols, dtype):
    """Return a csr_array whose rows have these lengths, in random columns."""
    rng = np.random.default_rng(0)
    columns = np.concatenate([np.sort(rng.choice(cols, length, replace=False)) for length in lengths])
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    return sp.csr_array((vector(indptr[-1], dtype), columns.astype(np.int32), indptr), shape=(len(lengths), cols))


def banded(n, dtype):
    """Return a band of seven diagonals and two diagonals far away."""
    offsets = [-300, *range(-3, 4), 41]
    return sp.csr_array(sp.dia_array((vector(len(offsets) * n, dtype).reshape(-1, n), offsets), shape=(n, n)))


@EACH_DTYPE
@pytest.mark.parametrize("columns", [2, 3, 5, 16, 64, 140])
@pytest.mark.parametrize("format", ds.formats())
def test_both_orders(format, columns, dtype):
    """Rows of similar lengths, and some that are much longer."""
    lengths = [0, 7, 3, 12] * 150
    for a in (banded(900, dtype), of_lengths([*lengths, 500, *lengths, 200, 65], 1203, dtype)):
        if format == "cdm" and a.shape[0] != a.shape[1]:
            continue
        A = ds.array(a, format, device="cuda")
        X = vector(columns * a.shape[1], dtype).reshape(-1, columns)
        before = vector(columns * a.shape[0], dtype).reshape(-1, columns)
        check = MatvecCheck(a, X)
        Y = A @ X
        of_f = A @ np.asfortranarray(X)
        assert check(Y) <= 1 and check(of_f) <= 1
        assert (A @ X).tobytes() == Y.tobytes() and (A @ np.asfortranarray(X)).tobytes("A") == of_f.tobytes("A")
        if format in SAME_BITS:
            assert np.array_equal(of_f, Y)
        for order in "CF":
            out = np.array(before, order=order)
            A.matvec(np.asfortranarray(X), out=out, alpha=2, beta=-3)
            assert np.abs(out - (2 * Y - 3 * before)).max() <= 8 * (check.bound.max() + np.finfo(dtype).eps * 3)


@EACH_DTYPE
def test_groups_of_columns(dtype):
    """Windows of rows of X that are too long for shared memory as a whole."""
    n = 140_001
    a = sp.csr_array(sp.dia_array((vector(27 * n, dtype).reshape(27, n), range(-13, 14)), shape=(n, n)))
    A = ds.array(a, "hm", device="cuda")
    for columns in (64, 128):
        X = vector(columns * n, dtype).reshape(n, columns)
        for view, op in ((A, a), (A.T, sp.csr_array(a.T))):
            assert MatvecCheck(op, X)(view @ X) <= 1
        assert np.array_equal(A @ np.asfortranarray(X), A @ X)


@pytest.mark.parametrize("format", ["hm", "bmsparse"])
def test_infinities_in_blocks(format):
    """They appear where they meet stored values, not elsewhere in a tile of the matrix units."""
    n = 900
    a = sp.csr_array(sp.dia_array((vector(27 * n, "float64").reshape(27, n), range(-13, 14)), shape=(n, n)))
    X = vector(64 * n, "float64").reshape(n, 64)
    a.data[1000], a.data[-7], X[300, 5], X[n - 1, 40], X[17, 63] = np.inf, np.nan, -np.inf, np.inf, np.nan
    A = ds.array(a, format, device="cuda")
    for columns in (64, 32, 13):
        block = np.ascontiguousarray(X[:, :columns])
        result, expected = A @ block, a @ block
        assert np.array_equal(np.isfinite(result), np.isfinite(expected))
        assert np.allclose(result, expected, rtol=1e-12, atol=1e-13, equal_nan=True)


@EACH_DTYPE
@pytest.mark.parametrize("offsets", [range(-13, 14), [-5000, -128, -1, 0, 1, 128, 5000], range(-70, 71)], ids=len)
def test_large_blocks_in_f_order(offsets, dtype):
    """Diagonals next to each other, a stencil, and more diagonals than fit into shared memory: the bits of C order."""
    n = 66_000
    values = vector(len(offsets) * n, dtype).reshape(-1, n)
    a = sp.csr_array(sp.dia_array((values, offsets), shape=(n, n)))
    A = ds.array(a, "hm", device="cuda")
    symmetry = "symmetric" if dtype.startswith("float") else "hermitian"
    adjoint = sp.csr_array(a.conj().T)
    H = ds.array(a + adjoint, "dia", device="cuda").asformat("dia", symmetry=symmetry)
    for columns in (16, 19):
        X = vector(columns * n, dtype).reshape(n, columns)
        for view in (A, A.T):
            assert np.array_equal(view @ np.asfortranarray(X), view @ X)
    for view, op in ((A, a), (A.H, adjoint), (H, sp.csr_array(a + adjoint))):
        assert MatvecCheck(op, X)(view @ np.asfortranarray(X)) <= 1
    before = vector(columns * n, dtype).reshape(n, columns)
    out = A.matvec(np.asfortranarray(X), out=np.array(before, order="F"), alpha=2, beta=-3)
    assert np.array_equal(out, A.matvec(X, out=before, alpha=2, beta=-3))


@pytest.mark.parametrize("format", ["hm", "csr", "sell", "jds", "csb"])
def test_large_blocks_are_copied(format):
    """Copies in C order have the bits of C order, and so has a product in a graph, which allocates nothing."""
    cupy = load("cupy")
    n, a = 70_000, banded(70_000, "float64")
    A, stream = ds.array(a, format, device="cuda"), cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    with stream:
        x, y = cupy.asarray(vector(32 * n, "float64").reshape(2, n, 16))
        expected = A.matvec(x, out=y.copy(), alpha=2, beta=-3).get()
        check, x, z = MatvecCheck(a, x.get()), cupy.asfortranarray(x), cupy.asfortranarray(y)
        assert np.array_equal(A.matvec(x, out=z.copy(order="F"), alpha=2, beta=-3).get(), expected)
        assert np.array_equal(A.matvec(x, out=y.copy(), alpha=2, beta=-3).get(), expected)
        plan = ds.plan_matvec(A)
        plan(x, out=z)
        product = z.get()
        assert check(product) <= 1
        z[...] = cupy.nan
        stream.synchronize()
        stream.begin_capture()
        plan(x, out=z)
        graph = stream.end_capture()
        graph.launch(stream)
        stream.synchronize()
        assert np.array_equal(z.get(), product)
