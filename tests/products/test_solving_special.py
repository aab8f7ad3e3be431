"""`ds.factorized` for bands with a few other entries, and `ds.cholesky_banded`, against dense solutions."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import EACH_DTYPE, raises
from solutions import assert_solves, operations, right_sides

import diagsparse as ds
from diagsparse._products import host_corrected, host_factors
from diagsparse._products.host_methods import Unsuitable


def periodic(n, below, above, lower_corner, upper_corner, dtype, seed=0):
    """Return a dense band with triangles in two corners, of these numbers of rows."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((n, n)) + (1j * rng.standard_normal((n, n)) if dtype[0] == "c" else 0)
    corners = np.tril(values, lower_corner - n) + np.triu(values, n - upper_corner)
    return (np.triu(np.tril(values, above), -below) + corners + 4 * np.eye(n)).astype(dtype)


@EACH_DTYPE
@pytest.mark.parametrize(
    "n, below, above, lower_corner, upper_corner",
    [(20, 1, 1, 1, 1), (60, 1, 1, 0, 1), (60, 2, 1, 1, 0), (61, 2, 2, 2, 2), (200, 0, 1, 1, 0), (90, 0, 0, 1, 1)],
)
def test_cyclic_bands(n, below, above, lower_corner, upper_corner, dtype):
    dense = periodic(n, below, above, lower_corner, upper_corner, dtype)
    B = right_sides(n, dtype)
    for format in ("hm", "csr", "qband"):
        for sigma in (0, 0.25):
            F = ds.factorized(ds.array(sp.csr_array(dense), format), sigma)
            assert F.method == "cyclic" and F.nbytes > 0
            for trans, op in operations(dense - sigma * np.eye(n, dtype=dtype)):
                for b in (B, B[:, 0]):
                    assert_solves(F.solve(b, trans), op, b)


def test_a_cyclic_matrix_in_two_precisions():
    dense = periodic(50, 1, 1, 1, 1, "float32")
    F, b = ds.factorized(ds.hm_array(sp.csr_array(dense))), right_sides(50, "float64")
    assert_solves(F.solve(b), dense.astype("float64"), b)
    assert_solves(F.solve(b + 1j * b[::-1], "H"), dense.T.astype("float64"), b + 1j * b[::-1])


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_a_batch_of_cyclic_matrices(dtype):
    like = ds.dia_array(sp.csr_array(periodic(40, 1, 2, 2, 1, dtype)))
    factors = np.random.default_rng(2).uniform(0.9, 1.1, (7, *like.values.shape))
    batch = ds.batch_array((like.values * factors).astype(dtype), like)
    F, B = ds.factorized(batch), right_sides(40, dtype, 7).T
    assert F.method == "cyclic"
    for trans in ("N", "T", "H"):
        X = F.solve(B, trans)
        for i, member in enumerate(batch):
            assert_solves(X[i], dict(operations(member.toarray()))[trans], B[i])
    B = B.copy()
    B[3, 5] = np.nan
    X = F.solve(B)
    assert np.isnan(X[3]).any() and np.isfinite(np.delete(X, 3, axis=0)).all()


def test_the_method_follows_a_second_factorization(monkeypatch):
    """The factors of float32 suit the method, and those of float64, for such a right-hand side, do not."""
    cyclic = host_factors.METHODS["cyclic"]

    def only_single(a, *arguments):
        if a.dtype == np.float64:
            raise Unsuitable
        return cyclic(a, *arguments)

    monkeypatch.setitem(host_factors.METHODS, "cyclic", only_single)
    dense = periodic(60, 1, 1, 1, 1, "float32")
    F = ds.factorized(ds.hm_array(sp.csr_array(dense)), method="cyclic")
    view, b = F.T, np.ones(60)
    assert F.method == view.method == "cyclic"
    assert np.allclose(dense.astype(float) @ F.solve(b), b, rtol=1e-11)
    assert F.method == view.method == "superlu" and "superlu" in repr(F) and "superlu" in F._repr_html_()


