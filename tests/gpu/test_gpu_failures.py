"""Failures of a GPU: memory that runs out anywhere, destroyed streams, broken contexts, forks. No wrong number ever."""

import gc
from textwrap import dedent

import numpy as np
import pytest
from cases import NO_CUDA, matrix, raises
from libraries import core, load
from processes import in_a_fork, python

import diagsparse as ds
from diagsparse._backends import memory, pools

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)]
FORMATS = pytest.mark.parametrize("format", ds.formats())
NAME = "random diagonals 127"
X = np.arange(1.0, 128)
OPERATIONS = {
    "A @ x": lambda A: A @ X,
    "A @ X": lambda A: A @ np.stack([X, -X, 2 * X], axis=1),
    "A.T @ x": lambda A: A.T @ X,
    "A @ A": lambda A: (A @ A).toarray(),
    "plan": lambda A: ds.plan_matmul(A, A)().toarray(),
    "A + A.T": lambda A: (A + A.T).toarray(),
    "A * A": lambda A: (A * A).toarray(),
    "to csr": lambda A: A.asformat("csr").toarray(),
    "to hm": lambda A: A.asformat("hm").toarray(),
    "to the CPU": lambda A: A.to("cpu").toarray(),
    "transposed copy": lambda A: A.T.copy().toarray(),
    "sum": lambda A: A.sum(axis=0),
}
MOST = 12  # allocations of an operation that fail, one after the other


@pytest.fixture(autouse=True)
def own_pool():
    """Whatever a test chooses, the others get our own memory pool."""
    yield
    ds.set_memory_pool("own")


class Pool:
    """CuPy's memory pool, which refuses every allocation after the first `most` ones."""

    def __init__(self, most):
        self.most, self.count = most, 0

    def __call__(self, nbytes, device, stream):
        self.count += 1
        if self.count > self.most:
            raise MemoryError(f"allocation {self.count} of {nbytes} bytes is refused")
        return pools._from_cupy(nbytes, device, stream)


def run_with(pool, run, A):
    """Return what an operation gives with this pool."""
    core().use_allocator(pool)
    try:
        return run(A)
    finally:
        core().use_allocator(None)


@FORMATS
def test_memory_that_runs_out_in_any_allocation(format):
    """The operation fails with a MemoryError, or does without this memory; then it works as if nothing had happened."""
    load("cupy")

    def build():
        return ds.array(matrix(NAME), format, device="cuda")

    for name, run in OPERATIONS.items():
        expected, every = run(build()), Pool(10**9)
        assert np.array_equal(run_with(every, run, build()), expected), name
        refused = 0
        for most in np.linspace(0, every.count - 1, min(MOST, every.count)).astype(int).tolist():
            A = build()
            before = A.toarray()
            try:
                found = run_with(Pool(most), run, A)
            except MemoryError as error:
                assert "is refused" in str(error), (name, error)
                refused += 1
            else:
                assert np.array_equal(found, expected), f"{name}: without allocation {most + 1}"
            assert np.array_equal(A.toarray(), before), f"{name}: A after allocation {most + 1} was refused"
            assert np.array_equal(run(A), expected), f"{name}: again, after allocation {most + 1} was refused"
        assert refused or every.count == 0, name


def test_memory_that_the_driver_does_not_have(monkeypatch):
    """The forecasts see more free memory than there is."""
    n = 2**40
    packed = ds.diags({0: 2.0}, shape=(n, n), period=1).to("cuda")
    corners = ds.hm_array((np.array([2.0, 3.0]), [n - 1, 1 - n]), shape=(n, n), device="cuda")
    A = ds.array(matrix(NAME), "hm", device="cuda")
    expected = A @ X
    monkeypatch.setattr(memory, "available_bytes", lambda backend=None: 1 << 60)
    for run in (packed.unpacked, lambda: corners @ corners, lambda: ds.plan_matmul(corners, corners)()):
        with raises(MemoryError, "the GPU has no free block", "MB are free"):
            run()
        assert np.array_equal(A @ X, expected)
    assert corners.nnz == 2 and corners.trace(n - 1) == 2 and packed.to("cpu")[7, 7] == 2


# ---- streams --------------------------------------------------------------------------------------
def used_bytes():
    """Return the memory of our pool in use, after all work on the GPU and with all garbage collected."""
    gc.collect()
    load("cupy").cuda.Device().synchronize()
    return core().used(0)


def test_memory_of_a_destroyed_stream():
    """A stream that was passed as a pointer is destroyed, while its work is running and while its memory is in use."""
    runtime = load("cupy").cuda.runtime
    n = 200_000
    A = ds.array(ds.gallery.random_diagonals(n, 20, seed=1), "hm", device="cuda")
    x, others = core().from_host(np.ones(n), 0), core().from_host(np.full(n, 2.0), 0)
    expected, plan = A.matvec(x).get(), ds.plan_matmul(A, A)
    square = plan() @ np.ones(n)
    before = used_bytes()
    for round_ in range(30):
        stream = runtime.streamCreateWithFlags(runtime.streamNonBlocking)
        C, y = plan(stream=stream), A.matvec(x, stream=stream)
        if round_ % 2:
            runtime.streamSynchronize(stream)
            runtime.streamDestroy(stream)
            assert np.array_equal(y.get(), expected) and np.array_equal(C @ np.ones(n), square)
            del C, y
        else:
            runtime.streamDestroy(stream)  # its work goes on
            del C, y
            results = [A.matvec(others) for _ in range(4)]  # not in memory that is written at the same time
            assert all(np.array_equal(result.get(), 2 * expected) for result in results), round_
            del results
    assert used_bytes() == before


