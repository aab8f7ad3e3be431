"""Streams, CUDA graphs, threads and memory on a GPU, and matrices that only a GPU is large enough for."""

import gc
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import libraries
import numpy as np
import pytest
import scipy.sparse as sp
from cases import NO_CUDA, matrix, on_gpu, raises, random
from libraries import load
from oracle import assert_within, check_matmul, check_matvec, long, longest_row

import diagsparse as ds
from diagsparse._arrays import streams

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)]
FORMATS = pytest.mark.parametrize("format", ds.formats())
NAME = "random diagonals 127"
BUSY = 4000  # the order of the matrices whose product keeps a stream busy


def core():
    """Return the CUDA module."""
    return ds._backends.backend.gpu(0).core


def free_bytes():
    """Return what can be taken on the GPU, after all work there and with all garbage gone."""
    gc.collect()
    core().synchronize(0)
    return core().memory(0)[0]


def used_bytes():
    """Return what this process holds of our pool, after all work on the GPU and with all garbage gone."""
    gc.collect()
    core().synchronize(0)
    return core().used(0)


@pytest.fixture
def pool():
    """Whatever a test chooses, the others get our own memory pool."""
    yield
    ds.set_memory_pool("own")


# ---- streams --------------------------------------------------------------------------------------
@FORMATS
def test_the_current_stream_of_cupy_is_honoured(format):
    """x is written late in the same stream: a product in any other one would read what was there before."""
    cupy = load("cupy")
    A, stream = on_gpu(NAME, format), cupy.cuda.Stream(non_blocking=True)
    x = random(127, "float64", "x")
    given = cupy.full(127, cupy.nan)
    cupy.cuda.Device().synchronize()
    with stream:
        for _ in range(3):
            busy = cupy.ones((BUSY, BUSY)) @ cupy.ones((BUSY, BUSY))
        given[...] = cupy.asarray(x) * (busy[0, 0] / BUSY)
        y = A @ given
        C = A @ A
        z = C @ given
    stream.synchronize()
    check_matvec(y.get(), NAME, "float64", "N", x, format)
    check_matmul(C, matrix(NAME), matrix(NAME), format)
    assert np.all(np.isfinite(z.get()))


def test_segments_of_transposed_quasi_bands_in_one_stream_after_another():
    """The values are written late, and the index of the columns is made, in the stream of the first product."""
    cupy = load("cupy")
    a = sp.csr_array(ds.gallery.quasi_band(500, 4.0, band_count=1, seed=0))
    a.data = np.random.default_rng(0).integers(1, 9, a.nnz).astype(float)  # all sums are exact
    A = ds.qband_array(a, device="cuda")
    values, expected = cupy.asarray(A.values).copy(), (a.T @ a.T).toarray()
    streams_of_their_own = [cupy.cuda.Stream(non_blocking=True) for _ in range(2)]
    A.values = np.nan
    cupy.cuda.Device().synchronize()
    with streams_of_their_own[0]:
        for _ in range(3):
            busy = cupy.ones((BUSY, BUSY)) @ cupy.ones((BUSY, BUSY))
        A.values = values * (busy[0, 0] / BUSY)
        C = A.T.matmul(A.T, kernel="segments")
    made = streams_of_their_own[0].record()
    with streams_of_their_own[1]:
        streams_of_their_own[1].wait_event(made)
        D = A.T.matmul(A.T, kernel="segments")
    for stream in streams_of_their_own:
        stream.synchronize()
    assert np.array_equal(C.toarray(), expected) and np.array_equal(D.toarray(), expected)


