"""The bits of A B: the same for any number of threads, on any run and in any stream, for every branch of a kernel."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import MULTIPLYING, NO_CUDA
from libraries import load

import diagsparse as ds

THREADS = (1, 2, 3, 8, 16)
N = 40_000  # more columns than csr sums a row in without asking for the entries of its task
OFFSETS = {  # enough entries in a row of A A that csr uses another branch from some number of threads on
    "a few diagonals": (100, -16_000, 28_000),
    "a dozen": (1, 2, 3000, 9000, -12_000, -21_000, 25_000, 33_000),
}
FORMATS = pytest.mark.parametrize("format", ds.formats())
MULTIPLIED = pytest.mark.parametrize("format", MULTIPLYING)
SIZES = pytest.mark.parametrize("offsets", OFFSETS.values(), ids=list(OFFSETS))


def far_apart(offsets, dtype, seed=0):
    """Return a SciPy matrix with these diagonals, whose products are rounded."""
    rng = np.random.default_rng(seed)
    values = [rng.standard_normal(N - abs(k)) + (1j * rng.standard_normal(N - abs(k)) if dtype[0] == "c" else 0)
              for k in offsets]  # fmt: skip
    return sp.diags_array(values, offsets=offsets, shape=(N, N)).tocsr().astype(dtype)


def bits(result):
    """Return the bits of what is stored, of a matrix on any device."""
    parts = result.to("cpu").parts()
    return b"".join(parts[name].tobytes() for name in sorted(parts))


@pytest.mark.nightly
@MULTIPLIED
@SIZES
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_any_number_of_threads(format, offsets, dtype):
    A = ds.array(far_apart(offsets, dtype), format)
    plan, found = ds.plan_matmul(A, A), set()
    for threads in THREADS:
        ds.set_num_threads(threads)
        into = plan()
        found.add(bits(A @ A) + bits(into) + bits(plan(out=into, alpha=1.1, beta=0.3)))
    assert len(found) == 1


@SIZES
@pytest.mark.parametrize("pair", [("float32", "complex128"), ("complex64", "float64"), ("complex128", "complex128")])
def test_any_number_of_threads_with_two_types(offsets, pair):
    A, B = (ds.csr_array(far_apart(offsets, dtype, seed)) for seed, dtype in enumerate(pair))
    found = set()
    for threads in THREADS:
        ds.set_num_threads(threads)
        found.add(bits(A @ B) + bits(ds.matmul(A, B, alpha=0.7 - 1.3j, c=A, beta=2.1)))
    assert len(found) == 1


@FORMATS
@pytest.mark.gpu
@pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)
def test_every_run_and_stream_on_a_gpu(format):
    cupy = load("cupy")
    A = ds.array(far_apart(OFFSETS["a few diagonals"], "float64"), format, device="cuda")
    plan = ds.plan_matmul(A, A)
    expected = bits(A @ A), bits(plan())
    for stream in (cupy.cuda.Stream.null, *(cupy.cuda.Stream(non_blocking=True) for _ in range(3))):
        with stream:
            assert (bits(A @ A), bits(plan())) == expected
