"""Products of batches with blocks of columns, and their plans, against a loop over the members."""

import numpy as np
import pytest
from batches import batch, dense, of
from cases import DIAGONAL, DTYPES, EACH_DTYPE, holding, make, raises, random, to_device, to_host
from oracle import assert_within, long

import diagsparse as ds

EACH_FORMAT = pytest.mark.parametrize("format", DIAGONAL)
NAMES = "0x5", "5x0", "1x7", "nothing stored", "banded 64", "banded 65", "wide 20 x 70", "tall 70 x 20"


def check_blocks(y, b, x, what, op="N", alpha=1, beta=0, y0=None):
    """Assert that y is the product of the members with blocks, or one block for all."""
    a = dense(b)
    a = long(np.conj(a.transpose(0, 2, 1)) if op == "H" else a)
    blocks = np.broadcast_to(long(x), (b.count, *x.shape[-2:]))
    ref, magnitude = alpha * (a @ blocks), abs(alpha) * (abs(a) @ abs(blocks))
    if beta != 0:
        ref, magnitude = ref + beta * long(y0), magnitude + abs(beta) * abs(long(y0))
    assert_within(y, ref, magnitude, a.shape[2], what, np.result_type(b.dtype, x.dtype))


# ---- blocks of columns --------------------------------------------------------------------------------------------
@EACH_FORMAT
@EACH_DTYPE
def test_blocks_of_columns(device, format, dtype):
    for name in holding(format, NAMES):
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
    turned = x.transpose(0, 2, 1).copy().transpose(0, 2, 1)
    for given in (np.asfortranarray(x), np.repeat(x, 2, axis=2)[:, :, ::2], turned):
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
