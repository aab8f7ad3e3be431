"""`ds.ilu0`, `ds.ic0` and `ds.block_jacobi`: factors against dense elimination in a pattern, and as preconditioners."""

import pickle

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from cases import EACH_DTYPE, case, raises
from hypothesis import given, settings
from triangles import OPERATIONS, dominant, values

import diagsparse as ds


def eliminated(dense, pattern):
    """Return L and U of Gaussian elimination that drops all elements outside of a pattern."""
    a = dense.astype(complex)
    n = len(a)
    for i in range(n):
        for k in np.flatnonzero(pattern[i, :i]):
            a[i, k] /= a[k, k]
            row = pattern[i] & pattern[k] & (np.arange(n) > k)
            a[i, row] -= a[i, k] * a[k, row]
    return np.tril(a, -1) + np.eye(n), np.triu(a)


def pattern_of(A):
    """Return where a matrix has stored elements: with diagonals, these are whole diagonals."""
    row, col = np.indices(A.shape)
    if A.format == "csr":
        return A.toarray() != 0
    return np.isin(col - row, A.offsets)


def hermitian(pattern, dtype, seed=0):
    sparse = dominant(pattern, dtype, seed)
    return sp.csr_array((sparse + sparse.conj().T) / 2).astype(dtype)


PATTERNS = {
    "5 points": ds.gallery.stencil(5, (11, 13)),
    "9 points": ds.gallery.stencil(9, (9, 12)),
    "7 points": ds.gallery.stencil(7, (5, 6, 5)),
    "periodic": ds.gallery.stencil(5, (8, 9), periodic=True),
    "band": ds.gallery.banded(60, 3, 2, seed=0),
    "scattered": sp.random_array((70, 70), density=0.08, rng=np.random.default_rng(0)) + sp.eye_array(70),
}


@pytest.mark.parametrize("name", PATTERNS)
@EACH_DTYPE
def test_factors_are_those_of_the_pattern(name, dtype):
    tolerance = 200 * np.finfo(dtype).eps
    for format in ("hm", "dia", "cdm", "csr"):
        for matrix, factor in ((dominant(sp.csr_array(PATTERNS[name]), dtype), ds.ilu0),
                               (hermitian(sp.csr_array(PATTERNS[name]), dtype), ds.ic0)):  # fmt: skip
            A = ds.array(matrix, format)
            M = factor(A)
            with case((format, factor)):
                L, U = eliminated(A.toarray(), pattern_of(A))
                if factor is ds.ic0:
                    L = L * np.sqrt(np.diag(U).real)
                    U = L.conj().T
                assert M.L.format == M.U.format == format and M.L.dtype == dtype
                assert abs(M.L.toarray() - L).max() <= tolerance * abs(L).max()
                assert abs(M.U.toarray() - U).max() <= tolerance * abs(U).max()
                for trans, op in OPERATIONS.items():
                    for b in (
                        values(np.random.default_rng(1), dtype, len(L)),
                        values(np.random.default_rng(1), dtype, len(L), 3),
                    ):
                        x = M.solve(b, trans)
                        assert x.dtype == dtype and x.shape == b.shape
                        assert abs(op(L @ U) @ x - b).max() <= tolerance * (abs(L) @ abs(U)).max() * abs(x).max() * 10


def test_bands_are_factored_exactly():
    """Without fill-in, incomplete factors are the factors."""
    A = ds.hm_array(ds.gallery.banded(200, 2, 3, seed=0))
    A.setdiag(20.0)
    b = np.ones(200)
    for M in (ds.ilu0(A), ds.ilu0(A.tocsr())):
        assert np.allclose(A @ M.solve(b), b)


def test_iterations():
    A = ds.hm_array(ds.gallery.stencil(5, (60, 70)))
    b = np.ones(4200)

    def count(solver, M, **options):
        steps = []
        x, info = solver(A, b, M=M, rtol=1e-8, callback=steps.append, **options)
        assert info == 0 and np.linalg.norm(A @ x - b) <= 1e-6 * np.linalg.norm(b)
        return len(steps)

    alone = count(sla.cg, None)
    exact = count(sla.cg, ds.ic0(A))
    assert exact < 0.4 * alone
    assert count(sla.cg, ds.ic0(A.tocsr())) == exact
    assert exact <= count(sla.cg, ds.ic0(A, sweeps=3)) < 0.7 * alone
    assert count(sla.cg, ds.block_jacobi(A, 70)) < 0.85 * alone
    inner = dict(callback_type="pr_norm", restart=50, maxiter=50)
    assert count(sla.gmres, ds.ilu0(A), **inner) < 0.5 * count(sla.gmres, None, **inner)


