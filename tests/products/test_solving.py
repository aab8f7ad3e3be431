"""`ds.factorized` and `ds.solve`: every method against a dense solve, shifts, adjoints, and SciPy's use of them."""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from cases import EACH_DTYPE, raises
from solutions import assert_solves, operations, right_sides

import diagsparse as ds

FORMATS = pytest.mark.parametrize("format", ds.formats())


def banded(n, below, above, dtype, seed=0):
    """Return a dense band with a main diagonal that dominates, and makes pivots necessary now and then."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((n, n)) + (1j * rng.standard_normal((n, n)) if dtype[0] == "c" else 0)
    return (np.triu(np.tril(values, above), -below) + 2 * np.eye(n)).astype(dtype)


@EACH_DTYPE
@pytest.mark.parametrize(
    "n, below, above, method",
    [(40, 0, 0, "diagonal"), (40, 1, 1, "tridiagonal"), (40, 0, 1, "triangular"), (40, 3, 1, "banded"),
     (40, 0, 5, "triangular"), (41, 7, 0, "triangular"), (2, 1, 1, "tridiagonal"), (1, 0, 0, "diagonal"),
     (30, 29, 29, "dense")],
)  # fmt: skip
def test_as_a_dense_solve(n, below, above, method, dtype):
    dense = banded(n, below, above, dtype)
    tolerance = 2e-3 if np.dtype(dtype).itemsize in (4,) or dtype == "complex64" else 1e-9
    rng = np.random.default_rng(1)
    for format in ("hm", "dia", "csr"):
        A = ds.array(sp.csr_array(dense), format)
        for sigma in (0, 0.25, *((0.3 - 0.2j,) if dtype[0] == "c" else ())):
            shifted = dense - sigma * np.eye(n)
            for chosen in (None, "superlu", "banded"):
                F = ds.factorized(A, sigma, method=chosen)
                assert F.method == (chosen or method) and F.shape == (n, n) and F.nbytes > 0
                for b in (rng.standard_normal(n).astype(dtype), rng.standard_normal((n, 3)).astype(dtype)):
                    for trans, op in (("N", shifted), ("T", shifted.T), ("H", shifted.conj().T)):
                        x = F.solve(b, trans)
                        assert x.dtype == dtype and x.shape == b.shape
                        scale = np.linalg.cond(shifted) * abs(x).max()
                        assert abs(x - np.linalg.solve(op, b)).max() <= tolerance * (1 + scale), (trans, chosen)
                assert np.allclose(F @ b, F.solve(b)) and np.allclose(F.H @ b, F.solve(b, "H"))
    assert np.allclose(ds.solve(A, b), F.solve(b) if not sigma else np.linalg.solve(dense, b), rtol=1e-2, atol=1e-2)


@pytest.mark.quick
@FORMATS
def test_every_format_and_view(format):
    dense = banded(50, 2, 3, "complex128")
    A, b = ds.array(sp.csr_array(dense), format), np.arange(50.0)
    for view, d in ((A, dense), (A.T, dense.T), (A.H, dense.conj().T), (A.conj(), dense.conj())):
        assert np.allclose(ds.solve(view, b), np.linalg.solve(d, b))
    real = ds.array(sp.csr_array(dense.real), format)
    assert np.allclose(ds.solve(real, b + 1j), np.linalg.solve(dense.real, b + 1j))
    shifted = ds.factorized(real, 1j)
    assert shifted.dtype == np.complex128
    assert np.allclose(shifted.solve(b), np.linalg.solve(dense.real - 1j * np.eye(50), b))


def test_packed_and_narrow_matrices():
    T = ds.gallery.tridiagonal(60)
    for A in (ds.hm_array(T, symmetry="symmetric"), ds.hm_array(T, period=1), ds.hm_array(T).astype("float16"),
              ds.mdia_array(T, symmetry="symmetric")):  # fmt: skip
        assert ds.factorized(A).method == "tridiagonal"
        assert np.allclose(ds.solve(A, np.ones(60)), np.linalg.solve(T.toarray(), np.ones(60)), rtol=1e-3)


@pytest.mark.quick
def test_the_method_that_is_chosen():
    grid, cyclic = ds.gallery.stencil(5, (40, 40)), ds.gallery.stencil(3, (500,), periodic=True)
    assert ds.factorized(grid).method == "superlu" and ds.factorized(cyclic, -1).method == "cyclic"
    assert ds.factorized(ds.gallery.banded(300, 20, 20, seed=0)).method == "banded"
    assert ds.factorized(ds.gallery.tridiagonal(60)).method == "tridiagonal"
    stored = ds.dia_array((np.vstack([np.ones(60), np.zeros(60)]), [0, 40]), shape=(60, 60), align="row")
    assert ds.factorized(stored).method == "diagonal"  # of what is not zero
    assert "superlu" in repr(ds.factorized(grid)) and "A - 2.5" in repr(ds.factorized(cyclic, 2.5))


def test_scipy_takes_them():
    A = ds.hm_array(ds.gallery.tridiagonal(400))
    exact = 2 - 2 * np.cos(np.pi * np.arange(1, 401) / 401)
    F = ds.factorized(A)
    assert np.allclose(sla.eigsh(A, k=3, sigma=0, OPinv=F)[0], exact[:3])
    middle = 1.3
    near = np.sort(exact[np.argsort(abs(exact - middle))[:4]])
    assert np.allclose(np.sort(sla.eigsh(A, k=4, sigma=middle, OPinv=ds.factorized(A, middle))[0]), near)
    assert np.allclose(np.sort(sla.eigsh(A, k=4, sigma=middle)[0]), near)  # which SciPy factors itself
    x, info = sla.cg(A, np.ones(400), M=F, rtol=1e-12)
    assert info == 0 and np.allclose(A @ x, 1)
    steps = 0

    def count(_):
        nonlocal steps
        steps += 1

    sla.cg(A, np.ones(400), M=F, callback=count)
    assert steps <= 2


def test_systems_that_cannot_be_solved():
    singular = sp.diags_array([np.ones(5), np.array([1.0, 1, 0, 1])], offsets=[0, 1])
    for matrix, sigma in ((singular, 1), (sp.csr_array((4, 4)), 0), (ds.gallery.tridiagonal(1), 2)):
        for method in (None, "superlu", "banded"):
            with pytest.raises(np.linalg.LinAlgError, match="singular"):
                ds.factorized(ds.csr_array(matrix), sigma, method=method)
    A = ds.hm_array(ds.gallery.tridiagonal(5))
    for call, error, words in (
        (lambda: ds.factorized(A[:3]), ValueError, "square"),
        (lambda: ds.factorized(A, method="lapack"), ValueError, "expected diagonal"),
        (lambda: ds.factorized(A, method="diagonal"), ValueError, "offsets from -1 to 1"),
        (lambda: ds.factorized(A, np.nan), ValueError, "finite"),
        (lambda: ds.factorized(A, 10**400), ValueError, "float64 holds"),
        (lambda: ds.factorized(A.astype("float32"), 1e300), ValueError, "float32 holds"),
        (lambda: ds.factorized(A) @ A, TypeError, "b.toarray()"),
        (lambda: ds.factorized(A * np.inf), ValueError, "finite"),
        (lambda: ds.factorized(ds.csr_array(A) * np.nan, method="superlu"), ValueError, "finite"),
        (lambda: ds.factorized(A).solve(np.ones(4)), ValueError, "5 x 5"),
        (lambda: ds.factorized(A).solve(np.ones(5), "C"), ValueError, "trans"),
        (lambda: ds.factorized(A).solve(A), TypeError, "b.toarray()"),
        (lambda: ds.factorized(np.eye(3)), TypeError, "expected a sparse matrix"),
    ):
        with raises(error, words):
            call()
    assert ds.solve(ds.csr_array((0, 0)), np.ones(0)).shape == (0,)


@pytest.mark.parametrize("method", ["diagonal", "tridiagonal", "banded", "dense", "superlu"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_nothing_to_factor(method, dtype, capfd):
    """LAPACK refuses an order of 0, and prints that it does."""
    F = ds.factorized(ds.eye(0, dtype=dtype), method=method)
    assert F.method == method and F.solve(np.ones(0)).shape == (0,) and F.solve(np.ones((0, 3))).shape == (0, 3)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("method", ["tridiagonal", "banded", "dense", "superlu"])
def test_a_matrix_that_is_singular_in_a_wider_type_alone(method):
    """In float32 a rounding hides it; the factors for a float64 right-hand side say so, and which matrix it is."""
    block = {
        "dense": [[95, 19], [15, 3]], "banded": [[350, 1175], [448, 1504]],
        "tridiagonal": [[432, 468], [1392, 1508]], "superlu": [[143, 156], [330, 360]],
    }[method]  # fmt: skip
    A = ds.array(sp.block_diag([block, [[1]]]).astype(np.float32), "csr")
    F = ds.factorized(A, method=method)
    assert F.solve(np.ones(3, np.float32)).dtype == np.float32
    words = "solve: b needs factors in float64, and there A is singular: "
    with pytest.raises(
        np.linalg.LinAlgError,
        match=words + ("SuperLU found a pivot that is zero" if method == "superlu" else "the pivot of row 1 is zero"),
    ):
        F.solve(np.ones(3))


def test_superlu_exchanges_no_rows_where_the_diagonal_dominates():
    """On grids, factors have about half of the values then."""
    rng, n = np.random.default_rng(0), 900
    grid = sp.csr_array(ds.gallery.diffusion((30, 30)))
    rows = sp.csr_array(sp.diags_array(10.0 ** rng.uniform(-3, 3, n)) @ grid)
    other_positions = grid + sp.diags_array([1e-3], offsets=[77], shape=(n, n))
    for S, fewer in (
        (grid, True), (rows, True), (rows.T, True), (grid * 1e300, True), (other_positions, False),
        (grid - 0.5 * sp.eye_array(n), False), (grid - 4 * sp.eye_array(n) + sp.diags_array(rng.random(n)), False),
    ):  # fmt: skip
        A, B = ds.csr_array(sp.csr_array(S)), right_sides(n, "float64")
        F, usual = ds.factorized(A, method="superlu"), sla.splu(sp.csc_array(S))
        assert (F.nbytes < 0.7 * 12 * usual.nnz) == fewer
        for trans, op in operations(A.toarray()):
            assert_solves(F.solve(B, trans), op, B)
