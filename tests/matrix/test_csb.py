"""Compressed sparse blocks: the division of a matrix, its component arrays, and products in blocks of every size."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import EACH_DTYPE, raises, random

import diagsparse as ds

SIZES = [2**bits for bits in range(1, 17)]


def scattered(m, n, count, dtype="float64"):
    """Return a SciPy matrix with entries anywhere, some rows and columns of which are long."""
    rng = np.random.default_rng(m + n)
    row, col = rng.integers(0, m, count), rng.integers(0, n, count)
    row[: count // 8], col[count // 8 : count // 4] = m // 2, n // 3
    a = sp.coo_array((random(count, dtype), (row, col)), shape=(m, n)).tocsr()
    a.sum_duplicates()
    return a


@pytest.mark.parametrize("block", SIZES)
@EACH_DTYPE
def test_products_in_blocks_of_every_size(block, dtype, device):
    a = scattered(700, 1100, 9000, dtype)
    A = ds.csb_array(a, block=block).to(device)
    assert A.block == min(block, 2048) and A.local_row.itemsize == (1 if block <= 256 else 2)
    assert (A.tocsr().to("cpu").to_scipy() != a).nnz == 0 and (A.T.tocsr().to("cpu").to_scipy() != a.T).nnz == 0
    bound = 64 * np.finfo(dtype).eps * abs(a).sum(axis=1).max()
    for view, expected in ((A, a), (A.T, a.T), (A.H, a.conj().T), (A.conj(), a.conj())):
        x = random((view.shape[1], 3), dtype)
        assert np.allclose(view @ x, expected @ x, rtol=0, atol=bound * abs(x).max())


@pytest.mark.parametrize("block", [2, 64, 1024])
def test_the_same_bits_for_any_number_of_threads(block, monkeypatch):
    a = scattered(20_000, 17_000, 200_000)
    A, x, y = ds.csb_array(a, block=block), random(17_000, "float64"), random(20_000, "float64")
    before, result = ds.get_num_threads(), []
    try:
        for threads in (1, 2, 5):
            ds.set_num_threads(threads)
            result.append((A @ x, A.T @ y))
    finally:
        ds.set_num_threads(before)
    for product, transposed in result[1:]:
        assert np.array_equal(product, result[0][0]) and np.array_equal(transposed, result[0][1])


def test_a_dense_row_is_summed_in_fours(device):
    """In blocks with long rows; with infinities only where they belong."""
    dense = np.arange(1.0, 121).reshape(2, 60)
    dense[1, 7] = 0
    x = np.ones(60)
    x[7] = np.inf
    y = ds.csb_array(dense, block=64).to(device) @ x
    assert y[0] == np.inf and y[1] == dense[1].sum()


def test_the_choice_of_a_block():
    assert ds.csb_array(sp.eye_array(3_000)).block == 4096
    assert ds.csb_array(sp.eye_array(100_000)).block == 65536
    assert ds.csb_array(np.ones((1000, 1000))).block == 256
    assert ds.csb_array(np.ones((3, 5))).block == 8
    assert ds.csb_array((0, 10**6)).block == 2


def test_copies_have_the_same_blocks():
    A = ds.csb_array(scattered(300, 500, 2000), block=32)
    for B in (A.copy(), A.T.copy(), A.H.copy(), A + A, A * 2, A.astype("float32"), A.asformat("csb")):
        assert B.format == "csb" and B.block == 32
    assert A.asformat("csb", block=64).block == 64


def test_options_that_are_refused():
    for block in (0, 1, 3, 100, 1 << 17):
        with raises(ValueError, "csb_array: block", "power of two from 2 to 65536"):
            ds.csb_array(np.eye(3), block=block)
    with raises(TypeError, "csb_array: block"):
        ds.csb_array(np.eye(3), block="4")


def test_more_blocks_than_memory_holds():
    with raises(MemoryError, "csb_array", "2.2 TB"):
        ds.csb_array((2**20, 2**20), block=2)
    with raises(MemoryError, "csb_array", "max_bytes"):
        ds.csb_array((10_000, 10_000), block=2, max_bytes=100_000_000)


def test_the_block_size_follows_from_the_arrays():
    A = ds.csb_array(scattered(300, 500, 2000), block=32)
    values, row, col, indptr = (A.parts()[name] for name in ("values", "local_row", "local_col", "block_indptr"))
    result = ds.csb_array((values, row.astype(np.int64), col.astype(np.int32), indptr), shape=A.shape)
    assert result.block == 32 and result.local_row.dtype == np.uint8 and (result != A).nnz == 0
    with raises(ValueError, "csb_array: block_indptr holds 160 pointers", "300 x 500", "into 159"):
        ds.csb_array((values, row, col, indptr[:-1]), shape=A.shape)
    with raises(ValueError, "csb_array: block_indptr[160] is wrong"):
        ds.csb_array((values[:-1], row[:-1], col[:-1], indptr), shape=A.shape)
    with raises(ValueError, "csb_array: (local_row, local_col)[1] does not come after"):
        ds.csb_array((values, row * 0, col * 0, indptr), shape=A.shape)
    with raises(ValueError, "csb_array: (local_row, local_col)[0] lies outside of its block"):
        ds.csb_array((values, row * 0 + 32, col, indptr), shape=A.shape)
    with raises(ValueError, "csb_array: local_row holds", "does not fit uint8"):
        ds.csb_array((values, row.astype(int) - 1, col, indptr), shape=A.shape)


def test_blocks_of_256_need_more_than_128_entries_for_every_block_more():
    for count, block in ((128, 512), (129, 256), (224, 256)):  # of a second block
        positions = np.arange(count) * 50
        a = sp.coo_array((np.ones(count), (positions // 400, positions % 400)), shape=(28, 400))
        assert ds.csb_array(a).block == block, count


@pytest.mark.parametrize("block", [0, 1, 3, -4, 131072])
def test_blocks_that_the_core_refuses(block):
    csr = ds.csr_array(np.eye(5))
    with raises(ValueError, "csb_array", str(block), "power of two"):
        csr._core.convert(csr._matrix, 0, "csb", {"block": block})


@pytest.mark.parametrize("shape", [(2**31 - 1, 0), (0, 2**31 - 1)])
def test_a_side_without_extent_is_not_walked(shape):
    """Block by block that took 20 s."""
    parts = {"values": np.zeros(0), "local_row": np.zeros(0, np.uint8), "local_col": np.zeros(0, np.uint8),
             "block_indptr": np.zeros(1, np.int64)}  # fmt: skip
    A = ds.csb_array(parts, shape=shape)
    assert A.shape == shape and A.nnz == 0
