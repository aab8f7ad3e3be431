"""More than 2^31 bytes in every array, and more than 2^31 values: every format and operation, on each device.

All matrices are bands whose values repeat with period 61. Operands repeat with period 53, so a product repeats with
period 3233 except near its ends, and all of it is compared. Values are small integers: every sum is exact.
"""

import fcntl
import gc
import os
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from cases import DIAGONAL, NO_CUDA, NOT_DIAGONAL, STORING_16_BITS, raises
from libraries import load

import diagsparse as ds
from diagsparse._backends import memory
from diagsparse._backends.backend import get_backend

pytestmark = [pytest.mark.nightly]

GB = 10**9
OF_A, OF_X = 61, 53  # periods
PERIOD = OF_A * OF_X
EDGE = 2 * PERIOD  # rows at each end that are compared one by one
OPTIONS = {  # so that both of the matrices of which a format consists are large
    "hyb": lambda size: {"width": size.width // 2},
    "qband": lambda size: {"offsets": size.offsets[::2].tolist()},
}


@dataclass(frozen=True)
class Size:
    """A band of `width` diagonals around the main diagonal; tests are skipped where fewer `room` bytes are free."""

    rows: int
    width: int
    room: int
    dtype: str = "float32"

    @property
    def offsets(self):
        return np.arange(self.width) - self.width // 2

    def nnz(self, format):
        """Return the number of stored values; in cdm a diagonal and the one that continues it share a row."""
        return int(self.width * self.rows - (0 if format == "cdm" else np.abs(self.offsets).sum()))


SIZES = {
    "bytes": Size(2**23 + 2**17 + 5, 65, 20 * GB),  # values and indices
    "values": Size(2**28 + 2**22 + 5, 8, 90 * GB),  # and pointers of rows, and vectors
}
ROWS = Size(2**31 + 2**25 + 5, 1, 34 * GB, "float16")  # more rows than 32 bits count
EACH_SIZE = pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
EACH_FORMAT = pytest.mark.parametrize("format", ds.formats())


@pytest.fixture(autouse=True)
def alone():
    """One of these tests at a time, also among processes: each may use most of the memory."""
    with (Path(tempfile.gettempdir()) / f"diagsparse-test-big-sizes-{os.getuid()}").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
        gc.collect()
        if "cupy" in sys.modules and ds.cuda_available():
            give_back()


def give_back():
    """Return the unused memory of pools to the GPU."""
    gc.collect()
    load("cupy").get_default_memory_pool().free_all_blocks()
    get_backend("cuda").core.trim(0)


def require_room(nbytes, device):
    """Skip where a device has not so much memory left."""
    if device == "cuda":
        give_back()
    if (free := memory.available_bytes(get_backend(device))) < nbytes:
        pytest.skip(f"{nbytes / GB:.0f} GB are needed on the device {device}, {free / GB:.0f} GB are free")


def library(device):
    """Return the library of the operands: NumPy or CuPy."""
    return np if device == "cpu" else load("cupy")


def values_at(size, d, rows):
    """Return the elements of diagonal number d in these rows; those outside of the matrix are 0."""
    columns = rows + size.offsets[d]
    along = np.minimum(rows, columns) % OF_A  # values repeat along the diagonal
    return np.where((columns >= 0) & (columns < size.rows), 1 + (along + 3 * d) % 7, 0)


def x_at(j):
    """Return these elements of x."""
    return 1 + j % OF_X


def expected(size, rows, transposed=False):
    """Return these elements of A x, or of A.T x."""
    result = np.zeros(len(rows), np.int64)
    for d, offset in enumerate(size.offsets.tolist()):
        if transposed:
            i = rows - offset
            result += np.where((i >= 0) & (i < size.rows), values_at(size, d, i) * x_at(i), 0)
        else:
            result += values_at(size, d, rows) * x_at(rows + offset)
    return result


def band(size, format, device):
    """Return the matrix in a diagonal format, from its first rows: it is unpacked on the device."""
    diagonals = [(1 + (np.arange(OF_A) + 3 * d) % 7).astype(size.dtype) for d in range(size.width)]
    shape = (size.rows, size.rows)
    packed = ds.diags(diagonals, size.offsets, shape=shape, format=format, period=OF_A, dtype=size.dtype)
    return packed.to(device).unpacked()


def in_format(size, format, device):
    """Return the matrix. What the library says not to fit, before it takes memory, is skipped."""
    require_room(size.room, device)
    if format in DIAGONAL:
        return band(size, format, device)
    A = band(size, "hm", device).asformat("csr")
    try:
        if format in OPTIONS:
            return A.asformat(format, **OPTIONS[format](size))
        result = A.asformat(format)
    except MemoryError as error:
        if "would need" not in str(error):
            raise
        pytest.skip(str(error))
    assert result.nbytes == ds.forecast("convert", A, format=format).result_nbytes
    return result


def operand(size, device, columns=0):
    """Return x, or a block whose column c is (c + 1) x."""
    numbers = library(device)
    x = numbers.tile(numbers.asarray(x_at(np.arange(OF_X)), dtype="float32"), size.rows // OF_X + 1)[: size.rows]
    return x[:, None] * numbers.arange(1, columns + 1, dtype="float32") if columns else x


def check(size, y, factor=1, transposed=False):
    """Compare all elements of a product: those near the ends one by one, the others with their period."""
    m = size.rows
    for rows in (np.arange(EDGE), np.arange(m - EDGE, m)):
        given = y[int(rows[0]) : int(rows[-1]) + 1]
        given = given if isinstance(given, np.ndarray) else given.get()
        assert np.array_equal(given, factor * expected(size, rows, transposed)), f"rows from {rows[0]}"
    numbers = np if isinstance(y, np.ndarray) else load("cupy")
    pattern = numbers.asarray(factor * expected(size, np.arange(EDGE, EDGE + PERIOD), transposed), dtype=y.dtype)
    wanted = 1 << 14  # periods that are compared at a time
    for first in range(EDGE, m - EDGE, wanted * PERIOD):
        periods = min(wanted, (m - EDGE - first) // PERIOD)
        same = y[first : first + periods * PERIOD].reshape(periods, PERIOD) == pattern
        assert bool(same.all()), f"rows from {first}"


def check_if_it_fits(size, run, transposed=False):
    """Compare all elements of a product, unless memory runs out: then everything remains as it was."""
    try:
        y = run()
    except MemoryError as error:
        assert re.search("would need|no free block", str(error))
        print(f"left out: {error}")
    else:
        check(size, y, transposed=transposed)


def critical_rows(size):
    """Return rows at the ends, in the middle, and where a number of 32 bits would overflow in some layout."""
    overflows = [2**power // size.width for power in (29, 30, 31)] + [2**power % size.rows for power in (29, 30, 31)]
    rows = [0, size.rows // 2, *overflows, size.rows - 4]
    return sorted({min(row, size.rows - 4) for row in rows})


def kernels(A):
    """Return the names of all kernels of products with vectors, also of those that do not support this matrix."""
    return get_backend(A.device).core.kernels(A.format, A.dtype.name)["matvec"]


def check_kernel(size, A, x, kernel):
    """Compare a product by this kernel."""
    if kernel == "sequential" and A.device != "cpu":
        return  # one thread, which takes minutes
    if kernel not in A.kernels():
        with raises(ValueError, f"cuSPARSE supports matrices with fewer than 2^31 stored values, got {A.values.size}"):
            A.matvec(x, kernel=kernel)
        return
    check_if_it_fits(size, lambda: A.matvec(x, kernel=kernel))


def check_slice(size, A, first, device):
    """Compare rows first to first + 3 of the matrix; matrices on a GPU have no slices."""
    if device == "cuda":
        return
    left = max(first - size.width, 0)
    some = A[first : first + 4][:, left : first + size.width + 4].tocoo()
    found = {(int(i) + first, int(j) + left): float(v) for i, j, v in zip(*some.coords, some.data, strict=True) if v}
    rows = np.arange(first, first + 4)
    elements = {
        (int(i), int(i + offset)): float(v)
        for d, offset in enumerate(size.offsets.tolist())
        for i, v in zip(rows, values_at(size, d, rows), strict=True)
        if v
    }
    assert found == elements, f"rows from {first}"


@EACH_SIZE
@EACH_FORMAT
def test_every_operation(format, size, device):
    numbers = library(device)
    A = in_format(size, format, device)
    assert A.nnz == size.nnz(format) and A.values.nbytes > 2**31 and (size is SIZES["bytes"] or A.nnz > 2**31)
    if format in ("csr", "csc", "ell", "sell", "jds", "coo", "coosr", "coosc"):
        assert sorted(part.nbytes for part in A.parts().values())[-2] > 2**31

    x = operand(size, device)
    assert all(kernel.startswith("cusparse") for kernel in {*kernels(A)} - {*A.kernels()})
    for kernel in kernels(A):
        check_kernel(size, A, x, kernel)
    columns = 2 if device == "cpu" else 8
    Y = A @ operand(size, device, columns)
    for c in range(columns):
        check(size, numbers.ascontiguousarray(Y[:, c]), c + 1)
    del Y
    require_room(0, device)
    for row in critical_rows(size)[:: 1 if format in (*DIAGONAL, "csr") else 4]:
        check_slice(size, A, row, device)

    check_if_it_fits(size, lambda: type(A)(A.parts(), shape=A.shape) @ x)
    check_if_it_fits(size, lambda: A.asformat("csr") @ x)
    check_if_it_fits(size, lambda: A.asformat("hm") @ x)
    check_if_it_fits(size, lambda: A.T @ x, transposed=True)


@pytest.mark.parametrize("format", sorted(set(DIAGONAL) & set(STORING_16_BITS)))
def test_more_rows_than_32_bits_count(format, device):
    require_room(ROWS.room, device)
    A = band(ROWS, format, device)
    assert A.nnz == ROWS.nnz(format) > 2**31 and A.nbytes > 2**32
    x = operand(ROWS, device)
    check(ROWS, A @ x)
    for row in critical_rows(ROWS):
        check_slice(ROWS, A, row, device)
    packed = ds.diags([np.float32(3)], [0], shape=A.shape, format=format, period=1).to(device)
    y = packed @ x
    assert all(y[row] == 3 * x_at(row) for row in (0, 2**31 - 1, 2**31, ROWS.rows - 1))


@pytest.mark.gpu
@pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)
def test_more_members_than_a_launch_has_blocks():
    """A batch of 1 x 1 matrices."""
    require_room(45 * GB, "cuda")
    numbers, last = library("cuda"), 2**31 + 4
    values, x = numbers.ones((last + 1, 1), "float32"), numbers.full((last + 1, 1), 2, "float32")
    values[-1] = 3
    batch = ds.batch_array(values, like=ds.hm_array(np.ones((1, 1), "float32"), device="cuda"))
    y = batch @ x
    assert y[:last].min() == y[:last].max() == 2 and y[last] == 6
    y[...] = 0
    z = numbers.from_dlpack(ds.sampled_product(batch, x, x).values)
    assert z.size == last + 1 and z.min() == z.max() == 4


@pytest.mark.parametrize("format", NOT_DIAGONAL)
def test_more_rows_than_indices_count_are_refused(format, device):
    """Nothing is allocated before: the values of the diagonal would need 2^40 bytes."""
    A = ds.diags([np.float32(3)], [0], shape=(2**38, 2**38), period=1).to(device)
    with raises(ValueError, f"{format}_array: 274877906944 x 274877906944", "extents stay below 2^31"):
        A.asformat(format)


@pytest.mark.parametrize("format", ["hm", "csr", "mdia"])
def test_files(format, device, tmp_path):
    size = SIZES["bytes"]
    A = in_format(size, format, device)
    if shutil.disk_usage(tmp_path).free < 2 * A.nbytes:
        pytest.skip(f"{2 * A.nbytes / GB:.0f} GB are needed in {tmp_path}")
    path = tmp_path / "big.npz"
    ds.write(path, A)
    del A
    B = ds.read(path, format=format)
    path.unlink()
    assert B.format == format and B.nnz == size.nnz(format)
    check(size, B @ operand(size, "cpu"))