def test_a_large_cyclic_matrix_against_superlu():
    A, b = ds.hm_array(ds.gallery.stencil(3, (20000,), periodic=True)), np.ones(20000)
    F, S = ds.factorized(A, -0.01), ds.factorized(A, -0.01, method="superlu")
    assert F.method == "cyclic" and S.method == "superlu"
    b = np.random.default_rng(0).standard_normal(20000)
    assert np.allclose(F.solve(b), S.solve(b), rtol=1e-9, atol=1e-11)


def test_superlu_is_used_where_the_band_is_nearly_singular():
    """A cyclic shift is orthogonal, but its band is singular; a small value on its diagonal does not help."""
    for diagonal in (0.0, 1e-9):
        shift = np.roll(np.eye(50), 1, axis=1) + diagonal * np.eye(50)
        F, b = ds.factorized(ds.csr_array(sp.csr_array(shift)), method="cyclic"), right_sides(50, "float64")
        assert F.method == "superlu"
        assert_solves(F.solve(b), shift, b)


def test_which_matrices_are_cyclic():
    for A, method in (
        (ds.gallery.stencil(3, (100,), periodic=True), "cyclic"),
        (ds.gallery.stencil(5, (30, 4), periodic=True), "cyclic"),
        (ds.gallery.stencil(5, (30, 30), periodic=True), "superlu"),
        (ds.gallery.stencil(3, (5,), periodic=True), "dense"),
    ):
        A = ds.csr_array(A)
        F = ds.factorized(A, -1)
        assert F.method == method
        b = np.arange(A.shape[0], dtype=float)
        assert np.allclose(A @ F.solve(b) + F.solve(b), b)


@pytest.mark.quick
@pytest.mark.parametrize("dtype", ["float64", "complex128", "float32"])
def test_a_band_with_a_few_rows_outside(dtype):
    n = 300
    dense = periodic(n, 2, 1, 0, 0, dtype)
    rng = np.random.default_rng(3)
    dense[7] = 0.05 * rng.standard_normal(n)
    dense[7, 7], dense[120, 290], dense[299, 3] = 5, 1, -1
    A, B = sp.csr_array(dense), right_sides(n, dtype)
    for Q, method in ((ds.qband_array(A), None), (ds.csr_array(A), "woodbury"), (ds.hm_array(A), "woodbury")):
        for sigma in (0, 0.25):
            F = ds.factorized(Q, sigma, method=method)
            assert F.method == "woodbury"
            for trans, op in operations(dense - sigma * np.eye(n, dtype=dtype)):
                for b in (B, B[:, 0]):
                    assert_solves(F.solve(b, trans), op, b)
    assert ds.factorized(ds.csr_array(A)).method == "superlu"
    assert ds.factorized(ds.qband_array(ds.gallery.stencil(5, (30, 30)))).method == "superlu"


def test_too_many_rows_outside_of_the_band():
    A = ds.csr_array(sp.random_array((400, 400), density=0.02, rng=0) + 5 * sp.eye_array(400))
    with raises(ValueError, "at most 64 rows"):
        ds.factorized(A, method="woodbury")
    for method in ("woodbury", "cyclic"):
        F = ds.factorized(ds.eye(0), method=method)
        assert F.solve(np.ones(0)).shape == (0,)


def test_values_outside_of_the_band_have_to_be_finite():
    dense = periodic(60, 1, 1, 1, 1, "float64")
    for value in (np.nan, np.inf):
        dense[0, 59] = value
        with raises(ValueError, "not finite"):
            ds.factorized(ds.hm_array(sp.csr_array(dense)))


