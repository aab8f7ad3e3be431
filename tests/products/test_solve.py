"""`ds.solve`: the method that it chooses, the errors that it promises, and its report."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from cases import EACH_DTYPE, raises
from solutions import ROUNDING, SOLVED_BY, backward_error, like

import diagsparse as ds
from diagsparse._products import device_methods, host_factors
from diagsparse._solving import methods
from diagsparse._solving.errors import System
from diagsparse._solving.report import SolveReport
from diagsparse._solving.solve import _refined


def test_incomplete_factors_in_single_precision_for_right_hand_sides_in_double():
    A = ds.hm_array(ds.gallery.stencil(5, (30, 30), dtype="float32"))
    A.setdiag(4.3)
    b = np.random.default_rng(0).standard_normal((900, 2))
    for rhs in (b, b * 1j):
        x, report = ds.solve(A, rhs, method="ilu", report=True)
        assert x.dtype == (A @ rhs).dtype and report.method == "ilu" and not report.failed
        assert backward_error(A.toarray(), x, rhs) <= ROUNDING["float64"]


@pytest.mark.quick
@pytest.mark.parametrize("name", SOLVED_BY)
def test_what_is_chosen_is_what_is_recommended(name):
    A = ds.csr_array(sp.csr_array(SOLVED_BY[name]))
    n = A.shape[0]
    b = np.random.default_rng(1).standard_normal((n, 2))
    advice = ds.recommend(A, "solve")
    x, report = ds.solve(A, b, report=True)
    assert (advice.method, report.method, report.failed) == (name, name, {})
    assert advice.reason == report.reason and advice.reason in str(advice) and report.reason in str(report)
    assert x.shape == b.shape and report.backward_error.shape == report.relative_residual.shape == (2,)
    residual = b - SOLVED_BY[name] @ x
    size = ds.norm(A, np.inf) * abs(x).max(axis=0) + abs(b).max(axis=0)
    assert np.allclose(report.backward_error, abs(residual).max(axis=0) / size, rtol=0.5, atol=1e-16)
    lengths = np.linalg.norm(residual, axis=0) / np.linalg.norm(b, axis=0)
    assert np.allclose(report.relative_residual, lengths, rtol=0.5, atol=1e-15)
    assert report.backward_error.max() <= report.tol == ROUNDING["float64"]


@EACH_DTYPE
@pytest.mark.parametrize("name", SOLVED_BY)
def test_every_dtype(name, dtype):
    if name in ("multigrid", "ilu") and dtype[0] == "c":
        return  # complex grids have another method
    S = sp.csr_array(SOLVED_BY[name]).astype(dtype)
    A, rng = ds.csr_array(S), np.random.default_rng(2)
    for kind in (dtype, "float64", "complex64"):
        b = rng.standard_normal(S.shape[0]).astype(kind)
        x = ds.solve(A, b)
        wide = (S @ b).dtype
        assert x.dtype == wide
        error = abs(S @ x - b).max() / (abs(S).sum(axis=1).max() * abs(x).max() + abs(b).max())
        assert error <= ROUNDING[wide.name]


# ---- accuracy -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("tol", [1e-3, 1e-8, 1e-14])
def test_an_iteration_ends_at_the_tolerance(tol):
    A = ds.hm_array(ds.gallery.diffusion((130, 140), lambda y, x: np.where(x < y, 1, 100)))
    b = np.random.default_rng(3).standard_normal(A.shape[0])
    x, report = ds.solve(A, b, tol=tol, report=True)
    assert report.method == "multigrid" and report.backward_error.max() <= tol == report.tol
    residual = abs(b - A @ x).max()
    assert residual <= 1.01 * tol * (ds.norm(A, np.inf) * abs(x).max() + abs(b).max())


def test_solutions_are_refined():
    """Factors in which a pivot was replaced, as cuDSS does, still lead to an accurate solution."""
    dense = np.array([[1e-9, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    wrong = np.linalg.inv(dense + 1e-4 * np.eye(3))
    A, b = ds.csr_array(sp.csr_array(dense)), np.array([1.0, 2.0, 3.0])
    found = _refined(System(A, None), lambda b, reduction: wrong @ b, b, 1e-14)
    assert found.steps > 1 and found.errors.worst <= 1e-14 and np.allclose(dense @ found.x, b, atol=1e-13)


def test_values_of_16_bits():
    b = np.random.default_rng(7).standard_normal(1500)
    for name in ("ilu", "superlu"):
        A = ds.hm_array(sp.csr_array(SOLVED_BY[name])).astype("float16")
        for kind in ("float32", "float64"):
            right = b[: A.shape[0]].astype(kind)
            x, report = ds.solve(A, right, method=name, report=True)
            assert (
                x.dtype == kind and backward_error(A.toarray().astype(float), x, right) <= report.tol == ROUNDING[kind]
            )


def test_right_hand_sides_that_are_not_finite():
    for name in ("tridiagonal", "superlu", "multigrid", "ilu"):
        A = ds.csr_array(sp.csr_array(SOLVED_BY[name]))
        b = np.ones((A.shape[0], 3))
        b[1, 1] = np.nan
        x, report = ds.solve(A, b, report=True)
        assert np.isfinite(x[:, [0, 2]]).all() and not np.isfinite(x[:, 1]).all()
        assert np.isnan(report.backward_error).tolist() == [False, True, False]
        assert report.to_dict()["backward_error"][1] is None and json.dumps(report.to_dict())
        assert not np.isfinite(ds.solve(A, b[:, 1])).all()


def test_batches():
    dense = ds.gallery.tridiagonal(30).toarray()
    batch, members = like(dense, "hm", 4)
    B = np.random.default_rng(4).standard_normal((4, 30))
    for b in (B, B[0]):
        X, report = ds.solve(batch, b, tol=1e-12, report=True)
        rows = np.broadcast_to(b, (4, 30))
        assert report.method == "tridiagonal" and report.backward_error.shape == (4,)
        for member, x, row, error in zip(members, X, rows, report.backward_error, strict=True):
            assert backward_error(member, x, row) <= 1e-12 and error <= 1e-12
    with raises(ValueError, "the batch is 4 matrices 30 x 30"):
        ds.solve(batch, np.ones((3, 30)))


# ---- reports ------------------------------------------------------------------------------------------------------
def test_the_report():
    A = ds.hm_array(ds.gallery.tridiagonal(50))
    _, report = ds.solve(A, np.ones((50, 2)), report=True)
    assert isinstance(report, SolveReport) and report.seconds > 0 < report.setup_seconds
    assert (report.shape, report.dtype, report.device) == ((50, 50), "float64", "cpu")
    assert repr(report).startswith("<solution of 50 x 50 float64 by tridiagonal: backward error ")
    assert report.method in str(report) and "(the largest)" in str(report) and report.reason in report._repr_html_()
    values = json.loads(json.dumps(report.to_dict()))
    assert values["method"] == "tridiagonal" and len(values["relative_residual"]) == 2 and values["shape"] == [50, 50]


def test_nothing_to_solve():
    for b in (np.ones(0), np.ones((0, 3))):
        x, report = ds.solve(ds.csr_array((0, 0)), b, report=True)
        assert x.shape == b.shape and report.backward_error.max(initial=0) == 0
    assert ds.solve(ds.hm_array(SOLVED_BY["multigrid"]), np.ones((24000, 0))).shape == (24000, 0)
    assert not ds.solve(ds.hm_array(SOLVED_BY["multigrid"]), np.zeros(24000)).any()


def test_all_methods_of_factorized_are_ranked():
    for device, module in (("cpu", host_factors), ("cuda", device_methods)):
        assert set(module.METHODS) <= set(methods.names(device))


def test_a_dense_row_and_column():
    """Minimum degree would take a time that is quadratic in their entries."""
    n = 4000
    S = sp.lil_array((n, n))
    S.setdiag(2 * n)
    S[0, 1:] = S[1:, 0] = 1
    A, b = ds.csr_array(S.tocsr()), np.arange(1.0, n + 1)
    x, report = ds.solve(A, b, method="superlu", report=True)
    assert report.method == "superlu" and np.allclose(A @ x, b, rtol=1e-12)
    assert ds.factorized(A, method="superlu").nbytes < 100 * n
