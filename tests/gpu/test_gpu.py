"""Matrices on a GPU: arrays and matrices of other libraries in and out, on their memory."""

import inspect

import libraries
import numpy as np
import pytest
import scipy.sparse as sp
from cases import (
    DIAGONAL,
    EACH_DIAGONAL,
    NO_CUDA,
    VIEWS,
    holding,
    host,
    matrix,
    on_gpu,
    ours,
    raises,
    random,
    to_device,
    to_host,
)
from libraries import load
from oracle import check_matmul, check_matvec, seen

import diagsparse as ds

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)]
FORMATS = pytest.mark.parametrize("format", ds.formats())
LIBRARIES = pytest.mark.parametrize("library", libraries.NAMES)
NAME = "random diagonals 127"


def same(A, dense, what=""):
    """Assert that a matrix on the GPU holds these values."""
    assert A.device == "cuda" and np.array_equal(A.toarray(), dense), what


# ---- dense arrays of other libraries --------------------------------------------------------------
@LIBRARIES
@FORMATS
def test_results_come_back_in_the_library_of_x(library, format):
    for dtype in ("float32", "complex128"):
        A = on_gpu(NAME, format, dtype)
        for op, view in VIEWS.items():
            for size in (127, (127, 1), (127, 5), (127, 0)):
                for order in "CF":
                    x = np.asarray(random(size, dtype, "x"), order=order)
                    given = libraries.make(library, x)
                    y = libraries.read(library, view(A) @ given)
                    check_matvec(y, NAME, dtype, op, x, f"{library} {format} {op} {size} {order}")
            x = random((4, 127), dtype, "left")
            y = libraries.read(library, libraries.make(library, x) @ A)
            check_matvec(y.T, NAME, dtype, "T", x.T, f"{library} {format}: x @ A")


@pytest.mark.parametrize("library", ["cupy", "torch", "own"])
def test_out_of_every_library(library):
    for format in ("hm", "csr"):
        A = on_gpu(NAME, format)
        for size in (127, (127, 3)):
            for order in "CF":
                x, y0 = (np.asarray(random(size, "float64", key), order=order) for key in "xy")
                out = libraries.make(library, y0)
                where = libraries.address(library, out)
                assert A.matvec(libraries.make(library, x), out=out, alpha=2, beta=-0.5) is out
                assert libraries.address(library, out) == where
                check_matvec(libraries.read(library, out), NAME, "float64", "N", x, f"{library} {format}", 2, -0.5, y0)
                assert A.matvec(x, out=out) is out, "NumPy in, out= on the GPU"
                check_matvec(
                    libraries.read(library, out), NAME, "float64", "N", x, f"{library} {format}, x on the host"
                )
                assert A.matvec(out, out=out) is out, "out is x"


@pytest.mark.parametrize("library", ["cupy", "torch", "jax"])
def test_dtypes_that_only_the_library_converts(library):
    A = on_gpu("banded 9", "hm", "float32")
    for dtype in ("int8", "uint8", "bool", "float16", "int32", "int64"):
        x = (4 * random(9, "float32")).astype(dtype)
        y = libraries.read(library, A @ libraries.make(library, x))
        assert y.dtype == np.result_type(np.float32, x.dtype)
        check_matvec(y, "banded 9", "float32", "N", x, f"{library} {dtype}")


def test_tensors_that_pytorch_cannot_export():
    torch = load("torch")
    A = on_gpu("banded 9", "hm", "complex64")
    x = libraries.make("torch", random(9, "complex64"))
    assert torch.equal(A @ x.conj(), A @ x.conj().resolve_conj())
    with raises(TypeError, "gradient", "detach()"):
        A.matvec(x.requires_grad_(), out=torch.empty_like(x))
    with torch.no_grad():
        assert (A @ x).is_cuda
    with raises(TypeError, "bool"):
        A.matvec(x.detach(), out=torch.ones(9, dtype=torch.bool, device="cuda"))
    load("ml_dtypes")
    half = torch.ones(9, dtype=torch.bfloat16, device="cuda")
    assert torch.equal(A @ half, A @ half.float())
    assert (A @ torch.ones(9)).device.type == "cpu"


def test_jax_arrays_are_immutable():
    A, x = on_gpu("banded 9", "hm"), libraries.make("jax", np.ones(9))
    with raises(TypeError, "out", "immutable"):
        A.matvec(x, out=x)


