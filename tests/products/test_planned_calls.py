"""Repeated products with dense operands on a device: the shorter way of a repeated call checks as much as the first.

The CPU's core substitutes for the GPU's here; at the end the same on a GPU.
"""

import types

import libraries
import numpy as np
import pytest
from cases import NO_CUDA, VIEWS, matrix, on_gpu, raises
from oracle import seen

import diagsparse as ds
from diagsparse._backends.backend import CPU, Backend

NAME = "random diagonals 127"
N = 127


class OnDevice:
    """A `DeviceArray` in host memory."""

    device = 0

    def __init__(self, array):
        self.array, self.ptr = array, array.ctypes.data
        self.shape, self.strides, self.dtype = array.shape, array.strides, array.dtype
        self.ndim, self.size, self.itemsize = array.ndim, array.size, array.itemsize

    def __dlpack_device__(self):
        return 2, 0

    def astype(self, dtype):
        return OnDevice(self.array.astype(dtype))

    def assign(self, other):
        self.array[...] = other.array


CORE = types.SimpleNamespace(
    DeviceArray=OnDevice,
    kernels=CPU.core.kernels,
    prepare_matvec=lambda matrix, op, kernel: None,
    overlap=lambda x, y: np.shares_memory(x.array, y.array),
    empty=lambda shape, dtype, device, order: OnDevice(np.empty(shape, dtype, order)),
    matvec=lambda a, op, x, y, *more: CPU.core.matvec(a, op, x.array, y.array, *more),
    repeated=lambda *given: None,
)


def planned(op="N"):
    """Return the plan of a view of a matrix that appears to be on a GPU."""
    A = VIEWS[op](ds.hm_array(matrix(NAME)))
    A._set_backend(Backend(CORE, 0))
    return ds.plan_matvec(A)


def numbers(*shape, dtype="float64", order="C"):
    return np.asarray(np.random.default_rng(len(shape)).uniform(0.5, 1.5, shape), dtype, order)


@pytest.fixture
def offered(monkeypatch):
    """Note the kernel's operands whose layouts are remembered; native code then computes nothing."""
    calls = []
    monkeypatch.setattr(CORE, "repeated", lambda *given: calls.append(given) or (lambda *args: None))
    return calls


@pytest.mark.parametrize("op", VIEWS)
def test_layouts_that_a_kernel_reads_and_writes_are_remembered(op, offered):
    a, plan = seen(matrix(NAME), op), planned(op)
    memory = numbers(2 * N)
    wide = numbers(N, 6)
    pairs = {  # name: x, out, whether the kernel reads and writes them themselves
        "vectors": (numbers(N), numbers(N), True),
        "within one block": (memory[:N], memory[N:], True),
        "a block": (numbers(N, 3), numbers(N, 3), True),
        "a block, columns": (numbers(N, 3, order="F"), numbers(N, 3, order="F"), True),
        "a block and columns": (numbers(N, 3), numbers(N, 3, order="F"), False),  # x is brought to the order of out
        "parts of rows": (wide[:, :3], wide[:, 3:], True),
        "another type": (numbers(N, dtype="float32"), numbers(N), False),
        "strided": (numbers(2 * N)[::2], numbers(N), False),
        "strided out": (numbers(N), numbers(2 * N)[::2], False),
        "the same": (memory[:N], memory[:N], False),
        "overlapping": (memory[5 : N + 5], memory[:N], False),
    }
    for name, (x, out, direct) in pairs.items():
        for _ in range(2):
            expected, given = a @ x.astype(float), (OnDevice(x), OnDevice(out))
            offered.clear()
            assert plan(given[0], out=given[1]) is given[1]
            assert np.allclose(out, expected, rtol=1e-13), name
            _, _, kernel, *same, read, written, _, empty = offered[0]
            assert kernel == "" and same == list(given) and empty is None
            assert ((read.ptr, written.ptr) == (given[0].ptr, given[1].ptr)) == direct, name


