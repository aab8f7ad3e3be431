"""Matrices of more than 2^31 stored entries on a GPU: 64-bit numbers of entries and positions everywhere."""

import numpy as np
import pytest
from cases import NO_CUDA
from libraries import load

import diagsparse as ds

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)]

GB = 10**9
ROWS, WIDTH = 2**25 + 5, 64  # row i has its entries in columns i % PERIOD to i % PERIOD + 63: 1 + j % 3 in column j
PERIOD = 65_521  # a prime: rows that are 2^25 apart differ
COLS = PERIOD + WIDTH - 1
ENTRIES = ROWS * WIDTH


def give_back(cupy):
    """Return unused memory to the GPU."""
    cupy.get_default_memory_pool().free_all_blocks()
    ds._backends.backend.gpu(0).core.trim(0)


def require_free(cupy, nbytes):
    """Skip where the GPU has not so much memory left."""
    give_back(cupy)
    if (free := cupy.cuda.runtime.memGetInfo()[0]) < nbytes:
        pytest.skip(f"{nbytes / GB:.0f} GB are needed on the GPU, {free / GB:.0f} GB are free")


def large(cupy):
    """Return the matrix in ell, from arrays that are computed on the GPU."""
    starts = cupy.arange(ROWS, dtype="int32") % PERIOD
    indices, values = cupy.empty((WIDTH, ROWS), "int32"), cupy.empty((WIDTH, ROWS), "float32")
    for w in range(WIDTH):
        indices[w] = starts + w
        values[w] = 1 + indices[w] % 3
    result = ds.ell_array((values, indices), shape=(ROWS, COLS))
    del indices
    give_back(cupy)
    return result


def operand(n):
    """Return small integers, so that every sum is exact in float32."""
    return np.random.default_rng(0).integers(1, 4, n).astype("float32")


def sums_of_rows(x):
    """Return A x: windows of what each column gives."""
    given = np.concatenate(([0], np.cumsum((1 + np.arange(COLS) % 3) * x.astype("int64"))))
    of_starts = given[WIDTH:] - given[:-WIDTH]
    return of_starts[np.arange(ROWS) % PERIOD]


def sums_of_columns(x):
    """Return A.T x: column j has the rows that begin in columns j - 63 to j."""
    of_starts = np.bincount(np.arange(ROWS) % PERIOD, x, PERIOD)
    given = np.concatenate(([0], np.cumsum(of_starts)))
    j = np.arange(COLS)
    return (1 + j % 3) * (given[np.minimum(j + 1, PERIOD)] - given[np.maximum(j - WIDTH + 1, 0)])


def same(y, expected):
    """Whether an array on the GPU is exactly this."""
    return np.array_equal(y.get(), expected)


def test_more_entries_than_32_bits_count():
    cupy = load("cupy")
    require_free(cupy, 40 * GB)
    x = operand(COLS)
    given, expected = cupy.asarray(x), sums_of_rows(x)
    A = large(cupy)
    assert A.nnz == ENTRIES > 2**31 and A.nbytes == 8 * ENTRIES
    assert same(A @ given, expected)

    B = A.asformat("csr")
    del A
    give_back(cupy)
    assert B.nnz == B.count_nonzero() == ENTRIES and B.nbytes == 8 * ENTRIES + 8 * (ROWS + 1)
    for i in (0, 1, PERIOD, ROWS // 2, 2**25 - 1, 2**25, ROWS - 1):
        row, columns = slice(WIDTH * i, WIDTH * (i + 1)), i % PERIOD + np.arange(WIDTH)
        assert same(B.indptr[i : i + 2], [row.start, row.stop]), i
        assert same(B.indices[row], columns) and same(B.values[row], 1 + columns % 3), i
    for kernel in ("threads_per_row", "warp_per_row", "row", "stream", "merge"):
        assert same(B.matvec(given, kernel=kernel), expected), kernel
    block = cupy.stack([given, 2 * given], axis=1)
    assert same((B @ block)[:, 1], 2 * expected)

    C = B.asformat("sell")
    del B
    assert C.nnz == ENTRIES and same(C @ given, expected)
    assert same(C.asformat("csr") @ given, expected)


def test_transposes_and_cusparse_with_more_entries_than_32_bits_count():
    cupy = load("cupy")
    require_free(cupy, 125 * GB)
    B = large(cupy).asformat("csr")
    give_back(cupy)
    x, z = operand(COLS), operand(ROWS)
    assert same(B.T @ cupy.asarray(z), sums_of_columns(z))
    for kernel in ("cusparse", "cusparse_alg1", "cusparse_alg2"):
        assert same(B.matvec(cupy.asarray(x), kernel=kernel), sums_of_rows(x)), kernel
