"""The GPU kernel of wide bands and dense matrices: values, edges, when it is chosen, and what is no number."""

import numpy as np
import pytest
from cases import EACH_DTYPE, NO_CUDA

import diagsparse as ds

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)]

DTYPES = "float32", "float64", "complex64", "complex128"
FORMATS = "dia", "hm", "cdm"


def whole(shape, low, high, dtype="float64", seed=0):
    """Return small whole numbers on the diagonals from `low` to `high`, dense: their products are exact."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-4, 5, shape).astype(dtype)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.integers(-4, 5, shape)
    return np.triu(np.tril(values, high), low).astype(dtype)


def on_gpu(array, format):
    return getattr(ds, f"{format}_array")(array).to("cuda")


@EACH_DTYPE
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("reach", [(-399, 399), (-120, 130), (-399, 0), (-1, 399), (-70, -9), (0, 0), (200, 390)])
def test_squares(format, dtype, reach):
    a, b = whole((400, 400), *reach, dtype), whole((400, 400), *reach, dtype, 1)
    A, B = on_gpu(a, format), on_gpu(b, format)
    plan = ds.plan_matmul(A, B, kernel="dense_tiles")
    C = plan()
    assert np.array_equal(C.to("cpu").toarray(), a @ b)
    assert np.array_equal(plan(out=C, alpha=3, beta=-2).to("cpu").toarray(), a @ b)
    for left, right, expected in (
        (A.T, B, a.T @ b),
        (A, B.H, a @ b.conj().T),
        (A.H, B.T, a.conj().T @ b.T),
    ):
        product = left.matmul(right, kernel="dense_tiles").to("cpu").toarray()
        assert np.array_equal(product, expected)


@EACH_DTYPE
@pytest.mark.parametrize(
    "shapes", [(100, 37, 290), (37, 290, 11), (290, 11, 100), (1, 9, 1), (12, 1, 13), (129, 128, 127), (65, 300, 64)]
)
def test_edges(shapes, dtype):
    m, k, n = shapes
    for (low, high), (left, right) in (((-m, k), (-k, n)), ((0, k), (-3, 3)), ((-m, 0), (1, n)), ((-2, 5), (-k, -1))):
        a, b = whole((m, k), low, high, dtype), whole((k, n), left, right, dtype, 1)
        for format in ("dia", "hm"):
            A, B = on_gpu(a, format), on_gpu(b, format)
            plan = ds.plan_matmul(A, B, kernel="dense_tiles")
            C = plan()
            assert np.array_equal(C.to("cpu").toarray(), a @ b)
            assert np.array_equal(plan(out=C, alpha=3, beta=-2).to("cpu").toarray(), a @ b)


@EACH_DTYPE
def test_large_tiles_where_k_is_long(dtype):
    a, b = whole((1330, 1290), -1330, 1290, dtype), whole((1290, 1310), -1290, 1310, dtype, 1)
    A, B = on_gpu(a, "hm"), on_gpu(b, "dia")
    plan = ds.plan_matmul(A, B)
    assert plan.kernel == "dense_tiles"
    assert np.array_equal(plan().to("cpu").toarray(), a @ b)


@pytest.mark.parametrize("format", ["dia", "hm"])
def test_diagonals_apart_and_a_triangle(format):
    """What is not stored between the outermost diagonals counts as zero; those outside of the triangle stay empty."""
    offsets = np.subtract.outer(np.arange(500), np.arange(500))
    a = np.where(offsets % 7 == 3, 0, whole((500, 500), -90, 160))
    A = on_gpu(a, format)
    assert np.array_equal(A.matmul(A, kernel="dense_tiles").to("cpu").toarray(), a @ a)
    for triangle, part in (("lower", np.tril), ("upper", np.triu)):
        C = ds.plan_matmul(A, A.T, kernel="dense_tiles", triangle=triangle)()
        assert np.array_equal(C.to("cpu").toarray(), part(a @ a.T))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("what", [np.inf, -np.inf, np.nan])
def test_no_number_only_where_a_term_makes_it(what, dtype):
    a = whole((300, 300), -90, 90, dtype)
    a[(a == 0) & (np.abs(np.subtract.outer(range(300), range(300))) <= 90)] = 1
    b = a.copy()
    b[40, 50] = what
    A, B = on_gpu(a, "hm"), on_gpu(b, "hm")
    product = A.matmul(B, kernel="dense_tiles").to("cpu").toarray()
    touched = np.zeros((300, 300), bool)
    touched[: 40 + 91, 50] = True  # rows of A that hold column 40
    with np.errstate(all="ignore"):
        assert not np.isfinite(product[touched]).any()
    assert np.array_equal(product[~touched], (a @ a)[~touched])


def test_chosen_for_wide_bands_and_no_others():
    kinds = {
        "band": (whole((2000, 2000), -150, 150), "dense_tiles"),
        "dense": (whole((300, 300), -299, 299), "dense_tiles"),
        "Hessenberg": (whole((600, 600), -1, 599), "dense_tiles"),
        "narrow": (whole((3000, 3000), -20, 20), "band"),
        "every tenth": (
            np.where(np.subtract.outer(range(2000), range(2000)) % 10, 0, whole((2000, 2000), -1999, 1999)),
            "block",
        ),
    }
    for name, (a, kernel) in kinds.items():
        A = on_gpu(a, "hm")
        plan = ds.plan_matmul(A, A)
        assert plan.kernel == kernel, name
        first = plan().to("cpu").toarray()
        assert np.array_equal(first, a @ a), name
        assert np.array_equal(plan().to("cpu").toarray(), first)
    mixed = on_gpu(kinds["dense"][0].astype("float32"), "hm")
    product = mixed.matmul(on_gpu(kinds["dense"][0], "hm"), kernel="dense_tiles")
    assert np.array_equal(product.to("cpu").toarray(), kinds["dense"][0] @ kinds["dense"][0])
