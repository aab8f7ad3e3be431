"""Errors of solvers: they begin with the function that was called, count rows from 0, and precede large allocations."""

import numpy as np
import pytest
import scipy.sparse as sp
from cases import raises
from solutions import scattered

import diagsparse as ds
from diagsparse._backends import memory
from diagsparse._products import host_methods

BAND = sp.csr_array(ds.gallery.banded(40, 3, 2, seed=0))
WIDE = scattered(1000)
ONES = np.ones(40)


def test_errors_name_the_function_that_was_called():
    zero_row = sp.csr_array(sp.diags_array(1.0 * (np.arange(40) != 7)) @ BAND)
    for call, error, start in (
        (lambda: ds.solve(BAND * np.nan, ONES), ValueError, "solve: A holds values that are not finite"),
        (lambda: ds.factorized(BAND * np.nan), ValueError, "factorized: A holds values"),
        (lambda: ds.cholesky_banded(ds.gallery.tridiagonal(9) * np.nan), ValueError, "cholesky_banded: A holds values"),
        (lambda: ds.block_jacobi(BAND * np.nan, 4), ValueError, "block_jacobi: A holds values"),
        (lambda: ds.solve(BAND, ONES, method="tridiagonal"), ValueError, "solve: method 'tridiagonal', but A has off"),
        (lambda: ds.factorized(BAND, method="lu"), ValueError, "factorized: no method 'lu'"),
        (lambda: ds.factorized(WIDE, method="cyclic"), ValueError, 'factorized: method "cyclic" needs'),
        (lambda: ds.solve(WIDE, np.ones(1000), method="woodbury"), ValueError, 'solve: method "woodbury" needs'),
        (lambda: ds.cholesky_banded(BAND), ValueError, "cholesky_banded: Cholesky factors need a symmetric matrix"),
        (lambda: ds.factorized(BAND, method="cholesky"), ValueError, "factorized: Cholesky factors need a symmetric"),
        (lambda: ds.cholesky_banded(-ds.gallery.tridiagonal(9)), np.linalg.LinAlgError, "cholesky_banded: A is not"),
        (lambda: ds.solve(zero_row, ONES), np.linalg.LinAlgError, "solve: banded: A is singular"),
        (lambda: ds.factorized(zero_row, 0, method="superlu"), np.linalg.LinAlgError, "factorized: A is singular"),
    ):  # fmt: skip
        with raises(error, start) as caught:
            call()
        assert str(caught.value).startswith(start), str(caught.value)


def test_pivots_are_counted_from_0():
    """As rows are: the matrix without this row and column has rank n - 1."""
    diagonal = np.ones(6)
    diagonal[4] = 0
    for method in ("diagonal", "tridiagonal", "banded", "dense", "qr", "triangular"):
        with pytest.raises(np.linalg.LinAlgError, match="pivot of row 4 is zero"):
            ds.factorized(ds.diags({0: diagonal}), method=method)
    batch = ds.batch_array([ds.diags({0: np.ones(6)}), ds.diags({0: diagonal})])
    with pytest.raises(np.linalg.LinAlgError, match="pivot of row 4 of member 1 is zero"):
        ds.factorized(batch)


def test_right_hand_sides_that_are_no_numbers():
    for solve in (ds.factorized(BAND).solve, lambda b: ds.solve(BAND, b)):
        for b in (["a"] * 40, np.ones(40, object), np.ones(40, "M8[s]"), np.ones(40, np.longdouble)):
            with raises(TypeError, "solve: b is of type", "expected numbers of at most double precision"):
                solve(b)


def test_memory_is_forecast_before_it_is_allocated(monkeypatch):
    ring = sp.lil_array(ds.gallery.banded(4000, 10, 10, seed=0) + 30 * sp.eye_array(4000))
    ring[0, 3990], ring[3990, 0] = 1, 1
    A = ds.csr_array(sp.csr_array(ring))
    A._summary()
    allocated = []
    for name in ("zeros", "empty"):
        allocate = getattr(np, name)
        monkeypatch.setattr(np, name, lambda *a, f=allocate, **k: allocated.append(f(*a, **k)) or allocated[-1])
    monkeypatch.setattr(memory, "SMALL", 0)
    for method, limit in (("dense", 10**8), ("qr", 10**8), ("banded", 10**6), ("cyclic", 10**6), ("ilu", 10**6)):
        allocated.clear()
        monkeypatch.setattr(memory, "available_bytes", lambda backend=None, limit=limit: limit)
        with pytest.raises(MemoryError, match=r"solve: .* would need .*, .* are free"):
            ds.solve(A, np.ones(4000), method=method)
        assert sum(one.nbytes for one in allocated) <= limit
    assert host_methods.require_memory(10**5, "a band") is None


def test_methods_whose_factors_do_not_fit_are_skipped(monkeypatch):
    A = ds.csr_array(ds.gallery.diffusion((20, 20)))
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "available_bytes", lambda backend=None: 180_000)
    x, report = ds.solve(A, np.ones(400), report=True)
    assert report.method == "superlu" and np.allclose(A @ x, 1)
    advice = ds.recommend(A, "solve")
    assert "would need 1.3 MB, 180 KB are free" in advice.left_out["dense"]
    assert "would need" in advice.left_out["qr"]