@pytest.mark.quick
@pytest.mark.parametrize("format", ds.formats())
def test_every_format(format):
    sparse = dominant(sp.csr_array(ds.gallery.stencil(5, (6, 7))), "float64")
    A = ds.array(sparse, format)
    L, U = eliminated(sparse.toarray(), sparse.toarray() != 0)
    for view, op in ((A, lambda a: a), (A.T, np.transpose)):
        dense = op(sparse.toarray())
        L, U = eliminated(dense, dense != 0)
        M = ds.ilu0(view)
        assert np.allclose(L @ U @ M.solve(np.ones(42)), 1) and "ilu0 factors of A" in repr(M) and M.nbytes > 0
        assert np.allclose((L @ U).T @ (M.T @ np.ones(42)), 1) and "A.T" in repr(M.T)


def test_sweeps_converge_to_substitution():
    rng = np.random.default_rng(0)
    for dtype in ("float64", "complex64"):
        matrix = hermitian(sp.csr_array(PATTERNS["5 points"]), dtype)
        for format in ("hm", "csr"):
            A, b = ds.array(matrix, format), values(rng, dtype, 143, 2)
            for factor in (ds.ilu0, ds.ic0):
                exact = factor(A)
                for trans in OPERATIONS:
                    x = exact.solve(b, trans)
                    errors = [abs(factor(A, sweeps=count).solve(b, trans) - x).max() for count in (0, 2, 30)]
                    assert errors[0] > errors[1] > errors[2] and errors[2] <= 1e-5 * abs(x).max(), (
                        format,
                        factor,
                        trans,
                    )
                assert "2 Jacobi sweeps" in repr(factor(A, sweeps=2)) and factor(A, sweeps=2).sweeps == 2
    # One sweep with each triangle, written out.
    A = ds.csr_array(dominant(sp.csr_array(PATTERNS["5 points"]), "float64"))
    M, b = ds.ilu0(A, sweeps=1), values(rng, "float64", 143)
    L, U = M.L.toarray(), M.U.toarray()
    y = b - (L - np.eye(143)) @ b
    d = np.diag(U)
    assert np.allclose(M.solve(b), (y - (U - np.diag(d)) @ (y / d)) / d)


def test_hermitian_preconditioners():
    matrix = hermitian(sp.csr_array(PATTERNS["9 points"]), "complex128")
    for format in ("hm", "csr"):
        for sweeps in (None, 2):
            M = ds.ic0(ds.array(matrix, format), sweeps=sweeps)
            dense = M @ np.eye(108, dtype=complex)
            assert np.allclose(dense, dense.conj().T) and np.linalg.eigvalsh(dense).min() > 0
            assert np.allclose(M.T @ np.eye(108), dense.T) and np.allclose(M.H @ np.eye(108), dense)


def test_as_an_object():
    M = ds.ic0(ds.hm_array(ds.gallery.stencil(5, (6, 7))))
    assert "ic0" in M._repr_html_() and M.seconds > 0 and M.shape == (42, 42) and isinstance(M, sla.LinearOperator)
    assert M.nbytes >= M.L.nbytes and M.sweeps is None
    with raises(TypeError, "pickle", "diagsparse.ic0(A)"):
        pickle.dumps(M)


def test_wider_right_hand_sides():
    A = ds.hm_array(ds.gallery.stencil(5, (10, 10), dtype="float32"))
    for factor in (ds.ilu0, ds.ic0):
        for sweeps in (None, 40):
            M = factor(A, sweeps=sweeps)
            for b in (np.ones(100), np.ones(100) * 1j):
                x = M @ b
                assert x.dtype == (A @ b).dtype
                assert np.allclose(M.L.toarray().astype(float) @ (M.U.toarray().astype(float) @ x), b, atol=1e-10)