def test_calls_that_native_code_repeats(monkeypatch):
    """Each kind of product has a layout of its own, which is not used in a given stream."""
    calls = []

    def repeated(matrix, op, kernel, *given):
        empty = given[-1]
        return lambda *args: calls.append((op, kernel, args[1:])) or (empty() if args[2] is None else args[2])

    monkeypatch.setattr(CORE, "repeated", repeated)
    A, name = planned().matrix, planned().kernel
    plan = ds.plan_matvec(A, kernel=name)
    x, out = OnDevice(numbers(N)), OnDevice(numbers(N))
    for kind, call, expected in (
        ("planned", lambda: plan(x, out=out, beta=2), (0, name, (x, out, 1, 2))),
        ("in place", lambda: A.matvec(x, out=out, alpha=3), (0, "", (x, out, 3, 0))),
        ("new", lambda: A @ x, (0, "", (x, None, 1, 0))),
        ("adjoint", lambda: A.rmatvec(x), (3, "", (x, None, 1, 0))),
    ):
        first = call()
        assert not calls, kind
        assert call().array.shape == first.array.shape and calls == [expected], kind
        calls.clear()
    A.matvec(x, out=out, stream=7)
    assert not calls


def test_invalid_operands_are_refused_after_valid_ones():
    plan = planned()
    x, out = OnDevice(numbers(N)), OnDevice(numbers(N))
    plan(x, out=out)
    before = out.array.copy()
    elsewhere = OnDevice(numbers(N))
    elsewhere.device = 1
    for error, word, call in (
        (ValueError, "126", lambda: plan(OnDevice(numbers(N - 1)), out=out)),
        (ValueError, "expected (127,)", lambda: plan(x, out=OnDevice(numbers(N + 1)))),
        (TypeError, "float32", lambda: plan(x, out=OnDevice(numbers(N, dtype="float32")))),
        (TypeError, "complex", lambda: plan(x, out=out, alpha=1j)),
        (TypeError, "expected a number", lambda: plan(x, out=out, beta="0")),
        (ValueError, "cuda:1", lambda: plan(elsewhere, out=out)),
        (ValueError, "cuda:1", lambda: plan(x, out=elsewhere)),
        (TypeError, "expected an array on", lambda: plan(x, out=[0.0] * N)),
    ):
        with raises(error, word):
            call()
    assert np.array_equal(out.array, before)


@pytest.mark.gpu
@pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)
@pytest.mark.parametrize("library", ["cupy", "torch", "own"])
@pytest.mark.parametrize("format", ["hm", "csr"])
def test_repeated_calls_on_a_gpu(library, format):
    a, plan = matrix(NAME), ds.plan_matvec(on_gpu(NAME, format))
    for shape, dtype in (((N,), "float64"), ((N, 3), "float64"), ((N,), "float32"), ((N,), "float64")):
        x = numbers(*shape, dtype=dtype)
        given, out = libraries.make(library, x), libraries.make(library, numbers(*shape))
        for repeat in range(4):  # from the second one on in native code
            given, out = libraries.make(library, x + repeat), libraries.make(library, numbers(*shape))
            assert plan(given, out=out) is out
            assert np.allclose(libraries.read(library, out), a @ (x + repeat).astype(float), rtol=1e-12)
        given = libraries.make(library, x)
        if dtype == "float64":
            for _ in range(2):
                plan(given, out=given)
                assert np.allclose(libraries.read(library, given), a @ x, rtol=1e-12)
                x = a @ x
    with raises(ValueError, "127"):
        plan(libraries.make(library, numbers(N - 1)), out=libraries.make(library, numbers(N)))


