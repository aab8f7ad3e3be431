"""Matrices on a GPU: sparse work against the CPU's, from device to device, devices that do not mix."""

import copy
import operator
import pickle

import libraries
import numpy as np
import pytest
import scipy.sparse as sp
from cases import (
    DTYPES,
    EACH_DTYPE,
    NO_CUDA,
    VIEWS,
    holding,
    host,
    matrix,
    on_gpu,
    ours,
    pairs,
    raises,
    random,
    to_device,
)
from oracle import check_matmul, seen

import diagsparse as ds

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)]
FORMATS = pytest.mark.parametrize("format", ds.formats())
NAME = "random diagonals 127"


def same(A, dense, what=""):
    """Assert that a matrix on the GPU holds these values."""
    assert A.device == "cuda" and np.array_equal(A.toarray(), dense), what


# ---- sparse work against the CPU's ----------------------------------------------------------------
@FORMATS
@EACH_DTYPE
def test_element_by_element(format, dtype):
    for name in holding(format, ("banded 9", "corners 65", "wide 20 x 70", "0x5", "explicit zeros")):
        for op, view in VIEWS.items():
            A, a = view(on_gpu(name, format, dtype)), seen(matrix(name, dtype), op).toarray()
            for s in (2, -0.5, np.float32(3), np.float64(1.5), np.array(2.0), 1 + 2j):
                for result, expected in ((A * s, a * s), (A / s, a / s)):
                    assert result.format == A.format and result.dtype == expected.dtype and result.device == "cuda"
                    assert np.allclose(result.toarray(), expected, rtol=1e-6)
            for result, expected in ((-A, -a), (abs(A), abs(a)), (A**2, a**2), (A + A, a + a), (A - A, a - a),
                                   (A * A, a * a), (A.copy(), a), (A.conj(copy=True), a.conj()),
                                   (A.T.copy(), a.T), (A.astype("complex128"), a)):  # fmt: skip
                assert result.device == "cuda" and np.allclose(result.toarray(), expected, rtol=1e-6), (name, op)
            assert np.allclose(A.sum(), a.sum(), atol=1e-3) and np.allclose(A.sum(axis=1), a.sum(axis=1), atol=1e-3)
            assert np.array_equal(A.diagonal(), a.diagonal()) and np.array_equal(A.diagonal(2), a.diagonal(2))
            assert A.count_nonzero() == np.count_nonzero(a)
            B = A.copy()
            B.eliminate_zeros()
            assert np.array_equal(B.toarray(), a) and B.nnz <= A.nnz and B.count_nonzero() == A.count_nonzero()


@pairs("format", "right")
def test_pairs_of_formats(format, right):
    a, b = matrix("banded 9", "complex64"), matrix("dense 9", "float64")
    A, B = on_gpu("banded 9", format, "complex64"), on_gpu("dense 9", right, "float64")
    for function in (operator.add, operator.sub, operator.mul):
        C = function(A, B)
        assert (C.format, C.dtype, C.device) == (format, np.dtype("complex128"), "cuda")
        assert np.allclose(C.toarray(), function(a.toarray(), b.toarray()), rtol=1e-14)
    check_matmul(A @ B, a, b, f"{format} {right}")
    check_matmul(A.matmul(B.T, format=right), a, b.T, f"{format} {right}")
    for view in (A, A.T, A.H):
        C = view.asformat(right)
        assert C.format == right
        same(C, view.toarray())


@FORMATS
def test_infinities_stay_in_their_part(format):
    a = (np.diag([np.inf, 1.0, -np.inf]) + np.diag([2.0, 3.0], 1)).astype(complex)
    A, B = ds.array(a, format, device="cuda"), ds.array(np.eye(3, k=1, dtype=complex), format, device="cuda")
    for result, expected in ((A - B, a - np.eye(3, k=1)), (B - A, np.eye(3, k=1) - a), (-A, -a), (A.T.copy(), a.T)):
        assert np.array_equal(result.toarray(), expected)


@FORMATS
@pytest.mark.parametrize("library", ["numpy", "cupy", "torch"])
def test_dense_with_sparse(format, library):
    a = matrix("banded 9")
    A = on_gpu("banded 9", format)
    for d in (random((9, 9), "float64"), random((1, 9), "float64"), random((9, 1), "float64"), random(9, "float64")):
        given = d if library == "numpy" else libraries.make(library, d)
        for view, expected in ((A, a.toarray()), (A.T, a.toarray().T)):
            same(view.multiply(given), expected * d)
            if d.shape == (9, 9):
                result = view + given
                result = result if library == "numpy" else libraries.read(library, result)
                assert np.array_equal(result, expected + d)
                result = view - given
                assert np.array_equal(result if library == "numpy" else libraries.read(library, result), expected - d)


@FORMATS
@pytest.mark.parametrize("triangle", [None, "lower", "upper"])
def test_syrk(format, triangle):
    keep = {None: lambda x: x, "lower": np.tril, "upper": np.triu}[triangle]
    a = matrix(NAME, "complex64").toarray()
    A = on_gpu(NAME, format, "complex64")
    C = ds.syrk(A, triangle=triangle)
    assert C.format == format and C.device == "cuda" and np.allclose(C.toarray(), keep(a @ a.T), rtol=1e-4, atol=1e-5)
    C = ds.syr2k(A, A, ds.array(np.eye(127, dtype="complex64"), format, device="cuda"), triangle=triangle, beta=2)
    expected = keep(2 * a @ a.T + 2 * np.eye(127))
    assert np.allclose(C.toarray(), expected, rtol=1e-4, atol=1e-5)


