"""The CPU kernel of wide bands and dense matrices: when it is chosen, its edges, and what is no number."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import EACH_DTYPE

import diagsparse as ds

FORMATS = "dia", "hm", "cdm"


def band(m, n, low, high, seed=0, dtype="float64"):
    """Return small integers on the diagonals from `low` to `high`, dense."""
    values, imaginary = np.random.default_rng(seed).integers(-4, 5, (2, m, n))
    values = values + 1j * imaginary if dtype[0] == "c" else values
    return np.triu(np.tril(values.astype(dtype), high), low)


@pytest.mark.parametrize("format", FORMATS)
@EACH_DTYPE
def test_chosen_for_wide_bands_and_no_others(format, dtype):
    make = getattr(ds, f"{format}_array")
    kinds = {
        "band": (band(700, 700, -150, 150, dtype=dtype), "dense_tiles"),
        "dense": (band(300, 300, -299, 299, dtype=dtype), "dense_tiles"),
        "Hessenberg": (band(300, 300, -1, 299, dtype=dtype), "dense_tiles"),
        "narrow": (band(700, 700, -20, 20, dtype=dtype), "row_tiles"),
        "every tenth": (
            np.where(np.subtract.outer(range(700), range(700)) % 10, 0, band(700, 700, -699, 699, dtype=dtype)),
            "row_tiles",
        ),
    }
    for name, (a, kernel) in kinds.items():
        A = make(a, dtype=dtype)
        plan = ds.plan_matmul(A, A)
        if format != "cdm":  # whose rows hold the opposite corner, too
            assert plan.kernel == kernel, name
        assert np.array_equal(plan().toarray(), a @ a), name
    one = make(kinds["band"][0], dtype=dtype)
    other = make(band(700, 700, -150, 150, 1), dtype="float64" if dtype == "float32" else "float32")
    assert ds.plan_matmul(one, other).kernel == "row_tiles"  # of two types
    assert np.array_equal(one.matmul(other, kernel="dense_tiles").toarray(), (one @ other).toarray())


@EACH_DTYPE
@pytest.mark.parametrize(
    "shapes", [(100, 37, 290), (37, 290, 11), (290, 11, 100), (1, 9, 1), (12, 1, 13), (49, 48, 47)]
)
def test_edges(shapes, dtype):
    m, k, n = shapes
    for (low, high), (left, right) in (((-m, k), (-k, n)), ((0, k), (-3, 3)), ((-m, 0), (1, n)), ((-2, 5), (-k, -1))):
        a, b = band(m, k, low, high, 1, dtype), band(k, n, left, right, 2, dtype)
        for make in (ds.dia_array, ds.hm_array):
            A, B = make(a), make(b)
            plan = ds.plan_matmul(A, B, kernel="dense_tiles")
            C = plan()
            assert np.array_equal(C.toarray(), a @ b)
            assert np.array_equal(plan(out=C, alpha=3, beta=-2).toarray(), a @ b)
            transposed = ds.plan_matmul(B.T, A.T, kernel="dense_tiles")
            assert np.array_equal(transposed().toarray(), (a @ b).T)
            transposed = ds.plan_matmul(B.H, A.T, kernel="dense_tiles")
            assert np.array_equal(transposed().toarray(), b.conj().T @ a.T)
            transposed = ds.plan_matmul(A.conj(), B.conj(), kernel="dense_tiles")
            assert np.array_equal(transposed().toarray(), (a @ b).conj())


@pytest.mark.parametrize("format", FORMATS)
def test_diagonals_far_apart_go_by_row_tiles(format):
    """As dense matrices they would need some 10^12 multiply-adds, which takes minutes."""
    offsets = (-15_999, -7000, 0, 3, 10_000, 15_999)
    values = [np.arange(1.0, 16_001 - abs(k)) / 7 for k in offsets]
    A = getattr(ds, f"{format}_array")(sp.diags_array(values, offsets=offsets, shape=(16_000, 16_000)))
    C, D = (A.matmul(A, kernel=kernel) for kernel in ("dense_tiles", "row_tiles"))
    assert C.values.tobytes() == D.values.tobytes()


def test_k_in_stretches():
    """The packed columns of B would need 24 MB: k is processed in two chunks."""
    a, b = band(60, 1700, -60, 1700, 1), band(1700, 1700, -1700, 1700, 2)
    A, B = ds.hm_array(a), ds.hm_array(b)
    plan = ds.plan_matmul(A, B, kernel="dense_tiles")
    C = plan()
    assert np.array_equal(C.toarray(), a @ b)
    assert np.array_equal(plan(out=C, alpha=2, beta=0.5).toarray(), 2.5 * (a @ b))
    b[3, 7] = np.inf
    result, rest = A.matmul(ds.hm_array(b), kernel="dense_tiles").toarray(), np.arange(1700) != 7
    assert np.array_equal(result[:, rest], a @ b[:, rest]) and not np.isfinite(result[:, 7]).any()


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("what", [np.inf, -np.inf, np.nan])
def test_no_number_only_where_a_term_makes_it(what, dtype):
    a = (
        np.abs(band(400, 400, -90, 90, 1))
        + band(400, 400, -90, 90, 1) ** 2
        + np.tri(400, 400, 90) * (1 - np.tri(400, 400, -91))
    )
    a = a.astype(dtype)
    b = a.T.copy()
    b[200, 170] = what
    C = ds.plan_matmul(ds.dia_array(a), ds.dia_array(b), kernel="dense_tiles")().toarray()
    stored = np.tri(400, 400, 90) * (1 - np.tri(400, 400, -91)) > 0
    met = np.zeros((400, 400), bool)
    met[stored[:, 200], 170] = True
    assert np.array_equal(~np.isfinite(C), met)
    assert np.array_equal(C[~met], (a @ np.where(np.isfinite(b), b, 0))[~met])


@pytest.mark.parametrize("triangle", ["lower", "upper"])
def test_one_triangle(triangle):
    a, keep = band(500, 500, -120, 90, 1), np.tril if triangle == "lower" else np.triu
    A = ds.hm_array(a)
    plan = ds.plan_matmul(A, A.T, triangle=triangle)
    assert plan.kernel == "dense_tiles" and np.array_equal(plan().toarray(), keep(a @ a.T))
    assert np.array_equal(ds.syrk(A, triangle=triangle).toarray(), keep(a @ a.T))


@pytest.mark.nightly
def test_rows_are_used_where_tiles_would_need_much_memory():
    a, b = band(300, 300, -299, 299, 1), band(300, 60000, -299, 59999, 2)
    plan = ds.plan_matmul(ds.hm_array(a), ds.hm_array(b))
    assert plan.kernel == "row_tiles" and np.array_equal(plan().toarray(), a @ b)
    far = ds.dia_array(sp.diags_array([np.ones(1), np.ones(200000)], offsets=[199999, 0], shape=(200000, 200000)))
    result = far.matmul(far, kernel="dense_tiles")
    assert result.diagonal(199999)[0] == 2 and np.array_equal(result.diagonal(), np.ones(200000))


def test_the_same_bits_from_any_number_of_threads():
    rng = np.random.default_rng(0)
    long = ds.hm_array(rng.random((60, 1700))), ds.hm_array(rng.random((1700, 1700)))  # k in chunks
    A = ds.dia_array(sp.csr_array(ds.gallery.banded(900, 100, 120, seed=1)))
    before = ds.get_num_threads()
    try:
        for left, right in ((A, A), long):
            result = []
            for threads in (1, 2, 3, 7):
                ds.set_num_threads(threads)
                result.append(ds.plan_matmul(left, right, kernel="dense_tiles")().values.copy())
            assert all(np.array_equal(result[0], other) for other in result[1:])
    finally:
        ds.set_num_threads(before)
