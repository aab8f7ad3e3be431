"""`ds.solve` where elimination alone is inaccurate: rows that differ much in size, and pivots that grow."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import LinAlgWarning
from solutions import SOLVED_BY, backward_error, like

import diagsparse as ds

RING = sp.csr_array(ds.gallery.stencil(3, (300,), periodic=True) + 0.5 * sp.eye_array(300))
TRIANGLE = sp.csr_array(sp.triu(ds.gallery.banded(100, 3, 3, seed=0)) + 3 * sp.eye_array(100))
SCALED = {name: SOLVED_BY[name] for name in ("tridiagonal", "banded", "dense", "superlu", "ilu")}
SCALED |= {"cyclic": RING, "triangular": TRIANGLE}


def sizes(n, seed=0):
    """Return factors of rows between 1e-12 and 1e12."""
    return 10.0 ** np.random.default_rng(seed).uniform(-12, 12, n)


def by_rows(dense, x, b):
    """Return the largest error of a row, relative to the sizes of this row and of x."""
    size = abs(dense).sum(axis=1) * abs(x).max() + abs(b)
    return float((abs(b - dense @ x) / size).max())


def wilkinson(n):
    """Return the matrix with which the pivots of partial pivoting grow to 2^(n-1)."""
    dense = np.eye(n) - np.tril(np.ones((n, n)), -1)
    dense[:, -1] = 1
    return dense


@pytest.mark.parametrize("name", SCALED)
def test_rows_of_very_different_size(name):
    S = sp.csr_array(SCALED[name])
    D, n = sizes(S.shape[0]), S.shape[0]
    scaled = sp.csr_array(sp.diags_array(D) @ S)
    dense = scaled.toarray()
    for b in (np.ones(n), D * np.random.default_rng(1).standard_normal(n)):
        x, report = ds.solve(ds.csr_array(scaled), b, report=True)
        assert report.method == name and report.failed == {}
        assert backward_error(dense, x, b) <= 2 * report.backward_error[0] + 1e-20 and by_rows(dense, x, b) <= 1e-14
    assert np.allclose(ds.solve(ds.csr_array(scaled), D * (S @ np.ones(n))), 1, rtol=1e-8)


def test_rows_of_very_different_size_in_every_dtype():
    T, D = ds.gallery.tridiagonal(60).toarray(), sizes(60)
    for dtype in ("float32", "float64", "complex64", "complex128"):
        dense = (D[:, None] * T * (1 + 1j if dtype[0] == "c" else 1)).astype(dtype)
        for b in (np.ones(60), np.ones(60, "float32"), np.ones((60, 2), int), np.ones(60, bool)):
            x = ds.solve(ds.hm_array(sp.csr_array(dense)), b)
            assert x.dtype == (ds.hm_array(sp.csr_array(dense)) @ b).dtype and x.shape == b.shape
            for column, right in zip(x.reshape(60, -1).T, b.reshape(60, -1).T, strict=True):
                assert by_rows(dense.astype(complex), column, right) <= 20 * np.finfo(x.dtype).eps


def test_a_small_row_is_not_ignored():
    """Without scaling, elimination returns x[0] = 0, which the normwise error does not tell from 1."""
    A = ds.csr_array(sp.csr_array(np.array([[10.0, 1e18], [1.0, 1.0]])))
    for method in ("tridiagonal", "banded", "superlu", "qr"):
        assert np.allclose(ds.solve(A, np.array([10 + 1e18, 2.0]), method=method), 1, rtol=1e-14)


def test_members_with_rows_of_different_size():
    batch, members = like(ds.gallery.tridiagonal(30).toarray(), "hm", 4)
    D = sizes(30)
    values = np.array(batch.values)
    for i in range(4):
        values[i] = ds.hm_array(sp.csr_array(D[:, None] * members[i])).values
    scaled = ds.batch_array(values, ds.hm_array(sp.csr_array(members[0])))
    for b in (np.ones(30), np.ones((4, 30))):
        X = ds.solve(scaled, b)
        assert X.shape == (4, 30) and all(
            by_rows(D[:, None] * m, x, np.ones(30)) <= 1e-14 for m, x in zip(members, X, strict=True)
        )


def test_singular_matrices_with_rows_of_different_size():
    rng = np.random.default_rng(2)
    rank_30 = rng.integers(-3, 4, (40, 30)) @ rng.integers(-3, 4, (30, 40)).astype(float)
    for S in (
        ds.gallery.diffusion((100,), boundary="neumann").toarray(),
        ds.gallery.diffusion((14, 15), boundary="periodic").toarray(),
        ds.gallery.stencil(3, (100,), periodic=True).toarray(),
        rank_30,
    ):
        n = len(S)
        D, E = 2.0 ** rng.integers(-40, 40, n), 2.0 ** rng.integers(-20, 20, n)  # exact: it stays singular
        for dense, size in ((D[:, None] * S, D), (D[:, None] * S * E, D)):
            A = ds.csr_array(sp.csr_array(dense))
            for b in (np.ones(n), size * rng.standard_normal(n)):
                with pytest.raises(np.linalg.LinAlgError, match="singular"):
                    ds.solve(A, b)


@pytest.mark.parametrize("n", [54, 60, 80, 100, 200])
def test_pivots_that_grow(n):
    dense, b = wilkinson(n), np.random.default_rng(n).standard_normal(n)
    x, report = ds.solve(ds.csr_array(sp.csr_array(dense)), b, report=True)
    assert backward_error(dense, x, b) <= 1e-14 and np.allclose(x, np.linalg.solve(dense.T, np.eye(n)).T @ b, atol=1e-9)
    if n >= 80:
        assert "the backward error is larger" in report.failed["dense"] and report.method in ("superlu", "qr")
    x, report = ds.solve(ds.csr_array(sp.csr_array(dense)), b, method="qr", report=True)
    assert backward_error(dense, x, b) <= 1e-14 and report.refinements <= 1


def test_a_pivot_that_vanishes_as_others_grow():
    """Rounding makes the last pivot zero, although the matrix is regular."""
    dense = np.vstack([wilkinson(300)[:-1], wilkinson(300)[:1]])
    x, report = ds.solve(ds.csr_array(sp.csr_array(dense)), np.ones(300), report=True)
    assert report.method == "qr" and "pivot of row 299 is zero" in report.failed["dense"]
    assert backward_error(dense, x, np.ones(300)) <= 1e-14


def test_values_near_the_largest_number():
    wide = np.diag(10.0 ** np.linspace(-300, 300, 40)) + 1e-305 * np.eye(40, k=1)
    assert np.allclose(ds.solve(ds.csr_array(sp.csr_array(wide)), np.ones(40)) * wide.diagonal(), 1)
    overflowing = np.full((3, 3), 1e308) + 1e307 * np.eye(3)  # so does the sum of a row, and with it the error
    with pytest.raises(np.linalg.LinAlgError, match="the backward error is nan"):
        ds.solve(ds.csr_array(sp.csr_array(overflowing)), np.ones(3))


@pytest.mark.parametrize("interleaved", [False, True])
def test_small_rows_of_batches(interleaved, device):
    """The solution of the first member is (1, 1); that of its large row alone may be (0, 1)."""
    like = ds.diags({-1: [1.0], 0: [10.0, 1.0], 1: [1e18]}, shape=(2, 2), format="dia")
    batch = ds.batch_array([like, like * 2.0])
    batch = (ds.interleaved_batch(batch) if interleaved else batch).to(device)
    b = np.array([10.0 + 1e18, 2.0])
    expected = np.array([[1.0, 1.0], [0.5, 0.5]])
    np.testing.assert_allclose(ds.solve(batch, b), expected.T if interleaved else expected, rtol=1e-12)


def test_solutions_without_correct_digits():
    """They are refused, unless the caller says which backward error is enough: then there is a warning."""
    A, b = ds.gallery.tridiagonal(10007, dtype="float32"), np.ones(10007, "float32")
    with pytest.raises(np.linalg.LinAlgError, match=r"singular to working precision for this b.*tol= accepts"):
        ds.solve(A, b)
    with pytest.warns(LinAlgWarning, match="singular to working precision"):
        x, report = ds.solve(A, b, tol=1e-4, report=True)
    assert report.method == "tridiagonal" and report.backward_error[0] <= 1e-6 and np.isfinite(x).all()


def test_rows_of_any_size_give_no_warning():
    A = ds.gallery.tridiagonal(997) * 4e307
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.allclose(A @ (ds.solve(A, np.full(997, 1e300)) / 1e300), 1, rtol=1e-8)


def test_empty_rows_are_named():
    S = sp.lil_array(sp.csr_array(ds.gallery.stencil(5, (20, 30))))
    S[7, :] = 0
    with pytest.raises(np.linalg.LinAlgError, match="row or column 7 has no elements"):
        ds.factorized(ds.csr_array(sp.csr_array(S)), method="superlu")
