"""`ds.solve`: the method that it chooses, the errors that it promises, what it does when a method fails."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from cases import EACH_DTYPE, raises
from hypothesis import given, settings
from hypothesis import strategies as st
from solutions import like

import diagsparse as ds
from diagsparse._multigrid.solver import Multigrid
from diagsparse._products import device_methods, host_factors
from diagsparse._solving import methods
from diagsparse._solving.errors import System
from diagsparse._solving.report import SolveReport
from diagsparse._solving.solve import _refined

ROUNDING = {"float32": 1000 * 2.0**-23, "complex64": 1000 * 2.0**-23, "float64": 1000 * 2.0**-52,
            "complex128": 1000 * 2.0**-52}  # fmt: skip


def backward_error(dense, x, b):
    """Return the largest backward error of the columns, computed in long doubles."""
    dense, x, b = (np.asarray(one, np.result_type(one.dtype, np.longdouble)) for one in (dense, x, b))
    x, b = (one[:, np.newaxis] if one.ndim == 1 else one for one in (x, b))
    size = abs(dense).sum(axis=1).max(initial=0) * abs(x).max(axis=0, initial=0) + abs(b).max(axis=0, initial=0)
    return float((abs(b - dense @ x).max(axis=0, initial=0) / np.where(size == 0, 1, size)).max(initial=0))


def scattered(n, each=3):
    """Return a matrix with random positions, whose factors fill up, and with a dominant main diagonal."""
    random = sp.random_array((n, n), density=each / n, rng=np.random.default_rng(0))
    return sp.csr_array(random + 4 * sp.eye_array(n))


CHOSEN = {
    "diagonal": sp.diags_array([np.arange(1.0, 41)], offsets=[0]),
    "tridiagonal": ds.gallery.tridiagonal(200),
    "banded": ds.gallery.banded(300, 8, 8, seed=0) + 4 * sp.eye_array(300),
    "dense": sp.csr_array(np.random.default_rng(0).standard_normal((30, 30)) + 8 * np.eye(30)),
    "superlu": ds.gallery.diffusion((20, 20)),
    "multigrid": ds.gallery.diffusion((150, 160)),
    "ilu": scattered(1500),
}


def test_incomplete_factors_in_single_precision_for_right_hand_sides_in_double():
    A = ds.hm_array(ds.gallery.stencil(5, (30, 30), dtype="float32"))
    A.setdiag(4.3)
    b = np.random.default_rng(0).standard_normal((900, 2))
    for rhs in (b, b * 1j):
        x, report = ds.solve(A, rhs, method="ilu", report=True)
        assert x.dtype == (A @ rhs).dtype and report.method == "ilu" and not report.failed
        assert backward_error(A.toarray(), x, rhs) <= ROUNDING["float64"]


@pytest.mark.quick
@pytest.mark.parametrize("name", CHOSEN)
def test_what_is_chosen_is_what_is_recommended(name):
    A = ds.csr_array(sp.csr_array(CHOSEN[name]))
    n = A.shape[0]
    b = np.random.default_rng(1).standard_normal((n, 2))
    advice = ds.recommend(A, "solve")
    x, report = ds.solve(A, b, report=True)
    assert (advice.method, report.method, report.failed) == (name, name, {})
    assert advice.reason == report.reason and advice.reason in str(advice) and report.reason in str(report)
    assert x.shape == b.shape and report.backward_error.shape == report.relative_residual.shape == (2,)
    residual = b - CHOSEN[name] @ x
    size = ds.norm(A, np.inf) * abs(x).max(axis=0) + abs(b).max(axis=0)
    assert np.allclose(report.backward_error, abs(residual).max(axis=0) / size, rtol=0.5, atol=1e-16)
    lengths = np.linalg.norm(residual, axis=0) / np.linalg.norm(b, axis=0)
    assert np.allclose(report.relative_residual, lengths, rtol=0.5, atol=1e-15)
    assert report.backward_error.max() <= report.tol == ROUNDING["float64"]


@EACH_DTYPE
@pytest.mark.parametrize("name", CHOSEN)
def test_every_dtype(name, dtype):
    if name in ("multigrid", "ilu") and dtype[0] == "c":
        return  # complex grids have another method
    S = sp.csr_array(CHOSEN[name]).astype(dtype)
    A, rng = ds.csr_array(S), np.random.default_rng(2)
    for kind in (dtype, "float64", "complex64"):
        b = rng.standard_normal(S.shape[0]).astype(kind)
        x = ds.solve(A, b)
        wide = (S @ b).dtype
        assert x.dtype == wide
        error = abs(S @ x - b).max() / (abs(S).sum(axis=1).max() * abs(x).max() + abs(b).max())
        assert error <= ROUNDING[wide.name]


@st.composite
def systems(draw):
    """Return a matrix of some structure, dense, and right-hand sides."""
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    kind = draw(st.sampled_from(["diagonal", "tridiagonal", "band", "dense", "grid", "periodic", "random", "arrow"]))
    n = draw(st.integers(0, 40))
    if kind in ("grid", "periodic"):
        shape = tuple(draw(st.lists(st.integers(3 if kind == "periodic" else 1, 8), min_size=1, max_size=3)))
        jumps = 10.0 ** rng.integers(-draw(st.integers(0, 3)), 1, shape)
        boundary = "periodic" if kind == "periodic" else draw(st.sampled_from(["dirichlet", "neumann"]))
        dense = ds.gallery.diffusion(shape, jumps, boundary=boundary).toarray()
        n = len(dense)
    else:
        dense = rng.standard_normal((n, n))
        i, j = np.indices((n, n))
        reach = {"diagonal": 0, "tridiagonal": 1, "band": draw(st.integers(1, 8))}.get(kind, n)
        dense[abs(i - j) > reach] = 0
        if kind == "random":
            dense[rng.random((n, n)) < 0.8] = 0
        if kind == "arrow":
            dense[(i != j) & (i != 0) & (j != 0)] = 0
        if draw(st.booleans()):
            dense += draw(st.sampled_from([1.0, 8.0])) * np.eye(n)
        if draw(st.booleans()):
            dense = dense + dense.T
        if draw(st.booleans()) and n:
            dense[draw(st.integers(0, n - 1))] = 0
    dense *= 10.0 ** draw(st.sampled_from([0, 0, -30, 30]))
    dtype = draw(st.sampled_from(["float32", "float64", "complex64", "complex128"]))
    if dtype[0] == "c" and draw(st.booleans()):
        dense = dense * np.exp(1j * rng.uniform(0, 7, dense.shape))
    columns = draw(st.sampled_from([(), (1,), (3,), (0,)]))
    b = rng.standard_normal((n, *columns)) * 10.0 ** draw(st.sampled_from([0, 0, -5, 5]))
    if draw(st.booleans()) and b.ndim == 2 and b.shape[1]:
        b[:, 0] = 0
    return dense.astype(dtype), b.astype(draw(st.sampled_from([dtype, "float64"])))


@settings(max_examples=150, deadline=None)
@given(
    systems(), st.sampled_from(["csr", "hm", "dia"]), st.sampled_from([None, 1e-3, 1e-6]),
    st.sampled_from([None, None, "superlu", "banded", "ilu", "multigrid"]),
)  # fmt: skip
def test_a_solution_has_the_promised_error_or_none_is_returned(system, format, tol, method):
    dense, b = system
    A = ds.csr_array(sp.csr_array(dense)).asformat(format)
    try:
        x, report = ds.solve(A, b, tol=tol, method=method, report=True)
    except np.linalg.LinAlgError as error:
        regular = len(dense) and np.linalg.matrix_rank(dense.astype(complex)) == len(dense)
        condition = np.linalg.cond(dense.astype(complex)) if regular else np.inf
        stable = tol is None or tol >= 30 * np.finfo(dense.dtype).eps
        by_choice = method in (None, "superlu", "banded")
        assert condition > 0.01 / np.finfo(dense.dtype).eps or not (stable and by_choice), error
        return
    except (ValueError, TypeError) as error:
        assert method == "multigrid" and "multigrid" in str(error), error
        return
    assert x.shape == b.shape and np.isfinite(x).all()
    assert report.tol == (ROUNDING[x.dtype.name] if tol is None else tol)
    assert backward_error(dense, x, b) <= 1.01 * report.tol
    assert report.backward_error.max(initial=0) <= report.tol


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
        A = ds.hm_array(sp.csr_array(CHOSEN[name])).astype("float16")
        for kind in ("float32", "float64"):
            right = b[: A.shape[0]].astype(kind)
            x, report = ds.solve(A, right, method=name, report=True)
            assert (
                x.dtype == kind and backward_error(A.toarray().astype(float), x, right) <= report.tol == ROUNDING[kind]
            )


def test_right_hand_sides_that_are_not_finite():
    for name in ("tridiagonal", "superlu", "multigrid", "ilu"):
        A = ds.csr_array(sp.csr_array(CHOSEN[name]))
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
        assert report.method == "factorized" and report.backward_error.shape == (4,)
        for member, x, row, error in zip(members, X, rows, report.backward_error, strict=True):
            assert backward_error(member, x, row) <= 1e-12 and error <= 1e-12
    with raises(ValueError, "the batch is 4 matrices 30 x 30"):
        ds.solve(batch, np.ones((3, 30)))


# ---- failures -----------------------------------------------------------------------------------------------------
def test_the_next_method_is_tried(monkeypatch):
    helmholtz = ds.hm_array(ds.gallery.diffusion((90, 90))) - 0.3 * ds.eye(8100)
    x, report = ds.solve(helmholtz, np.ones(8100), report=True)
    assert report.method == "superlu" and "positive definite" in report.failed["multigrid"]
    assert "failed: multigrid" in str(report) and np.allclose(helmholtz @ x, 1)

    A = ds.csr_array(CHOSEN["ilu"])
    monkeypatch.setattr("diagsparse._solving.incomplete._RESTART", 1)
    monkeypatch.setattr("diagsparse._solving.incomplete._RESTARTS", 1)
    x, report = ds.solve(A, np.ones(A.shape[0]), report=True)
    assert report.method == "superlu" and "GMRES" in report.failed["ilu"]
    with pytest.raises(np.linalg.LinAlgError, match="GMRES does not reduce"):
        ds.solve(A, np.ones(A.shape[0]), method="ilu")


def test_w_cycles_are_tried_before_another_method(monkeypatch):
    used = []

    def solve(self, b, *, tol):
        used.append(self.cycle)
        if self.cycle == "V":
            raise np.linalg.LinAlgError("V cycles converge slowly")
        return solve_well(self, b, tol=tol)

    solve_well = Multigrid.solve
    monkeypatch.setattr(Multigrid, "solve", solve)
    A = ds.hm_array(CHOSEN["multigrid"])
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
    with pytest.raises(np.linalg.LinAlgError, match="the backward error is larger"), np.errstate(all="ignore"):
        ds.solve(ds.diags({0: 1e-300}, shape=(3, 3)), np.full(3, 1e300))  # overflows


def test_wrong_calls():
    A = ds.hm_array(CHOSEN["multigrid"])
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
        (lambda: ds.solve(ds.csr_array(CHOSEN["superlu"]).astype("complex64"), np.ones(400), method="multigrid"),
         TypeError, "complex"),
    ):  # fmt: skip
        with raises(error, words), np.errstate(all="ignore"):
            call()


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
    assert ds.solve(ds.hm_array(CHOSEN["multigrid"]), np.ones((24000, 0))).shape == (24000, 0)
    assert not ds.solve(ds.hm_array(CHOSEN["multigrid"]), np.zeros(24000)).any()


def test_all_methods_of_factorized_are_ranked():
    for device, module in (("cpu", host_factors), ("cuda", device_methods)):
        assert set(module.METHODS) <= set(methods.names(device))