def test_a_triangle_of_scattered_entries_says_what_to_do():
    n = 200_000
    rng = np.random.default_rng(0)
    a = sp.coo_array((np.ones(n), (rng.permutation(n), rng.permutation(n))), shape=(n, n))
    with raises(NotImplementedError, "syrk", "diagonals", "triangle=None", '.to("cpu")'):
        ds.syrk(ds.csr_array(a, device="cuda"), ds.csr_array(a, device="cuda"), triangle="lower")


def test_values_in_place_keep_their_type():
    A = on_gpu("banded 9", "hm", "float32")
    values = A.values
    with raises(TypeError, "real", "complex"):
        values *= 1j
    values *= np.float64(0.5)
    assert values.dtype == A.dtype == np.float32
    with raises(ValueError, "these are constant"):
        values = values.read_only("these are constant")
        values *= 2


# ---- between devices ------------------------------------------------------------------------------
@FORMATS
def test_there_and_back(format):
    for name in holding(format, ("0x5", "1x1", "banded 9", NAME, "empty rows", "nothing stored")):
        for dtype in DTYPES:
            A = ours(name, format, dtype)
            for view in (A, A.T, A.H, A.conj()):
                there = view.to("cuda")
                assert (there.device, there.format, there.shape, there._op) == (
                    "cuda",
                    view.format,
                    view.shape,
                    view._op,
                )
                back = there.to("cpu")
                assert back.device == "cpu" and np.array_equal(back.toarray(), view.toarray())
                same(there, view.toarray())
            assert A.to("cuda").to("cuda:0") is not A and ds.array(A.to("cuda"), format).device == "cuda"
            for name_, part in host(A.to("cuda").parts()).items():
                assert np.array_equal(part, A.parts()[name_]) and part.dtype == A.parts()[name_].dtype


@FORMATS
def test_protocols(format):
    A = on_gpu("banded 9", format, "complex64")
    for view in (A, A.T, A.H):
        again = pickle.loads(pickle.dumps(view))
        assert again.device == "cpu" and np.array_equal(again.toarray(), view.toarray())
        for twin in (copy.copy(view), copy.deepcopy(view)):
            same(twin, view.toarray())
        assert "cuda" in repr(view) and repr(view) in view._repr_html_().replace("&lt;", "<").replace("&gt;", ">")
    assert "cuda" in repr(ds.plan_matmul(A, A)) and "cuda" in repr(ds.plan_matvec(A))
    for scipy_format in (None, "csr", "dia", "coo"):
        assert np.array_equal(A.to_scipy(scipy_format).toarray(), A.toarray())
    B = A.copy()
    B.values = 3
    assert np.all(B.values.get() == 3) and not np.any(A.values.get() == 3)
    values = B.values
    values *= 4
    values /= 2
    values **= 2
    assert np.all(values.get() == 36) and np.all(B.values.get() == 36)  # in place
    assert ds.memory_report(A) == ds.memory_report(A.to("cpu"))
    assert ds.forecast("matmul", A, A).result_nbytes == (A @ A).nbytes
    stages = A.matmul(A, profile=True)[1]
    assert all(seconds > 0 for seconds in stages.values())


@FORMATS
def test_devices_do_not_mix(format):
    A, B = ours("banded 9", format), on_gpu("banded 9", format)
    x = to_device(np.ones(9), "cuda")
    for run in (lambda: B @ A, lambda: ds.matmul(B, A), lambda: B.matmul(A), lambda: ds.plan_matmul(B, A),
                lambda: ds.syr2k(B, A)):  # fmt: skip
        with raises(ValueError, "is on cuda", "on cpu", '.to("cuda")'):
            run()
    for run in (lambda: A + B, lambda: A * B, lambda: A - B, lambda: A @ B):
        with raises(ValueError, "is on cpu", "on cuda", '.to("cpu")'):
            run()
    with raises(ValueError, "A is on cuda and C on cpu"):
        ds.matmul(B, B, A)
    with raises(ValueError, "plan", "cuda", "cpu"):
        ds.plan_matmul(B, B)(A)
    for run in (lambda: A @ x, lambda: A.matvec(x), lambda: x @ A, lambda: A.rmatvec(x)):
        with raises(TypeError, "on the cpu", "on cuda", 'A.to("cuda")'):
            run()
    with raises(ds.CudaUnavailable, "cuda:99", 'device="cpu"'):
        A.to("cuda:99")
    a = matrix("banded 9")
    with raises(TypeError, "cpu"):  # SciPy's own product
        a @ B
    for result in (B @ a, B + a, B * a, ds.matmul(a, B)):  # SciPy's has no device, and goes where ours is
        assert result.device == "cuda"


def test_config_names_the_devices(capsys):
    ds.show_config()
    out = capsys.readouterr().out
    assert "available" in out and "cuSPARSE" in out and "cuda:0" in out and " free" in out
