"""Batches of matrices that share a layout, against their members one by one."""

import numpy as np
import pytest
from batches import batch, check_products, check_rows, dense, of
from cases import DIAGONAL, DTYPES, EACH_DTYPE, MEDIUM, fits, make, matrix, ours, raises, random, to_device, to_host
from oracle import assert_within, long

import diagsparse as ds

EACH_FORMAT = pytest.mark.parametrize("format", DIAGONAL)


# ---- products with vectors ----------------------------------------------------------------------------------------
@EACH_FORMAT
@EACH_DTYPE
def test_rows_of_vectors(device, format, dtype):
    for name in MEDIUM:
        if not fits(format, matrix(name).shape):
            continue
        for count in (0, 1, 3):
            b = of(name, format, count, dtype, device)
            (m, n), what = b.shape, f"{name}, {count}"
            for x in (random(count * n, dtype, name).reshape(count, n), random(n, dtype, name)):
                y = to_host(b.matvec(to_device(x, device)))
                check_rows(y, b, x, what)
                if device == "cpu":
                    rows = np.broadcast_to(x, (count, n))
                    assert all(np.array_equal(y[i], b[i] @ rows[i]) for i in range(count)), what
            x = random(count * m, dtype, name).reshape(count, m)
            check_rows(to_host(b.rmatvec(to_device(x, device))), b, x, what, "H")
            x = random(m, dtype, name)
            check_rows(to_host(b.rmatvec(to_device(x, device))), b, x, what, "H")


@EACH_FORMAT
@EACH_DTYPE
def test_types_of_vectors(device, format, dtype):
    b = of("banded 63", format, 3, dtype, device)
    for other in (*DTYPES, "int32", "bool", "float16", ">f8"):
        x = random(3 * 63, "float32").reshape(3, 63).astype(other)
        check_rows(to_host(b @ to_device(x, device)), b, x, f"{dtype}, {other}")


@EACH_FORMAT
def test_out_and_factors(device, format):
    for dtype in ("float64", "complex128"):
        for name in ("5x0", "0x5", "nothing stored", "banded 64", "wide 20 x 70"):
            if not fits(format, matrix(name).shape):
                continue
            b = of(name, format, 4, dtype, device)
            m, n = b.shape
            x, y0 = random(4 * n, dtype).reshape(4, n), random(4 * m, dtype, "y").reshape(4, m)
            for alpha, beta in ((1, 0), (2, 0), (1, 1), (-0.5, 3), (1j, 2 - 1j) if dtype == "complex128" else (0, 1)):
                for order in "CF":
                    out = to_device(np.array(y0, order=order), device)
                    assert b.matvec(to_device(x, device), out=out, alpha=alpha, beta=beta) is out
                    check_rows(to_host(out), b, x, f"{name}, {alpha}, {beta}", alpha=alpha, beta=beta, y0=y0)
            out = to_device(np.full((4, m), np.nan, dtype), device)
            check_rows(to_host(b.matvec(to_device(x, device), out=out)), b, x, name)  # what out held is not read


@EACH_FORMAT
def test_operands_of_any_layout(device, format):
    b = of("banded 64", format, 5, "float64", device)
    x = random(5 * 64, "float64").reshape(5, 64)
    wide = to_device(np.repeat(x, 2, axis=1), device)
    expected = to_host(b @ to_device(x, device))
    for given in (to_device(np.asfortranarray(x), device), wide[:, ::2], to_device(x[::-1].copy(), device)[::-1]):
        assert np.array_equal(to_host(b @ given), expected)
    out = wide[:, 1::2]
    b.matvec(to_device(x, device), out=out)
    assert np.array_equal(to_host(out), expected) and np.array_equal(to_host(wide[:, ::2]), x)
    rows = to_device(np.zeros((10, 64)), device)
    b.matvec(to_device(x, device), out=rows[::2])
    assert np.array_equal(to_host(rows[::2]), expected) and not to_host(rows[1::2]).any()
    same = to_device(x.copy(), device)
    assert b.matvec(same, out=same) is same and np.array_equal(to_host(same), expected)  # x is out
    one = to_device(x.copy(), device)
    b.matvec(one[2], out=one)
    assert np.array_equal(to_host(one), to_host(b @ to_device(x[2], device)))
    if device == "cpu":
        assert np.array_equal(b @ x.tolist(), expected)


