"""Work that its process or its user ends: daemon threads at exit, Ctrl-C, more threads than processors."""

import os
import time

import numpy as np
import pytest
from cases import DIAGONAL, at_night
from processes import python

import diagsparse as ds

FORMATS = pytest.mark.parametrize("format", ds.formats())

DAEMON = """
    import threading, time
    import numpy as np
    import diagsparse as ds
    A = ds.array(ds.gallery.random_diagonals(20000, 60, seed=1), {format!r}).to({device!r})
    B = ds.array(ds.gallery.banded(300, 5, 5, seed=2), {format!r}).to({device!r})
    x = np.ones(20000)
    plan = ds.plan_matmul(B, B)
    def work(i):
        while True:
            if i % 3 == 0: A @ x
            elif i % 3 == 1: plan()
            else: (B @ B).asformat("csr") + B.tocsr()
    for i in range(4):
        threading.Thread(target=work, args=(i,), daemon=True).start()
    time.sleep(0.3)
    print("end")
"""


@pytest.mark.parametrize("format", at_night(ds.formats(), before=("csr", "hm")))
def test_daemon_threads_inside_of_products_at_exit(format, device):
    """Python ends such threads when they ask for its lock again; the process must not abort."""
    for _ in range(2):
        assert python(DAEMON.format(format=format, device=device)) == "end\n"


INTERRUPTED = """
    import os, signal, threading, time
    signal.signal(signal.SIGINT, signal.default_int_handler)  # who started the tests may have had it ignored
    import numpy as np
    import diagsparse as ds
    ds.set_num_threads({threads})
    {setup}
    def interrupt():
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=interrupt, daemon=True).start()
    start = time.perf_counter()
    try:
        for _ in range(1000):
            {work}
        print("never interrupted")
    except KeyboardInterrupt:
        print(time.perf_counter() - start < 5 or time.perf_counter() - start)  # a second and a half, and a busy machine
    y = {after}
    print(np.isfinite(y).all())
"""
LONG = {
    "a product of scattered diagonals": (
        "A = ds.hm_array(ds.gallery.random_diagonals(10000, 800, seed=1)); plan = ds.plan_matmul(A, A)",
        "plan()",
        "A @ np.ones(10000)",
    ),
    "the paper's loops": (
        "A = ds.hm_array(ds.gallery.random_diagonals(9000, 300)); p = ds.plan_matmul(A, A, kernel='sequential')",
        "p()",
        "A @ np.ones(9000)",
    ),
    "a plan": (
        "A = ds.dia_array((np.ones((4000, 9000)), np.arange(-8000, 8000, 4)), shape=(9000, 9000), align='row')",
        "ds.plan_matmul(A, A)",
        "A @ np.ones(9000)",
    ),
    "rows": (
        "A = ds.csr_array(ds.gallery.random_diagonals(10000, 300, seed=1)); plan = ds.plan_matmul(A, A)",
        "plan()",
        "A @ np.ones(10000)",
    ),
    "columns of a csr product": (
        "A, B = (ds.csr_array(np.ones(shape, 'f')) for shape in ((16000, 1000), (1000, 16000)))",
        "ds.plan_matmul(A, B)",
        "A @ np.ones(1000)",
    ),
    "columns of many vectors": (
        "A = ds.csc_array(ds.gallery.banded(200000, 30, 30, seed=1)); x = np.ones((200000, 64), order='F')",
        "A @ x",
        "A @ np.ones(200000)",
    ),
    "a chain of a small matrix": (
        "A = ds.hm_array(ds.gallery.tridiagonal(5000)) / 4; x = np.ones(5000)",
        "ds.power_multiply(A, x, 500_000)",
        "A @ x",
    ),
    "a chain of rows": (
        "A = ds.csr_array(ds.gallery.tridiagonal(5000)) / 4; x = np.ones(5000)",
        "ds.power_multiply(A, x, 500_000)",
        "A @ x",
    ),
}


@pytest.mark.parametrize("threads", at_night([1, 2], before=[2]))
@pytest.mark.parametrize("what", at_night(LONG, before=["a plan", "rows", "a chain of rows"]))
def test_long_work_ends_at_ctrl_c(what, threads):
    setup, work, after = LONG[what]
    code = INTERRUPTED.format(threads=threads, setup=setup, work=work, after=after)
    assert python(code, timeout=90) == "True\nTrue\n"


def processor_seconds_of(run):
    run()
    best = float("inf")
    for _ in range(3):
        start = time.process_time()  # of all threads, whatever else the machine does
        run()
        best = min(best, time.process_time() - start)
    return best


@FORMATS
def test_many_more_threads_than_processors(format):
    """csr.T @ x took 684 ms with 1000 threads, 2 ms with two; the bits are the same for any count."""
    A = ds.array(ds.gallery.banded(100_000, 5, 5, seed=0), format)
    x = np.linspace(-1, 1, 100_000)
    ds.set_num_threads(os.cpu_count() or 1)
    expected, few = [A @ x, A.T @ x], processor_seconds_of(lambda: A.T @ x)
    for count in (1, 3, 8, 1000, 10**6):
        ds.set_num_threads(count)
        assert ds.get_num_threads() == count
        for y, view in zip(expected, (A, A.T), strict=True):
            assert np.array_equal(view @ x, y)
    assert processor_seconds_of(lambda: A.T @ x) < 20 * few + 0.1


@pytest.mark.parametrize("format", [*DIAGONAL, "csr"])
def test_steps_that_would_not_fit(format):
    A = ds.array(ds.gallery.tridiagonal(5), format)
    with pytest.raises(MemoryError, match=r"power_multiply: the factors of 1000000000000 steps.*TB"):
        ds.power_multiply(A, np.ones(5), 10**12)
