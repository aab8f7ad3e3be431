"""Arithmetic of batches, their selections, and products with blocks of columns, against a loop over the members."""

import numpy as np
import pytest
from batches import batch, of
from cases import DIAGONAL, DTYPES, EACH_DTYPE, fits, holding, make, matrix, ours, raises, random, to_device, to_host
from oracle import assert_within, long

import diagsparse as ds

EACH_FORMAT = pytest.mark.parametrize("format", DIAGONAL)
NAMES = "0x5", "5x0", "1x7", "nothing stored", "banded 64", "corners 65", "wide 20 x 70", "tall 70 x 20"


def members(b):
    """Return the members as SciPy arrays."""
    return [A.to("cpu").to_scipy("csr") for A in b]


def check(result, expected, what, like=None):
    """Assert that a batch consists of these matrices (dense or SciPy's), with one rounding at most."""
    assert result.count == len(expected), what
    if like is not None:
        assert (type(result), result.format, result.device) == (type(like), like.format, like.device), what
    for i, (A, one) in enumerate(zip(result, expected, strict=True)):
        ref = one.toarray() if hasattr(one, "toarray") else one
        assert_within(A.toarray(), long(ref), abs(long(ref)), 1, f"{what}, member {i}", ref.dtype)


# ---- sums and multiples -------------------------------------------------------------------------------------------
@EACH_FORMAT
@EACH_DTYPE
def test_sums(device, format, dtype):
    for name in holding(format, NAMES):
        b, c = of(name, format, 3, dtype, device), of(name, format, 3, dtype, device) * 2
        A = ours(name, "csr", dtype)
        for other in (c, ours(name, format, dtype, device), ours(name, "hm", dtype, device), A.to(device)):
            others = members(other) if isinstance(other, ds.batch_array) else [other.to("cpu").to_scipy("csr")] * 3
            pairs = list(zip(members(b), others, strict=True))
            check(b + other, [p + q for p, q in pairs], f"{name} +", b)
            check(other + b, [q + p for p, q in pairs], f"{name} r+", b)
            check(b - other, [p - q for p, q in pairs], f"{name} -", b)
            check(other - b, [q - p for p, q in pairs], f"{name} r-", b)
        check(sum([b, c]), [p + q for p, q in zip(members(b), members(c), strict=True)], "sum", b)


def test_sums_of_other_diagonals(device):
    for format in DIAGONAL:
        b, c = of("banded 65", format, 3, "float64", device), of("corners 65", "hm", 3, "complex64", device)
        both = list(zip(members(b), members(c), strict=True))
        check(b + c, [(p + q) for p, q in both], format, b)
        check(c - b, [(q - p) for p, q in both], format, c)
        S = matrix("tridiagonal 65")
        check(b + S, [p + S for p in members(b)], format, b)
        V = ours("hessenberg 31", format, "float64", device)
        b = batch(V, 2)
        check(b - V.T, [p - V.T.to("cpu").to_scipy("csr") for p in members(b)], format, b)
        packed = make("dia", ds.gallery.tridiagonal(31), symmetry="symmetric", device=device)
        check(b + packed, [p + ds.gallery.tridiagonal(31) for p in members(b)], format, b)


@EACH_FORMAT
@EACH_DTYPE
def test_multiples(device, format, dtype):
    for name in holding(format, NAMES):
        b = of(name, format, 3, dtype, device)
        ones = members(b)
        check(-b, [-p for p in ones], f"-{name}", b)
        for number in (2, 0.1, np.float64(3)):
            check(b * number, [p * number for p in ones], f"{name} {number}", b)
            check(number * b, [p * number for p in ones], f"{name} {number}", b)
            check(b / number, [p.toarray() / number for p in ones], f"{name} / {number}", b)
        for other in (*DTYPES, "int32"):
            if other == "int32" and dtype in ("float32", "complex64"):
                continue  # NumPy's common type is float64, SciPy's product of a number is not
            factors = (random(3, "float32", name) * 8).astype(other)
            expected = [p.astype(np.result_type(p.dtype, other)) * f for p, f in zip(ones, factors, strict=True)]
            check(b * to_device(factors, device), expected, f"{name}, {other}", b)
            check(to_device(factors, device) * b if device == "cpu" else b * factors, expected, f"{name}, {other}", b)


