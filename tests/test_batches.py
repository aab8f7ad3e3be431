"""Batches of matrices that share a layout, against their members one by one."""

import numpy as np
import pytest
from cases import DIAGONAL, DTYPES, MEDIUM, fits, make, matrix, ours, raises, random, to_device, to_host
from libraries import NAMES, address, read
from libraries import make as array_of
from oracle import assert_within, long, longest_row

import diagsparse as ds

EACH_FORMAT = pytest.mark.parametrize("format", DIAGONAL)
EACH_DTYPE = pytest.mark.parametrize("dtype", DTYPES)


def dense(b):
    """Return the members as NumPy arrays, (count, m, n)."""
    return np.array([A.toarray() for A in b]).reshape(b.count, *b.shape)


def batch(like, count, dtype="float64"):
    """Return a batch of random members like this matrix, its padding included."""
    shape = count, *like.values.shape
    return ds.batch_array(to_device(random(int(np.prod(shape)), dtype, count).reshape(shape), like.device), like)


def of(name, format, count, dtype="float64", device="cpu"):
    """Return a batch of random members with the structure of a case of the gallery."""
    return batch(ours(name, format, dtype, device), count, dtype)


def check_rows(y, b, x, what, op="N", alpha=1, beta=0, y0=None):
    """Assert that y is the product of the members with the rows of x, within the bound of rounding."""
    assert y.shape == (b.count, b.shape[1 if op == "H" else 0]), what
    a = dense(b)
    a = long(np.conj(a.transpose(0, 2, 1)) if op == "H" else a)
    rows = long(np.broadcast_to(x, (b.count, a.shape[2])))
    ref, magnitude = np.einsum("imn,in->im", a, rows), np.einsum("imn,in->im", abs(a), abs(rows))
    ref, magnitude = alpha * ref, abs(alpha) * magnitude
    if beta != 0:
        ref, magnitude = ref + beta * long(y0), magnitude + abs(beta) * abs(long(y0))
    assert_within(y, ref, magnitude, a.shape[2], what, np.result_type(b.dtype, x.dtype))


def check_products(c, a, b, what):
    """Assert that the members of c are the products of those of a and b (batches, or single matrices for all)."""
    assert isinstance(c, ds.batch_array) and c.dtype == np.result_type(a.dtype, b.dtype), what
    left, right = (side if isinstance(side, ds.batch_array) else [side] * c.count for side in (a, b))
    for i in range(c.count):
        one = left[i] @ right[i]
        assert c.format == one.format and np.array_equal(c.offsets, one.offsets), what
        if c.device == "cpu":
            assert np.array_equal(c[i].values, one.values), f"{what}: member {i}"
            continue
        p, q = long(left[i].toarray()), long(right[i].toarray())
        assert_within(c[i].toarray(), p @ q, abs(p) @ abs(q), longest_row(left[i].to_scipy()), f"{what}: member {i}")


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
    """More than a grid has blocks in y or z; more than a task of the CPU takes; and members larger than a block."""
    for n, offsets, count in ((50, range(-2, 3), 1000), (2, (0, 1), 70000), (600, (-1, 0, 7), 3), (1, (0,), 70000)):
        like = make(format, ds.gallery.tridiagonal(3), device=device)  # for its class
        like = type(like)._empty((n, n), np.dtype("float64"), sorted(offsets), like._place)
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
    n = 140_000
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
        made = set()
        for threads in (1, 2, 3, 5):
            ds.set_num_threads(threads)
            made.add(((b @ x).tobytes(), (b @ b).values.tobytes()))
        assert len(made) == 1, (n, count)


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
    kept = b[2]
    expected = kept.toarray()
    del b
    assert np.array_equal(kept.toarray(), expected)
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
        f"{b.nbytes} B", ds._memory.human(b.nbytes)
    )


# ---- libraries on a GPU -------------------------------------------------------------------------------------------
@pytest.mark.gpu
@EACH_FORMAT
@pytest.mark.parametrize("name", NAMES)
def test_arrays_of_libraries(name, format):
    if not ds.cuda_available():
        pytest.skip("no CUDA device answers")
    like = ours("banded 9", format, "float64", "cuda")
    host = random(3 * like.values.size, "float64").reshape(3, *like.values.shape)
    values = array_of(name, host)
    b = ds.batch_array(values, like)
    assert b[0]._matrix.values.ptr == address(name, values)
    x = random(27, "float64").reshape(3, 9)
    for given in (x, x[0]):
        check_rows(read(name, b @ array_of(name, given)), b, given, name)
    check_rows(b @ x, b, x, "NumPy in and out")
    if name != "jax":
        out = array_of(name, np.zeros((3, 9)))
        assert b.matvec(array_of(name, x), out=out) is out
        check_rows(read(name, out), b, x, name)


@pytest.mark.gpu
def test_streams():
    cupy = pytest.importorskip("cupy")
    b = of("banded 64", "dia", 3, "float64", "cuda")
    x = random(3 * 64, "float64").reshape(3, 64)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        y = b @ cupy.asarray(x)
        c = b @ b
    stream.synchronize()
    check_rows(y.get(), b, x, "current stream")
    check_products(c, b, b, "current stream")
    given = cupy.asarray(x)
    cupy.cuda.Device().synchronize()
    y = b.matvec(given, stream=stream)
    stream.synchronize()
    check_rows(y.get(), b, x, "stream=")


