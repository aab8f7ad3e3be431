"""Streams, CUDA graphs and threads on a GPU."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import libraries
import numpy as np
import pytest
import scipy.sparse as sp
from cases import EACH_DIAGONAL, NO_CUDA, matrix, on_gpu, raises, random
from libraries import core, load
from oracle import check_matmul, check_matvec

import diagsparse as ds
from diagsparse._arrays import streams

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)]
FORMATS = pytest.mark.parametrize("format", ds.formats())
NAME = "random diagonals 127"
BUSY = 4000  # the order of matrices whose product occupies a stream


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
    """The values are written late, and the index of the columns is built, in the stream of the first product."""
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
    recorded = streams_of_their_own[0].record()
    with streams_of_their_own[1]:
        streams_of_their_own[1].wait_event(recorded)
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
        for round_ in range(3):
            new = random(200, "float64", round_)
            x[...] = cupy.asarray(new)
            y[...] = cupy.nan
            C.values = np.nan
            graph.launch(stream)
            stream.synchronize()
            check_matvec(y.get(), "banded 200", "float64", "N", new, f"{format}, round {round_}")
            if native:
                check_matmul(C, a, a, f"{format}, round {round_}")


@pytest.mark.parametrize("layout", [{"symmetry": "symmetric"}, {"period": 1}, {"dtype": "float16"}], ids=str)
@EACH_DIAGONAL
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
            for round_ in range(50):
                y = A @ x
                C = plan()
                z = C @ x
                del C  # its memory may go to another stream: not before this one is done with it
                assert np.array_equal(y.get(stream=stream), expected[i][0]), f"thread {i}, round {round_}"
                assert np.array_equal(z.get(stream=stream), expected[i][1]), f"thread {i}, round {round_}"
        return True

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(work, range(4)))