# ---- transposes, diagonals, selections ----------------------------------------------------------------------------
@EACH_FORMAT
@EACH_DTYPE
def test_transposes_and_diagonals(device, format, dtype):
    for name in holding(format, NAMES):
        b = of(name, format, 3, dtype, device)
        ones = members(b)
        check(b.T, [p.T for p in ones], f"{name}.T", b)
        check(b.H, [p.T.conj() for p in ones], f"{name}.H", b)
        check(b.conj(), [p.conj() for p in ones], f"{name}.conj", b)
        check(b.T.T, ones, f"{name}.T.T", b)
        m, n = b.shape
        for k in range(1 - m, n):
            got = to_host(b.diagonal(k))
            assert np.array_equal(got, [p.diagonal(k) for p in ones]), f"{name}, {k}"
        for k in (-m, n):
            with raises(ValueError, f"diagonal: k={k}", f"{m} x {n}"):
                b.diagonal(k)


@EACH_FORMAT
def test_selections(device, format):
    b = of("banded 64", format, 7, "float64", device)
    ones = members(b)
    for part in (slice(2, 5), slice(None), slice(-3, None), slice(5, 2), slice(None, None, 2), slice(6, 1, -2),
                 slice(None, None, -1), slice(3, 4)):  # fmt: skip
        check(b[part], ones[part], f"{part}", b)
    view = b[2:5]
    assert b._core.overlap(view._matrix.values, b._matrix.values)
    assert not b._core.overlap(b[::2]._matrix.values, b._matrix.values)
    if device == "cpu":
        view.values[0] = 3
        assert np.array_equal(b[2].values, np.full_like(b[2].values, 3))
    with raises(TypeError, "index", "integer"):
        b[1.5]


def test_operands_are_not_changed():
    b = of("banded 64", "dia", 3)
    before = b.values.copy()
    results = [b + b, b - b, -b, b * 2, b * np.arange(3.0), b / 2, b.T, b.H, b.conj(), b[::-1]]
    for result in results:
        result.values[...] = 7
    b.diagonal(0)[...] = 7
    assert np.array_equal(b.values, before)


def test_bits_do_not_depend_on_threads():
    b = of("banded 200", "dia", 40)
    x, factors = random(40 * 200 * 3, "float64").reshape(40, 200, 3), random(40, "float64")
    g = random(40 * 200 * 3, "float64", "g").reshape(40, 200, 3)
    results = set()
    for threads in (1, 2, 3):
        ds.set_num_threads(threads)
        done = b @ x, (b * factors).values, (b + b).values, ds.sampled_product(b, g, x).values
        results.add(tuple(part.tobytes() for part in done))
    assert len(results) == 1


# ---- sampled products ---------------------------------------------------------------------------------------------
@EACH_FORMAT
@EACH_DTYPE
def test_sampled_products_of_members(device, format, dtype):
    for name in holding(format, NAMES):
        b = of(name, format, 3, dtype, device)
        m, n = b.shape
        for left, right in (((3, m), (3, n)), ((m,), (3, n)), ((m,), (n,)), ((3, m, 4), (3, n, 4)), ((m, 4), (3, n, 4)),
                            ((3, m, 0), (n, 0)), ((1, m, 1), (3, n, 1))):  # fmt: skip
            x, y = (random(int(np.prod(s)), dtype, name, s).reshape(s) for s in (left, right))
            C = ds.sampled_product(b, to_device(x, device), to_device(y, device))
            assert (type(C), C.format, C.count, C.device) == (ds.batch_array, format, 3, b.device)
            for i in range(3):
                one = ds.sampled_product(b[i].to("cpu"), of_member(x, left, m, i), of_member(y, right, n, i)).toarray()
                assert_within(C[i].toarray(), long(one), abs(long(one)) + 4, 4, f"{name}, {i}", np.dtype(dtype))
            out = C.copy()
            out.values.fill(7)
            assert ds.sampled_product(b, to_device(x, device), to_device(y, device), out=out) is out
            for i in range(3):
                assert np.array_equal(out[i].toarray(), C[i].toarray())


def of_member(x, shape, n, i):
    """Return the vector or block of a member."""
    return x if shape[0] == n and len(shape) < 3 else x[min(i, len(x) - 1)]