@EACH_FORMAT
def test_many_members(device, format):
    """More members than blocks of a grid in y or z, or than a CPU task processes; members larger than a block."""
    for n, offsets, count in ((50, range(-2, 3), 1000), (2, (0, 1), 70000), (600, (-1, 0, 7), 3), (1, (0,), 70000)):
        like = make(format, ds.gallery.tridiagonal(3), device=device)  # for its class
        like = like._format.zeros_on((n, n), np.dtype("float64"), sorted(offsets), like._backend)
        b = batch(like, count)
        x = random(count * n, "float64").reshape(count, n)
        y = to_host(b @ to_device(x, device))
        some = {0, 1, count // 2, 65535, 65536, count - 1}
        for i in sorted(i for i in some if i < count):
            a, row = long(b[i].to_scipy("csr")), long(x[i])
            assert_within(y[i], a @ row, abs(a) @ abs(row), len(offsets), f"{n}, member {i}")
        c = b @ b
        for i in sorted(i for i in some if i < count):
            a = long(b[i].to_scipy("csr"))
            ref, magnitude = (a @ a).toarray(), (abs(a) @ abs(a)).toarray()
            assert_within(c[i].toarray(), ref, magnitude, len(offsets), f"{n}, member {i} squared")


@EACH_FORMAT
def test_many_diagonals(device, format):
    """More terms than a block has in shared memory."""
    b = of("random diagonals 127", format, 2, "float64", device)
    full = batch(make(format, np.ones((200, 200)), device=device), 2)
    for some in (b, full):
        x = random(2 * some.shape[0], "float64").reshape(2, -1)
        check_rows(to_host(some @ to_device(x, device)), some, x, "many")
        check_rows(to_host(some.rmatvec(to_device(x, device))), some, x, "many", "H")


def test_large_members(device):
    """They get the kernel of a single matrix, and its bits."""
    n = 400_000
    like = ds.dia_array((np.ones((3, n)), [-1, 0, 40]), shape=(n, n)).to(device)
    b = batch(like, 2)
    x = random(2 * n, "float64").reshape(2, n)
    y = to_host(b @ to_device(x, device))
    for i in range(2):
        assert np.array_equal(y[i], to_host(b[i] @ to_device(x[i], device)))
    c, shared = b @ b, b @ b[1]
    for i in range(2):
        assert np.array_equal(to_host(c[i].values), to_host((b[i] @ b[i]).values))
        assert np.array_equal(to_host(shared[i].values), to_host((b[i] @ b[1]).values))


@EACH_FORMAT
def test_same_bits_for_any_number_of_threads(format):
    for n, count in ((60, 500), (9000, 40), (70000, 3)):
        like = make(format, ds.gallery.tridiagonal(n))
        b, x = batch(like, count), random(n, "float64")
        result = set()
        for threads in (1, 2, 3, 5):
            ds.set_num_threads(threads)
            result.add(((b @ x).tobytes(), (b @ b).values.tobytes()))
        assert len(result) == 1, (n, count)


# ---- products of matrices -----------------------------------------------------------------------------------------
@EACH_FORMAT
@EACH_DTYPE
def test_products_of_batches(device, format, dtype):
    for name in MEDIUM:
        if not fits(format, matrix(name).shape):
            continue
        A = ours(name, format, dtype, device)
        for count in (0, 1, 3):
            b = of(name, format, count, dtype, device)
            other = batch(make(format, A.H.copy()), count, "float32")
            check_products(b @ other, b, other, f"{name}, {count}")
            check_products(other.matmul(b), other, b, f"{name} from the left, {count}")


@pytest.mark.quick
@EACH_FORMAT
def test_one_matrix_for_all(device, format):
    for name in ("nothing stored", "banded 64", "wide 20 x 70"):
        if not fits(format, matrix(name).shape):
            continue
        A = ours(name, format, "complex128", device)
        b = of(name, format, 3, "complex128", device)
        for B in (A.H, A.T, A.H.copy()):
            check_products(b @ B, b, B, f"{name} @ {B!r}")
            check_products(B @ b, B, b, f"{B!r} @ {name}")
    packed = make(format, ds.gallery.tridiagonal(64), symmetry="symmetric", device=device)
    b = of("banded 64", format, 3, "float64", device)
    check_products(b @ packed, b, packed, "packed")
    check_products(packed @ b, packed, b, "packed")
    dia = ours("banded 64", "dia", "float64", device)
    assert (b @ dia).format == format and (dia @ b).format == "dia"


@EACH_FORMAT
def test_out_of_products(device, format):
    b, c = (of(name, format, 3, "float64", device) for name in ("banded 64", "banded 64"))
    expected = b @ c
    out = batch(expected[0], 3)
    assert b.matmul(c, out=out) is out
    assert np.array_equal(dense(out), dense(expected))
    again = to_host(out[1].values).copy()
    b.matmul(c, out=out)
    assert np.array_equal(to_host(out[1].values), again)


def test_padding_of_results_is_zero(device):
    b = of("corners 65", "dia", 3, "float64", device)
    c = b @ b
    values, length = to_host(c.values), 65
    for d, k in enumerate(c.offsets):
        inside = np.zeros(length, bool)
        inside[max(0, -k) : min(length, length - k)] = True
        assert not values[:, d, ~inside].any()


# ---- members and memory -------------------------------------------------------------------------------------------
@pytest.mark.quick
@EACH_FORMAT
def test_members_are_views(device, format):
    b = of("banded 9", format, 3, "float64", device)
    assert len(b) == b.count == 3 and b.format == format and b.device == device and b.dtype == np.float64
    assert b.shape == (9, 9) and np.array_equal(b.offsets, b[0].offsets)
    assert b.values.shape == (3, *b[0].values.shape)
    assert b.nbytes == 3 * b[0].nbytes - 2 * (b[0].nbytes - b[0].values.nbytes)  # one layout for all
    assert [A.nnz for A in b] == [b[0].nnz] * 3
    b[1].values = 7.0
    assert (to_host(b.values)[1] == 7).all() and not (to_host(b.values)[[0, 2]] == 7).any()
    assert np.array_equal(b[-1].toarray(), b[2].toarray())
    member = b[2]
    expected = member.toarray()
    del b
    assert np.array_equal(member.toarray(), expected)
    empty = of("banded 9", format, 0, "float64", device)
    assert len(empty) == 0 and list(empty) == [] and empty.values.shape[0] == 0


@EACH_FORMAT
def test_values_are_shared(format):
    like = ours("banded 9", format)
    values = np.zeros((4, *like.values.shape))
    b = ds.batch_array(values, like)
    assert np.shares_memory(b.values, values) and np.shares_memory(b[3].values, values)
    assert not np.shares_memory(ds.batch_array(values[::2], like).values, values)
    values.flags.writeable = False
    with raises(ValueError, "read-only"):
        of("banded 9", format, 4).matmul(ds.array(np.eye(9), format), out=ds.batch_array(values, like))


@EACH_FORMAT
def test_lists_of_matrices(device, format):
    given = [ours("banded 9", format, "float64", device) * s for s in (1.0, 2.0, 3.0)]
    b = ds.batch_array(given)
    assert np.array_equal(dense(b), np.array([A.toarray() for A in given])) and b.device == device
    b[0].values = 0.0
    assert given[0].toarray().any()


def test_devices(device):
    b = of("banded 9", "dia", 3, "float64")
    there = b.to(device)
    assert there.device == device and (there is b) == (device == "cpu")
    back = there.to("cpu")
    assert np.array_equal(back.values, b.values) and np.array_equal(back.offsets, b.offsets)
    empty = of("nothing stored", "hm", 2).to(device)
    assert to_host(empty @ np.ones(6)).shape == (2, 6)


def test_repr():
    b = of("banded 9", "hm", 3)
    assert repr(b) == f"<batch_array of 3 hm_array 9 x 9 float64: 6 diagonals from -2 to 3, {b.nbytes} B, cpu>".replace(
        f"{b.nbytes} B", ds._backends.memory.human(b.nbytes)
    )


def test_values_of_a_pickle_in_any_memory_order():
    """A pickle written or changed by other code may hold values that are strided, or in Fortran's order."""
    batch = ds.batch_array(np.arange(12.0).reshape(3, 4), ds.hm_array(ds.eye(4)))
    rebuild, (values, like) = batch.__reduce__()
    strided = np.repeat(values, 2, axis=0)[::2], np.repeat(values, 2, axis=1)[:, ::2]
    for given in (np.asfortranarray(values), values.astype(">f8"), *strided):
        again = rebuild(given, like)
        assert np.array_equal(again.values, values) and np.array_equal(again @ np.ones(4), batch @ np.ones(4))
    for damaged in (values[:, :2], values[0], values.astype(int), values.astype("f2"), None):
        with pytest.raises((ValueError, TypeError), match="batch_array: "):
            rebuild(damaged, like)
    for damaged in (like.T, ds.csr_array(like), like.asformat("hm", period=1), None):
        with pytest.raises((ValueError, TypeError), match="batch_array: "):
            rebuild(values, damaged)
