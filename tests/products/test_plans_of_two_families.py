"""Plans of two formats of which one is converted, where elements become zero or cease to be."""

import numpy as np
import pytest
from cases import MULTIPLYING, NO_CUDA, raises

import diagsparse as ds

N = 12
MULTIPLIED = pytest.mark.parametrize("format", MULTIPLYING)
OTHERS = pytest.mark.parametrize("other", ["csr", "ell", "hm", "mdia", "qband", "bmsparse"])
DROP_ZEROS = {"dia", "hm", "cdm", "qband"}  # where they are converted to the format of a product
DIAGONALS = {"dia", "hm", "cdm"}
PRODUCTS = {
    "A B": lambda A, B: (A, B),
    "B A": lambda A, B: (B, A),
    "A.T B": lambda A, B: (A.T, B),
    "B A.T": lambda A, B: (B, A.T),
}
DEVICES = pytest.mark.parametrize(
    "device",
    ["cpu", pytest.param("cuda", marks=[pytest.mark.gpu, pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)])],
)


def operands(format, other, device="cpu"):
    """Return a matrix without zeros on its diagonals, and one of another format."""
    return tuple(ds.array(ds.gallery.tridiagonal(N), name).to(device) for name in (format, other))


def set_diagonal(A, value):
    """Write the main diagonal; on a GPU by way of the CPU."""
    host = A.to("cpu")
    host.setdiag(value)
    A.values = host.values


def dense(x, y):
    return x.toarray() @ y.toarray()


def drops_zeros(format, other):
    """Whether a plan of both multiplies a converted copy of the first one, without its zeros."""
    return format in DROP_ZEROS and format != other and not {format, other} <= DIAGONALS


@DEVICES
@MULTIPLIED
@OTHERS
def test_elements_become_zero_and_cease_to_be(format, other, device):
    for order in PRODUCTS.values():
        A, B = operands(format, other, device)
        a, b = order(A, B)
        plan = ds.plan_matmul(a, b)
        out = plan()
        stored = out.values.shape
        for value in (0.0, 3.0, 0.0, -2.0):
            set_diagonal(A, value)
            for result in (plan(), plan(out=out), plan(a, b), plan(alpha=1.0)):
                assert np.allclose(result.toarray(), dense(a, b)), value
                assert result.format == out.format
        A.values = 0
        assert not plan().toarray().any() and not plan(out=out).toarray().any() and out.values.shape == stored


@DEVICES
@MULTIPLIED
@OTHERS
def test_elements_that_were_zero(format, other, device):
    for order in PRODUCTS.values():
        A, B = operands(format, other, device)
        set_diagonal(A, 0.0)
        a, b = order(A, B)
        plan = ds.plan_matmul(a, b)
        out = plan()
        before = out.toarray()
        set_diagonal(A, 3.0)
        calls = plan, plan, lambda plan=plan, out=out: plan(out=out), lambda plan=plan, a=a, b=b: plan(a, b)
        for call in calls:
            if not drops_zeros(format, other):
                assert np.allclose(call().toarray(), dense(a, b))
                continue
            with raises(ValueError, "plan", "structure", "were zero", "are not stored", "make a new plan"):
                call()
            assert np.array_equal(out.toarray(), before)
        assert np.allclose(ds.plan_matmul(a, b)().toarray(), dense(a, b))
        set_diagonal(A, 0.0)
        assert np.allclose(plan(out=out).toarray(), before), "it fits again"


@pytest.mark.parametrize("format", sorted(DROP_ZEROS))
def test_as_many_elements_elsewhere_are_refused(format):
    """One became zero, and another ceased to be."""
    A, B = operands(format, "csr")
    A[3, 3] = 0.0
    plan = ds.plan_matmul(A, B)
    A[3, 3], A[4, 4] = 1.0, 0.0
    with raises(ValueError, "plan", "structure", "were zero", "are not stored", "make a new plan"):
        plan()


@pytest.mark.parametrize("format", sorted(DROP_ZEROS))
@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128"])
def test_operands_of_other_types_that_store_fewer_elements(format, dtype):
    for planned, other in (("float64", dtype), (dtype, "float64")):
        A, B = operands(format, "csr")
        plan = ds.plan_matmul(A.astype(planned), B)
        A2 = A.astype(other)
        A2.setdiag(0.0)
        result = plan(A2)
        assert result.dtype == np.result_type(other, B.dtype) and np.allclose(result.toarray(), dense(A2, B))