def test_bad_input():
    A = ds.hm_array(ds.gallery.stencil(5, (5, 5)))
    changed = A.copy()
    changed[7, 7] = 0
    for format in ("hm", "csr"):
        zero = ds.array(sp.csr_array(np.array([[1.0, 1, 0], [1, 1, 0], [0, 0, 1]])), format)
        with raises(np.linalg.LinAlgError, "ilu0", "row 1"):
            ds.ilu0(zero)
        indefinite = ds.array(changed, format)
        with raises(np.linalg.LinAlgError, "ic0", "A[7, 7] is 0.0", "positive main diagonal"):
            ds.ic0(indefinite)
        negative = ds.array(sp.csr_array(np.array([[1.0, 2], [2, 1]])), format)
        with raises(np.linalg.LinAlgError, "row 1", "try shift=0.1 or larger"):
            ds.ic0(negative)
        with raises(np.linalg.LinAlgError, "row 1", "with shift=0.25; try a larger one"):
            ds.ic0(negative, shift=0.25)
        shifted = ds.ic0(negative, shift=2)
        assert np.allclose(shifted.L.toarray(), np.linalg.cholesky(np.array([[3.0, 2], [2, 3]])))
        with raises(np.linalg.LinAlgError, "row 0"):
            ds.ilu0(ds.array(sp.csr_array(np.array([[0.0, 2], [2, 0]])), format))
        assert ds.ilu0(ds.array(sp.csr_array((0, 0)), format)).solve(np.ones(0)).shape == (0,)
    for call, error, words in (
        (lambda: ds.ilu0(A[:3]), ValueError, "square"),
        (lambda: ds.ic0(A[:3]), ValueError, "square"),
        (lambda: ds.ilu0(np.eye(3)), TypeError, "sparse"),
        (lambda: ds.ilu0(A, sweeps=-1), ValueError, "sweeps=-1"),
        (lambda: ds.ilu0(A, sweeps=1.5), TypeError, "sweeps=1.5"),
        (lambda: ds.ic0(A, shift=-1), ValueError, "shift=-1"),
        (lambda: ds.ic0(A, shift=np.nan), ValueError, "shift=nan"),
        (lambda: ds.block_jacobi(A, 0), ValueError, "block=0"),
        (lambda: ds.block_jacobi(A[:3], 2), ValueError, "square"),
        (lambda: ds.ilu0(A).solve(np.ones(3)), ValueError, "25 x 25"),
    ):
        with raises(error, words):
            call()


def test_block_jacobi():
    rng = np.random.default_rng(0)
    matrix = dominant(sp.csr_array(ds.gallery.stencil(9, (8, 9))), "complex128")
    b = values(rng, "complex128", 72, 2)
    for block, method in ((1, "diagonal"), (9, "tridiagonal"), (5, "tridiagonal"), (18, "banded"), (100, "banded")):
        row, col = np.indices((72, 72)) // block
        blocks = np.where(row == col, matrix.toarray(), 0)
        for format in ("hm", "csr"):
            M = ds.block_jacobi(ds.array(matrix, format), block)
            assert M.method in (method, "superlu", "dense")
            assert np.allclose(blocks @ M.solve(b), b)


@settings(deadline=None)
@given(st.data())
def test_any_pattern(data):
    dtype = data.draw(st.sampled_from(["float32", "float64", "complex64", "complex128"]))
    n = data.draw(st.integers(1, 40))
    offsets = data.draw(st.lists(st.integers(1 - n, n - 1), max_size=7))
    pattern = sp.csr_array(np.isin(-np.subtract.outer(np.arange(n), np.arange(n)), [0, *offsets]))
    format, seed = data.draw(st.sampled_from(["hm", "dia", "cdm", "csr"])), data.draw(st.integers(0, 99))
    tolerance = 100 * n * np.finfo(dtype).eps
    A = ds.array(dominant(pattern, dtype, seed), format)
    M = ds.ilu0(A)
    L, U = eliminated(A.toarray(), pattern_of(A))
    assert np.allclose(M.L.toarray(), L, atol=tolerance) and np.allclose(M.U.toarray(), U, atol=tolerance)
    H = ds.array(hermitian(pattern, dtype, seed), format)
    L, U = eliminated(H.toarray(), pattern_of(H))
    assert np.allclose(ds.ic0(H).L.toarray(), L * np.sqrt(np.diag(U).real), atol=tolerance)