# ---- errors -------------------------------------------------------------------------------------------------------
def test_what_makes_no_batch():
    A = ours("banded 9", "dia")
    with raises(ValueError, "values have shape (3, 6, 8)", "(count, 6, 9)", "dia_array 9 x 9"):
        ds.batch_array(np.zeros((3, 6, 8)), A)
    with raises(ValueError, "values have shape (6, 9)", "(count, 6, 9)"):
        ds.batch_array(np.zeros((6, 9)), A)
    with raises(TypeError, "int64", "float64"):
        ds.batch_array(np.zeros((3, 6, 9), int), A)
    with raises(TypeError, "like is csr_array", "dia_array, hm_array or cdm_array"):
        ds.batch_array(np.zeros((3, 6)), ours("banded 9", "csr"))
    with raises(ValueError, "transposed view", "copy()"):
        ds.batch_array(np.zeros((3, 6, 9)), A.T)
    for options in ({"symmetry": "symmetric"}, {"dtype": np.float16}):
        packed = ds.dia_array(ds.gallery.tridiagonal(9), **options)
        with raises(ValueError, "like is", "packed", "unpacked()"):
            ds.batch_array(np.zeros((3, *packed.values.shape)), packed)
    with raises(ValueError, "empty list", "(values, like)"):
        ds.batch_array([])
    with raises(TypeError, "(values, like)"):
        ds.batch_array(np.zeros((3, 6, 9)))


@pytest.mark.parametrize("other", ["format", "dtype", "offsets", "shape", "view"])
def test_lists_that_differ(other):
    A = ours("banded 9", "dia")
    wrong = {
        "format": ours("banded 9", "hm"),
        "dtype": ours("banded 9", "dia", "float32"),
        "offsets": ours("diagonal 17", "dia"),
        "shape": ours("banded 8", "dia"),
        "view": A.T,
    }[other]
    with raises(ValueError, "matrix 2 is", repr(wrong)):
        ds.batch_array([A, A, wrong, A.T])


def test_members_that_there_are_not():
    b = of("banded 9", "dia", 3)
    for i in (3, -4):
        with raises(IndexError, f"index {i}", "3 members"):
            b[i]
    with raises(TypeError, "slice", "int"):
        b[:2]


def test_vectors_that_do_not_fit(device):
    b = of("wide 20 x 70", "dia", 3, "float64", device)
    for shape in ((2, 70), (20,), (3, 20), (3, 70, 1), ()):
        with raises(ValueError, "matvec", shape, "3 matrices 20 x 70", "(3, 70)"):
            b.matvec(to_device(np.zeros(shape), device))
    with raises(ValueError, "rmatvec", "(3, 20)"):
        b.rmatvec(to_device(np.zeros((3, 70)), device))
    x = to_device(np.zeros((3, 70)), device)
    with raises(ValueError, "out has shape (20,)", "(3, 20)"):
        b.matvec(x, out=to_device(np.zeros(20), device))
    with raises(TypeError, "out is float32", "float64"):
        b.matvec(x, out=to_device(np.zeros((3, 20), "float32"), device))
    with raises(ValueError, "beta=2", "no out"):
        b.matvec(x, beta=2)
    with raises(TypeError, "alpha=1j", "complex"):
        b.matvec(x, alpha=1j)
    if device == "cpu":
        with raises(ValueError, "stream", "cpu"):
            b.matvec(x, stream=0)
        with raises(TypeError, "out is list", "NumPy"):
            b.matvec(x, out=[])


def test_products_that_do_not_fit(device):
    b, wide = (of(name, "dia", 3, "float64", device) for name in ("banded 9", "wide 20 x 70"))
    with raises(ValueError, "9 x 9", "20 x 70", "9 columns", "20 rows"):
        b @ wide
    with raises(ValueError, "A is a batch of 3", "B of 2"):
        b @ of("banded 9", "dia", 2, "float64", device)
    with raises(TypeError, "csr_array", "batch_array"):
        b.matmul(ours("banded 9", "csr", "float64", device))
    for bad in (ours("banded 9", "csr", "float64", device), 2.0):
        with raises(TypeError, "unsupported operand"):
            b @ bad
    with raises(TypeError, "out is dia_array", "batch_array"):
        b.matmul(b, out=b[0])
    with raises(ValueError, "out", "expected 3 members"):
        b.matmul(b, out=of("banded 9", "dia", 2, "float64", device))
    with raises(ValueError, "out is dia 9 x 9", "another structure"):
        b.matmul(b, out=of("banded 9", "dia", 3, "float64", device))
    full = batch(ours("dense 9", "dia", "float64", device), 3)
    with raises(ValueError, "out is one of the operands"):
        full.matmul(full, out=full)
    with raises(ValueError, "float32", "float64"):
        full.matmul(full, out=batch(full[0], 3, "float32"))