def test_a_stream_that_is_deleted_lives_as_long_as_its_memory():
    cupy = load("cupy")
    A, x = ds.array(matrix(NAME), "hm", device="cuda"), core().from_host(X, 0)
    stream, plan = cupy.cuda.Stream(non_blocking=True), ds.plan_matmul(A, A)
    C, y = plan(stream=stream), A.matvec(x, stream=stream)
    stream.synchronize()
    del stream
    gc.collect()
    assert np.array_equal(y.get(), A @ X) and np.array_equal(C.toarray(), plan().toarray())
    before = used_bytes()
    del C, y
    assert used_bytes() < before


def test_a_destroyed_stream_gives_no_wrong_number():
    """CUDA does not define what happens to a call with such a handle: it may also end the process."""
    load("cupy")
    try:
        printed = python(
            PREPARE
            + """
    stream = cupy.cuda.runtime.streamCreateWithFlags(cupy.cuda.runtime.streamNonBlocking)
    cupy.cuda.runtime.streamDestroy(stream)
    runs = {
        "A x": (lambda: A.matvec(known, stream=stream).get(), (A @ known).get()),
        "A A": (lambda: plan(stream=stream).toarray(), C),
    }
    for name, (run, expected) in runs.items():
        try:
            found = run()
        except ds.CudaError as error:
            print(name, error)
        else:
            assert np.array_equal(found, expected), name
    assert np.array_equal(A @ x, y)
    print("survived")
    """
        )
    except AssertionError as error:
        if "exit status -" not in str(error):
            raise
        pytest.skip(f"CUDA ended the process: {str(error).splitlines()[0]}")
    assert "survived" in printed


# ---- processes ------------------------------------------------------------------------------------
PREPARE = """
    import warnings
    warnings.simplefilter("ignore")
    import gc
    import cupy, numpy as np
    import diagsparse as ds
    H = ds.hm_array(ds.gallery.stencil(5, (20, 20)))
    x = np.arange(400.0)
    y = H @ x
    matrices = {format: ds.array(H, format, device="cuda") for format in ds.formats()}
    A = matrices["hm"]
    plan = ds.plan_matmul(A, A)
    C = plan().toarray()
    known = A.values[:400] * 1.0
    A @ known
    def all_fail(word):
        for format, A in matrices.items():
            plan = plans[format]
            for name, run in {
                "A @ x": lambda: A @ x, "A @ X": lambda: A @ np.ones((400, 3)), "A.T @ x": lambda: A.T @ x,
                "A @ array on the GPU": lambda: (A @ known).get(),
                "A @ A": lambda: (A @ A).toarray(), "A + A": lambda: (A + A).toarray(), "toarray": A.toarray,
                "plan": lambda: plan().toarray(), "to cpu": lambda: A.to("cpu"), "copy": lambda: A.copy().toarray(),
                "convert": lambda: A.asformat("coo" if format == "csr" else "csr").toarray(),
                "values": lambda: A.values.get(), "sum": lambda: A.sum(),
                "to cuda": lambda: H.to("cuda").toarray(), "new plan": lambda: ds.plan_matmul(A, A)().toarray(),
            }.items():
                try:
                    result = run()
                except ds.CudaError as error:
                    assert word in str(error), (format, name, error)
                else:
                    raise AssertionError(f"{format}, {name}: no error, {result!r}")
            assert A.nnz and A.shape == (400, 400)
    plans = {format: ds.plan_matmul(A, A) for format, A in matrices.items()}
"""


def test_a_kernel_of_somebody_else_breaks_the_context():
    """Its error stays: every call reports it until the process ends, which it does as usual."""
    load("cupy")
    printed = python(
        PREPARE
        + """
    broken = cupy.RawKernel('extern "C" __global__ void broken(int* p) { *p = 1; }', "broken")
    broken((1,), (1,), (np.uint64(64),))
    try:
        cupy.cuda.Device().synchronize()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        assert "illegal" in str(error).lower(), error
    else:
        raise AssertionError("the kernel did not fail")
    all_fail("illegal")
    assert np.array_equal(H @ x, y)  # on the CPU
    del A, plan, plans, matrices, known
    gc.collect()
    print("ended")
    """,
        timeout=120,
    )
    assert "ended" in printed


def test_a_forked_process_says_that_cuda_does_not_work_in_it():
    load("cupy")
    printed = python(
        dedent(PREPARE)
        + in_a_fork("""
    all_fail("forked")
    assert not ds.cuda_available()
    assert np.array_equal(H @ x, y)
    del A, plan, plans, matrices, known
    gc.collect()
    """)
        + dedent("""
    for format, A in matrices.items():
        assert np.array_equal(A @ x, y), format
        assert np.array_equal(plans[format]().toarray(), C), format
    print("ended")
    """),
        timeout=120,
    )
    assert "ended" in printed


def test_a_process_that_was_forked_before_uses_the_gpu():
    python(
        """
    import os, traceback, warnings
    warnings.simplefilter("ignore")
    import numpy as np
    import diagsparse as ds
    H = ds.hm_array(ds.gallery.stencil(5, (20, 20)))
    y = H @ np.ones(400)
    pid = os.fork()
    status = 1
    try:
        assert ds.cuda_available()
        assert np.array_equal(H.to("cuda") @ np.ones(400), y)
        status = 0
    except BaseException:
        traceback.print_exc()
    if pid == 0:
        os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == status == 0
    """
    )