@pytest.mark.gpu
@pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)
@pytest.mark.parametrize("library", libraries.NAMES)
def test_repeated_calls_that_allocate_the_result(library):
    a, A = matrix(NAME), on_gpu(NAME, "hm")
    for shape, dtype in (((N,), "float64"), ((N, 3), "float64"), ((N,), "float32"), ((N,), "float64")):
        x, results = numbers(*shape, dtype=dtype), []
        for repeat in range(3):
            given = libraries.make(library, x + repeat)
            results.append((repeat, A @ given, A.rmatvec(given)))
            assert type(results[-1][1]) is type(given)
        for repeat, product, adjoint in results:
            assert np.allclose(libraries.read(library, product), a @ (x + repeat).astype(float), rtol=1e-12)
            assert np.allclose(libraries.read(library, adjoint), a.T @ (x + repeat).astype(float), rtol=1e-12)
    with raises(ValueError, "beta=2"):
        A.matvec(given, beta=2)
    with raises(ValueError, "126"):
        A @ libraries.make(library, numbers(N - 1))
    with raises(ValueError, "127"):
        A @ libraries.make(library, numbers(N + 1))


@pytest.mark.gpu
@pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)
@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_native_repeats_check_what_the_first_call_checked(library):
    """Arrays that lie another way go through all checks again, and what has to be resolved first is."""
    theirs, a, plan = libraries.load(library), matrix(NAME), ds.plan_matvec(on_gpu(NAME, "hm"))
    x = numbers(N)
    given, out = libraries.make(library, x), libraries.make(library, numbers(N))

    def again(**more):
        for _ in range(4):
            plan(given, out=out)
        plan(given, out=out, **more)
        return libraries.read(library, out)

    assert np.allclose(again(), a @ x, rtol=1e-12)
    if library == "cupy" or hasattr(theirs.Tensor, "__dlpack_c_exchange_api__"):
        native, A = plan.matrix._repeated[0, None, False], plan.matrix._matrix
        assert native(A, given, out, 1, 0) is out
        for operands in ((given, out, 1j, 0), (given, given, 1, 0), (given, None, 1, 0), (given, out, 1e300, 0)):
            assert native(A, *operands) is None
        other = ds.hm_array((3, N), device="cuda")
        assert native(other._matrix, given, out, 1, 0) is None
    assert np.allclose(again(alpha=2), 2 * (a @ x), rtol=1e-12)
    assert np.allclose(again(alpha=np.float64(-1), beta=1), 0, atol=1e-12)
    wide = libraries.make(library, numbers(2 * N))
    for other in (wide[::2], wide[1::2], wide[:N], wide[3 : N + 3]):
        again()
        plan(other, out=out)
        assert np.allclose(libraries.read(library, out), a @ libraries.read(library, other), rtol=1e-12)
    again()
    shared = wide[1 : N + 1]
    expected = a @ libraries.read(library, wide[:N])
    plan(wide[:N], out=shared)
    assert np.allclose(libraries.read(library, shared), expected, rtol=1e-12)
    again()
    for bad, word in ((libraries.make(library, numbers(N - 1)), "126"), (numbers(N).tolist()[:-1], "126")):
        with raises(ValueError, word):
            plan(bad, out=out)
    again()
    with raises(TypeError, "complex"):
        plan(given, out=out, alpha=1j)
    again()
    plan.matrix.eliminate_zeros()  # another matrix in the same object
    plan.matrix.values = 2 * plan.matrix.values.get()
    assert np.allclose(again(), 2 * (a @ x), rtol=1e-12)
    plan.matrix.values = plan.matrix.values.get() / 2
    if library == "torch":
        again()
        with raises(TypeError, "gradient"):
            plan(given.clone().requires_grad_(), out=out)
        conjugate = (given + 1j * given).conj()
        result = theirs.empty_like(conjugate)
        for values in (conjugate.resolve_conj(), conjugate.resolve_conj(), conjugate.resolve_conj(), conjugate):
            plan(values, out=result)
            assert np.allclose(result.cpu().numpy(), a @ (x - 1j * x), rtol=1e-12)
        negative = conjugate.imag
        for values in (negative.contiguous(), negative.contiguous(), negative.contiguous(), theirs._neg_view(given)):
            plan(values, out=out)
            assert np.allclose(out.cpu().numpy(), a @ -x, rtol=1e-12)
    else:
        with theirs.cuda.Stream(non_blocking=True):
            for _ in range(4):
                plan(given, out=out)
            assert np.allclose(out.get(), a @ x, rtol=1e-12)
