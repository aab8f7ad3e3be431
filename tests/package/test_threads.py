"""Threads, forks, environment variables and instruction sets."""

import multiprocessing
import os
import platform
import re
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from cases import DTYPES, at_night, random
from processes import python

import diagsparse as ds

FORMATS = pytest.mark.parametrize("format", ds.formats())
BAND = ds.gallery.random_diagonals(3000, 20, seed=7)


@pytest.mark.quick
@FORMATS
def test_several_threads_use_the_same_matrices_and_plans(format):
    A = ds.array(BAND, format)
    plan = ds.plan_matmul(A, A)
    vectors = [random(3000, "float64", i) for i in range(8)]
    blocks = [np.stack([x, -x], axis=1) for x in vectors]
    expected = [(A @ x, A.T @ x, A @ X) for x, X in zip(vectors, blocks, strict=True)]
    product, double = plan() @ vectors[0], (A + A) @ vectors[0]

    def work(i):
        for round_ in range(4):
            j = (i + round_) % len(vectors)
            result = A @ vectors[j], A.T @ vectors[j], A @ blocks[j]
            assert all(map(np.array_equal, result, expected[j])), f"thread {i}, round {round_}"
            if round_ % 3 == 0:
                assert np.array_equal(plan() @ vectors[0], product), f"thread {i}, round {round_}: the plan"
                assert np.array_equal((A + A) @ vectors[0], double), f"thread {i}, round {round_}: the sum"
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_threads_that_change_the_thread_count():
    a = ds.gallery.banded(100_000, 2, 2, seed=0)
    A, C, x = ds.hm_array(a), ds.csr_array(a), random(100_000, "float64")
    B = ds.csr_array(ds.gallery.banded(100_000, 1, 3, seed=1))
    expected, sums, entries = A @ x, (C + B).values.copy(), A.tocsr().values.copy()

    def work(i):
        for round_ in range(30):
            ds.set_num_threads(1 + (i + round_) % 4)
            assert np.array_equal(A @ x, expected)
            assert np.array_equal((C + B).values, sums) and np.array_equal(A.tocsr().values, entries)
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))


def test_threads_that_convert_and_drop_matrices():
    def work(i):
        for round_ in range(10):
            A = ds.array(ds.gallery.banded(500, 2, 3, seed=i), ds.formats()[(i + round_) % len(ds.formats())])
            parts = A.parts()
            expected = A.toarray() @ np.ones(500)
            del A
            rests = "coo_", "coosr_"  # of hyb and qband: a band has none
            assert all(part.size for name, part in parts.items() if not name.startswith(rests))
            B = ds.array(ds.gallery.banded(500, 2, 3, seed=i), "csr")
            assert np.allclose(B @ np.ones(500), expected)
        return True

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(6)))


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python is not a free-threaded one")
def test_free_threaded_python_runs_without_the_lock():
    assert python("import sys, diagsparse; print(sys._is_gil_enabled())") == "False\n"


def large_products(queue):
    """What a forked child does: enough work for several threads."""
    A = ds.hm_array(BAND)
    C = A @ A
    queue.put((float(C.sum()), (A @ np.ones(3000)).tobytes()))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:os.fork")  # a warning of JAX, if a test before this one has imported it
def test_a_forked_child_does_not_hang():
    ds.set_num_threads(2)
    A = ds.hm_array(BAND)
    C = A @ A  # the parent's threads run
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    children = [context.Process(target=large_products, args=(queue,)) for _ in range(2)]
    for child in children:
        child.start()
    try:
        for _ in children:
            total, bits = queue.get(timeout=30)
            assert total == float(C.sum()) and bits == (A @ np.ones(3000)).tobytes()
        for child in children:
            child.join(timeout=30)
            assert child.exitcode == 0
    finally:
        for child in children:
            child.kill()
    assert np.array_equal((A @ A).toarray(), C.toarray())  # and the parent still works


def test_set_num_threads():
    for n in (1, 2, 3):
        ds.set_num_threads(n)
        assert ds.get_num_threads() == n
    ds.set_num_threads(np.int64(2))
    assert ds.get_num_threads() == 2
    for bad in (0, -1, -(2**40)):
        with pytest.raises(ValueError, match=rf"{bad}.*at least 1"):
            ds.set_num_threads(bad)
    for bad in (1.0, "2", None, True):
        with pytest.raises(TypeError, match=f"{bad!r}.*int"):
            ds.set_num_threads(bad)
    with pytest.raises((ValueError, OverflowError), match="set_num_threads"):
        ds.set_num_threads(2**40)
    assert ds.get_num_threads() == 2


