"""Random matrices of random shapes (0 to 40), structures and dtypes, against dense arithmetic."""

import numpy as np
import scipy.sparse as sp
from cases import DIAGONAL, DTYPES, VIEWS, fits
from formats import decode
from hypothesis import given
from hypothesis import strategies as st
from oracle import assert_within, check_matmul, long, longest_row, seen

import diagsparse as ds

EXTENTS = st.integers(0, 40)
FORMATS = st.sampled_from(ds.formats())
OPS = st.sampled_from(list(VIEWS))
NUMBERS = st.sampled_from(DTYPES)


@st.composite
def matrices(draw, shape=None, dtype=None):
    """Return a SciPy csr_array on some diagonals, with holes and explicit zeros in them."""
    m, n = shape or (draw(EXTENTS), draw(EXTENTS))
    dtype = np.dtype(dtype or draw(NUMBERS))
    offsets = draw(st.sets(st.integers(1 - m, n - 1), max_size=12)) if m and n else set()
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    fill = draw(st.sampled_from([0.3, 0.9, 1.0]))
    pairs = [(i, i + k) for k in offsets for i in range(max(0, -k), min(m, n - k)) if rng.random() < fill]
    rows, columns = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
    values = rng.integers(-8, 9, len(pairs)) / 4  # zeros among them; sums and products of these are exact
    if dtype.kind == "c":
        values = values + 1j * rng.integers(-8, 9, len(pairs)) / 4
    return sp.csr_array((values.astype(dtype), (rows, columns)), shape=(m, n))


def vector(n, dtype, columns=None):
    """Return values in quarters, so that every sum of products is exact in any order."""
    rng = np.random.default_rng(n)
    size = n if columns is None else (n, columns)
    values = rng.integers(-8, 9, size) / 4
    return (values + 1j * rng.integers(-8, 9, size) / 4 if "c" in dtype else values).astype(dtype)


def formats_for(*shapes):
    return [f for f in ds.formats() if all(fits(f, shape) for shape in shapes)]


@given(matrices(), OPS, NUMBERS)
def test_matvec(a, op, dtype):
    dense = seen(a.toarray(), op)
    x, z = vector(dense.shape[1], dtype), vector(dense.shape[0], dtype)
    expected = np.result_type(a.dtype, dtype)
    for format in formats_for(a.shape):
        V = VIEWS[op](ds.array(a, format))
        for kernel in V.kernels("matvec"):
            y = V.matvec(x, kernel=kernel)
            assert y.dtype == expected and np.array_equal(y, dense @ x)
            assert np.array_equal(V.rmatvec(z, kernel=kernel), dense.conj().T @ z)
        assert np.array_equal(z @ V, z @ dense)


@given(matrices(), OPS, st.integers(0, 20), st.sampled_from("CF"), st.integers(1, 3))
def test_blocks(a, op, columns, order, step):
    dense = seen(a.toarray(), op)
    wide = np.asarray(vector(dense.shape[1], "float64", columns * step), order=order)
    x = wide[:, ::step]
    for format in formats_for(a.shape):
        V = VIEWS[op](ds.array(a, format))
        for kernel in V.kernels("matvec"):
            y0 = np.ones((dense.shape[0], x.shape[1]), np.result_type(a.dtype, x.dtype))
            assert np.array_equal(V.matvec(x, kernel=kernel), dense @ x)
            y = V.matvec(x, out=y0.copy(order=order), alpha=2, beta=-1, kernel=kernel)
            assert np.array_equal(y, 2 * (dense @ x) - y0)