def test_the_current_stream_of_pytorch_is_honoured():
    torch = load("torch")
    A, stream = on_gpu(NAME, "hm"), torch.cuda.Stream()
    x = random(127, "float64", "x")
    given = torch.full((127,), float("nan"), dtype=torch.float64, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        for _ in range(3):
            busy = torch.ones(BUSY, BUSY, device="cuda") @ torch.ones(BUSY, BUSY, device="cuda")
        given.copy_(torch.from_numpy(x).cuda() * (busy[0, 0].double() / BUSY))
        y = A @ given
    stream.synchronize()
    check_matvec(y.cpu().numpy(), NAME, "float64", "N", x, "torch")


def test_stream_of_any_kind():
    cupy = load("cupy")
    A, x = on_gpu(NAME, "hm"), random(127, "float64", "x")
    theirs = cupy.cuda.Stream(non_blocking=True)
    plan, product = ds.plan_matvec(A), ds.plan_matmul(A, A)
    kinds = [theirs, theirs.ptr, 0]
    if "torch" in sys.modules:
        kinds.append(sys.modules["torch"].cuda.Stream())
    for stream in kinds:
        seen = []
        for library in ("cupy", "own"):
            given = libraries.make(library, x)
            y = A.matvec(given, stream=stream)
            z = plan(given, stream=stream)
            C = product(stream=stream)
            D = ds.matmul(A, A, A, stream=stream)
            core().synchronize(0)
            cupy.cuda.Device().synchronize()
            check_matvec(libraries.read(library, y), NAME, "float64", "N", x, f"{stream!r}")
            check_matvec(libraries.read(library, z), NAME, "float64", "N", x, f"{stream!r}")
            check_matmul(C, matrix(NAME), matrix(NAME), f"{stream!r}")
            seen.append(D.toarray())
        assert np.array_equal(*seen)
        assert isinstance(A.matvec(x, stream=stream), np.ndarray)
    with raises(TypeError, "stream="):
        A.matvec(libraries.make("own", x), stream="fast")
    assert streams.current(0) == 0


@FORMATS
def test_captured_in_a_graph(format):
    """A planned product with out= neither allocates nor waits, so it can be captured and replayed with new values."""
    cupy = load("cupy")
    a = matrix("banded 200")
    A, stream = ds.array(a, format, device="cuda"), cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    with stream:
        x, y = cupy.ones(200), cupy.empty(200)
        plan, product = ds.plan_matvec(A), ds.plan_matmul(A, A)
        converted = product._left.nbytes + product._right.nbytes  # bytes of operands that each call compares
        native = product.format == product._work and not converted
        C = product()
        plan(x, out=y)
        stream.synchronize()
        stream.begin_capture()
        plan(x, out=y)
        if native:
            product(out=C)
        graph = stream.end_capture()
        for turn in range(3):
            new = random(200, "float64", turn)
            x[...] = cupy.asarray(new)
            y[...] = cupy.nan
            C.values = np.nan
            graph.launch(stream)
            stream.synchronize()
            check_matvec(y.get(), "banded 200", "float64", "N", new, f"{format}, turn {turn}")
            if native:
                check_matmul(C, a, a, f"{format}, turn {turn}")


@pytest.mark.parametrize("layout", [{"symmetry": "symmetric"}, {"period": 1}, {"dtype": "float16"}], ids=str)
@pytest.mark.parametrize("format", ["dia", "hm", "cdm"])
def test_captured_after_unpacking(format, layout):
    """Plans of packed operands compare their values at each call, and wait; those of unpacked ones are captured."""
    cupy = load("cupy")
    dtype = {"dtype": np.float16} if "dtype" in layout else {}
    A = ds.array(ds.gallery.tridiagonal(200), format, **dtype)
    A = (A if dtype else A.asformat(format, **layout)).to("cuda")
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    with stream:
        assert ds.plan_matmul(A, A)._left.nbytes
        plain = A.unpacked()
        plan = ds.plan_matmul(plain, plain)
        C = plan()
        stream.synchronize()
        stream.begin_capture()
        plan(out=C)
        graph = stream.end_capture()
        C.values = np.nan
        graph.launch(stream)
        stream.synchronize()
        assert np.array_equal(C.toarray(), A.toarray() @ A.toarray())


def test_threads_on_streams_of_their_own():
    cupy = load("cupy")
    a = ds.gallery.random_diagonals(3000, 20, seed=7)
    A = ds.array(a, "hm", device="cuda")
    plan = ds.plan_matmul(A, A)
    vectors = [random(3000, "float64", i) for i in range(4)]
    expected = [(A @ x, plan() @ x) for x in vectors]
    barrier = threading.Barrier(4)

    def work(i):
        with cupy.cuda.Stream(non_blocking=True) as stream:
            x = cupy.asarray(vectors[i])
            barrier.wait()
            for turn in range(50):
                y = A @ x
                C = plan()
                z = C @ x
                del C  # its memory may go to another stream: not before this one is done with it
                assert np.array_equal(y.get(stream=stream), expected[i][0]), f"thread {i}, turn {turn}"
                assert np.array_equal(z.get(stream=stream), expected[i][1]), f"thread {i}, turn {turn}"
        return True

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(work, range(4)))


# ---- memory ---------------------------------------------------------------------------------------
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
        core().empty((1 << 45,), "float64", 0, "C")  # the real failure: no forecast stands before it
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


# ---- what only a GPU is large enough for ----------------------------------------------------------
def test_more_values_than_32_bits_count():
    if free_bytes() < 60 << 30:
        pytest.skip("less than 60 GB of GPU memory are free")
    cupy = load("cupy")
    n, count = 1 << 20, 2100
    offsets = np.arange(count) - count // 2
    values = cupy.ones((count, n), "float32")
    values[-1, -5000:] = 2
    A = ds.dia_array((values, offsets), shape=(n, n), align="row")
    assert A.nnz > 2**31
    i = np.arange(n)
    per_row = np.minimum(n - 1 - i, offsets[-1]) - np.maximum(-i, offsets[0]) + 1
    last = (i >= n - 5000) & (i + offsets[-1] < n)
    assert np.array_equal((A @ cupy.ones(n, "float32")).get(), (per_row + last).astype("float32"))
    assert A.count_nonzero() == A.nnz
    H = A.asformat("hm")
    assert np.array_equal((H @ cupy.ones(n, "float32")).get(), (per_row + last).astype("float32"))
    del A, values
    assert np.array_equal(H.diagonal(int(offsets[-1]))[-10:], np.full(10, 2.0, "float32"))


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
        for turn in range(3):
            v = random(n, "float64", turn)
            bound = abs(a) @ (abs(b) @ abs(v)) * np.finfo(float).eps * 2 * (2 * longest_row(a) + len(C.offsets) + 8)
            assert np.all(abs(C @ v - A @ (B @ v)) <= bound)
        del C