def test_more_threads_than_the_system_gives():
    """Asking for more threads than there is work, or than the system has, must not end the process."""
    out = python(
        """
    import numpy as np
    import diagsparse as ds
    A = ds.hm_array(ds.gallery.banded(200000, 2, 2, seed=0))
    expected = A @ np.ones(200000)
    ds.set_num_threads(20000)
    print(np.array_equal(A @ np.ones(200000), expected))
    """,
        memory=8 << 30,
    )
    assert out == "True\n"


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system does not bind threads to processors")
def test_threads_stay_on_the_processors_of_the_process():
    """Threads move away from their caller, but keep to the processors of the process, also if these change."""
    out = python(
        """
        import os, time
        from pathlib import Path
        allowed = sorted(os.sched_getaffinity(0))[:2]
        os.sched_setaffinity(0, allowed)
        import numpy as np, diagsparse as ds
        A, x = ds.hm_array(ds.gallery.tridiagonal(300_000)), np.ones(300_000)
        ds.set_num_threads(4)
        def tasks():
            return [int(task.name) for task in Path("/proc/self/task").iterdir()]
        for bound in (allowed, allowed[:1], allowed[-1:], allowed):
            for task in tasks():
                os.sched_setaffinity(task, bound)
            for _ in range(20):
                y = A @ x
                time.sleep(0.002)  # the threads fall asleep
            time.sleep(0.1)  # also those that woke up late, and are just about to move
            assert y[0] == 1 and not y[1:-1].any() and len(tasks()) >= 4
            assert all(sorted(os.sched_getaffinity(task)) == bound for task in tasks())
        print("bound")
        """
    )
    assert out.strip() == "bound"


@pytest.mark.parametrize("count", at_night([1, 3], before=[3]))
def test_omp_num_threads(count):
    out = python("import diagsparse as ds; print(ds.get_num_threads())", OMP_NUM_THREADS=str(count))
    assert out == f"{count}\n"


ISA_CODE = """
    import sys
    import numpy as np, scipy.sparse as sp
    import diagsparse as ds
    sys.path.insert(0, {tests})
    from cases import VIEWS, ours, random, holding
    from oracle import check_matmul, check_matvec, seen
    from cases import matrix
    print(ds._show.config.config()["cpu kernels"].split(",")[0])
    for format in ds.formats():
        for dtype in {dtypes}:
            for name in holding(format, ("random diagonals 127", "wide 20 x 70", "corners 65")):
                for op in "NH":
                    A = VIEWS[op](ours(name, format, dtype))
                    for kernel in A.kernels("matvec"):
                        for k in (None, 7, 33):
                            for order in "CF":
                                size = A.shape[1] if k is None else (A.shape[1], k)
                                x = np.asarray(random(size, dtype, name), order=order)
                                y = A.matvec(x, kernel=kernel)
                                check_matvec(y, name, dtype, op, x, (format, name, op, kernel, k))
                    a = seen(matrix(name, dtype), op)
                    check_matmul(A @ A.T, a, a.T, (format, name, op))
            A = ds.array(ds.gallery.random_diagonals(500, 40, seed=1, dtype=dtype), format)
            x = random((500, 5), dtype, "threads")
            results = set()
            for threads in (1, 2, 3):
                ds.set_num_threads(threads)
                products = A @ x, (A @ A.H).toarray(), (A.T @ A.conj()).toarray()
                results.add(b"".join(product.tobytes() for product in products))
            assert len(results) == 1, (format, dtype)
"""


ISA_FLAGS = {"portable": "", "avx2": "avx2 fma", "avx512": "avx2 fma avx512f avx512dq avx512vl avx512bw"}


def processor_flags():
    """Return the instructions that the processor reports."""
    try:
        return set(re.search(r"^flags\s*:(.*)", Path("/proc/cpuinfo").read_text(), re.M)[1].split())
    except (OSError, TypeError):
        pytest.skip("this system does not report its processor's instructions")


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="one instruction set only on this processor")
@pytest.mark.parametrize("dtypes", at_night([DTYPES[1::2], DTYPES[::2]], before=[DTYPES[1::2]]), ids=str)
@pytest.mark.parametrize("isa", ISA_FLAGS)
def test_instruction_sets(isa, dtypes):
    """Every set that this processor has gives results within the bound, and the same bits for any thread count."""
    if missing := set(ISA_FLAGS[isa].split()) - processor_flags():
        pytest.skip(f"this processor has no {', '.join(sorted(missing))}")
    if isa not in ds._core.instruction_sets():
        assert "DIAGSPARSE_TEST_EVERY_SET" not in os.environ, "a build that is tested so has all sets"
        pytest.skip(f"kernels are not compiled for {isa}: DIAGSPARSE_INSTRUCTION_SETS")
    code = ISA_CODE.replace("{tests}", repr(str(Path(__file__).parents[1]))).replace("{dtypes}", repr(dtypes))
    assert python(code, DIAGSPARSE_ISA=isa, timeout=120) == f"{isa}\n"