@given(st.data(), OPS, OPS)
def test_products(data, op_a, op_b):
    a = data.draw(matrices())
    k = seen(a, op_a).shape[1]
    n = data.draw(EXTENTS)
    b = data.draw(matrices(shape=(k, n) if op_b in "NC" else (n, k)))
    left, right = seen(a, op_a), seen(b, op_b)
    expected = left.toarray() @ right.toarray()
    shape = expected.shape
    for format in formats_for(a.shape, shape):
        for other in {format, data.draw(FORMATS)} & set(formats_for(b.shape)):
            A, B = VIEWS[op_a](ds.array(a, format)), VIEWS[op_b](ds.array(b, other))
            for kernel in A.kernels("matmul") or [None]:
                C = ds.matmul(A, B, kernel=kernel if format in DIAGONAL and other in DIAGONAL else None)
                assert np.array_equal(C.toarray(), expected) and C.shape == shape
                assert C.nbytes == ds.forecast("matmul", A, B).result_nbytes
            check_matmul(C, left, right, (format, other))


@given(matrices(), OPS, FORMATS, FORMATS)
def test_conversions(a, op, first, second):
    dense = seen(a.toarray(), op)
    if fits(first, a.shape) and fits(second, a.shape):
        V = VIEWS[op](ds.array(a, first))
        B = V.asformat(second)
        assert np.array_equal(V.toarray(), dense) and np.array_equal(B.toarray(), dense)
        result = B.copy()
        assert np.array_equal(decode(result.format, result.parts(), result.shape), dense)
        assert np.array_equal(V.to_scipy().toarray(), dense)
        assert ds.memory_report(V)[second] >= (0 if second == V.format else B.nbytes)


@given(st.data())
def test_sums_and_elementwise_products(data):
    a = data.draw(matrices())
    b = data.draw(matrices(shape=a.shape))
    x, y = a.toarray(), b.toarray()
    for first in formats_for(a.shape):
        second = data.draw(st.sampled_from(formats_for(a.shape)))
        A, B = ds.array(a, first), ds.array(b, second)
        for result, expected in (
            (A + B, x + y),
            (A - B, x - y),
            (A * B, x * y),
            (2 * A, 2 * x),
            (-A, -x),
            (A * y, x * y),
        ):
            assert np.array_equal(result.toarray(), expected)
        assert np.array_equal((A.T - B.T).toarray(), x.T - y.T)
        for axis in (None, 0, 1):
            assert np.array_equal(A.sum(axis=axis), x.sum(axis=axis))
        assert A.count_nonzero() == np.count_nonzero(x)


@given(st.data(), st.sampled_from("NTH"), st.sampled_from([None, "lower", "upper"]))
def test_syrk(data, trans, triangle):
    a = data.draw(matrices())
    dense = a.toarray()
    left = {"N": dense, "T": dense.T, "H": dense.conj().T}[trans]
    right = {"N": dense.T, "T": dense, "H": dense}[trans]
    keep = {None: lambda c: c, "lower": np.tril, "upper": np.triu}[triangle]
    c = data.draw(matrices(shape=(left.shape[0],) * 2, dtype=a.dtype))
    for format in formats_for(a.shape):
        A = ds.array(a, format)
        assert np.array_equal(ds.syrk(A, trans=trans, triangle=triangle).toarray(), keep(left @ right))
        C = ds.syrk(A, ds.array(c, "csr"), beta=-2, trans=trans, triangle=triangle)
        assert np.array_equal(C.toarray(), keep(left @ right - 2 * c.toarray()))


@given(matrices(), st.floats(-4, 4), st.floats(-4, 4))
def test_any_alpha_and_beta(a, alpha, beta):
    """Scalars that are not representable: within the bound."""
    real = a.dtype.type(0).real.dtype.type
    alpha, beta = float(real(alpha)), float(real(beta))
    x, y0 = vector(a.shape[1], a.dtype.name), vector(a.shape[0], a.dtype.name)
    la = long(a)
    for format in formats_for(a.shape):
        A = ds.array(a, format)
        for kernel in A.kernels("matvec"):
            y = A.matvec(x, out=y0.copy(), alpha=alpha, beta=beta, kernel=kernel)
            ref = alpha * (la @ long(x)) + beta * long(y0)
            magnitude = abs(alpha) * (abs(la) @ abs(long(x))) + abs(beta) * abs(long(y0)) + np.finfo(real).tiny
            assert_within(y, ref, magnitude, longest_row(a), (format, kernel))
