"""`ds.solve` on a GPU: methods, arrays of all libraries, errors, and what is recommended where cuDSS is missing."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import EACH_DTYPE, NO_CUDA, raises
from libraries import NAMES, make, read
from solutions import assert_solves, banded, like, right_sides

import diagsparse as ds
from diagsparse._backends import libraries

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not ds.cuda_available(), reason=NO_CUDA)]
NO_CUDSS = pytest.mark.skipif(isinstance(libraries.cudss(), Exception), reason="needs cuDSS")


@EACH_DTYPE
@pytest.mark.parametrize("n, below, above, method", [(40, 0, 0, "diagonal"), (500, 1, 1, "tridiagonal")])
def test_narrow_bands(n, below, above, method, dtype):
    dense = banded(n, below, above, dtype)
    A = ds.hm_array(sp.csr_array(dense)).to("cuda")
    for b in (right_sides(n, dtype), right_sides(n, dtype)[:, 0], right_sides(n, "complex128")):
        x, report = ds.solve(A, b, report=True)
        assert_solves(x, dense, b)
        assert report.method == method == ds.recommend(A, "solve").method and report.device.startswith("cuda")
        count = b.shape[1] if b.ndim == 2 else 1
        assert report.backward_error.shape == (count,) and report.backward_error.max() <= report.tol
        residual = abs(b - dense @ x).max(axis=0)
        size = abs(dense).sum(axis=1).max() * abs(x).max(axis=0) + abs(b).max(axis=0)
        assert np.allclose(report.backward_error, residual / size, rtol=1, atol=4 * np.finfo(x.dtype).eps)
        lengths = np.linalg.norm(b - dense @ x, axis=0) / np.linalg.norm(b, axis=0)
        assert np.allclose(report.relative_residual, lengths, rtol=1, atol=1e3 * np.finfo(x.dtype).eps)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_arrays_of_a_library(name, dtype):
    n = 300
    dense = banded(n, 1, 1, "float64")
    A = ds.hm_array(sp.csr_array(dense)).to("cuda")
    for b in (right_sides(n, dtype), right_sides(n, dtype)[:, 0]):
        given = make(name, b)
        x, report = ds.solve(A, given, tol=1e-12, report=True)
        assert type(x) is type(given)
        assert_solves(read(name, x), dense, b)
        assert report.backward_error.max() <= 1e-12
    batch, members = like(dense, "hm", 5)
    B = right_sides(n, "float64", 5).T
    X, report = ds.solve(batch.to("cuda"), make(name, np.ascontiguousarray(B)), report=True)
    assert report.backward_error.shape == (5,)
    for i, member in enumerate(members):
        assert_solves(read(name, X)[i], member, B[i])


def test_multigrid():
    cupy = pytest.importorskip("cupy")
    A = ds.hm_array(ds.gallery.diffusion((300, 310), lambda y, x: np.where(x < y, 1.0, 100.0))).to("cuda")
    b = cupy.random.default_rng(0).standard_normal(93000)
    x, report = ds.solve(A, b, report=True)
    assert isinstance(x, cupy.ndarray) and report.method == "multigrid" == ds.recommend(A, "solve").method
    assert report.backward_error.max() <= report.tol and float(abs(b - A @ x).max()) < 1e-8


@NO_CUDSS
def test_other_matrices():
    grid = ds.gallery.diffusion((60, 70))
    for S in (grid, ds.gallery.banded(400, 9, 9, seed=0) + 4 * sp.eye_array(400)):
        A = ds.csr_array(sp.csr_array(S)).to("cuda")
        b = np.random.default_rng(0).standard_normal((S.shape[0], 2))
        x, report = ds.solve(A, b, report=True)
        assert report.method in ("multigrid", "banded") and report.backward_error.max() <= report.tol
        assert_solves(x, S.toarray(), b)
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        ds.solve(ds.csr_array(ds.gallery.stencil(3, (60,), periodic=True)).to("cuda"), np.ones(60))


def test_without_cudss(monkeypatch):
    monkeypatch.setattr(libraries, "cudss", lambda: ImportError("no nvmath"))
    scaled = sp.diags_array(np.linspace(1, 2, 4970)) @ ds.gallery.stencil(5, (70, 71))
    A = ds.hm_array(sp.csr_array(scaled)).to("cuda")
    x, report = ds.solve(A, np.ones(4970), report=True)
    assert report.method == ds.recommend(A, "solve").method == "multigrid" and np.allclose(scaled @ x, 1)
    A = ds.hm_array(sp.csr_array(scaled + 0.8 * sp.triu(scaled, 1))).to("cuda")
    advice = ds.recommend(A, "solve")
    assert advice.method == "cudss" and advice.best.install == 'pip install "diagsparse[cudss]"'
    assert "It has to be installed" in str(advice) and "multigrid" in advice.left_out
    with raises(ImportError, "is not available (no nvmath)", 'A.to("cpu")'):
        ds.solve(A, np.ones(4970))
    narrow = ds.hm_array(ds.gallery.banded(50, 2, 2, seed=0)).to("cuda")
    assert ds.recommend(narrow, "solve").method == "banded"


def test_the_device_of_a_recommendation():
    S = ds.gallery.tridiagonal(100)
    assert ds.recommend(S, "solve", device="cuda").device.startswith("cuda")
    assert ds.recommend(ds.hm_array(S).to("cuda"), "solve", device="cpu").device == "cpu"


def test_wrong_calls():
    A, large = (ds.hm_array(ds.gallery.tridiagonal(n)).to("cuda") for n in (5, 500))
    b = np.random.default_rng(1).standard_normal(500)
    for call, error, words in (
        (lambda: ds.solve(A, np.ones(4)), ValueError, "5 x 5"),
        (lambda: ds.solve(A, np.ones(5), method="superlu"), ValueError, "no method 'superlu' on cuda"),
        (lambda: ds.solve(large, b, tol=1e-30), np.linalg.LinAlgError, "the backward error is larger than 1e-30"),
        (lambda: ds.solve(A * np.nan, np.ones(5)), np.linalg.LinAlgError, "singular"),
    ):
        with raises(error, words):
            call()


@pytest.mark.parametrize("name", NAMES)
def test_rows_of_very_different_size(name):
    rng = np.random.default_rng(0)
    for half in (0, 1, 2):
        D = 10.0 ** rng.uniform(-12, 12, 300)
        dense = D[:, None] * banded(300, half, half, "float64")
        if half:
            dense += np.diag(2 * abs(dense).sum(axis=1))
        else:
            dense = np.diag(D)
        for b in (np.ones(300), D * rng.standard_normal(300)):
            x, report = ds.solve(ds.hm_array(sp.csr_array(dense)).to("cuda"), make(name, b), report=True)
            found = read(name, x)
            size = abs(dense).sum(axis=1) * abs(found).max() + abs(b)
            assert (abs(b - dense @ found) / size).max() <= 1e-14 and report.failed == {}
    singular = ds.csr_array(sp.diags_array(D) @ ds.gallery.diffusion((300,), boundary="neumann")).to("cuda")
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        ds.solve(singular, make(name, np.ones(300)))
