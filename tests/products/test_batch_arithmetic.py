"""Arithmetic of batches, their selections, and products with blocks of columns, against a loop over the members."""

import numpy as np
import pytest
from batches import batch, dense, of
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


def check_blocks(y, b, x, what, op="N", alpha=1, beta=0, y0=None):
    """Assert that y is the product of the members with blocks, or one block for all."""
    a = dense(b)
    a = long(np.conj(a.transpose(0, 2, 1)) if op == "H" else a)
    blocks = np.broadcast_to(long(x), (b.count, *x.shape[-2:]))
    ref, magnitude = alpha * (a @ blocks), abs(alpha) * (abs(a) @ abs(blocks))
    if beta != 0:
        ref, magnitude = ref + beta * long(y0), magnitude + abs(beta) * abs(long(y0))
    assert_within(y, ref, magnitude, a.shape[2], what, np.result_type(b.dtype, x.dtype))


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
            check(b / number, [p / number for p in ones], f"{name} / {number}", b)
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


# ---- blocks of columns --------------------------------------------------------------------------------------------
@EACH_FORMAT
@EACH_DTYPE
def test_blocks_of_columns(device, format, dtype):
    for name in holding(format, (*NAMES, "banded 65")):
        for count in (1, 3):
            b = of(name, format, count, dtype, device)
            (m, n), what = b.shape, f"{name}, {count}"
            for p in (0, 1, 2, 5):
                for shape in ((n, p), (count, n, p), (1, n, p)):
                    if shape == (count, n):
                        continue  # vectors
                    x = random(int(np.prod(shape)), dtype, name).reshape(shape)
                    y = to_host(b.matvec(to_device(x, device)))
                    check_blocks(y, b, x, f"{what}, {shape}")
                    assert np.array_equal(to_host(b @ to_device(x, device)), y)
                    for i in range(count if device == "cpu" else 0):
                        assert np.array_equal(y[i], b[i] @ np.broadcast_to(x, (count, n, p))[i]), what
                x = random(count * m * p, dtype, name).reshape(count, m, p)
                check_blocks(to_host(b.rmatvec(to_device(x, device))), b, x, what, "H")


def test_orders_and_types_of_blocks(device):
    b = of("banded 64", "dia", 3, "float64", device)
    x = random(3 * 64 * 4, "float64").reshape(3, 64, 4)
    for given in (np.asfortranarray(x), np.repeat(x, 2, axis=2)[:, :, ::2], x.transpose(0, 2, 1).copy().transpose(0, 2, 1)):
        check_blocks(to_host(b @ to_device(given, device)), b, x, "order")
    for dtype in (*DTYPES, "int32", "float16"):
        y = x.astype(dtype)
        check_blocks(to_host(b @ to_device(y, device)), b, y, dtype)
    assert (b @ x.tolist()).shape == (3, 64, 4)


def test_blocks_with_out_and_factors(device):
    b = of("wide 20 x 70", "hm", 3, "float64", device)
    x, y0 = random(3 * 70 * 2, "float64").reshape(3, 70, 2), random(3 * 20 * 2, "float64").reshape(3, 20, 2)
    for alpha, beta in ((1, 0), (-2, 0), (0.5, 3)):
        for shared in (x, x[0]):
            out = to_device(y0.copy(), device)
            assert b.matvec(to_device(shared, device), out=out, alpha=alpha, beta=beta) is out
            check_blocks(to_host(out), b, shared, f"{alpha}, {beta}", alpha=alpha, beta=beta, y0=y0)
    if device == "cpu":
        out = np.asfortranarray(y0)
        assert b.matvec(x, out=out, alpha=2, beta=-1) is out
        check_blocks(out, b, x, "F order", alpha=2, beta=-1, y0=y0)
    else:
        with raises(ValueError, "out is not in C order"):
            b.matvec(to_device(x, device), out=to_device(np.asfortranarray(y0), device))
    with raises(ValueError, "out has shape (3, 20, 3), expected (3, 20, 2)"):
        b.matvec(to_device(x, device), out=to_device(np.zeros((3, 20, 3)), device))
    with raises(ValueError, "beta"):
        b.matvec(to_device(x, device), beta=1)
    square = of("banded 64", "dia", 3, "float64", device)
    same = to_device(random(3 * 64 * 2, "float64").reshape(3, 64, 2), device)
    expected = to_host(square @ same)
    assert square.matvec(same, out=same) is same
    assert np.array_equal(to_host(same), expected)


def test_a_square_array_has_a_vector_for_each_member():
    b = of("banded 9", "dia", 9)
    x = random(81, "float64").reshape(9, 9)
    assert np.array_equal((b @ x)[4], b[4] @ x[4])
    assert (b @ x[np.newaxis]).shape == (9, 9, 9)
    assert np.array_equal((b @ x[np.newaxis])[4], b[4] @ x)


def test_large_members_times_blocks(device):
    A = make("dia", ds.gallery.banded(70_000, 1, 2), device=device)
    b = batch(A, 2)
    x = random(2 * 70_000 * 3, "float64").reshape(2, 70_000, 3)
    y = to_host(b @ to_device(x, device))
    for i in range(2):
        one = b[i].to("cpu") @ x[i]
        assert_within(y[i], long(one), abs(long(one)) + 1, 8, "large")


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


# ---- plans --------------------------------------------------------------------------------------------------------
def test_plans(device):
    for format in DIAGONAL:
        b = of("banded 64", format, 5, "float64", device)
        plan = ds.plan_matvec(b)
        assert (plan.shape, plan.count, plan.workspace_nbytes) == ((64, 64), 5, 0)
        assert plan.nbytes == b.nbytes + 5 * 128 * 8 and plan.kernel in repr(plan) and "5 " in repr(plan)
        for shape in ((64,), (5, 64), (64, 3), (5, 64, 3)):
            x = to_device(random(int(np.prod(shape)), "float64").reshape(shape), device)
            y = plan(x)
            assert np.array_equal(to_host(y), to_host(b @ x))
            with plan as same:
                assert same(x, out=y, alpha=2) is y
            assert np.array_equal(to_host(y), to_host(b.matvec(x, alpha=2)))
    with raises(ValueError, "plan_matvec: kernel", "batch"):
        ds.plan_matvec(b, kernel="row_tiles")


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
        check(b / 2, [p / 2 for p in ones], f"{name} / 2", b)
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