def test_sampled_products_that_do_not_fit(device):
    b = of("wide 20 x 70", "dia", 3, "float64", device)

    def product(x, y, **options):
        return ds.sampled_product(b, to_device(np.zeros(x), device), to_device(np.zeros(y), device), **options)

    with raises(ValueError, "sampled_product: X has shape (3, 70)", "(3, 20) or (3, 20, p)"):
        product((3, 70), (3, 70))
    with raises(ValueError, "sampled_product: Y has shape (2, 70)"):
        product((3, 20), (2, 70))
    with raises(ValueError, "another number of columns"):
        product((3, 20, 2), (3, 70, 3))
    with raises(TypeError, "out is dia_array, expected a batch_array"):
        product((20,), (70,), out=b[0])
    with raises(ValueError, "expected 3 members"):
        product((20,), (70,), out=b[:2])
    with raises(TypeError, "out is float32"):
        product((20,), (70,), out=of("wide 20 x 70", "dia", 3, "float32", device))


# ---- interleaved batches ------------------------------------------------------------------------------------------
@EACH_FORMAT
@EACH_DTYPE
def test_interleaved_batches(device, format, dtype):
    for name in holding(format, ("1x7", "banded 64", "wide 20 x 70", "corners 65")):
        rows = of(name, format, 3, dtype, device)
        b = ds.interleaved_batch(rows)
        ones = members(rows)
        check(b + b, [p + p for p in ones], f"{name} +", b)
        check(b - b * 2, [-p for p in ones], f"{name} -", b)
        check(sum([b]), ones, f"{name} sum", b)
        check(-b, [-p for p in ones], f"-{name}", b)
        check(b / 2, [p.toarray() / 2 for p in ones], f"{name} / 2", b)
        factors = random(3, dtype, "factors")
        check(b * to_device(factors, device), [p * f for p, f in zip(ones, factors, strict=True)], f"{name} *", b)
        check(b.T, [p.T for p in ones], f"{name}.T", b)
        check(b.H, [p.T.conj() for p in ones], f"{name}.H", b)
        for part in (slice(1, 3), slice(None, None, -2)):
            check(b[part], ones[part], f"{name}, {part}", b)
        for k in (0, 1, -1, b.shape[1] - 1):
            if -b.shape[0] < k:
                assert np.array_equal(to_host(b.diagonal(k)), np.transpose([p.diagonal(k) for p in ones])), name
        m, n = b.shape
        x, y = random(3 * m, dtype, "x").reshape(m, 3), random(3 * n, dtype, "y").reshape(n, 3)
        for left, right in ((x, y), (x[:, 0], y), (x[:, 0], y[:, 0])):
            C = ds.sampled_product(b, to_device(left, device), to_device(right, device))
            assert isinstance(C, ds.interleaved_batch)
            expected = ds.sampled_product(rows, to_device(left.T.copy(), device), to_device(right.T.copy(), device))
            assert np.array_equal(C.contiguous().to("cpu").values, expected.to("cpu").values)
        plan = ds.plan_matvec(b)
        assert np.array_equal(to_host(plan(to_device(y, device))), to_host(b @ to_device(y, device)))


def test_what_interleaved_batches_refuse():
    b = ds.interleaved_batch(of("banded 64", "dia", 3))
    with raises(ValueError, "x has shape (3, 64, 2)", "contiguous()"):
        b @ np.zeros((3, 64, 2))
    with raises(TypeError, "unsupported operand"):
        b + of("banded 64", "dia", 3)
    with raises(ValueError, "A is", "B is"):
        b + ds.interleaved_batch(of("banded 64", "dia", 2))
    with raises(IndexError, "at least one"):
        b[3:3]


# ---- bad input ----------------------------------------------------------------------------------------------------
def test_operands_that_do_not_fit():
    b = of("banded 64", "dia", 3)
    with raises(ValueError, "+: A is a batch of 3, B of 2"):
        b + b[:2]
    with raises(ValueError, "+: the members are 64 x 64, the other operand is 65 x 65"):
        b + of("banded 65", "dia", 3)
    with raises(ValueError, "+: the members are 64 x 64, the other operand is 65 x 65"):
        b - ours("banded 65", "dia")
    for other in (1, 2.5, "a", np.zeros((64, 64)), None):
        with raises(TypeError):
            b + other
    with raises(ValueError, "*: factors have shape (2,)", "(3,)"):
        b * np.ones(2)
    with raises(ValueError, "*: factors have shape (3, 1)"):
        b * np.ones((3, 1))
    for other in (b, ours("banded 64", "dia"), "a", None):
        with raises(TypeError):
            b * other
    with raises(TypeError):
        b / np.ones(3)
    with raises(TypeError, "k='a'"):
        b.diagonal("a")
    assert fits("dia", b.shape)
