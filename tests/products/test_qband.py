"""Products of quasi-bands: long rows and columns outside of the bands, and infinities."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import VIEWS, to_device, to_host
from oracle import seen

import diagsparse as ds


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_a_long_row_and_a_dense_column_outside_of_the_bands(device, dtype):
    """Both are longer than two chunks of a row; all sums are exact."""
    m, n = 4500, 5000
    rng = np.random.default_rng(0)
    a = sp.lil_array(sp.diags_array([rng.integers(1, 9, m).astype(float) for _ in range(3)], offsets=[-1, 0, 1],
                                    shape=(m, n)))  # fmt: skip
    a[7, :4600] = rng.integers(1, 9, 4600)
    a[:, 3] = rng.integers(1, 9, (m, 1))
    a = sp.csr_array(a).astype(dtype) * (1 if dtype == "float64" else 1 + 1j)
    A = ds.qband_array(a, offsets=[-1, 0, 1], device=device)
    rest = A.rest.tocsr().to("cpu").to_scipy()
    assert np.diff(rest.indptr).max() > 4200 and np.bincount(rest.indices).max() > 4200
    for op, view in VIEWS.items():
        V, expected = view(A), seen(a, op)
        X = rng.integers(-9, 10, (V.shape[1], 8)).astype(dtype)
        for x in (X[:, 0].copy(), X, X[:, :3].copy(), np.asfortranarray(X), X[:, ::2]):
            assert np.array_equal(to_host(V @ to_device(x, device)), expected @ x), (op, x.shape)
        y = to_device(np.ones((V.shape[0], 8), dtype), device)
        plan = ds.plan_matvec(V)
        assert np.array_equal(to_host(plan(to_device(X, device), out=y)), expected @ X), op


def test_infinities_meet_the_zeros_of_the_bands(device):
    """A zero on a diagonal of the bands is stored: times infinity it is NaN, as in dia; in csr it is nothing."""
    a, b, x = np.eye(70) + np.eye(70, k=1), np.eye(70), np.ones(70)
    a[30, 30], a[50, 2], b[30, 30], x[30] = 0, 3, np.inf, np.inf
    A, C = ds.qband_array(a, offsets=[0, 1], device=device), ds.csr_array(a, device=device)
    assert A.rest.nnz == 1
    for V, of_csr, zero, full in ((A, C, 30, 29), (A.T, C.T, 30, 31)):
        y, expected = to_host(V @ to_device(x, device)), to_host(of_csr @ to_device(x, device))
        assert np.isnan(y[zero]) and expected[zero] == 1 and np.isinf(y[full])
        assert np.array_equal(np.delete(y, zero), np.delete(expected, zero))
        for kernel in A.kernels("matmul"):
            B = ds.qband_array(b, offsets=[0], device=device)
            y, expected = V.matmul(B, kernel=kernel).toarray(), (of_csr @ B.asformat("csr")).toarray()
            assert np.isnan(y[zero, 30]) and expected[zero, 30] == 0 and np.isinf(y[full, 30])
            y[zero, 30] = 0
            assert np.array_equal(y, expected), kernel


def test_the_type_decides_which_zeros_are_stored(device):
    """A diagonal that is two fifths full lies in the bands of float32, and in the rest of float64."""
    a = np.eye(100) + np.diag(np.where(np.arange(99) % 5 < 2, 1.0, 0), k=1)
    x = np.ones(100)
    x[3] = np.inf
    found = {}
    for dtype in ("float32", "float64"):
        A = ds.qband_array(a.astype(dtype), device=device)
        found[dtype] = A.offsets.size, bool(np.isnan(to_host(A @ to_device(x.astype(dtype), device))).any())
    assert found == {"float32": (2, True), "float64": (1, False)}


def test_a_large_rest_multiplies_as_csr():
    """On the CPU, by a rule: the result equals SciPy's, repeats, and has the format that somebody asks for."""
    a = ds.gallery.quasi_band(300, 5.0, 40.0, seed=0)
    b = ds.gallery.quasi_band(300, 2.0, 40.0, seed=1)
    few = ds.gallery.quasi_band(300, 5.0, 99.0, band_count=1, seed=2)
    for left, right, format in ((a, b, "csr"), (a, a, "csr"), (few, few, "qband")):
        left.data, right.data = np.rint(9 * left.data), np.rint(9 * right.data)  # all sums are exact
        A, B, expected = ds.qband_array(left), ds.qband_array(right), (left @ right).toarray()
        plan = ds.plan_matmul(A, B)
        C = A @ B
        assert C.format == plan.format == ds.matmul(A, B, out=C).format == format
        result = [C, A @ B, plan(), plan(out=plan()), plan(A, B), ds.matmul(A, B, sp.csr_array(expected), beta=0)]
        out = ds.matmul(A, B, format="qband")
        result += [out, ds.matmul(A, B, out=out), ds.plan_matmul(A, B, format="qband")()]
        result += [ds.matmul(A, B, kernel=kernel) for kernel in A.kernels("matmul")]
        assert all(np.array_equal(D.toarray(), expected) for D in result)
        assert [D.format for D in result[6:]] == ["qband"] * (3 + len(A.kernels("matmul")))
        assert np.array_equal((B.T @ A.T).toarray(), expected.T)


def test_scaled_rows_and_columns_preserve_the_bands(device):
    """So a plan accepts them."""
    a = sp.csr_array(sp.eye_array(60) + sp.eye_array(60, k=3) + sp.random_array((60, 60), density=0.03, rng=0))
    A, scale = ds.qband_array(a, offsets=[0], device=device), np.arange(1.0, 61)
    plan = ds.plan_matmul(A, A, format="qband")
    for scaled, exact in ((A * scale, a * scale), (A / scale, a / scale), (A * scale[:, None], a * scale[:, None])):
        assert scaled.offsets.tolist() == [0]
        np.testing.assert_allclose(plan(scaled, A).toarray(), (sp.csr_array(exact) @ a).toarray(), rtol=1e-14)


def test_the_rule_depends_on_entries_outside_of_the_bands():
    """With a reused plan, csr is worth it from fewer products outside of the bands on than for a single product."""
    a = ds.qband_array(ds.gallery.quasi_band(400, 5.0, 82.0, seed=0))
    assert (a @ a).format == "qband" and ds.plan_matmul(a, a).format == "csr"


@pytest.mark.parametrize("layout", ["random", "row_block", "column_block"])
def test_a_vector_has_the_same_bits_with_any_number_of_threads(layout):
    """A matrix of few rows and much work makes several blocks, with equal work: the rest may lie in few rows."""
    a = ds.gallery.quasi_band(3000, 2.0, 80.0, layout=layout, seed=0)
    A, x = ds.qband_array(a), np.random.default_rng(0).standard_normal(3000)
    before, found = ds.get_num_threads(), []
    try:
        for threads in (1, 2, 3, 7):
            ds.set_num_threads(threads)
            found.append([V @ x for V in (A, A.T)])
    finally:
        ds.set_num_threads(before)
    for y, expected in zip(found[0], (a @ x, a.T @ x), strict=True):
        assert np.allclose(y, expected, rtol=1e-13, atol=1e-12)
    assert all(y.tobytes() == z.tobytes() for other in found for y, z in zip(other, found[0], strict=True))