@FORMATS
def test_numpy_in_numpy_out(format):
    A = on_gpu(NAME, format)
    for x in (np.ones(127), [1.0] * 127, np.ones((127, 2)), np.asfortranarray(np.ones((127, 2))), np.ones(127, "int8")):
        y = A @ x
        assert isinstance(y, np.ndarray)
        check_matvec(y, NAME, "float64", "N", np.asarray(x), format)
        if isinstance(x, np.ndarray) and x.ndim == 2:
            assert y.flags.f_contiguous == x.flags.f_contiguous
    out = np.full(127, np.nan)
    assert A.matvec(np.ones(127), out=out) is out
    check_matvec(out, NAME, "float64", "N", np.ones(127), format)
    assert isinstance(np.ones(127) @ A, np.ndarray) and isinstance(A.sum(axis=0), np.ndarray)
    with raises(TypeError, "out", "ndarray", "cuda"):
        A.matvec(to_device(np.ones(127), "cuda"), out=out)


@FORMATS
def test_out_that_does_not_fit(format):
    cupy = load("cupy")
    A, x = on_gpu("banded 9", format), cupy.ones(9)
    for out, kind, words in (
        (cupy.zeros(8), ValueError, ["(8,)", "(9,)"]),
        (cupy.zeros(9, "float32"), TypeError, ["float32", "float64"]),
        ([0.0] * 9, TypeError, ["list", "cuda"]),
    ):
        with raises(kind, "out", *words):
            A.matvec(x, out=out)
    with raises(ValueError, "8 elements", "needs 9"):
        A @ cupy.ones(8)
    with raises(ValueError, "nope", "cuda"):
        A.matvec(x, kernel="nope")
    assert np.array_equal(to_host(A @ x), A @ np.ones(9)), "an error left something behind"


# ---- memory that is shared ------------------------------------------------------------------------
@pytest.mark.parametrize("library", ["cupy", "torch", "own"])
def test_values_are_shared_both_ways(library):
    values = libraries.make(library, np.array([[1.0, 2, 3], [4, 5, 0]]))
    A = ds.dia_array((values, [0, 1]), shape=(3, 3), align="row")
    assert A.device == "cuda" and A.values.ptr == libraries.address(library, values)
    A.values = np.full((2, 3), 7.0)
    assert np.all(libraries.read(library, values) == 7)
    if library != "own":
        theirs = load(library).from_dlpack(A.values)
        assert libraries.address(library, theirs) == A.values.ptr
    B = ds.dia_array((values, [0, 1]), shape=(3, 3), copy=True, align="row")
    assert B.values.ptr != A.values.ptr
    one = ds.dia_array((values[0] if library != "own" else values.ravel()[:3], [0]), shape=(3, 3))
    assert one.values.shape == (1, 3) and one.values.ptr == A.values.ptr
    del values, B, one
    assert np.array_equal(A.toarray(), np.diag([7.0] * 3) + np.diag([7.0] * 2, 1))


def test_component_arrays_outlive_the_matrix():
    for format in ds.formats():
        A = ds.array(matrix("banded 9"), format, device="cuda")
        parts, expected = A.parts(), {name: part.copy() for name, part in host(A.parts()).items()}
        del A
        for name, part in host(parts).items():
            assert np.array_equal(part, expected[name]), (format, name)


def test_parts_on_a_gpu():
    cupy = load("cupy")
    a = matrix("random diagonals 127", "complex64")
    csr, coo = sp.csr_array(a), sp.coo_array(a)
    order = np.random.default_rng(0).permutation(coo.nnz)
    row, col, values = (cupy.asarray(x[order]) for x in (*coo.coords, coo.data))
    for result in (
        ds.csr_array(tuple(map(cupy.asarray, (csr.data, csr.indices, csr.indptr))), shape=a.shape),
        ds.csr_array((cupy.asarray(csr.data), csr.indices, csr.indptr)),
        ds.csr_array((values, (row, col)), shape=a.shape), ds.csc_array((values, (row, col)), shape=a.shape),
        ds.coo_array((values, (row.astype("int64"), col.astype("int16"))), shape=a.shape),
    ):  # fmt: skip
        same(result, a.toarray())
    twice = ds.csr_array((cupy.ones(3), (cupy.array([1, 0, 1]), cupy.array([0, 1, 0]))), shape=(2, 2))
    assert twice.nnz == 2 and np.array_equal(twice.toarray(), [[0, 1], [2, 0]])
    for bad in (2, -1):
        with raises(ValueError, "csr_array"):
            ds.csr_array((cupy.ones(1), (cupy.array([0]), cupy.array([bad]))), shape=(2, 2))
    with raises(TypeError, "indices", "float64"):
        ds.csr_array((cupy.ones(1), (cupy.zeros(1), cupy.zeros(1))), shape=(2, 2))
    with pytest.warns(ds.ConversionWarning, match="int64"):
        same(ds.dia_array((cupy.ones((1, 3), "int64"), [0]), shape=(3, 3)), np.eye(3))
    same(ds.dia_array((cupy.ones((1, 3), "int8"), [0]), shape=(3, 3), dtype="float32"), np.eye(3))


