"""Products of csr on a GPU: how the columns of each row are computed, and the tables in which rows are summed."""

import os

import numpy as np
import pytest
import scipy.sparse as sp
from cases import NO_CUDA
from test_gpu_rows import of_lengths

import diagsparse as ds
from diagsparse._study.exactness import rounding

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)]


def in_ranges(lengths, ranges, cols, seed=0):
    """Return a csr_array whose rows have these lengths, in random columns of a range of this size."""
    rng = np.random.default_rng(seed)
    rows = []
    for length, extent in zip(lengths, ranges, strict=True):
        first = rng.integers(0, cols - extent + 1)
        rows.append(first + np.sort(rng.choice(extent, length, replace=False)))
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    indices = np.concatenate(rows or [[]]).astype(np.int32)
    return sp.csr_array((rng.integers(1, 5, len(indices)).astype(float), indices, indptr), shape=(len(lengths), cols))


def operands(kind):
    """Return A and B such that all rows of A B are computed in the same way; row_ranges.cuh and hash.cu tell which."""
    rng = np.random.default_rng(7)
    return {
        "half a warp sorts": (of_lengths(rng.integers(0, 5, 900), 800), of_lengths(rng.integers(0, 13, 800), 90_000)),
        "a warp sorts": (of_lengths([12] * 300, 500), of_lengths([15] * 500, 90_000)),
        "a block sorts": (of_lengths([40] * 200, 500), of_lengths([40] * 500, 300_000)),
        "a warp marks": (of_lengths([60] * 300, 400), of_lengths([30] * 400, 2000)),
        "a block marks": (of_lengths([70] * 300, 400), of_lengths([60] * 400, 50_000)),
        "a large block marks": (of_lengths([300] * 20, 400), of_lengths([100] * 400, 400_000)),
        "long rows of A": (of_lengths([600, 0, 513, 1300], 1400), of_lengths([1, 0] * 700, 5000)),
        "slots by distance": [sp.csr_array(ds.gallery.banded(700, 9, 9, seed=0))] * 2,
        "slots by rank": (in_ranges([10] * 400, [60] * 400, 900), in_ranges([40] * 900, [700] * 900, 9000)),
        "ranks of many entries": (of_lengths([32] * 90, 600), in_ranges([60] * 600, [70] * 600, 8000)),
        "slots by hashing": (of_lengths([9] * 400, 900), of_lengths([11] * 900, 10**6)),
        "segments": (of_lengths([400, 3, 900], 1000), of_lengths([20] * 1000, 9000)),
        "segments by hashing": (of_lengths([400, 3, 900], 1000), of_lengths([20] * 1000, 2 * 10**6)),
        "one column in all rows": (of_lengths([700, 1200] * 3, 1300), of_lengths([2] * 1300, 3)),
    }[kind]


KINDS = [
    "half a warp sorts", "a warp sorts", "a block sorts", "a warp marks", "a block marks", "a large block marks",
    "long rows of A", "slots by distance", "slots by rank", "ranks of many entries", "slots by hashing", "segments",
    "segments by hashing", "one column in all rows",
]  # fmt: skip


def check(C, a, b, what):
    """Assert that C has the structure of A B, and its values."""
    expected, scale = sp.csr_array(a @ b), sp.csr_array(abs(a) @ abs(b))
    for matrix in (expected, scale):
        matrix.sort_indices()
    result = C.to("cpu").to_scipy("csr")
    assert np.array_equal(result.indptr, expected.indptr) and np.array_equal(result.indices, expected.indices), what
    bound = rounding(int(np.diff(a.indptr).max(initial=0)), C.dtype) * scale.data
    assert (np.abs(result.data - expected.data) <= bound).all(), what


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_way_to_compute_a_row(kind, dtype):
    a, b = (sp.csr_array(x.astype(dtype)) for x in operands(kind))
    A, B = ds.csr_array(a, device="cuda"), ds.csr_array(b, device="cuda")
    C = A @ B
    check(C, a, b, "once")
    assert (A @ B).values.get().tobytes() == C.values.get().tobytes(), "every run has the same bits"
    for kernel in ("hash", "terms"):
        result = ds.plan_matmul(A, B, kernel=kernel)()
        check(result, a, b, kernel)
        if kernel == "hash" or np.dtype(dtype).kind == "f":
            assert result.values.get().tobytes() == C.values.get().tobytes(), kernel


def test_rows_of_every_kind_in_one_product():
    a, b = (sp.block_diag([operands(kind)[k] for kind in KINDS], format="csr") for k in (0, 1))
    a, b = sp.csr_array(a), sp.csr_array(b)
    C = ds.csr_array(a, device="cuda") @ ds.csr_array(b, device="cuda")
    check(C, a, b, "all")


@pytest.mark.parametrize("types", [("float32", "complex128"), ("complex64", "float64")])
def test_operands_of_two_types(types):
    a, b = (sp.csr_array(x.astype(t)) for x, t in zip(operands("slots by rank"), types, strict=True))
    A, B = ds.csr_array(a, device="cuda"), ds.csr_array(b, device="cuda")
    check(A @ B, a, b, types)


def test_infinities_meet_stored_entries_only():
    a, b = operands("slots by rank")
    a.data[7], b.data[11] = np.inf, np.nan
    A, B = ds.csr_array(a, device="cuda"), ds.csr_array(b, device="cuda")
    expected = sp.csr_array(a @ b)
    expected.sort_indices()
    result = (A @ B).values.get()
    assert np.array_equal(np.isfinite(result), np.isfinite(expected.data)) and not np.isfinite(result).all()


@pytest.mark.nightly
@pytest.mark.skipif("PYTEST_XDIST_WORKER" in os.environ, reason="it fills the memory, which other tests need")
def test_little_memory_for_the_columns_of_a_product():
    """Rows are marked twice, if there is no room for the most columns that they may have."""
    cupy = pytest.importorskip("cupy")
    A, B = (ds.csr_array(x, device="cuda") for x in (of_lengths([270] * 1100, 300), of_lengths([250] * 300, 1 << 16)))
    free = A._core.memory(0)[0]
    if free < 4 << 30:
        pytest.skip("less than 4 GB of GPU memory are free")
    C = A @ B
    filled = cupy.cuda.alloc(A._core.memory(0)[0] - 1100 * 10**6)
    D = A @ B
    del filled
    assert (C.indices == D.indices).all() and (C.indptr == D.indptr).all()
    assert C.values.get().tobytes() == D.values.get().tobytes()