def definite(n, reach, dtype, seed=0):
    """Return a dense band that is Hermitian and positive definite, though not diagonally dominant."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((n, n)) + (1j * rng.standard_normal((n, n)) if dtype[0] == "c" else 0)
    factor = np.triu(np.tril(values), -reach)
    dense = (factor @ factor.conj().T + 0.5 * np.eye(n)).astype(dtype)
    return (dense + dense.conj().T) / 2


@EACH_DTYPE
@pytest.mark.parametrize("n, reach", [(1, 0), (2, 1), (50, 0), (50, 1), (51, 4)])
def test_cholesky(n, reach, dtype):
    dense = definite(n, reach, dtype)
    kind = "hermitian" if dtype[0] == "c" else "symmetric"
    matrix = sp.csr_array(dense)
    for A in (matrix, ds.csr_array(matrix), ds.hm_array(matrix), ds.hm_array(matrix, symmetry=kind)):
        F = ds.cholesky_banded(A)
        assert F.method == "cholesky" and F.nbytes >= np.dtype(dtype).itemsize * n * (reach + 1)
        expected = np.linalg.slogdet(dense.astype(np.complex128 if dtype[0] == "c" else np.float64))[1]
        assert abs(F.logdet() - expected) <= (1e-3 if dtype in ("float32", "complex64") else 1e-10) * (1 + n)
        for trans, op in operations(dense):
            for b in (right_sides(n, dtype), right_sides(n, dtype)[:, 0]):
                assert_solves(F.solve(b, trans), op, b)


def test_cholesky_by_its_name_with_a_shift_and_for_batches():
    dense = definite(40, 2, "float64")
    A = ds.dia_array(sp.csr_array(dense))
    F = ds.factorized(A, -1.5, method="cholesky")
    assert np.isclose(F.logdet(), np.linalg.slogdet(dense + 1.5 * np.eye(40))[1])
    batch = ds.batch_array(np.stack([A.values, 2 * A.values]), A)
    X = ds.factorized(batch, method="cholesky").solve(np.ones((2, 40)))
    assert np.allclose(dense @ X[0], 1) and np.allclose(2 * dense @ X[1], 1)


def test_logdet_of_a_determinant_that_overflows():
    assert ds.cholesky_banded(1e300 * ds.eye(5000)).logdet() == pytest.approx(5000 * 300 * np.log(10))


def test_what_has_no_cholesky_factors():
    tridiagonal = ds.gallery.tridiagonal(30).toarray()
    broken = tridiagonal.copy()
    broken[11, 11] = -1
    for call, error, words in (
        (lambda: ds.cholesky_banded(ds.csr_array(broken)), np.linalg.LinAlgError, "leading minor of order 12 is not"),
        (lambda: ds.factorized(ds.hm_array(tridiagonal), 1, method="cholesky"), np.linalg.LinAlgError, "A - 1 I"),
        (lambda: ds.cholesky_banded(ds.csr_array(np.triu(tridiagonal))), ValueError, "diagonals -1 and 1 differ"),
        (lambda: ds.cholesky_banded(ds.csr_array(1j * np.eye(3))), ValueError, "main diagonal is not real"),
        (lambda: ds.cholesky_banded(ds.csr_array((3, 4))), ValueError, "square"),
        (lambda: ds.cholesky_banded(np.eye(3)), TypeError, "sparse"),
        (lambda: ds.cholesky_banded(np.nan * ds.eye(3)), ValueError, "finite"),
    ):
        with raises(error, words):
            call()
    batch = ds.batch_array(np.array([[[1.0, 1]], [[1, -1]]]), ds.eye(2, format="dia"))
    with raises(np.linalg.LinAlgError, "order 2 of member 1"):
        ds.factorized(batch, method="cholesky")
    assert ds.cholesky_banded(ds.eye(0)).logdet() == 0


def test_the_number_of_rows_outside_is_chosen_by_cost():
    A = sp.lil_array(ds.gallery.tridiagonal(500))
    A[10, 400] = A[20, 30] = 1
    split = host_corrected._of_rows(ds.csr_array(sp.csr_array(A)))
    assert set(split.rows.tolist()) == {10, 20} and (split.below, split.above) == (1, 1)
