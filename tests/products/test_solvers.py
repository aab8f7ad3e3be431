"""SciPy's solvers accept our matrices directly: cg, gmres, eigsh, svds, lobpcg, expm_multiply and more."""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from cases import random

import diagsparse as ds

FORMATS = pytest.mark.parametrize("format", ds.formats())
LAPLACE = sp.csr_array(ds.gallery.stencil(5, (9, 11)))  # symmetric, positive definite
N = LAPLACE.shape[0]
SKEW = sp.csr_array(LAPLACE + ds.gallery.banded(N, 1, 3, seed=0) * 0.1)
HERMITIAN = sp.csr_array(LAPLACE + 1j * (sp.eye_array(N, k=1) - sp.eye_array(N, k=-1)) * 0.3)
B = random(N, "float64", "right-hand side")


@FORMATS
def test_aslinearoperator(format):
    for a in (LAPLACE, SKEW, HERMITIAN):
        A = ds.array(a, format)
        for L, theirs in (
            (sla.aslinearoperator(A), a),
            (sla.aslinearoperator(A).H, a.conj().T),
            (sla.aslinearoperator(A).T, a.T),
        ):
            assert isinstance(L, sla.LinearOperator) and L.shape == theirs.shape and L.dtype == theirs.dtype
            X = random((N, 3), "complex128")
            for x in (B, X[:, 0], X):
                assert np.allclose(L @ x, theirs @ x, rtol=1e-13, atol=1e-13)
                assert np.allclose(L.dot(x), theirs @ x, rtol=1e-13, atol=1e-13)
            assert np.allclose(L.matmat(X), theirs @ X) and np.allclose(L.rmatmat(X), theirs.conj().T @ X)
            assert np.allclose(L.matvec(B), theirs @ B) and np.allclose(L.rmatvec(B), theirs.conj().T @ B)
            assert np.allclose(L(B), theirs @ B), "an operator is called as a function"
            assert np.allclose(L(X), theirs @ X), "an operator is called as a function"


@FORMATS
def test_combined_with_other_operators(format):
    A = ds.array(SKEW, format)
    L = sla.aslinearoperator(sp.csr_array(LAPLACE))
    for result, theirs in (
        (A + L, SKEW + LAPLACE), (L + A, SKEW + LAPLACE), (A @ L, SKEW @ LAPLACE), (L @ A, LAPLACE @ SKEW),
        (A - L, SKEW - LAPLACE), (L - A, LAPLACE - SKEW),
    ):  # fmt: skip
        assert np.allclose(result @ B, theirs @ B, rtol=1e-12)


@FORMATS
@pytest.mark.parametrize("solver", ["cg", "minres", "bicgstab", "gmres", "lgmres", "qmr", "tfqmr", "cgs"])
def test_linear_systems(format, solver):
    a = LAPLACE if solver in ("cg", "minres") else SKEW
    options = {} if solver == "minres" else {"atol": 0}
    for A in (ds.array(a, format), ds.array(sp.csr_array(a.T), format).T):
        x, info = getattr(sla, solver)(A, B, rtol=1e-10, **options)
        assert info == 0 and np.linalg.norm(a @ x - B) <= 1e-8 * np.linalg.norm(B)


@FORMATS
def test_a_complex_system_with_a_preconditioner(format):
    x, info = sla.gmres(ds.array(HERMITIAN, format), B + 1j, rtol=1e-10, atol=0, M=sp.eye_array(N) / 4)
    assert info == 0 and np.linalg.norm(HERMITIAN @ x - B - 1j) <= 1e-8 * np.linalg.norm(B + 1j)


@FORMATS
def test_least_squares(format):
    a = SKEW if format == "cdm" else sp.csr_array(SKEW[:, :50])
    best = np.linalg.norm(a @ np.linalg.lstsq(a.toarray(), B, rcond=None)[0] - B)
    for solver in (sla.lsqr, sla.lsmr):
        x = solver(ds.array(a, format), B, atol=1e-13, btol=1e-13)[0]
        assert np.linalg.norm(a @ x - B) <= (1 + 1e-9) * best + 1e-7 * np.linalg.norm(B)


@FORMATS
def test_eigenvalues(format):
    v0 = np.ones(N)
    for a in (LAPLACE, HERMITIAN):
        exact = np.linalg.eigvalsh(a.toarray())
        values = sla.eigsh(ds.array(a, format), k=4, which="LA", return_eigenvectors=False, v0=v0.astype(a.dtype))
        assert np.allclose(np.sort(values), exact[-4:], rtol=1e-9)
    exact = np.linalg.eigvals(SKEW.toarray())
    value = sla.eigs(ds.array(SKEW, format), k=1, which="LM", return_eigenvectors=False, v0=v0)[0]
    assert np.isclose(abs(value), abs(exact).max(), rtol=1e-9)


@pytest.mark.nightly
@FORMATS
@pytest.mark.parametrize("solver", ["arpack", "propack", "lobpcg"])
def test_singular_values(format, solver):
    for a in (SKEW, HERMITIAN) if format == "cdm" else (SKEW[:, :60], HERMITIAN[:70]):
        a = sp.csr_array(a)
        exact = np.linalg.svd(a.toarray(), compute_uv=False)[:2]
        values = sla.svds(ds.array(a, format), k=2, solver=solver, return_singular_vectors=False, maxiter=500, rng=1)
        assert np.allclose(np.sort(values)[::-1], exact, rtol=1e-5), solver


@FORMATS
def test_lobpcg(format):
    exact = np.linalg.eigvalsh(LAPLACE.toarray())
    X = random((N, 3), "float64", "lobpcg")
    values, vectors = sla.lobpcg(ds.array(LAPLACE, format), X, largest=False, tol=1e-9, maxiter=400)
    assert np.allclose(np.sort(values), exact[:3], rtol=1e-7)
    assert np.allclose(LAPLACE @ vectors, vectors * values, atol=1e-5)


@FORMATS
def test_expm_multiply(format):
    for a in (LAPLACE, HERMITIAN, SKEW):
        A = ds.array(a, format)
        expected = sla.expm_multiply(-0.1 * a, B)
        assert np.allclose(sla.expm_multiply(-0.1 * A, B, traceA=-0.1 * A.trace()), expected, rtol=1e-11, atol=1e-12)
        block = np.stack([B, 2 * B], axis=1)
        result = sla.expm_multiply(A * -0.1, block, traceA=(A * -0.1).trace())
        assert np.allclose(result, np.stack([expected, 2 * expected], axis=1), rtol=1e-11, atol=1e-12)
    H = ds.array(HERMITIAN, format)
    states = sla.expm_multiply(-1j * H, B, start=0, stop=0.5, num=3, traceA=-1j * H.trace())
    assert np.allclose(np.linalg.norm(states, axis=1), np.linalg.norm(B), rtol=1e-10), "the evolution is not unitary"


@FORMATS
def test_norm_estimates(format):
    A = ds.array(SKEW, format)
    assert np.isclose(sla.onenormest(A), abs(SKEW).sum(axis=0).max(), rtol=0.5)
    assert sla.onenormest(A) <= abs(SKEW).sum(axis=0).max() * (1 + 1e-12)
