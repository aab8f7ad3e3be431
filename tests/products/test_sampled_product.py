"""Products sampled on a structure: the stored elements of X Y^T, and those elements alone."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import (
    BIG,
    DTYPES,
    EACH_DTYPE,
    MEDIUM,
    VIEWS,
    case,
    fits,
    holding,
    make,
    matrix,
    ours,
    raises,
    random,
    to_device,
    to_host,
)  # fmt: skip
from oracle import assert_within, long
from sampled_products import FORMATS, check, columns, operands, sampled, structure

import diagsparse as ds

EACH_FORMAT = pytest.mark.parametrize("format", FORMATS)
WIDTHS = None, 0, 1, 3, 16, 21  # columns; None: vectors


# ---- values -------------------------------------------------------------------------------------------------------
@pytest.mark.quick
@EACH_FORMAT
@EACH_DTYPE
def test_elements_of_each_structure(device, format, dtype):
    for name in holding(format, MEDIUM):
        A = ours(name, format, dtype, device)
        stored = structure(A)
        for width in WIDTHS:
            with case(f"{name}, {width}"):
                x, y = operands(A.shape, width, dtype, name)
                C = sampled(A, x, y, device)
                check(C, stored, x, y, name, np.dtype(dtype))
                assert type(C) is type(A) and C.device == A.device and C.nnz == A.nnz
                assert np.array_equal(structure(C), stored)


@EACH_FORMAT
def test_large_matrices(device, format):
    for name in holding(format, (*BIG, "random diagonals 1000")):
        A = ours(name, format, "float64", device)
        ones = A.copy()
        ones.values = 1
        rows, cols = (to_host(i) for i in ones.tocsr().to("cpu").to_scipy("csr").nonzero())
        for width, orders in ((None, "CC"), (4, "CC"), (4, "FF"), (4, "CF")):
            x, y = operands(A.shape, width, "float64", name, orders)
            C = sampled(A, x, y, device).tocsr().to("cpu").to_scipy("csr")
            got = np.asarray(C[rows, cols]).ravel()
            left, right = columns(x), columns(y)
            ref = (left[rows] * right[cols]).sum(axis=1)
            assert_within(got, ref, (abs(left[rows]) * abs(right[cols])).sum(axis=1), left.shape[1], name)


@EACH_FORMAT
def test_memory_orders(device, format):
    for name in holding(format, ("banded 65", "wide 20 x 70", "random diagonals 127")):
        A = ours(name, format, "float64", device)
        m, n = A.shape
        x, y = operands(A.shape, 6, "float64", name)
        plain = sampled(A, x, y, device)
        for orders in ("CF", "FC", "FF"):
            xs, ys = (np.array(v, order=order) for v, order in zip((x, y), orders, strict=True))
            check(sampled(A, xs, ys, device), structure(A), x, y, f"{name}, {orders}")
        wide = to_device(np.repeat(np.repeat(x, 2, axis=0), 2, axis=1), device)
        back = to_device(np.array(y[::-1, ::-1]), device)
        for given in (wide[::2, ::2], to_device(np.array(x[::-1]), device)[::-1]):
            C = ds.sampled_product(A, given, back[::-1, ::-1])
            check(C, structure(A), x, y, f"{name}, strides")
        column = to_device(np.array(x), device)
        C = ds.sampled_product(A, column[:, 1], to_device(y, device)[:, 2])
        check(C, structure(A), x[:, 1], y[:, 2], f"{name}, columns")
        C = ds.sampled_product(A, column[:, 1:2], to_device(y, device)[:, 2:3])
        check(C, structure(A), x[:, 1], y[:, 2], f"{name}, single columns")
        assert plain.shape == (m, n)


def test_both_orders_of_diagonals_have_the_same_bits(device):
    for name in ("banded 200", "random diagonals 1000", "wide 20 x 70"):
        for dtype in DTYPES:
            A = ours(name, "hm", dtype, device)
            x, y = operands(A.shape, 7, dtype, name)
            C, F = (sampled(A, np.array(x, order=o), np.array(y, order=o), device) for o in "CF")
            assert np.array_equal(C.to("cpu").values, F.to("cpu").values), (name, dtype)


@EACH_FORMAT
def test_views(device, format):
    for name in holding(format, ("banded 65", "wide 20 x 70", "empty rows")):
        A = ours(name, format, "complex128", device)
        for op, view in VIEWS.items():
            V = view(A)
            x, y = operands(V.shape, 3, "complex128", name + op)
            C = sampled(V, x, y, device)
            check(C, structure(V), x, y, f"{name}, {op}")
            assert type(C) is type(V)
            assert sampled(V, y=y, x=x, device=device, out=C) is C
            check(C, structure(V), x, y, f"{name}, {op}, out")


@EACH_FORMAT
def test_types_of_operands(device, format):
    A = ours("banded 63", format, "float32", device)
    for first in DTYPES:
        for second in (*DTYPES, "int32", "bool", "float16"):
            x = random(63, first, "x")
            y = random(63, "float32", "y").astype(second)
            C = sampled(A, x, y, device)
            check(C, structure(A), x, y, f"{first}, {second}", np.result_type(np.dtype(first), np.dtype(second)))


def test_the_gradient_of_a_product():
    A = ours("banded 65", "dia", "float64")
    x, b = random(65, "float64", "x"), random(65, "float64", "b")
    loss = lambda B: np.sum((B @ x - b) ** 2) / 2  # noqa: E731
    gradient = ds.sampled_product(A, A @ x - b, x)
    for i, j in ((0, 0), (3, 5), (64, 62)):
        step = 1e-6
        moved = [A + ds.dia_array(sp.csr_array(([s], ([i], [j])), shape=A.shape)) for s in (step, -step)]
        assert gradient[i, j] == pytest.approx((loss(moved[0]) - loss(moved[1])) / (2 * step), rel=1e-6)
    X, B = random(65 * 4, "float64").reshape(65, 4), random(65 * 4, "float64", "B").reshape(65, 4)
    gradient = ds.sampled_product(A, A @ X - B, X)
    assert gradient.toarray()[3, 5] == pytest.approx((A @ X - B)[3] @ X[5])


# ---- structures ---------------------------------------------------------------------------------------------------
def test_packed_patterns_are_stored_in_full(device):
    S = ds.gallery.tridiagonal(40)
    x, y = operands((40, 40), 2, "float64", "packed")
    for options in ({"symmetry": "symmetric"}, {"period": 1}, {"symmetry": "symmetric", "period": 1}):
        for format in ("dia", "hm", "cdm"):
            A = make(format, S, device=device, **options)
            full = A.unpacked()
            C = sampled(A, x, y, device)
            assert C.nnz == full.nnz and type(C) is type(A)
            assert C.symmetry is None and C.period is None
            check(C, structure(full), x, y, f"{format}, {options}")
    A = ds.mdia_array(S, symmetry="symmetric", device=device)
    check(sampled(A, x, y, device), structure(A.unpacked()), x, y, "mdia, symmetric")
    for dtype in ("float16", "bfloat16"):
        if dtype == "bfloat16":
            pytest.importorskip("ml_dtypes")
        for format in ("dia", "hm", "mdia", "bmsparse"):
            A = make(format, S, dtype=dtype, device=device)
            C = sampled(A, x, y, device)
            assert C.dtype == np.float64
            check(C, structure(A.unpacked()), x, y, f"{format}, {dtype}")


def test_palettes_are_not_used(device):
    A = ds.mdia_array(ds.gallery.heisenberg(8), palette=True, device=device)
    assert A.palette
    x, y = operands(A.shape, 2, "float64", "palette")
    C = sampled(A, x, y, device)
    assert not C.palette and C.nnz == A.nnz
    check(C, structure(ds.mdia_array(ds.gallery.heisenberg(8), palette=False)), x, y, "palette")
    check(sampled(A.T, x, y, device), structure(ds.mdia_array(ds.gallery.heisenberg(8), palette=False)).T, x, y, "T")


def test_padding_is_zero(device):
    A = ds.dia_array((np.full((3, 9), 7.0), [-2, 0, 4]), shape=(9, 9), align="row", device=device)
    x, y = operands((9, 9), None, "float64", "padding")
    values = to_host(sampled(A, x, y, device).values)
    inside = [[0 <= i + k < 9 for i in range(9)] for k in (-2, 0, 4)]
    assert not values[~np.array(inside)].any()
    assert values[np.array(inside)].all()


def test_infinities_stay_where_they_are(device):
    for format in FORMATS:
        A = ours("corners 65", format, "float64", device)
        x, y = operands(A.shape, 5, "float64", "inf")
        x[3, 2], y[60, 0] = np.inf, np.nan
        C = sampled(A, x, y, device).toarray()
        stored = structure(A)
        affected = np.zeros((65, 65), bool)
        affected[3, :] = affected[:, 60] = True
        assert np.array_equal(~np.isfinite(C), affected & (stored != 0)), format


def test_matrices_of_scipy():
    S = matrix("banded 9")
    x, y = operands(S.shape, 2, "float64", "scipy")
    C = ds.sampled_product(S, x, y)
    assert isinstance(C, ds.csr_array)
    check(C, (S.toarray() != 0), x, y, "csr")
    assert isinstance(ds.sampled_product(sp.dia_array(S), x, y), ds.dia_array)
    assert isinstance(ds.sampled_product(ds.csr_array(S), x.tolist(), y.tolist()), ds.csr_array)


# ---- out, bits, and what is not changed ---------------------------------------------------------------------------
@EACH_FORMAT
def test_out(device, format):
    A = ours("banded 200", format, "float64", device)
    x, y = operands(A.shape, 3, "float64", "out")
    out = A.copy()
    out.values = np.nan
    assert sampled(A, x, y, device, out=out) is out
    check(out, structure(A), x, y, format)
    before = out.to("cpu").toarray()
    assert sampled(out, y, x, device, out=out) is out  # the pattern itself
    check(out, structure(A), y, x, format)
    single = A.astype("float32")
    with raises(TypeError, "sampled_product: out is float32, but the product is float64"):
        sampled(A, x, y, device, out=single)
    other = ours("banded 200", "hm" if format != "hm" else "csr", "float64", device)
    for wrong in (other, ours("banded 127", format, "float64", device), ours("diagonal 17", format, "float64", device)):
        with raises(ValueError, "sampled_product: out is", "another structure"):
            sampled(A, x, y, device, out=wrong.copy())
    with raises(ValueError, "another structure"):
        sampled(A, x, y, device, out=A.copy().T)
    with raises(TypeError, "out is ndarray", f"{format}_array"):
        sampled(A, x, y, device, out=np.zeros((200, 200)))
    sampled(A, x, y, device, out=out)
    assert np.array_equal(out.to("cpu").toarray(), before)


def test_out_that_cannot_be_written():
    A = ds.dia_array(ds.gallery.tridiagonal(9))
    values = A.values.copy()
    values.flags.writeable = False
    out = ds.dia_array((values, A.offsets), shape=(9, 9), align="row")
    with raises(ValueError, "read-only"):
        ds.sampled_product(A, np.ones(9), np.ones(9), out=out)
    with raises(ValueError, "X or Y is part of the values of out"):
        ds.sampled_product(A, A.values[1], np.ones(9), out=A)
    assert np.array_equal(A.toarray(), ds.gallery.tridiagonal(9).toarray())


@EACH_FORMAT
def test_bits_do_not_depend_on_threads(format):
    for name in holding(format, ("big 20000", "random diagonals 1000")):
        A = ours(name, format)
        for width in (None, 5):
            x, y = operands(A.shape, width, "float64", name)
            results = []
            for threads in (1, 2, 3):
                ds.set_num_threads(threads)
                results.append(ds.sampled_product(A, x, y).values.tobytes())
            assert len(set(results)) == 1, (name, width)


@pytest.mark.gpu
@EACH_FORMAT
def test_bits_are_the_same_in_every_run(format):
    A = ours("big 20000" if fits(format, (20000, 20000)) else "banded 200", format, "float64", "cuda")
    x, y = operands(A.shape, 5, "float64", "runs")
    assert len({sampled(A, x, y, "cuda").to("cpu").values.tobytes() for _ in range(3)}) == 1


def test_large_results_are_the_same(device):
    """Results beyond the size from which a CPU writes them past its caches."""
    n = 250_000
    for format, dtype in (("dia", "float64"), ("hm", "float32"), ("hm", "complex128")):
        A = make(format, ds.gallery.banded(n, 3, 4, dtype=dtype), device=device)
        x, y = operands((n, n), None, dtype, "large")
        C = sampled(A, x, y, device)
        for k in (-3, 0, 4):
            rows = np.arange(max(0, -k), min(n, n - k))
            got = to_host(C.diagonal(k))
            exact = long(x[rows]) * long(y[rows + k])
            assert_within(got, exact, abs(exact), 1, f"{format}, {dtype}, {k}")


def test_integers_give_float64():
    x, y = np.arange(9), np.arange(9, 18) % 2 == 0
    for A in (ours("banded 9", "dia", "float32"), ds.batch_array([ours("banded 9", "dia")] * 2)):
        C = ds.sampled_product(A, x, y)
        expected = ds.sampled_product(A, x.astype(float), y.astype(float))
        assert C.dtype == np.float64 and np.array_equal(C.values, expected.values)
