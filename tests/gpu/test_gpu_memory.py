"""Memory on a GPU: what is freed, what does not fit, other pools, and products of many diagonals."""

import gc

import numpy as np
import pytest
import scipy.sparse as sp
from cases import NO_CUDA, matrix, on_gpu, raises, random
from libraries import core, load
from oracle import assert_within, check_matmul, long, longest_row

import diagsparse as ds

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)]
FORMATS = pytest.mark.parametrize("format", ds.formats())
NAME = "random diagonals 127"


def used_bytes():
    """Return the memory of our pool in use, after all work on the GPU and with all garbage collected."""
    gc.collect()
    core().synchronize(0)
    return core().used(0)


@pytest.fixture
def pool():
    """Whatever a test chooses, the others get our own memory pool."""
    yield
    ds.set_memory_pool("own")


def test_ten_thousand_products_leave_no_memory_behind():
    cupy = load("cupy")
    A = ds.array(ds.gallery.random_diagonals(2000, 10, seed=1), "hm", device="cuda")
    B, x = A.asformat("csr"), cupy.ones(2000)
    y = cupy.empty(2000)

    def some(count):
        for _ in range(count):
            A @ A, A @ x, B @ x, A.matvec(x, out=y), A.T @ A, A + A
            with cupy.cuda.Stream():
                A @ x

    some(20)
    before = used_bytes()
    some(1500)  # of seven products each
    assert used_bytes() == before


@FORMATS
def test_memory_that_runs_out_is_an_error_and_nothing_more(format):
    A = on_gpu(NAME, format)
    before, x = A.toarray(), np.ones(127)
    expected = A @ x
    for run in (lambda: A.matmul(A, max_bytes=1000), lambda: ds.plan_matmul(A, A, max_bytes=1000)):
        with raises(MemoryError, "matmul", "limit is 1.0 KB"):
            run()
    n = 2**40
    huge = ds.hm_array((np.array([2.0, 3.0]), [n - 1, 1 - n]), shape=(n, n), device="cuda")
    for run in (lambda: huge @ huge, lambda: huge.asformat("dia")):
        with raises(MemoryError, "would need", "are free on cuda"):
            run()
    with raises(ValueError, "csr_array", "32 bits"):
        huge.asformat("csr")
    with pytest.raises(MemoryError):
        core().empty((1 << 45,), "float64", 0, "C")  # the allocation itself fails: no forecast comes first
    assert huge.nnz == 2 and np.array_equal(A.toarray(), before) and np.array_equal(A @ x, expected)
    check_matmul(A @ A, matrix(NAME), matrix(NAME), "after memory ran out")


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_memory_of_another_pool(library, pool):
    module = load(library)
    used = module.cuda.memory_allocated if library == "torch" else module.get_default_memory_pool().used_bytes
    gc.collect()
    before = used()
    ds.set_memory_pool(library)
    A = ds.array(ds.gallery.random_diagonals(5000, 20, seed=2), "hm", device="cuda")
    C = A @ A
    assert used() >= before + A.nbytes // 2 + C.nbytes // 2
    assert np.allclose(C @ np.ones(5000), A @ (A @ np.ones(5000)))
    with pytest.raises(MemoryError):
        core().empty((1 << 45,), "float64", 0, "C")
    ds.set_memory_pool("own")
    assert np.allclose(C @ np.ones(5000), A @ (A @ np.ones(5000))), "memory of the other pool lives on"
    del A, C
    gc.collect()
    core().synchronize(0)
    assert used() <= before + (1 << 20)


def test_errors_of_cuda_have_a_name():
    assert issubclass(ds.CudaError, RuntimeError) and not issubclass(ds.CudaError, ds.CudaUnavailable)
    with pytest.raises((TypeError, ValueError)):
        core().asarray(np.ones(3), None)


@pytest.mark.parametrize("count", [400, 500, 600])
def test_products_of_many_random_diagonals(count):
    """Sizes at which another library returned zeros or gave up; held to sampled rows in extended precision."""
    n = 10_000
    a = sp.csr_array(ds.gallery.random_diagonals(n, count, seed=count))
    b = sp.csr_array(ds.gallery.random_diagonals(n, count, seed=count + 1))
    A, B = ds.array(a, "hm", device="cuda"), ds.array(b, "hm", device="cuda")
    for C in (A @ B, *((A.matmul(B, kernel=kernel) for kernel in A.kernels("matmul")[1:]) if count == 400 else ())):
        rows = np.sort(np.random.default_rng(0).choice(n, 12, replace=False))
        chosen = np.zeros((12, n))
        chosen[np.arange(12), rows] = 1
        some, whole = long(a[rows]), long(b)
        magnitude = (abs(some) @ abs(whole)).toarray()
        assert_within(chosen @ C, (some @ whole).toarray(), magnitude, longest_row(a), f"{count} diagonals")
        for round_ in range(3):
            v = random(n, "float64", round_)
            bound = abs(a) @ (abs(b) @ abs(v)) * np.finfo(float).eps * 2 * (2 * longest_row(a) + len(C.offsets) + 8)
            assert np.all(abs(C @ v - A @ (B @ v)) <= bound)
        del C


@pytest.mark.parametrize("format", ["ell", "sell", "ellcsr"])
def test_short_columns_are_lengthened_once(format):
    A = ds.array(matrix(NAME), format, device="cuda", column_bits=16)
    x, y = load("cupy").ones(A.shape[1], complex), load("cupy").empty(A.shape[0], complex)
    A.matvec(x, out=y)
    used = used_bytes()
    A.matvec(x, out=y)
    assert used_bytes() == used
    assert np.allclose(y.get(), A.to("cpu") @ np.ones(A.shape[1], complex))