# ---- CuPy's matrices ------------------------------------------------------------------------------
@FORMATS
@pytest.mark.parametrize("theirs", ["csr", "csc", "coo", "dia"])
def test_matrices_of_cupy(format, theirs):
    load("cupy")
    sparse = load("cupyx.scipy.sparse")
    for name in holding(format, ("banded 9", "corners 65", "wide 20 x 70", "empty rows", "explicit zeros")):
        for dtype in ("float32", "complex128"):
            a = matrix(name, dtype).copy()
            given = getattr(sparse, f"{theirs}_matrix")(a.asformat(theirs))
            A = getattr(ds, f"{format}_array")(given)
            assert (A.device, A.dtype, A.shape, A.format) == ("cuda", a.dtype, a.shape, format)
            same(A, a.toarray(), f"{name} {dtype}")
            assert getattr(ds, f"{format}_array")(given, device="cpu").device == "cpu"
            assert A.to("cuda") is A
            if theirs != "dia" or format in DIAGONAL:
                back = A.to_cupy(theirs)
                assert back.format == theirs and np.array_equal(back.toarray().get(), a.toarray())
            check_matmul(ds.matmul(given, A.T), a, a.T, "CuPy's operand")
    assert ds.array(given).device == "cuda"
    dense = load("cupy").asarray(matrix("banded 9").toarray())
    same(ds.array(dense, format), matrix("banded 9").toarray())


@EACH_DIAGONAL
def test_to_cupy_and_diagonals_of_packed_matrices(format):
    load("cupy")
    S = ds.gallery.stencil(5, (20, 30)).tocsr()
    for layout in ({"period": 30}, {"symmetry": "symmetric"}, {"symmetry": "symmetric", "period": 30}):
        A = ds.array(S, format, device="cuda", **layout)
        assert (A.period, A.symmetry) == (layout.get("period"), layout.get("symmetry"))
        assert np.array_equal(A.to_cupy("dia").toarray().get(), S.toarray())
        assert all(np.array_equal(A.diagonal(k), S.diagonal(k)) for k in (0, 1, -30, 7))
    E = ds.eye(2**40, format=format, device="cuda", period=1)
    assert E.device == "cuda" and E.nbytes < 100


def test_to_cupy_shares_values_and_preserves_views():
    load("cupy")
    A = on_gpu(NAME, "csr", "complex64")
    assert A.to_cupy().data.data.ptr == A.values.ptr
    for view, op in ((A.T, "T"), (A.H, "H"), (A.conj(), "C")):
        assert np.array_equal(view.to_cupy("csr").toarray().get(), seen(matrix(NAME, "complex64"), op).toarray())
    B = on_gpu(NAME, "hm", "complex64")
    for op, view in VIEWS.items():
        assert np.array_equal(view(B).to_cupy().toarray().get(), seen(matrix(NAME, "complex64"), op).toarray())
    assert np.array_equal(ours(NAME, "csr").to_cupy().toarray().get(), matrix(NAME).toarray())
    with raises(ValueError, "'bsr'", "coo"):
        A.to_cupy("bsr")


@FORMATS
def test_solvers_of_cupy(format):
    cupy, linalg = load("cupy"), load("cupyx.scipy.sparse.linalg")
    a = sp.csr_array(ds.gallery.stencil(5, (9, 11)))
    A, b = ds.array(a, format, device="cuda"), cupy.asarray(random(99, "float64"))
    for solver in (linalg.cg, linalg.gmres):
        tolerance = "rtol" if "rtol" in inspect.signature(solver).parameters else "tol"  # CuPy 14 follows SciPy
        x, info = solver(A, b, **{tolerance: 1e-10})
        assert info == 0 and np.linalg.norm(a @ x.get() - b.get()) <= 1e-8 * np.linalg.norm(b.get())
    exact = np.linalg.eigvalsh(a.toarray())
    values = linalg.eigsh(A, k=3, which="LA", return_eigenvectors=False)
    assert np.allclose(np.sort(values.get()), exact[-3:], rtol=1e-8)
    start = cupy.asarray(random((99, 3), "float64"))
    values, _ = linalg.lobpcg(linalg.aslinearoperator(A), start, largest=True, tol=1e-8, maxiter=300)
    assert np.allclose(np.sort(values.get()), exact[-3:], rtol=1e-6)
