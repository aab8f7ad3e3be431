"""`ds.solve` where a method fails, where no solution exists, and where the call is wrong."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import raises
from solutions import SOLVED_BY

import diagsparse as ds
from diagsparse._multigrid.solver import Multigrid


def test_the_next_method_is_tried(monkeypatch):
    helmholtz = ds.hm_array(ds.gallery.diffusion((90, 90))) - 0.3 * ds.eye(8100)
    x, report = ds.solve(helmholtz, np.ones(8100), report=True)
    assert report.method == "superlu" and "positive definite" in report.failed["multigrid"]
    assert "failed: multigrid" in str(report) and np.allclose(helmholtz @ x, 1)

    A = ds.csr_array(SOLVED_BY["ilu"])
    monkeypatch.setattr("diagsparse._solving.incomplete._RESTART", 1)
    monkeypatch.setattr("diagsparse._solving.incomplete._RESTARTS", 1)
    x, report = ds.solve(A, np.ones(A.shape[0]), report=True)
    assert report.method == "superlu" and "GMRES" in report.failed["ilu"]
    with pytest.raises(np.linalg.LinAlgError, match="GMRES does not reduce"):
        ds.solve(A, np.ones(A.shape[0]), method="ilu")


def test_w_cycles_are_tried_before_another_method(monkeypatch):
    used = []

    def solve(self, b, *, tol, maxiter=100):
        used.append(self.cycle)
        if self.cycle == "V":
            raise np.linalg.LinAlgError("V cycles converge slowly")
        return solve_well(self, b, tol=tol)

    solve_well = Multigrid.solve
    monkeypatch.setattr(Multigrid, "solve", solve)
    A = ds.hm_array(SOLVED_BY["multigrid"])
    _, report = ds.solve(A, np.ones(A.shape[0]), report=True)
    assert report.method == "multigrid" and used[:2] == ["V", "W"] and "V" not in used[1:]


def test_singular_matrices():
    rng = np.random.default_rng(5)
    for shape in ((12, 13), (110, 120)):  # by factors, and by multigrid
        for boundary in ("neumann", "periodic"):
            A = ds.hm_array(ds.gallery.diffusion(shape, boundary=boundary))
            b = rng.standard_normal(A.shape[0])
            for wrong in (b + 1, b - b.mean() + 0.5, np.ones(len(b))):
                with pytest.raises(np.linalg.LinAlgError, match="singular"):
                    ds.solve(A, wrong)
            x = ds.solve(A, b - b.mean())
            assert abs(A @ x - (b - b.mean())).max() <= 1e-9 * (1 + abs(x).max())
    rod = ds.gallery.diffusion(100, boundary="neumann")  # elimination ends with a pivot that is zero
    x, report = ds.solve(rod, np.linspace(-1, 1, 100), report=True)
    assert np.allclose(rod @ x, np.linspace(-1, 1, 100)) and "pivot of row 99 is zero" in report.failed["tridiagonal"]
    ring = ds.csr_array(ds.gallery.stencil(3, (60,), periodic=True))
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        ds.solve(ring, np.ones(60), method="superlu")


def test_a_missed_tolerance_is_reported_with_the_numbers():
    A = ds.hm_array(ds.gallery.tridiagonal(500))
    b = np.random.default_rng(6).standard_normal((500, 2))
    with pytest.raises(np.linalg.LinAlgError) as error:
        ds.solve(A, b, tol=1e-19)
    words = str(error.value)
    assert "tridiagonal: the backward error is larger than 1e-19" in words and "relative residual" in words


def test_a_solution_that_overflows_is_named_by_the_first_method():
    like = ds.dia_array(ds.gallery.tridiagonal(5))
    random = np.random.default_rng(0).standard_normal((50, 50))
    for A, b, power in (
        (ds.diags({0: 1e-300}, shape=(3, 3)), np.full(3, 1e300), 600),
        (ds.diags({0: 1e-300, 1: 1e-301, -1: 1e-301}, shape=(3, 3)), np.full((3, 2), 1e300) * [1e-290, 1], 600),
        (ds.diags({0: 1e-30}, shape=(3, 3), dtype="float32"), np.full(3, 1e30, "float32"), 60),
        (ds.csr_array(sp.csr_array(random * 1e-200)), np.full(50, 1e200), 401),
        (ds.hm_array(SOLVED_BY["multigrid"] * 1e-300), np.full(24000, 1e300), 603),
        (ds.batch_array(np.multiply.outer([1, 1e-300, 1.0], like.values), like), np.full(5, 1e300), 601),
    ):
        with pytest.raises(np.linalg.LinAlgError) as error:
            ds.solve(A, b)
        assert str(error.value) == f"solve: the solution overflows {b.dtype}: its largest element is about 1e{power}"
    x = ds.solve(ds.diags({0: 1e-300}, shape=(3, 3)), np.full(3, 1e7))
    assert np.allclose(x, 1e307)


def test_small_rows_of_a_grid_are_not_ignored():
    """Conjugate gradients with multigrid see the large rows only."""
    S, rng = ds.gallery.diffusion((90, 100)), np.random.default_rng(0)
    D = sp.diags_array(10 ** rng.uniform(-4, 4, 9000))
    A, exact = sp.csr_array(D @ S @ D), rng.standard_normal(9000)
    for method in (None, "superlu"):
        x, report = ds.solve(A, A @ exact, report=True, method=method)
        size = abs(A) @ abs(x) + abs(A @ exact)
        assert report.method == "superlu" and (abs(A @ exact - A @ x) / size).max() <= 1e-8
    with pytest.raises(np.linalg.LinAlgError, match="rows of A differ in size"):
        ds.solve(A, A @ exact, method="multigrid", tol=1e-8)


def test_wrong_calls():
    A = ds.hm_array(SOLVED_BY["multigrid"])
    n = A.shape[0]
    T = ds.hm_array(ds.gallery.tridiagonal(5))
    for call, error, words in (
        (lambda: ds.solve(np.eye(3), np.ones(3)), TypeError, "expected a sparse matrix"),
        (lambda: ds.solve(T[:3], np.ones(3)), ValueError, "square"),
        (lambda: ds.solve(T, np.ones(4)), ValueError, "5 x 5"),
        (lambda: ds.solve(A, np.ones((2, n))), ValueError, "but A is"),
        (lambda: ds.solve(T, np.ones((5, 1, 1))), ValueError, "5 x 5"),
        (lambda: ds.solve(T, 1.0), ValueError, "()"),
        (lambda: ds.solve(T, T), TypeError, "b.toarray()"),
        (lambda: ds.solve(T, ["a"] * 5), TypeError, "expected numbers"),
        (lambda: ds.solve(T, np.ma.masked_equal([0, 1, 1, 1, 1], 0)), TypeError, "masked"),
        (lambda: ds.solve(T, np.ones(5), tol=0), ValueError, "tol=0, expected a positive number"),
        (lambda: ds.solve(T, np.ones(5), tol=np.nan), ValueError, "positive"),
        (lambda: ds.solve(T, np.ones(5), tol="1e-8"), ValueError, "positive"),
        (lambda: ds.solve(T, np.ones(5), method="lu"), ValueError, "expected diagonal, tridiagonal"),
        (lambda: ds.solve(T, np.ones(5), method="diagonal"), ValueError, "offsets from -1 to 1"),
        (lambda: ds.solve(T * np.nan, np.ones(5)), ValueError, "finite"),
        (lambda: ds.solve(A * np.inf, np.ones(n)), ValueError, "finite"),
        (lambda: ds.solve(ds.csr_array(SOLVED_BY["superlu"]).astype("complex64"), np.ones(400), method="multigrid"),
         TypeError, "complex"),
    ):  # fmt: skip
        with raises(error, words), np.errstate(all="ignore"):
            call()


def test_memory_that_is_refused(monkeypatch):
    """If no method fits, this is not a property of the matrix."""
    like = ds.diags({0: 2.0, 1: 1.0, -1: 1.0}, shape=(50, 50), format="dia")

    def refuse(*args, **options):
        raise MemoryError("factorized: the factors need 1 TB")

    monkeypatch.setattr("diagsparse._solving.methods.factors", refuse)
    with pytest.raises(MemoryError, match="need 1 TB"):
        ds.solve(ds.batch_array([like] * 3), np.ones(50))
